"""Scenarios of an evaluation: which flows share the bottleneck, and what happens to it.

Each function takes the flow to evaluate and returns scenarios by name: `WITH` has the flow; where
harm is measured, `ALONE` has the others without it, and `BY_ITSELF` has it without the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tcpcc.apps.evaluate.bottleneck import PACKET, Bottleneck
from tcpcc.apps.evaluate.criterion import ALONE, BY_ITSELF, OTHER, TESTED, WITH, Scenarios
from tcpcc.apps.evaluate.measures import BOTTLENECK
from tcpcc.queues import QUEUES
from tcpcc.queues.discipline import QueueSpec
from tcpcc.scenario import CBR, Change, Flow, Link, Network
from tcpcc.scenario.link_changes import outage
from tcpcc.scenario.workloads import web

MIDDLE = 20.0
"""Time at which a path changes, s; runs with a change last twice as long."""

CROWDED: Mapping[str, int] = {"senders": 200}
"""Options of the packet model in a crowd: senders that are simulated for the flows of a kind."""

WEB = "web"
MEAN_TRANSFER = 12e3
"""Mean size of a short transfer, bytes: the default of `tcpcc.workloads.web`."""


def alone(
    flow: Flow,
    *,
    path: Bottleneck,
    count: int = 1,
    seconds: float = 40.0,
    changes: Sequence[Change] = (),
) -> Scenarios:
    """The tested flows have the bottleneck, which may change during the run."""
    tested = flow.replace(name=TESTED, count=count)
    return {WITH: path.scenario([tested], seconds, changes=changes)}


def joined(flow: Flow, *, path: Bottleneck, seconds: float = 60.0) -> Scenarios:
    """A second tested flow starts in the middle of the run."""
    flows = [flow.replace(name=f"{TESTED}.{k}", start=k * seconds / 2) for k in (0, 1)]
    return {WITH: path.scenario(flows, seconds)}


def unlike(flow: Flow, *, path: Bottleneck, longer: float, seconds: float = 60.0) -> Scenarios:
    """Two tested flows, the second with the longer RTT, s."""
    delays = (0.0, (longer - path.rtt) / 2)
    flows = [
        flow.replace(name=f"{TESTED}.{k}", access_delay=delay, access_rate=100 * path.rate)
        for k, delay in enumerate(delays)
    ]
    return {WITH: path.scenario(flows, seconds)}


def beside(
    flow: Flow, *, path: Bottleneck, other: Flow, count: tuple[int, int] = (1, 1),
    seconds: float = 60.0,
) -> Scenarios:  # fmt: skip
    """Tested flows beside others, and each kind alone."""
    other_flows = other.replace(name=OTHER, count=count[1])
    tested = flow.replace(name=TESTED, count=count[0])
    flows = {WITH: [other_flows, tested], ALONE: [other_flows], BY_ITSELF: [tested]}
    return {name: path.scenario(members, seconds) for name, members in flows.items()}


def two_paths(flow: Flow, *, path: Bottleneck, other: Flow, seconds: float = 60.0) -> Scenarios:
    """Two paths of one connection share the bottleneck with another flow."""
    other_flow = other.replace(name=OTHER)
    tested = [flow.replace(name=f"{TESTED}.{k}", group="paths") for k in (0, 1)]
    flows = {WITH: [other_flow, *tested], ALONE: [other_flow]}
    return {name: path.scenario(members, seconds) for name, members in flows.items()}


def with_short(
    flow: Flow, *, path: Bottleneck, long: Flow | None = None, short: Flow | None = None,
    load: float = 0.3, seconds: float = 40.0,
) -> Scenarios:  # fmt: skip
    """A long flow and short ones, which use `load` of the bottleneck; None: of the tested kind."""
    kind = path.host(short or flow).replace(jitter=0.0)
    transfers = web(kind, rate=load * path.rate / 8 / MEAN_TRANSFER, name=WEB)
    long_flow = (long or flow).replace(name=OTHER if long else TESTED)
    return {WITH: path.scenario([long_flow], seconds, workloads=[transfers])}


def with_cbr(
    flow: Flow, *, path: Bottleneck, share: float, count: int = 1, since: float = 0.0,
    seconds: float = 40.0, packet_size: int = 1500,
) -> Scenarios:  # fmt: skip
    """Tested flows and a source of constant rate, without feedback."""
    cbr = CBR(share * path.rate, packet_size=packet_size, on=[(since, None)], name=OTHER)
    return {WITH: path.scenario([flow.replace(name=TESTED, count=count), cbr], seconds)}


def cut(flow: Flow, *, path: Bottleneck, at: float = 10.0, seconds: float = 70.0) -> Scenarios:
    """The path is cut for the rest of the run."""
    broken, _ = outage(path.network, BOTTLENECK, at, 2 * seconds)
    return alone(flow, path=path, seconds=seconds, changes=[broken])


def interrupted(flow: Flow, *, path: Bottleneck, silence: float) -> Scenarios:
    """The path is cut for some seconds."""
    changes = outage(path.network, BOTTLENECK, MIDDLE, MIDDLE + silence)
    return alone(flow, path=path, seconds=2 * MIDDLE, changes=changes)


def changed(
    flow: Flow, *, path: Bottleneck, rate: float | None = None, rtt: float | None = None,
    count: int = 1,
) -> Scenarios:  # fmt: skip
    """Rate or base RTT of the path change in the middle of the run."""
    delay = None if rtt is None else rtt / 2
    change = Change(MIDDLE, BOTTLENECK, rate=rate, delay=delay)
    return alone(flow, path=path, count=count, seconds=2 * MIDDLE, changes=[change])


def mean_rate(changes: Sequence[Change], until: float) -> float:
    """Mean over time of a series of rates that begins at 0, bit/s."""
    times = [change.at for change in changes] + [until]
    rates = [change.rate or 0.0 for change in changes]
    return float(np.dot(rates, np.diff(times))) / until


def crowd(
    flow: Flow, *, path: Bottleneck, count: int, other: Flow | None = None, seconds: float = 30.0
) -> Scenarios:
    """Many tested flows, which may be beside as many others; run it with the options `CROWDED`.

    A host takes twice as long to send a packet as the packets of all flows for which a sender
    stands take on the link together: otherwise the next one takes the room that the last one has
    left in the queue.
    """
    train = count / CROWDED["senders"] * 8 * PACKET / path.rate
    tested = flow.replace(name=TESTED, count=count, processing=2 * train)
    flows = {WITH: [tested]}
    if other is not None:
        other_flows = other.replace(name=OTHER, count=count, processing=2 * train)
        flows = {WITH: [other_flows, tested], ALONE: [other_flows]}
    return {
        name: path.scenario(members, seconds).replace(interval=0.1)  # a third of the bins
        for name, members in flows.items()
    }


def tunnelled(flow: Flow, *, path: Bottleneck, wider: float, seconds: float = 40.0) -> Scenarios:
    """The bottleneck is in a tunnel: drop-tail, it gives no signals.

    A link of `wider` times its rate before it gives those that the flow reads.
    """
    entry, tunnel, rate = "entry", "left", wider * path.rate
    there = Link(entry, tunnel, rate=rate, delay=0.0, buffer=path.buffer, queue=signals(flow))
    back = Link(tunnel, entry, rate=rate, delay=0.0)
    net = path.network
    whole = Network((there, back, *net.links), net.access, (entry, "right"))
    return {WITH: path.scenario([flow.replace(name=TESTED, count=2)], seconds, net=whole)}


def signals(flow: Flow) -> QueueSpec | None:
    """The discipline whose marks or header fields a flow reads, or None."""
    fields = set(flow.definition.header)
    for discipline in QUEUES.values():
        if fields & set(discipline.header):
            return discipline()
    if flow.transport.ecn == "off":
        return None
    return QUEUES["dualpi2"]() if flow.transport.ecn == "l4s" else QUEUES["pie"](ecn=True)


def incast(flow: Flow, *, path: Bottleneck, count: int, size: int) -> Scenarios:
    """Many senders start a transfer of `size` packets within one RTT."""
    flows = flow.replace(name=TESTED, count=count, size=size)
    scenario = path.scenario([flows], 2.0)
    return {WITH: scenario.replace(flows=[scenario.flows[0].replace(jitter=path.rtt)])}


def jittered(flow: Flow, *, path: Bottleneck, longest: float, seconds: float = 60.0) -> Scenarios:
    """Two tested flows; random delays, in order, are added to the packets of the second only.

    Source: Arun, Alizadeh, Balakrishnan, Starvation in End-to-End Congestion Control, SIGCOMM 2022.
    """
    near, far, rate = "left", "far", 100 * path.rate
    net = path.network
    there = Link(far, near, rate=rate, delay=0.0, jitter=longest)
    back = Link(near, far, rate=rate, delay=0.0)
    flows = [flow.replace(name=f"{TESTED}.{k}", source=src) for k, src in enumerate((near, far))]
    joined = Network((*net.links, there, back), net.access, net.default_path)
    return {WITH: path.scenario(flows, seconds, net=joined)}
