"""The networks, and the two scenarios that every controller runs in each of them.

All flows have packets of 1500 bytes and `SENDER`, the sender of today without HyStart++, so that
each controller starts by its own rules. Hosts take random times. From seed to seed the base RTT is
longer by a part of a packet time, which decides who loses at a full buffer (`PHASES`). XCP needs
its own routers, and gets them with the same buffers; it is left out where the queue is RED.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tcpcc as tc
from experiments.random_hosts import with_random_hosts
from tcpcc.errors import ScenarioError

PACKET = 1500  # bytes
SENDER = tc.Transport(slow_start_rule=False)
PHASES = 5
"""Parts of a packet time."""

SPREAD = 1.0
"""s, over which starts are random: more than a round trip."""

INTERVAL = 0.1
"""s, width of the bins of a record."""

JOIN, LEAVE, END = 60.0, 260.0, 380.0
"""s: the second flow's start and stop, and the end, of `sharing`."""

SETTLED = 160.0
"""s from which on Jain's index is measured, up to `LEAVE`: the second half of the shared time."""

WARM_UP = 20.0
"""s left out of the utilization."""

BESIDE_FROM, BESIDE_END = 40.0, 240.0
"""s between which goodput beside Reno is measured."""


@dataclass(frozen=True)
class Setting:
    """A bottleneck.

    Args:
        title: name in tables.
        rate: rate, Mb/s.
        delay: one-way propagation delay, s; the base round-trip time is twice this.
        buffer: packets.
        queue: queue discipline; None for drop-tail.
        further: further one-way delay of the second flow's access link, s.
    """

    title: str
    rate: float
    delay: float
    buffer: int
    queue: Any = None
    further: float = 0.0

    @property
    def words(self) -> str:
        """Rate, round-trip time and buffer in words."""
        near, far = 2e3 * self.delay, 2e3 * (self.delay + self.further)
        times = f"{near:g} ms" + (f" and {far:g} ms" if self.further else "")
        packets = self.rate * 1e6 * 2 * self.delay / (8 * PACKET)
        kind = "drop-tail" if self.queue is None else "RED"
        product = "" if self.further else f" (the path holds {packets:.0f})"
        return f"{self.rate:g} Mb/s, {times}, {kind} with {self.buffer} packets{product}"


NETWORKS: Mapping[str, Setting] = {
    "small": Setting("small BDP", 10, 0.01, 17),
    "large": Setting("large BDP", 50, 0.04, 167),
    "shallow": Setting("shallow buffer", 10, 0.04, 7),
    "deep": Setting("deep buffer", 10, 0.04, 267),
    "red": Setting(
        "RED", 10, 0.04, 134, tc.queues.RED(min_thresh=17, max_thresh=50, max_p=0.1, gentle=1)
    ),
    "unlike": Setting("unlike RTTs", 10, 0.015, 67, further=0.045),
}
"""The networks by name. Buffers are 1, 1/2, 1/10, 4, 2 and (of the mean RTT) about 1 times rate x
RTT."""


def sharing(controller: str, network: str | Setting, seed: int = 1) -> tc.Scenario:
    """Two flows of a controller: the second joins at `JOIN` and leaves at `LEAVE`.

    Args:
        controller: name of a registered controller.
        network: name in `NETWORKS`, or a setting.
        seed: seed of the starts, of the times in hosts, and of RED; `seed` - 1 modulo `PHASES` is
            the number of parts of a packet time by which the base RTT is longer.

    Raises:
        ScenarioError: XCP with RED.
    """
    common: dict[str, Any] = {"jitter": SPREAD, "packet_size": PACKET, "transport": SENDER}
    first = tc.Flow(controller, name="first", **common)
    second = tc.Flow(
        controller, start=JOIN, stop=LEAVE, name="second",
        access_delay=_setting(network).further or None, **common,
    )  # fmt: skip
    net = _net(controller, network, seed)
    scenario = tc.Scenario(net, [first, second], duration=END, interval=INTERVAL, seed=seed)
    return with_random_hosts(scenario)


def beside_reno(controller: str, network: str | Setting, seed: int = 1) -> tc.Scenario:
    """A flow of the controller and one of Reno; a pair for each round-trip time of the network.

    Arguments and errors as in `sharing`.
    """
    further = _setting(network).further
    flows = [
        tc.Flow(
            kind,
            jitter=SPREAD,
            packet_size=PACKET,
            transport=SENDER,
            name=f"{role}{k}",
            access_delay=delay or None,
        )
        for k, delay in enumerate((0.0, further) if further else (0.0,))
        for role, kind in (("variant", controller), ("reno", "reno"))
    ]
    scenario = tc.Scenario(_net(controller, network, seed), flows, duration=BESIDE_END, seed=seed)
    return with_random_hosts(scenario)


def _setting(network: str | Setting) -> Setting:
    return NETWORKS[network] if isinstance(network, str) else network


def _net(controller: str, network: str | Setting, seed: int) -> tc.Network:
    of = _setting(network)
    packet_time = 8 * PACKET / (of.rate * 1e6)
    further = (seed - 1) % PHASES / PHASES * packet_time / 2
    queue = of.queue
    if controller == "xcp":
        if queue is not None:
            raise ScenarioError("controller 'xcp' needs XCP's routers in place of RED")
        queue = "xcp_router"
    return tc.dumbbell(of.rate * 1e6, of.delay + further, of.buffer, queue=queue)
