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
_TABLES = ("controllers", "queues")  # subpackages that can be called, to get a table of their parts
__all__ += ["__version__", *_TABLES]


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.{name}") if name in _TABLES else _named(name)


def __dir__() -> list[str]:
    return sorted(__all__)
