"""What to simulate: frozen, comparable records that go to TOML and back without loss."""

from tcpcc.scenario.network import Access, Change, Link, Network
from tcpcc.scenario.spec import Scenario
from tcpcc.scenario.traffic import CBR, Flow, SlowStart, Transport

__all__ = [
    "CBR",
    "Access",
    "Change",
    "Flow",
    "Link",
    "Network",
    "Scenario",
    "SlowStart",
    "Transport",
]
