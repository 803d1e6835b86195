"""The scenarios of the battery, by kind, and the noise that removes phase effects of equal packets.

Equal packets keep their order of arrival at a full buffer, so that some flows win or starve in a
whole run (experiments/random_hosts.py). `phase_free` breaks the order: hosts take up to one packet
time of the bottleneck for each packet, and round trips differ by 5 %. Every model runs the same
scenario.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

import tcpcc as tc
from experiments.random_hosts import packet_time

PACKET = 8000  # bits of a data packet
HOP = 0.005  # s, one-way delay of a shared link
SPREAD = 0.05  # largest relative deviation of a base RTT from its mean
JITTER = 1.0  # s, over which flows start


class Case(NamedTuple):
    """A scenario, and what is measured in it.

    Attributes:
        kind: kind of scenario.
        scenario: flows with one name are a group of like flows; bottlenecks are recorded.
        after: start of the measurement, s.
        joiner: group whose convergence is measured, or "".
    """

    kind: str
    scenario: tc.Scenario
    after: float
    joiner: str = ""


CASES: dict[str, Case] = {}
"""Every case by name, in the order of the tables."""


def flows(
    controller: str,
    number: int = 1,
    rtt: float = 0.06,
    *,
    hops: int = 1,
    name: str = "",
    **settings: Any,
) -> tc.Flow:
    """A group of `number` like flows with a base RTT of `rtt` s over `hops` shared links."""
    return tc.Flow(
        controller,
        count=number,
        name=name or f"{controller} {1e3 * rtt:g} ms",
        access_delay=rtt / 2 - hops * HOP,
        jitter=settings.pop("jitter", JITTER),
        **settings,
    )


def both_ways(
    pairs: Sequence[tuple[str, str]], rate: float, buffer: float, queue: Any = None
) -> tc.Network:
    """A network of equal links in both directions between the nodes of each pair."""
    return tc.Network(
        [
            tc.Link(a, b, rate=rate, delay=HOP, buffer=buffer, queue=queue, record=True)
            for pair in pairs
            for a, b in (pair, pair[::-1])
        ]
    )


def _add(name: str, case: Case) -> None:
    full = f"{case.kind}: {name}"
    if full in CASES:
        raise ValueError(f"two cases are called {full!r}")
    CASES[full] = case


def _bell(
    kind: str,
    name: str,
    mbps: float,
    bdp: float,
    traffic: Sequence[tc.Flow | tc.CBR],
    *,
    queue: Any = None,
    duration: float = 60.0,
    after: float | None = None,
    joiner: str = "",
    changes: Sequence[tc.Change] = (),
    loss: float = 0.0,
) -> None:
    """One bottleneck; its buffer in bandwidth-delay products of 60 ms, at least 2 packets."""
    room = max(round(bdp * mbps * 1e6 * 0.06 / PACKET), 2) if math.isfinite(bdp) else math.inf
    net = tc.dumbbell(mbps * 1e6, HOP, room, queue=queue, loss=loss)
    whole = tc.Scenario(net, traffic, duration=duration, changes=changes)
    late = duration / 4 if after is None else after
    _add(name, Case(kind, whole, late, joiner))


def _lot(
    name: str, hops: int, mbps: float, room: int, controller: str, per_hop: int, queue: Any = None
) -> None:
    """A parking lot: long flows over all links and `per_hop` flows over each."""
    net = tc.parking_lot(hops, mbps * 1e6, HOP, room, queue=queue)
    long = flows(controller, 2, 0.08, hops=hops, name="long")
    short = [
        flows(controller, per_hop, 0.05, name=f"hop {k + 1}", source=f"r{k}", target=f"r{k + 1}")
        for k in range(hops)
    ]
    whole = tc.Scenario(net, [long, *short], duration=80)
    _add(name, Case("parking lot", whole, 20.0))


def _mesh(
    name: str, nodes: int, number: int, mbps: float, room: int, controller: str, queue: Any = None
) -> None:
    """Flows between random pairs of nodes of a small-world graph; a group for each path length."""
    graph = nx.connected_watts_strogatz_graph(nodes, 4, 0.3, seed=nodes)
    net = both_ways([(f"n{a}", f"n{b}") for a, b in graph.edges], mbps * 1e6, room, queue)
    draw = np.random.default_rng(nodes)
    traffic = []
    for k in range(number):
        a, b = (int(n) for n in draw.choice(nodes, 2, replace=False))
        hops = nx.shortest_path_length(graph, a, b)
        traffic.append(
            flows(
                controller, 1, 0.02 + 2 * HOP * hops, hops=hops, name=f"{hops} hops.{k}",
                source=f"n{a}", target=f"n{b}",
            )
        )  # fmt: skip
    whole = tc.Scenario(net, traffic, duration=60)
    _add(name, Case("mesh", whole, 15.0))


def _two_way(name: str, mbps: float, room: int, controllers: Sequence[str], number: int) -> None:
    """`number` flows of each controller in each direction of one pair of links."""
    net = both_ways([("a", "b")], mbps * 1e6, room)
    traffic = [
        flows(
            controller, number, name=f"{controller} {source}>{target}", source=source, target=target
        )
        for controller in controllers
        for source, target in (("a", "b"), ("b", "a"))
    ]
    whole = tc.Scenario(net, traffic, duration=60)
    _add(name, Case("two-way", whole, 15.0))


def _transfers(number: int, size: int, until: float, rtt: float = 0.06) -> tc.Flow:
    """Short transfers that start at random times up to `until`."""
    name = f"{size} packets"
    return flows("newreno", number, rtt, name=name, size=size, jitter=until, recovery="sack")


def _red(number: int, **settings: Any) -> Any:
    """RED for `number` flows with about ten packets of buffer each."""
    return tc.queues.RED(
        min_thresh=1.5 * number, max_thresh=6 * number, weight=0.2 / number, **settings
    )


def _one_rtt() -> None:
    kind = "one RTT"
    _bell(kind, "1 NewReno, 1 Mb/s", 1, 2, [flows("newreno")], duration=120)
    _bell(kind, "1 NewReno, 100 Mb/s", 100, 0.5, [flows("newreno")], duration=20, after=0)
    _bell(kind, "1 NewReno SACK, 100 Mb/s", 100, 1, [flows("newreno", recovery="sack")])
    _bell(kind, "1 CUBIC, 1 Gb/s", 1000, 0.5, [flows("cubic")], duration=20, after=0)
    _bell(kind, "2 CUBIC, 20 Mb/s", 20, 1, [flows("cubic", 2)])
    _bell(kind, "5 Reno, 10 Mb/s", 10, 1, [flows("reno", 5)])
    _bell(kind, "10 NewReno, 50 Mb/s", 50, 1, [flows("newreno", 10)])
    _bell(kind, "8 NewReno SACK, 40 Mb/s", 40, 0.5, [flows("newreno", 8, recovery="sack")])
    _bell(kind, "20 CUBIC, 100 Mb/s", 100, 0.25, [flows("cubic", 20)])
    _bell(kind, "50 NewReno, 100 Mb/s", 100, 0.25, [flows("newreno", 50)])
    _bell(kind, "100 NewReno, 100 Mb/s", 100, 0.5, [flows("newreno", 100)])
    _bell(kind, "200 CUBIC, 200 Mb/s", 200, 0.5, [flows("cubic", 200)], duration=40)
    _bell(kind, "4 HSTCP, 1 Gb/s", 1000, 0.25, [flows("hstcp", 4)], duration=30)


def _unlike_rtts() -> None:
    kind = "unlike RTTs"
    two = [flows("newreno", 1, 0.03), flows("newreno", 1, 0.12)]
    _bell(kind, "2 NewReno", 10, 1, two, duration=120)
    _bell(kind, "5 + 5 NewReno", 50, 0.5, [flows("newreno", 5, 0.03), flows("newreno", 5, 0.12)])
    four = [flows("newreno", 1, rtt) for rtt in (0.03, 0.06, 0.12, 0.24)]
    _bell(kind, "4 NewReno of 30 to 240 ms", 20, 1, four, duration=120)
    _bell(kind, "3 x 7 CUBIC", 100, 0.5, [flows("cubic", 7, r) for r in (0.03, 0.06, 0.15)])
    fifty = [flows("newreno", 10, rtt) for rtt in (0.03, 0.05, 0.07, 0.09, 0.11)]
    _bell(kind, "50 NewReno", 100, 0.5, fifty)
    _bell(kind, "4 + 4 H-TCP", 100, 0.5, [flows("htcp", 4, 0.04), flows("htcp", 4, 0.1)])
    _bell(kind, "10 + 10 Reno, 1 Mb/s each", 20, 1, [flows("reno", 10, r) for r in (0.04, 0.16)])


def _delay_based() -> None:
    kind = "delay-based"
    _bell(kind, "1 Vegas", 10, 2, [flows("vegas")])
    _bell(kind, "3 Vegas", 10, 2, [flows("vegas", 3)])
    _bell(kind, "10 Vegas, 100 Mb/s", 100, 1, [flows("vegas", 10)])
    _bell(kind, "3 + 3 Vegas", 20, 2, [flows("vegas", 3, 0.03), flows("vegas", 3, 0.09)])
    _bell(kind, "2 FAST, 100 Mb/s", 100, 1, [flows("fast", 2)])
    _bell(kind, "5 Quick Vegas", 20, 2, [flows("quick_vegas", 5)])
    _bell(kind, "3 Westwood+", 20, 1, [flows("westwood_plus", 3)])
    _bell(kind, "4 Compound", 50, 1, [flows("compound", 4)])


def _mixed() -> None:
    kind = "mixed"
    _bell(kind, "5 NewReno, 5 CUBIC", 50, 0.5, [flows("newreno", 5), flows("cubic", 5)])
    _bell(kind, "1 Vegas, 1 NewReno", 10, 1, [flows("vegas"), flows("newreno")], duration=120)
    three = [flows(name, 2) for name in ("htcp", "cubic", "illinois")]
    _bell(kind, "H-TCP, CUBIC, Illinois", 60, 0.5, three)
    fifty = [
        flows(name, 5, r) for name in ("newreno", "cubic") for r in (0.03, 0.05, 0.07, 0.09, 0.11)
    ]
    _bell(kind, "25 NewReno, 25 CUBIC, unlike RTTs", 100, 0.5, fifty)
    _bell(kind, "2 Scalable, 2 NewReno", 100, 0.5, [flows("scalable", 2), flows("newreno", 2)])
    _bell(kind, "3 Westwood+, 3 NewReno", 30, 1, [flows("westwood_plus", 3), flows("newreno", 3)])
    cbr = tc.CBR(rate=5e6, name="cbr")
    _bell(kind, "4 NewReno and CBR", 20, 1, [flows("newreno", 4), cbr])


def _aqm() -> None:
    kind = "AQM"
    _bell(kind, "RED, 10 NewReno", 20, 1, [flows("newreno", 10)], queue=_red(10))
    _bell(kind, "RED, 100 NewReno", 200, 1, [flows("newreno", 100)], queue=_red(100), duration=40)
    unlike = [flows("newreno", 10, 0.03), flows("cubic", 10, 0.09)]
    _bell(kind, "RED, NewReno and CUBIC", 40, 1, unlike, queue=_red(20))
    _bell(kind, "adaptive RED, 20 NewReno", 40, 1, [flows("newreno", 20)], queue="adaptive_red")
    _bell(kind, "PI, 20 NewReno", 40, 1, [flows("newreno", 20)], queue=tc.queues.PI(qref=80))
    _bell(kind, "PI, 20 CUBIC", 40, 1, [flows("cubic", 20)], queue=tc.queues.PI(qref=80))
    _bell(kind, "PIE, 10 NewReno", 20, 2, [flows("newreno", 10)], queue="pie")
    _bell(kind, "PIE, 20 CUBIC", 50, 2, [flows("cubic", 20)], queue="pie")
    _bell(kind, "REM, 20 NewReno", 40, 1, [flows("newreno", 20)], queue="rem")


def _lots() -> None:
    _lot("2 hops, NewReno", 2, 10, 40, "newreno", 2)
    _lot("3 hops, NewReno", 3, 20, 60, "newreno", 4)
    _lot("3 hops, CUBIC", 3, 50, 100, "cubic", 4)
    _lot("4 hops, 12 NewReno each", 4, 50, 150, "newreno", 12)
    _lot("3 hops, RED", 3, 20, 150, "newreno", 8, _red(10))
    _lot("3 hops, PI", 3, 20, 150, "newreno", 8, tc.queues.PI(qref=40))
    _lot("3 hops, Vegas", 3, 20, 100, "vegas", 3)


def _meshes() -> None:
    _mesh("10 nodes, 20 NewReno", 10, 20, 10, 50, "newreno")
    _mesh("20 nodes, 30 CUBIC", 20, 30, 10, 50, "cubic")
    _mesh("12 nodes, 60 NewReno", 12, 60, 20, 60, "newreno")
    _mesh("15 nodes, 40 NewReno, RED", 15, 40, 10, 80, "newreno", _red(5))
    _mesh("10 nodes, 20 Vegas", 10, 20, 10, 100, "vegas")


def _two_ways() -> None:
    _two_way("1 NewReno each", 10, 40, ["newreno"], 1)
    _two_way("2 NewReno each", 10, 40, ["newreno"], 2)
    _two_way("20 NewReno each", 50, 150, ["newreno"], 20)
    _two_way("5 CUBIC each", 50, 150, ["cubic"], 5)
    _two_way("3 Vegas each", 20, 100, ["vegas"], 3)
    _two_way("NewReno and CUBIC", 40, 100, ["newreno", "cubic"], 3)


def _short_flows() -> None:
    kind = "short flows"
    long = flows("newreno", 2, recovery="sack")
    _bell(kind, "200 of 10 packets beside 2", 20, 1, [long, _transfers(200, 10, 50)], after=5)
    many = [flows("newreno", 5), _transfers(100, 100, 50), _transfers(200, 20, 50)]
    _bell(kind, "of 20 and 100 packets beside 5", 50, 0.5, many, after=5)
    _bell(kind, "100 of 50 packets alone", 10, 1, [_transfers(100, 50, 50)], after=0)
    _bell(kind, "40 of 1000 packets alone", 20, 1, [_transfers(40, 1000, 30)], after=0)
    _bell(kind, "10 of 5000 packets at once", 50, 0.5, [_transfers(10, 5000, 1)], after=0)
    crowd = [flows("newreno", 10), _transfers(300, 15, 50)]
    _bell(kind, "RED, 300 of 15 packets beside 10", 20, 1, crowd, queue=_red(10), after=5)


def _on_off() -> None:
    kind = "on/off"
    there = flows("newreno", 4)
    passing = [flows("newreno", 4, name=f"{k} s", start=k, stop=k + 10) for k in (10, 25, 40)]
    _bell(kind, "4 NewReno join 4 three times", 40, 0.5, [there, *passing])
    cbr = [tc.CBR(rate=1e7, on=[(15, 25), (35, 45)], name="cbr")]
    _bell(kind, "CBR over 5 CUBIC", 40, 0.5, [flows("cubic", 5), *cbr])
    rates = [tc.Change(t, "bottleneck", rate=r) for t, r in ((20, 1e7), (40, 4e7))]
    _bell(kind, "rate 40, 10, 40 Mb/s", 40, 0.5, [flows("newreno", 5)], changes=rates)
    delays = [tc.Change(t, "bottleneck", delay=d) for t, d in ((20, 0.03), (40, HOP))]
    _bell(kind, "delay 5, 30, 5 ms", 40, 0.5, [flows("cubic", 5)], changes=delays)


def _random_loss() -> None:
    kind = "random loss"
    for name in ("newreno", "cubic", "westwood_plus", "htcp"):
        _bell(kind, f"{name}, 0.1 %", 50, 2, [flows(name, 2)], loss=1e-3, duration=120)
    _bell(kind, "10 NewReno, 1 %", 50, 1, [flows("newreno", 10)], loss=1e-2)


def _joiners() -> None:
    kind = "joiners"
    for name, first, late, mbps in (
        ("newreno", 1, 1, 10),
        ("newreno", 4, 2, 50),
        ("cubic", 10, 5, 100),
    ):
        traffic = [
            flows(name, first, name="first"),
            flows(name, late, name="late", start=30, jitter=0),
        ]
        of = f"{late} {name} to {first}"
        _bell(kind, of, mbps, 0.5, traffic, duration=90, after=30, joiner="late")


for _kind in (
    _one_rtt, _unlike_rtts, _delay_based, _mixed, _aqm, _lots, _meshes, _two_ways, _short_flows,
    _on_off, _random_loss, _joiners,
):  # fmt: skip
    _kind()


def group_of(name: str) -> str:
    """Group of the flow `name`: flows of a group differ in what follows the dot."""
    return name.partition(".")[0]


def phase_free(scenario: tc.Scenario, seed: int, noise: float = 1.0) -> tc.Scenario:
    """The scenario without phase effects, every other flow of it as background for the hybrid.

    Args:
        scenario: the scenario.
        seed: seed of starts, of the noise and of the order in which flows get their round trips.
        noise: longest processing time of a packet, in packet times of the slowest link.
    """
    longest = noise * packet_time(scenario)
    single = scenario.replace(seed=seed).resolve()
    tcp = [k for k, flow in enumerate(single.flows) if flow.is_tcp]
    draw = np.random.default_rng(seed)
    shares = dict(zip(tcp, draw.permutation(np.linspace(0, 2 * SPREAD, len(tcp))), strict=True))
    flows: list[tc.Flow | tc.CBR] = []
    for k, flow in enumerate(single.flows):
        spec = flow.spec
        if not isinstance(spec, tc.Flow):
            flows.append(spec)
            continue
        rtt = 2 * sum(single.links[i].delay for i in flow.forward)
        flows.append(
            spec.replace(
                name=flow.name,
                access_delay=(spec.access_delay or 0.0) + shares[k] * rtt / 2,
                processing=longest,
                background=len(flows) % 2 == 1,
            )
        )
    return scenario.replace(flows=flows, seed=seed)
