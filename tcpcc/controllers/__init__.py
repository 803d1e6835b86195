"""The controllers by name, one file each; ``tc.controllers()`` is a table of them.

Importing the package registers them all.
"""

from importlib import import_module
from pkgutil import iter_modules

from tcpcc.controllers.controller import CONTROLLERS, SAMPLE, WINDOW, Controller
from tcpcc.definition import Param, State, module_of, register
from tcpcc.engine.subset import trusted

with trusted():
    for _module in iter_modules(__path__):
        import_module(f"{__name__}.{_module.name}")

__all__ = [
    "CONTROLLERS",
    "SAMPLE",
    "WINDOW",
    "Controller",
    "Param",
    "State",
    "register",
]

module_of(CONTROLLERS, __name__)
