"""Quick-Start (RFC 4782): beside ns-2's packet by packet, the router's arithmetic by hand, and what
its RFC asks of the sender."""

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.controllers import get
from tcpcc.errors import ScenarioError
from tcpcc.queues import QUEUES
from tcpcc.queues.discipline import sample_dtype
from tcpcc.queues.quick_start_router import code_of, rate_of
from tcpcc.slow_start import SLOW_STARTS, composed

HERE = Path(__file__).parent / "ns2"
PATH = {"kind": "Newreno", "rate": 10, "delay": 50, "buffer": 100, "near": 2, "duration": 4}


def network(rate, delay, buffer, near, allocation, **first):
    """A host, two routers, another host: Mb/s, ms, packets."""
    asked = tc.QuickStartRouter(threshold=allocation, allocation=allocation, rounded=0)
    ways = [("source", "left", 1e9, near), ("left", "right", rate * 1e6, delay)]
    ways.append(("right", "target", 1e9, near))
    links = []
    for a, b, bits, ms in ways:
        room = {"buffer": buffer, "record": True} if (a, b) == ("left", "right") else {}
        links.append(tc.Link(a, b, rate=bits, delay=ms / 1e3, queue=asked, **room))
        links.append(tc.Link(b, a, rate=bits, delay=ms / 1e3))
    return tc.Network(links, default_path=("source", "target"))


def in_ours(kind, rate, delay, buffer, near, duration, allocation, flows):
    """What leaves the source: times, sequence numbers and flows, in that order."""
    transport = {"initial_window": 2, "tick": 1e-6, "partial_deflation": False}
    each = [
        tc.Flow(
            "newreno", recovery="newreno-steady", start=start, size=packets, packet_size=1040,
            transport=tc.Transport(**transport, rwnd=window),
            slow_start=tc.SlowStart("quick_start", requested_rate=8192 * request) if request else "standard",
        )
        for start, request, packets, window in flows
    ]  # fmt: skip
    net = network(rate, delay, buffer, near, allocation)
    run = tc.simulate(tc.Scenario(net, each, duration=duration), trace=True)
    return run
