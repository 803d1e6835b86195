"""Slow-start rules that work with any controller, one file each.

Importing the package registers them all.
"""

from importlib import import_module
from pkgutil import iter_modules

from tcpcc.engine.subset import trusted
from tcpcc.slow_start.start_up import SLOW_STARTS, StartUp, composed

with trusted():
    for _module in iter_modules(__path__):
        import_module(f"{__name__}.{_module.name}")

__all__ = ["SLOW_STARTS", "StartUp", "composed"]
