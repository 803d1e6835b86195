"""Congestion controllers, one file each. Importing the package registers them all."""

from importlib import import_module
from pkgutil import iter_modules

from tcpcc.controllers.controller import (
    CONTROLLERS,
    SAMPLE,
    WINDOW,
    Controller,
    get,
    names,
)
from tcpcc.definition import Param, State, callable_module, register
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
    "get",
    "names",
    "register",
]

callable_module(__name__, CONTROLLERS.table, CONTROLLERS)
