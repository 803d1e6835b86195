"""Congestion controllers, one file each. Importing the package registers them all."""

import sys
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from tcpcc.controllers.contract import (
    SAMPLE,
    WINDOW,
    Controller,
    Param,
    State,
    get,
    names,
    register,
)

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["SAMPLE", "WINDOW", "Controller", "Param", "State", "get", "names", "register", "table"]


def table():
    """All registered controllers with their parameters, as a DataFrame.

    One row per parameter (or one row for a controller without any): controller, recovery,
    parameter, default, unit, meaning, source.
    """
    import pandas as pd

    rows = []
    for name in names():
        c = get(name)
        common = {"controller": name, "recovery": c.recovery, "source": c.source}
        for param_name, param in c.params.items():
            rows.append(
                {
                    **common,
                    "parameter": param_name,
                    "default": param.default,
                    "unit": param.unit,
                    "meaning": param.doc,
                }
            )
        if not c.params:
            rows.append({**common, "parameter": "", "default": None, "unit": "", "meaning": ""})
    columns = ["controller", "parameter", "default", "unit", "meaning", "recovery", "source"]
    return pd.DataFrame(rows)[columns]


class _Callable(ModuleType):
    """``tcpcc.controllers()`` is :func:`table`, although the folder has the same name."""

    def __call__(self) -> Any:
        return table()


sys.modules[__name__].__class__ = _Callable
