"""The thesis' scenarios, with the settings that it does not give.

The evidence: with these settings its simulator, ns-2, reproduces the published drop-tail numbers to
the packet, and so does our packet model:

- Throughput is computed from the highest sequence number sent: it includes packets in flight and no
  retransmissions (:func:`experiments.red_fairness.tables.rates`).
- A Vegas packet has 1000 bytes on the wire, a Reno packet 1040, because ns-2's Vegas sends no
  header. Most of the apparent loss of utilization with each Reno flow is header.
- The smallest timeout is 1 s. Windows are reduced to whole packets (``precisionReduce_ 0``). The
  initial window is two packets; Reno starts with a handshake, Vegas without.
- The thesis' thresholds are 3n and 4n; item "thresholds" has 2n and 3n, too.
- A buffer holds 20 or 100 packets including the one in transmission; with RED, one more.
- Vegas' loss recovery is that of ns-2 with its quirks. With drop-tail they rarely matter; with RED
  Vegas' share depends on them (item "recovery").
- RED has the defaults of ns-2.27: ``wait``, ``gentle``, mean packet size of 500 bytes.
  `RED_SETTINGS` has its default gains ("A") and those that fit the published RED columns best
  ("B").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.seeds import seeds_up_to
from tcpcc.queues import QueueSpec

PACKET = 1000
"""Bytes of data in a packet."""

HEADER = 40
"""Additional header bytes of a Reno packet."""

TICK = 0.01
"""Tick of the senders' clocks, s."""

RED_SETTINGS: dict[str, dict[str, float]] = {
    "A": {"max_p": 1 / 10, "weight": -1},
    "B": {"max_p": 1 / 15, "weight": 0.002},
}
"""A: defaults of ns-2.27 (``linterm_ 10``, ``q_weight_ -1``), not fitted. B: the best fit among
about 50 sets (``linterm_ 15``)."""

SEEDS = seeds_up_to(40)
"""Seeds of the RED runs."""

JITTER_SEEDS = seeds_up_to(20)
"""Seeds of the drop-tail runs with start times spread over `JITTER`."""

JITTER = 0.1
"""s."""


def flow(
    kind: str,
    *,
    start: float = 0.0,
    phase: float = 0.0,
    recovery: str | None = "vegas-ns2",
    source: str | None = None,
    target: str | None = None,
    name: str | None = None,
    **params: float,
) -> tc.Flow:
    """A flow as in the thesis' simulator.

    Args:
        kind: controller; "reno", or one of the Vegas family.
        start: s.
        phase: phase of the sender's clock, s.
        recovery: loss recovery of the Vegas family; None for the controller's default. Reno always
            has "reno".
        source, target: nodes; None for the network's default.
        name: None for the controller's name and a number.
        **params: parameters of the controller.
    """
    reno = kind == "reno"
    transport = tc.Transport.ns2(
        initial_window=2, handshake=reno, min_rto=1.0, initial_rto=6.0, tick=TICK, clock_phase=phase
    )
    ends: dict[str, Any] = {"source": source, "target": target, "name": name, "start": start}
    if reno:
        return tc.Flow(
            "reno",
            recovery="reno",
            packet_size=PACKET + HEADER,
            header=HEADER,
            transport=transport,
            params={"integer_ssthresh": True, "integer_window": True} | params,
            **ends,
        )
    return tc.Flow(
        kind, packet_size=PACKET, transport=transport, recovery=recovery, params=params, **ends
    )


def chances(seed: int, flows: int) -> tuple[np.ndarray, np.ndarray]:
    """Start delays and clock phases of a seed, s.

    The queues' random numbers depend on the seed too. Seed 0 is the deterministic run: all flows
    start on time, with equal clock phases.
    """
    if seed == 0:
        return np.zeros(flows), np.zeros(flows)
    drawn = np.random.default_rng(seed).uniform(size=(2, flows))
    return JITTER * drawn[0], TICK * drawn[1]


def dumbbell(
    kinds: Sequence[str],
    rate: float,
    *,
    buffer: int,
    queue: QueueSpec | None = None,
    small: bool = False,
    starts: Sequence[float] | None = None,
    duration: float = 100.0,
    seed: int = 0,
    interval: float = 1.0,
    recovery: str | None = "vegas-ns2",
    params: Sequence[Mapping[str, Any]] | None = None,
) -> tc.Scenario:
    """Figures 3.3 and 4.1: one bottleneck with a delay of 40 ms.

    Args:
        kinds: controller of each flow.
        rate: rate of the bottleneck, bit/s.
        buffer: packets, including the one in transmission.
        queue: queue discipline; None for drop-tail.
        small: access links of Figure 3.3 (10 Mb/s, 0.4 ms) instead of Figure 4.1 (50 Mb/s, 1 ms).
        starts: start times, s; None for all at 0.
        duration: s.
        seed: seed of the queue and the clock phases, with drop-tail also of start delays; see
            `chances`.
        interval: recording interval, s.
        recovery: Vegas' loss recovery.
        params: parameters of each flow's controller.
    """
    n = len(kinds)
    late, phases = chances(seed, n)
    if queue is not None:
        late = np.zeros(n)
    starts = starts or [0.0] * n
    params = params or [{}] * n
    access_rate, access_delay = (10e6, 0.4e-3) if small else (50e6, 1e-3)
    net = tc.dumbbell(
        rate,
        0.040,
        buffer + (queue is not None),
        queue=queue,
        access_rate=access_rate,
        access_delay=access_delay,
    )
    flows = [
        flow(kind, start=starts[k] + late[k], phase=phases[k], recovery=recovery, **params[k])
        for k, kind in enumerate(kinds)
    ]
    return tc.Scenario(net, flows, duration=duration, seed=max(seed, 1), interval=interval)


# Tables 3.1, 4.1, 4.2: flows of two kinds, all starting at 0.

KINDS = {"V": "vegas", "R": "reno"}


@dataclass(frozen=True)
class Table:
    """The columns of a table and their common settings.

    Args:
        mixes: for each column, named as in the thesis, a letter per flow.
        rate, buffer, small: as in :func:`dumbbell`.
        thresholds: RED thresholds, packets. Section 3.3 has 4 and 6 for its two connections; the
            rule of section 3.4 would give 6 and 8 (erratum A10).
    """

    mixes: Mapping[str, str]
    rate: float
    buffer: int
    thresholds: tuple[float, float]
    small: bool = False


TABLES = {
    "table_3_1": Table(
        {"V vs V": "VV", "V vs R": "VR", "R vs R": "RR"}, 1.5e6, 20, (4, 6), small=True
    ),
    "table_4_1": Table({"5V": "VVVVV", "4V1R": "VVVVR", "1V4R": "VRRRR"}, 1.5e6, 100, (15, 20)),
    "table_4_2": Table(
        {"9V1R": 9 * "V" + "R", "5V5R": 5 * "V" + 5 * "R", "1V9R": "V" + 9 * "R"},
        2e6,
        100,
        (30, 40),
    ),
}

QUEUES = ("drop-tail", "RED")


def red(thresholds: tuple[float, float], setting: str = "B") -> QueueSpec:
    """RED with fixed thresholds in packets and the gains of `RED_SETTINGS`."""
    return tc.queues.RED(
        min_thresh=thresholds[0], max_thresh=thresholds[1], **RED_SETTINGS[setting]
    )


def mixed(
    table: str,
    mix: str,
    queue: str,
    seed: int = 0,
    *,
    setting: str = "B",
    interval: float = 1.0,
    recovery: str | None = "vegas-ns2",
) -> tc.Scenario:
    """A column of Tables 3.1, 4.1, 4.2: `queue` is one of `QUEUES`."""
    t = TABLES[table]
    return dumbbell(
        [KINDS[letter] for letter in t.mixes[mix]],
        t.rate,
        buffer=t.buffer,
        small=t.small,
        queue=red(t.thresholds, setting) if queue == "RED" else None,
        seed=seed,
        interval=interval,
        recovery=recovery,
    )


# Table 4.3: flows join, and RED's thresholds follow an estimate of their number.

ERRORS = {"+20%": 0.2, "+10%": 0.1, "8V2R": 0.0, "-10%": -0.1, "-20%": -0.2}
"""Relative error of the estimated number of connections, by column."""

JOINING = (0.0, 0.0, 10.0, 10.0, 20.0, 20.0, 30.0, 30.0, 40.0, 40.0)
"""Start times, s: two Vegas flows every 10 s, both Reno flows at 40 s. Among several readings of
the text, this one gives the 79 drops of the drop-tail column. ("Every 10 seconds ... successively"
would start the last Vegas flow at 70 s, where the averages begin.)"""


def connection_red(error: float = 0.0, setting: str = "B", **params: float) -> QueueSpec:
    """RED with thresholds 3 n and 4 n (section 3.4); `error` is the relative error of n."""
    return tc.queues.ConnectionRED(beta=3, error=error, **(RED_SETTINGS[setting] | params))


def joining(
    column: str,
    seed: int = 0,
    *,
    setting: str = "B",
    interval: float = 1.0,
    recovery: str | None = "vegas-ns2",
) -> tc.Scenario:
    """A column of Table 4.3: "drop-tail" or one of `ERRORS`.

    The slope of RED's drop probability is always that of ten connections, because a script that
    moves the thresholds of ns-2's RED does not change it.
    """
    return dumbbell(
        8 * ["vegas"] + 2 * ["reno"],
        2e6,
        buffer=100,
        queue=None
        if column == "drop-tail"
        else connection_red(ERRORS[column], setting, slope_flows=len(JOINING)),
        starts=JOINING,
        duration=101.0,
        seed=seed,
        interval=interval,
        recovery=recovery,
    )


# Table 4.4: six routers (Figure 4.8).

DEPLOYED = {"drop-tail": (), "R1": ("R1",), "R3": ("R3",), "ALL": ("R1", "R3", "R4")}
"""Routers with RED by column; R2, R5 and R6 never have a queue in this direction."""


def routers(
    column: str,
    seed: int = 0,
    *,
    setting: str = "B",
    interval: float = 1.0,
    recovery: str | None = "vegas-ns2",
) -> tc.Scenario:
    """A column of Table 4.4: `column` is one of `DEPLOYED`.

    S1 (Reno, from 10 s) and S2 (Vegas) enter through R3, S3 and S4 (Vegas, the latter from 20 s)
    through R4; R1 > R2 is the common bottleneck.
    """

    def queue(router: str, flows: int) -> QueueSpec | None:
        return red((3 * flows, 4 * flows), setting) if router in DEPLOYED[column] else None

    def there_and_back(a: str, b: str, rate: float, delay: float, buffer: int, flows: int):
        discipline = queue(a, flows)
        room = buffer + (discipline is not None)
        return [
            tc.Link(a, b, rate=rate, delay=delay, buffer=room, queue=discipline, record=a == "R1"),
            tc.Link(b, a, rate=rate, delay=delay),
        ]

    links = [
        *there_and_back("R1", "R2", 2e6, 0.040, 100, 4),
        *there_and_back("R3", "R1", 1.5e6, 0.020, 20, 2),
        *there_and_back("R4", "R1", 1.5e6, 0.020, 20, 2),
        *there_and_back("R2", "R5", 1.5e6, 0.020, 20, 2),
        *there_and_back("R2", "R6", 1.5e6, 0.020, 20, 2),
    ]
    late, phases = chances(seed, 4)
    if column != "drop-tail":
        late = np.zeros(4)
    net = tc.Network(links, tc.Access(10e6, 1e-3))
    plan = [("reno", 10.0, "R3", "R5"), ("vegas", 0.0, "R3", "R5"), ("vegas", 0.0, "R4", "R6")]
    plan.append(("vegas", 20.0, "R4", "R6"))
    flows = [
        flow(kind, start=start + late[k], phase=phases[k], source=source, target=target,
             recovery=recovery, name=f"S{k + 1}")
        for k, (kind, start, source, target) in enumerate(plan)
    ]  # fmt: skip
    return tc.Scenario(net, flows, duration=201.0, seed=max(seed, 1), interval=interval)


# Scenarios of the tables, by (column, seed).


def mix_runs(table: str, *, setting: str = "B") -> dict[Any, Any]:
    """Tables 3.1, 4.1, 4.2; columns "drop-tail V vs R", "RED V vs R"."""
    return {
        (f"{queue} {mix}", seed): mixed(table, mix, queue, seed, setting=setting)
        for queue, seeds in (("drop-tail", [0, *JITTER_SEEDS]), ("RED", SEEDS))
        for mix in TABLES[table].mixes
        for seed in seeds
    }


def joining_runs(*, setting: str = "B") -> dict[Any, Any]:
    """Table 4.3; columns "drop-tail" and those of `scenarios.ERRORS`."""
    return _with_seeds([*ERRORS], joining, setting)


def routers_runs(*, setting: str = "B") -> dict[Any, Any]:
    """Table 4.4; columns "drop-tail", "R1", "R3", "ALL"."""
    return _with_seeds([*DEPLOYED][1:], routers, setting)


def _with_seeds(
    columns: Iterable[str], make: Callable[..., tc.Scenario], setting: str
) -> dict[Any, Any]:
    runs = {("drop-tail", seed): make("drop-tail", seed) for seed in (0, *JITTER_SEEDS)}
    return runs | {(c, seed): make(c, seed, setting=setting) for c in columns for seed in SEEDS}


# Scenarios of the figures: one run per panel with fine recording; with RED the first seed.

FINE = 0.1
"""Recording interval, s."""


def drawn_mixes(table: str) -> dict[str, tc.Scenario]:
    """Scenarios of a table, by column."""
    return {
        f"{queue} {mix}": mixed(table, mix, queue, int(queue == "RED"), interval=FINE)
        for mix in TABLES[table].mixes
        for queue in QUEUES
    }


def drawn_joining() -> dict[str, tc.Scenario]:
    return {c: joining(c, int(c != "drop-tail"), interval=FINE) for c in ("drop-tail", "8V2R")}


def drawn_routers() -> dict[str, tc.Scenario]:
    return {c: routers(c, int(c != "drop-tail"), interval=FINE) for c in DEPLOYED}
