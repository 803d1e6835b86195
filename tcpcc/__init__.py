"""tcpcc: congestion control written once, simulated by a packet, a fluid and a hybrid model.

>>> import tcpcc as tc
>>> net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
>>> sc = tc.Scenario(net, flows=[tc.Flow("vegas"), tc.Flow("reno", start=1.0)], duration=20)
>>> run = tc.simulate(sc)

The public names are listed in ``__init__.pyi`` and nowhere else; each is imported on first use, so
that ``import tcpcc`` is quick.
"""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import lazy_loader

try:
    __version__ = version("tcpcc")
except PackageNotFoundError:  # a checkout that was not installed
    __version__ = "0+unknown"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless the program asks

_named, _names, __all__ = lazy_loader.attach_stub(__name__, __file__)
_MODULES = {  # public names that are modules -> where they are
    "analysis": "models.analysis",
    "changes": "scenario.link_changes",
    "controllers": "controllers",
    "errors": "errors",
    "metrics": "results.metrics",
    "plots": "results.plots",
    "queues": "queues",
    "traces": "apps.traces",
    "workloads": "scenario.workloads",
}
_TABLES = {  # public names of registries
    "recoveries": ("transport.recovery", "RECOVERIES"),
    "slow_starts": ("slow_start", "SLOW_STARTS"),
}
__all__ = sorted({*__all__, "__version__", *_MODULES, *_TABLES})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name in _TABLES:
        module, registry = _TABLES[name]
        return getattr(import_module(f"{__name__}.{module}"), registry)
    if name in __all__:
        return _named(name)
    former = import_module(f"{__name__}.former_names").FORMER_NAMES
    hint = f"; it is tc.{former[name]} now" if name in former else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return __all__
