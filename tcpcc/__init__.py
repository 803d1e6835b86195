"""tcpcc: congestion control written once, simulated as packets and as fluid.

>>> import tcpcc as tc
>>> net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
>>> sc = tc.Scenario(net, flows=[tc.Flow("vegas"), tc.Flow("reno", start=1.0)], duration=20)
>>> run = tc.simulate(sc)

Names are imported on first use, so that ``import tcpcc`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

try:
    __version__ = version("tcpcc")
except PackageNotFoundError:  # a checkout that was not installed
    __version__ = "0+unknown"

_WHERE = {
    "simulate": "models",
    "PacketSimulation": "packet.simpy_driver",
    "simulate_many": "sweep",
    "grid": "sweep",
    "SweepInterrupted": "sweep",
    "Scenario": "scenario",
    "Flow": "scenario",
    "CBR": "scenario",
    "Transport": "scenario",
    "SlowStart": "scenario",
    "Link": "scenario",
    "Network": "scenario",
    "Access": "scenario",
    "Change": "scenario",
    "dumbbell": "topologies",
    "chain": "topologies",
    "parking_lot": "topologies",
    "from_networkx": "topologies",
    "DropTail": "queues",
    "RED": "queues",
    "ConnectionRED": "queues",
    "SRED": "queues",
    "Controller": "controllers",
    "Param": "controllers",
    "State": "controllers",
    "register": "controllers",
    "Run": "results",
    "jain_index": "metrics",
    "convergence_time": "metrics",
    "ScenarioError": "errors",
    "TcpccError": "errors",
}

_MODULES = ("controllers", "metrics", "plots", "sweep")  # tcpcc.controllers() is their table

__all__ = ["__version__", *_MODULES, *sorted(_WHERE)]

if TYPE_CHECKING:
    from tcpcc import controllers, metrics, plots, sweep
    from tcpcc.controllers import Controller, Param, State, register
    from tcpcc.errors import ScenarioError, TcpccError
    from tcpcc.metrics import convergence_time, jain_index
    from tcpcc.models import simulate
    from tcpcc.packet.simpy_driver import PacketSimulation
    from tcpcc.queues import RED, SRED, ConnectionRED, DropTail
    from tcpcc.results import Run
    from tcpcc.scenario import (
        CBR,
        Access,
        Change,
        Flow,
        Link,
        Network,
        Scenario,
        SlowStart,
        Transport,
    )
    from tcpcc.sweep import SweepInterrupted, grid, simulate_many
    from tcpcc.topologies import chain, dumbbell, from_networkx, parking_lot


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"tcpcc.{_WHERE[name]}"), name)
    if name in _MODULES:
        return import_module(f"tcpcc.{name}")
    raise AttributeError(f"module 'tcpcc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES, *_WHERE])
