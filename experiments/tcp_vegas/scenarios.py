"""The scenarios of the Vegas paper.

Settings that the paper does not give, with the evidence for each:

- Vegas follows the paper's text: the RTT of the distinguished segment, a real Delta, no reduction
  of the window at the end of slow start. With ns-2's mean RTT, Vegas* cannot improve on Vegas: the
  segment that Vegas loses in Figure 11 is not lost, because the flow's own bursts end slow start
  earlier.
- 200 KB/s are 1.6 Mb/s, a KB of 1000 bytes. A packet has 1.4 KB of data, here a KB of 1024 bytes
  (1434 bytes), and a header of 40 bytes. Only this mixture gives Figure 7: Vegas' first slow start
  ends because 16 packets are one more than the path holds. With either KB in both places the window
  is below this limit: it doubles once more, and a window of packets is lost (item "settings"). 1 MB
  is 1024 KB, as in Table II.
- Reno is that of 4.3BSD: several losses in a window cut it several times (section III-A), and the
  timer is checked every 500 ms. The paper does not give the clock phase at the start of a
  connection. Runs without other random settings draw it at random. A timeout comes 2.2 s after the
  lost segment was sent, in the mean; the paper measured 1.1 s on the Internet (item "clock").
- Every packet is acknowledged, as in the text's description of slow start (item "settings" has
  delayed ACKs).
- The hosts' Ethernets have 10 Mb/s and no delay. The reverse path has the same buffers.
- Background traffic is `tcpcc.workloads.tcplib` with 8 conversations per second. This is the whole
  number for which Reno's throughput, retransmissions and timeouts together are closest to Table IV
  (see item "load"). The results for Vegas in this table are not fitted. Traffic starts 10 s before
  the transfer. Each of the three buffers is used in 19 of the 57 runs.
- Connections in fairness experiments start together, and the clocks of all hosts have the same
  phase, as in a simulator that starts its hosts together. The buffer is the largest of the others,
  20. Item "fairness_settings" has alternatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

import tcpcc as tc
from experiments.seeds import seeds_up_to
from experiments.tcp_vegas import bsd
from tcpcc.controllers.controller import Controller

KB = 1000
"""Bytes."""

MB = 1024
"""KB."""

HEADER = 40
PACKET = 1434 + HEADER
"""Bytes on the wire."""

PAYLOAD = (PACKET - HEADER) / KB
"""KB."""

RATE = 200
"""Rate of the bottleneck, KB/s."""

DELAY = 0.050
"""One-way delay of the bottleneck, s."""

SEND_BUFFER = 50
"""KB."""

TICK = 0.5
"""Period of the hosts' coarse timer, s."""

JSAC: dict[str, float] = {"distinguished": True, "integer_delta": False, "start_cut": 0}
"""Vegas as in the paper's text."""


class Kind(NamedTuple):
    """A TCP: controller, loss recovery, parameters."""

    controller: str | Controller
    recovery: str
    params: Mapping[str, float]


KINDS = {
    "Reno": Kind("reno", "reno-rfc5681", {"integer_ssthresh": True}),
    "Vegas-1,3": Kind("vegas", "vegas", {**JSAC, "alpha": 1, "beta": 3}),
    "Vegas-2,4": Kind("vegas", "vegas", {**JSAC, "alpha": 2, "beta": 4}),
    "DUAL": Kind("dual", "reno-rfc5681", {"integer_ssthresh": True}),
    "CARD": Kind("card", "reno-rfc5681", {"integer_ssthresh": True}),
    "Tri-S": Kind("tri_s", "reno-rfc5681", {"integer_ssthresh": True}),
    "BSD": Kind(bsd.RENO, "reno-rfc5681", {"integer_ssthresh": True}),
}
RENO, VEGAS = "Reno", "Vegas-1,3"
BOTH = (RENO, VEGAS)
TABLE = ("Reno", "Vegas-1,3", "Vegas-2,4")
"""Columns of Tables I and IV."""


def flow(
    kind: str,
    size: float | None,
    *,
    start: float = 0.0,
    phase: float = 0.0,
    send_buffer: float = SEND_BUFFER,
    transport: Mapping[str, Any] | None = None,
    params: Mapping[str, float] | None = None,
    **settings: Any,
) -> tc.Flow:
    """A transfer.

    Args:
        kind: a key of `KINDS`.
        size: KB; None for unlimited.
        start: s.
        phase: phase of the host's clock, s.
        send_buffer: KB.
        transport, params, **settings: arguments of `tcpcc.Flow` that extend or replace the paper's
            settings.
    """
    of_kind = KINDS[kind]
    sender = tc.Transport.bsd(
        rwnd=int(send_buffer / PAYLOAD), clock_phase=phase, **(transport or {})
    )
    return tc.Flow(
        of_kind.controller,
        size=None if size is None else f"{size * KB:.0f} B",
        start=start,
        **{"recovery": of_kind.recovery, "packet_size": PACKET, "header": HEADER, **settings},
        transport=sender,
        params={**of_kind.params, **(params or {})},
    )


def network(buffer: int, rate: float = RATE) -> tc.Network:
    """Figure 6; `buffer` in packets, `rate` in KB/s."""
    return tc.dumbbell(
        8 * KB * rate, DELAY, buffer, access_rate=10e6, access_delay=0, reverse_buffer=buffer
    )


def clock(*seed: int) -> float:
    """Random phase of a host's clock, s."""
    return float(np.random.default_rng(seed).uniform(0, TICK))


# Figures 5, 7 and 11: a transfer without other traffic.

PHASES = tuple(TICK * k / 10 for k in range(10))


def alone(kind: str, *, buffer: int = 10, rate: float = RATE, **settings: Any) -> tc.Scenario:
    """1 MB with no other traffic."""
    return tc.Scenario(
        network(buffer, rate), [flow(kind, MB, **settings)], duration=30, interval=0.05
    )


def figure_5_runs() -> dict[Any, tc.Scenario]:
    return {(RENO, k): alone(RENO, phase=phase) for k, phase in enumerate(PHASES, 1)}


def figure_7_runs() -> dict[Any, tc.Scenario]:
    return {(VEGAS, 0): alone(VEGAS)}


START_UPS = {"Vegas": "standard", "Vegas*": "vegas_star"}


def figure_11_runs() -> dict[Any, tc.Scenario]:
    """300 KB/s, 16 buffers; the send buffer does not limit the 400 KB/s that Vegas reaches."""
    return {
        (name, 0): alone(VEGAS, buffer=16, rate=300, slow_start=start_up, send_buffer=200)
        for name, start_up in START_UPS.items()
    }


SETTINGS: dict[str, Any] = {
    "as in Figure 7": partial(alone, VEGAS),
    "mean RTT of the round, as ns-2": partial(alone, VEGAS, params={"distinguished": 0}),
    "1/8 less after slow start, as ns-2": partial(alone, VEGAS, params={"start_cut": 1 / 8}),
    "KB of 1024 bytes": partial(alone, VEGAS, rate=RATE * 1.024),
    "KB of 1000 bytes, also in packets": partial(alone, VEGAS, packet_size=1400 + HEADER),
    "packets of 1434 bytes with the header": partial(alone, VEGAS, rate=RATE * 1474 / 1434),
    "BaseRTT from the SYN": partial(alone, VEGAS, transport={"syn_rtt": True}),
    "delayed ACKs": partial(alone, VEGAS, transport={"delayed_ack": 0.2}),
}
"""Settings that affect Figure 7. A smaller packet is equivalent to a faster link."""

RENO_SETTINGS: dict[str, dict[str, Any]] = {
    "as in Figure 5": {},
    "one cut for a window's losses": {"recovery": "reno"},
    "timer of ns-2, 10 ms": {"transport": {"tick": 0.01, "coarse_timer": False, "min_rto": 0.2}},
    "timer of ns-2, 500 ms": {"transport": {"coarse_timer": False}},
}


def settings_runs() -> dict[Any, tc.Scenario]:
    return {("Vegas", name, 0): make() for name, make in SETTINGS.items()} | {
        (RENO, name, k): alone(RENO, phase=phase, **settings)
        for name, settings in RENO_SETTINGS.items()
        for k, phase in enumerate(PHASES, 1)
    }


PREDECESSORS = ("Reno", "DUAL", "CARD", "Tri-S", "Vegas-1,3")


def predecessor_runs() -> dict[Any, tc.Scenario]:
    """Predecessors compared with Vegas in section III-B, on the network of Figures 5 and 7."""
    return {
        (kind, k): alone(kind, phase=phase)
        for kind in PREDECESSORS
        for k, phase in enumerate(PHASES, 1)
    }


# Table III: a transfer of 300 KB during one of 1 MB.

PAIRS = tuple((small, large) for small in (RENO, VEGAS) for large in (RENO, VEGAS))
"""(kind of the 300 KB transfer, kind of the 1 MB transfer)."""

PAIR_BUFFERS = (15, 20)
PAIR_DELAYS = tuple(0.5 * k for k in range(6))
"""Start of the 300 KB transfer, s; six values and two buffers make the 12 runs."""

PAIR_DRAWS = seeds_up_to(5)
"""Draws of the hosts' clock phases for each of the 12 runs; Reno's timeouts depend on them."""


def pair(
    small: str, large: str, buffer: int, delay: float, draw: int, *, beside_traffic: bool = False
) -> tc.Scenario:
    seed = draw, buffer, round(2 * delay)
    begin = WARM_UP if beside_traffic else 0.0
    flows = [
        flow(small, 300, start=begin + delay, phase=clock(1, *seed)),
        flow(large, MB, start=begin, phase=clock(2, *seed)),
    ]
    return tc.Scenario(
        network(buffer),
        flows,
        workloads=[traffic()] if beside_traffic else [],
        duration=begin + (80 if beside_traffic else 40),
        interval=0.1,
        seed=draw,
    )


def pair_runs(*, beside_traffic: bool = False) -> dict[Any, tc.Scenario]:
    """By (small, large, buffer, draw, delay)."""
    return {
        (small, large, buffer, draw, delay): pair(
            small, large, buffer, delay, draw, beside_traffic=beside_traffic
        )
        for small, large in PAIRS
        for buffer in PAIR_BUFFERS
        for draw in PAIR_DRAWS
        for delay in PAIR_DELAYS
    }


# Table IV and its variations: background traffic.

CONVERSATIONS = 8.0
"""Conversations per second."""

REVERSE_CONVERSATIONS = CONVERSATIONS / 2
"""Conversations per second of reverse traffic, where there is any. With this load the ratio of
throughputs is the same as without reverse traffic, as the text says."""

BUFFERS = (10, 15, 20)
RUNS = seeds_up_to(57)
WARM_UP = 10.0
"""s."""


@cache
def traffic(
    kind: str = RENO, rate: float = CONVERSATIONS, *, reverse: bool = False, **path: Any
) -> tc.Workload:
    """tcplib's conversations over connections of a kind; with `reverse`, from right to left."""
    if reverse:
        path = {"source": "right", "target": "left"}
    connection = flow(kind, None, **path)
    return tc.Workload(
        connection,
        tc.workloads.tcplib.CONVERSATIONS,
        interarrival=tc.workloads.poisson(rate),
        name="back" if reverse else "tcplib",
    )


def with_traffic(
    kind: str,
    run: int,
    *,
    background: str = RENO,
    rate: float = CONVERSATIONS,
    two_way: bool = False,
    duration: float = 90.0,
    **settings: Any,
) -> tc.Scenario:
    """1 MB with background traffic; `run`, one of 57, is the seed and determines the buffer.

    `settings` are the transfer's, as in `flow`.
    """
    transfer = flow(kind, MB, start=WARM_UP, phase=clock(3, run), **settings)
    workloads = [traffic(background, rate)]
    if two_way:
        workloads.append(traffic(background, REVERSE_CONVERSATIONS, reverse=True))
    return tc.Scenario(
        network(BUFFERS[run % 3]),
        [transfer],
        workloads=workloads,
        duration=duration,
        interval=0.1,
        seed=run,
    )


def traffic_runs(kinds: Sequence[str] = TABLE, **settings: Any) -> dict[Any, tc.Scenario]:
    return {(kind, run): with_traffic(kind, run, **settings) for kind in kinds for run in RUNS}


def table_4_runs() -> dict[Any, tc.Scenario]:
    return traffic_runs()


def background_runs() -> dict[Any, tc.Scenario]:
    """By (background, kind, run): Table IV with its background of Reno, and with one of Vegas."""
    return {
        (background, *key): scenario
        for background in BOTH
        for key, scenario in traffic_runs(background=background).items()
    }


LOADS = (6, 8, 10)
"""Conversations per second."""


def load_runs() -> dict[Any, tc.Scenario]:
    """Table IV with other loads, by (kind, load, run)."""
    return {
        (kind, load, run): with_traffic(kind, run, rate=load)
        for kind in BOTH
        for load in LOADS
        for run in RUNS
    }


CLOCKS = {"500 ms, load 8": (0.5, 8), "500 ms, load 9": (0.5, 9), "250 ms, load 9": (0.25, 9)}
"""Tick of the transfer's timer, s, and conversations per second."""


def clock_runs() -> dict[Any, tc.Scenario]:
    """Table IV with another tick of the transfer's timer, by (kind, clock, run)."""
    return {
        (kind, name, run): with_traffic(kind, run, rate=load, transport={"tick": tick})
        for kind in BOTH
        for name, (tick, load) in CLOCKS.items()
        for run in RUNS
    }


SEND_BUFFERS = (50, 30, 20, 10, 5)
"""KB."""


def send_buffer_runs() -> dict[Any, tc.Scenario]:
    return {
        (kind, size, run): with_traffic(kind, run, send_buffer=size)
        for kind in BOTH
        for size in SEND_BUFFERS
        for run in RUNS
    }


# Variations of Reno in other BSD versions, section VI-D.

EVERY_OTHER: dict[str, Any] = {"delayed_ack": 0.2, "ack_every": 2}
STAMPS: dict[str, Any] = {"packet_size": PACKET + 12, "header": HEADER + 12}
"""The option takes 12 bytes."""

BSD: dict[str, dict[str, Any]] = {
    "ours": {},
    "ACK every other segment": {"transport": EVERY_OTHER},
    "half a segment per RTT": {"params": {"a": 0.5}},
    "half a segment per RTT, 1/8 per ACK": {"params": {"a": 0.5, "b": 1 / 8}},
    "time stamps": {"transport": {"timestamps": True}, **STAMPS},
    "all, as 4.4BSD-Lite": {
        "params": {"a": 0.5, "b": 1 / 8},
        "transport": {**EVERY_OTHER, "timestamps": True},
        **STAMPS,
    },
}
"""Settings of `flow` by variation."""


def bsd_runs() -> dict[Any, tc.Scenario]:
    """A transfer without other traffic, by (variation, run)."""
    return {
        (name, k): alone("BSD", phase=phase, **settings)
        for name, settings in BSD.items()
        for k, phase in enumerate(PHASES, 1)
    }


def bsd_traffic_runs() -> dict[Any, tc.Scenario]:
    """Table IV's transfer, by (variation, run)."""
    return {
        (name, run): with_traffic("BSD", run, **settings)
        for name, settings in BSD.items()
        for run in RUNS
    }


TRACED = 5
"""The run of Figures 9 and 10."""


def figure_9_runs() -> dict[Any, tc.Scenario]:
    return {VEGAS: with_traffic(VEGAS, TRACED)}


def figure_10_runs() -> dict[Any, tc.Scenario]:
    """Same conversations as in Figure 9."""
    return {RENO: with_traffic(RENO, TRACED)}


# Section VI: fairness, stability, queues.

FAIR_BUFFER = 20
FAIR_RUNS = seeds_up_to(12)
CROWDS = {"2 and 4": (2, 4), "16": (16,)}
SIZES = {"2 and 4": 8 * MB, "16": 2 * MB}
"""Size of each connection, KB."""

DELAYS = {"equal delays": 1.0, "half with twice the delay": 2.0}


def crowd(
    kinds: Sequence[str],
    size: float,
    run: int,
    *,
    longer: float = 1.0,
    buffer: int = FAIR_BUFFER,
    rate: float = RATE,
    together: bool = True,
    beside_traffic: bool = False,
) -> tc.Scenario:
    """Connections that share a bottleneck, every other one with `longer` times the delay.

    With `together`, they start together, and their hosts' clocks have the same random phase.
    Otherwise they start at random times in the first second, each with its own clock phase.
    """
    begin = WARM_UP if beside_traffic else 0.0
    starts = np.zeros(len(kinds))
    phases = [clock(5, run)] * len(kinds)
    if not together:
        starts = np.random.default_rng((4, run)).uniform(0, 1, len(kinds))
        phases = [clock(5, run, k) for k in range(len(kinds))]
    extra = (longer - 1) * DELAY
    flows = [
        flow(
            kind, size, start=begin + float(starts[k]), phase=phases[k],
            access_delay=extra if k % 2 else 0.0,
        )
        for k, kind in enumerate(kinds)
    ]  # fmt: skip
    length = begin + 4 * sum(f.size * PACKET for f in flows if f.size) / (KB * rate)
    return tc.Scenario(
        network(buffer, rate),
        flows,
        workloads=[traffic()] if beside_traffic else [],
        duration=length,
        interval=length / 200,
        seed=run,
    )


def fairness_runs(runs: Sequence[int] = FAIR_RUNS, **settings: Any) -> dict[Any, tc.Scenario]:
    """By (kind, number, delays, run)."""
    return {
        (kind, n, delays, run): crowd([kind] * n, SIZES[name], run, longer=longer, **settings)
        for kind in BOTH
        for name, counts in CROWDS.items()
        for n in counts
        for delays, longer in DELAYS.items()
        for run in runs
    }


FAIR_SETTINGS: dict[str, dict[str, Any]] = {
    "10 buffers": {"buffer": 10},
    "begun at random, own clocks": {"together": False},
    "while all are active": {},
}
"""Alternative assumptions about the network, the start times or (the last one) the measure."""


def fairness_settings_runs() -> dict[Any, tc.Scenario]:
    """By (setting, kind, number, delays, run)."""
    return {
        (name, *key): scenario
        for name, settings in FAIR_SETTINGS.items()
        for key, scenario in fairness_runs(FAIR_RUNS[:6], **settings).items()
    }


def fairness_traffic_runs() -> dict[Any, tc.Scenario]:
    """Four connections of 2 MB with background traffic."""
    return {
        (kind, run): crowd([kind] * 4, 2 * MB, run, beside_traffic=True)
        for kind in BOTH
        for run in FAIR_RUNS
    }


MIXES = {"8 Reno": [RENO] * 8, "4 of each": [RENO, VEGAS] * 4, "8 Vegas": [VEGAS] * 8}


def mixed_runs() -> dict[Any, tc.Scenario]:
    """8 connections of 2 MB."""
    return {
        (name, run): crowd(kinds, 2 * MB, run, together=False)
        for name, kinds in MIXES.items()
        for run in FAIR_RUNS
    }


STABLE = tuple((buffer, rate) for buffer in (10, 20) for rate in (100, 200))
"""Packets, KB/s."""


def stability_runs() -> dict[Any, tc.Scenario]:
    """16 connections of 2 MB."""
    return {
        (kind, buffer, rate, run): crowd(
            [kind] * 16, 2 * MB, run, buffer=buffer, rate=rate, together=False
        )
        for kind in BOTH
        for buffer, rate in STABLE
        for run in FAIR_RUNS[:4]
    }


QUEUE_RATE = 10.0
"""Conversations per second; they use most of the bottleneck. There is no transfer."""


def queue_runs() -> dict[Any, tc.Scenario]:
    """All traffic over Reno, or all over Vegas."""
    return {
        (kind, run): tc.Scenario(
            network(BUFFERS[run % 3]),
            [],
            workloads=[traffic(kind, QUEUE_RATE)],
            duration=100,
            interval=0.5,
            seed=run,
        )
        for kind in BOTH
        for run in RUNS
    }


# Vegas' equilibrium in the fluid model.

EQUILIBRIA = tuple((n, alpha) for n in (1, 2, 4) for alpha in (1, 2, 3, 4, 6))
"""Numbers of flows, and alpha in packets; beta is `BETA` more."""

BETA = 2


def equilibrium(flows: int, alpha: float) -> tc.Scenario:
    """Vegas flows with alpha and beta = alpha + `BETA` that start together and never end."""
    flow = tc.Flow("vegas", count=flows, packet_size=PACKET, alpha=alpha, beta=alpha + BETA)
    return tc.Scenario(network(100), [flow], duration=60, interval=0.1)


def equilibrium_runs() -> dict[Any, tc.Scenario]:
    return {key: equilibrium(*key) for key in EQUILIBRIA}


# The complex network, Figure 12: a substitute, because the text does not give its links.

BACKBONE = {
    ("la", "sf"): (45e6, 0.005),
    ("la", "sdsc"): (45e6, 0.003),
    ("sf", "ch"): (10e6, 0.025),
    ("la", "ch"): (10e6, 0.027),
    ("ch", "anl"): (45e6, 0.002),
    ("ch", "cl"): (10e6, 0.005),
    ("cl", "psc"): (45e6, 0.003),
    ("sdsc", "psc"): (10e6, 0.032),
}
"""Rate, bit/s, and delay, s, of links by their ends; both directions are equal."""

SITES = ("la", "sf", "sdsc", "ch", "anl", "cl", "psc")
SOURCES = 16
COMPLEX_RATE = 900.0
"""New conversations per second of all sources ("nearly a thousand")."""

COMPLEX_SEEDS = seeds_up_to(3)


def complex_network(kind: str, seed: int) -> tc.Scenario:
    """16 traffic sources at seven sites; source k sends to the site 2 + k // 7 further on."""
    links = [
        tc.Link(*ends, rate=rate, delay=delay, buffer=30, name=f"{ends[0]}>{ends[1]}", record=True)
        for pair, (rate, delay) in BACKBONE.items()
        for ends in (pair, pair[::-1])
    ]
    net = tc.Network(links, tc.Access(10e6, 0.001))
    loads = []
    for k in range(SOURCES):
        source, target = SITES[k % 7], SITES[(k + 2 + k // 7) % 7]
        load = traffic(kind, COMPLEX_RATE / SOURCES, source=source, target=target)
        loads.append(load.replace(name=f"ts{k + 1}"))
    return tc.Scenario(net, [], workloads=loads, duration=20, interval=0.5, seed=seed)


def complex_runs() -> dict[Any, tc.Scenario]:
    return {(kind, seed): complex_network(kind, seed) for kind in BOTH for seed in COMPLEX_SEEDS}


# Tables I and II: a substitute for the path from Arizona to Maryland.

HOPS = 17
SLOW_HOPS = (4, 8, 12)
"""Hops of 1.5 Mb/s with their own background traffic; the others have 45 Mb/s."""

INTERNET_RATE = 6.0
"""Conversations per second on each slow hop."""

INTERNET_RUNS = RUNS
"""Runs per transfer; the paper has one run per hour on seven days."""

INTERNET_SIZES = (1024, 512, 128)
"""KB."""


def internet(kind: str, size: float, run: int) -> tc.Scenario:
    """17 hops with a base RTT of 60 ms; three hops of 1.5 Mb/s carry background traffic."""
    net = tc.chain(
        HOPS,
        [1.5e6 if k in SLOW_HOPS else 45e6 for k in range(HOPS)],
        0.030 / HOPS,
        [15 if k in SLOW_HOPS else 50 for k in range(HOPS)],
        access_rate=10e6,
        access_delay=0,
    )
    loads = [
        traffic(RENO, INTERNET_RATE, source=f"r{k}", target=f"r{k + 1}").replace(name=f"hop{k}")
        for k in SLOW_HOPS
    ]
    transfer = flow(kind, size, start=WARM_UP, phase=clock(6, run))
    return tc.Scenario(net, [transfer], workloads=loads, duration=90, interval=0.2, seed=1000 + run)


def internet_runs(kinds: Sequence[str], sizes: Sequence[float]) -> dict[Any, tc.Scenario]:
    return {
        (kind, size, run): internet(kind, size, run)
        for kind in kinds
        for size in sizes
        for run in INTERNET_RUNS
    }
