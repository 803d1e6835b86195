"""The thesis' scenarios, with the settings that it does not print.

Evidence for these is that its simulator, ns-2, then gives the printed drop-tail numbers to the
packet, and so does our packet model:

- Throughput is the highest sequence number sent: it counts what is in flight and no retransmission
  (:func:`experiments.red_fairness.tables.rates`).
- A Vegas packet is 1000 bytes on the wire, a Reno packet 1040: ns-2's Vegas sends no header. Most
  of what the utilization "loses" with each Reno flow is header.
- The smallest timeout is 1 s; windows are cut to whole packets (``precisionReduce_ 0``); both kinds
  open with two packets, Reno after a handshake, Vegas at once.
- A buffer holds 20 or 100 packets with the one being sent; with RED, one more.
- Vegas' loss recovery is ns-2's with its quirks. With drop-tail they are hardly ever reached; under
  RED Vegas' share hangs on them, see :func:`dumbbell`'s `recovery`.
- ``wait``, ``gentle``, a mean packet of 500 bytes: RED as ns-2.27 had it by default. `RED_SETTINGS`
  has its default gains ("A") and those that fit the printed RED columns best ("B").
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
"""Bytes that a Reno packet has on top."""

TICK = 0.01
"""Of the senders' clocks, s."""

RED_SETTINGS: dict[str, dict[str, float]] = {
    "A": {"max_p": 1 / 10, "weight": -1},
    "B": {"max_p": 1 / 15, "weight": 0.002},
}
"""A: ns-2.27's defaults (``linterm_ 10``, ``q_weight_ -1``), nothing fitted. B: the best fit of
some 50 sets (``linterm_ 15``)."""

SEEDS = seeds_up_to(40)
"""Of the RED runs."""

JITTER_SEEDS = seeds_up_to(20)
"""Of the drop-tail runs whose starts are spread over `JITTER`."""

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
    """A flow as the thesis' simulator had it.

    Args:
        kind: controller; "reno", or one of Vegas' family.
        start: s.
        phase: of the sender's clock, s.
        recovery: of Vegas' family; None: the controller's own. Reno has "reno".
        source, target: nodes; None: the network's.
        name: None: the controller's name and a number.
        **params: of the controller.
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
            params={"integer_ssthresh": 1, "integer_window": 1} | params,
            **ends,
        )
    return tc.Flow(
        kind, packet_size=PACKET, transport=transport, recovery=recovery, params=params, **ends
    )


def chances(seed: int, flows: int) -> tuple[np.ndarray, np.ndarray]:
    """What a seed decides beside the queues' streams: (start delays, clock phases) in s.

    Seed 0 is the deterministic run: all flows start on time, with their clocks in step.
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
    """Figures 3.3 and 4.1: one bottleneck of 40 ms.

    Args:
        kinds: controller of each flow.
        rate: of the bottleneck, bit/s.
        buffer: packets, with the one being sent.
        queue: None: drop-tail.
        small: access links of Figure 3.3 (10 Mb/s, 0.4 ms), not of Figure 4.1 (50 Mb/s, 1 ms).
        starts: of the flows, s; None: all at 0.
        duration: s.
        seed: of the queue and of clock phases, with drop-tail of start delays too; see `chances`.
        interval: of recording, s.
        recovery: Vegas' loss recovery.
        params: of each flow's controller.
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


# Tables 3.1, 4.1, 4.2: flows of two kinds that all start at 0.

KINDS = {"V": "vegas", "R": "reno"}


@dataclass(frozen=True)
class Table:
    """The columns of a table, and what they have in common.

    Args:
        mixes: a letter per flow for each column, as the thesis names it.
        rate, buffer, small: as in :func:`dumbbell`.
        thresholds: of RED, packets. Section 3.3 has 4 and 6 for its two connections; the rule of
            section 3.4 would give 6 and 8 (erratum A10).
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
    """RED with fixed thresholds, in packets, and the gains of `RED_SETTINGS`."""
    return tc.RED(min_thresh=thresholds[0], max_thresh=thresholds[1], **RED_SETTINGS[setting])


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
"""s. Of Vegas two each 10 s, both Reno at 40 s: of several readings of the text the one that gives
the 79 drops of the drop-tail column. ("Every 10 seconds ... successively" would have the last Vegas
begin at 70 s, where the averages begin.)"""


def connection_red(error: float = 0.0, setting: str = "B", **params: float) -> QueueSpec:
    """RED with thresholds 3 n and 4 n (section 3.4); `error`: of the estimated n, relative."""
    return tc.ConnectionRED(beta=3, error=error, **(RED_SETTINGS[setting] | params))


def joining(
    column: str,
    seed: int = 0,
    *,
    setting: str = "B",
    interval: float = 1.0,
    recovery: str | None = "vegas-ns2",
) -> tc.Scenario:
    """A column of Table 4.3: "drop-tail" or one of `ERRORS`.

    The slope of RED's drop law is that for all ten connections from the beginning, since a script
    that moves the thresholds of ns-2's RED leaves it where it was.
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

    S1 (Reno, from 10 s) and S2 (Vegas) come through R3, S3 and S4 (Vegas, the latter from 20 s)
    through R4; R1 > R2 is their common bottleneck.
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


# What the tables need, by (column, seed).


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


# What the figures need: one run for each panel, finely recorded; with RED the first seed.

FINE = 0.1
"""s, interval of recording."""


def drawn_mixes(table: str) -> dict[str, tc.Scenario]:
    """By column of a table."""
    return {
        f"{queue} {mix}": mixed(table, mix, queue, int(queue == "RED"), interval=FINE)
        for mix in TABLES[table].mixes
        for queue in QUEUES
    }


def drawn_joining() -> dict[str, tc.Scenario]:
    return {c: joining(c, int(c != "drop-tail"), interval=FINE) for c in ("drop-tail", "8V2R")}


def drawn_routers() -> dict[str, tc.Scenario]:
    return {c: routers(c, int(c != "drop-tail"), interval=FINE) for c in DEPLOYED}
