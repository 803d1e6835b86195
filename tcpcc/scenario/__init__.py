"""Records that describe a scenario: frozen, comparable, and saved to TOML without loss."""

from tcpcc.scenario import tcplib
from tcpcc.scenario.network import Access, Change, Link, Network
from tcpcc.scenario.spec import Scenario
from tcpcc.scenario.traffic import CBR, Flow, SlowStart
from tcpcc.scenario.transport_settings import Transport
from tcpcc.scenario.workload import Conversation, Workload

__all__ = [
    "CBR",
    "Access",
    "Change",
    "Conversation",
    "Flow",
    "Link",
    "Network",
    "Scenario",
    "SlowStart",
    "Transport",
    "Workload",
    "tcplib",
]
