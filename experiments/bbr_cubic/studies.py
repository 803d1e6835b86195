"""BBRv3 beside CUBIC with ECN, flows with unlike RTTs, and starvation by jitter.

**Harm.** One BBRv3 flow beside five CUBIC flows of Linux, 40 ms, buffer of four BDPs. D. Zeynali
et al., "BBRv3 in the public Internet: a boon or a bane?", ANRW 2024: with ECN one BBRv3 flow takes
more than 99 % of the link. The abstract does not give the bottleneck; here it marks at a threshold,
or is CoDel. BBRv3's response to a mark is the draft's (`bbr3`), or none (`deaf`).

**Round trips.** Two flows with RTTs of 5 and 30 ms at 10 Mb/s.

**Starvation.** V. Arun, M. Alizadeh, H. Balakrishnan, "Starvation in end-to-end congestion
control", SIGCOMM 2022: a controller whose delay converges to a range of width delta can starve a
flow if the path has jitter of more than 2 delta. Here delta is the range of a single flow's RTT
after convergence, at least the time of one packet. The first of two flows gets jitter of m delta:
random for each packet, or constant from 2 s on. The theorem's jitter is chosen by an adversary, so
these two are lower bounds of the harm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tcpcc as tc
from experiments import number_store
from experiments.harness import CACHE, numbers_of
from experiments.measured_numbers import Measured
from experiments.seeds import means, seeds_up_to
from tcpcc.controllers import CONTROLLERS, Controller

SEEDS = seeds_up_to(3)
PACKET = 1500
FAST = 10e9  # bit/s, the access links
SETTLED = 1 / 3
"""Share of a run after which throughput is measured."""


def path(rate: float, rtt: float, bdps: float, queue: Any = None) -> tc.Network:
    """A dumbbell with a buffer of `bdps` bandwidth-delay products; rate in bit/s, rtt in s."""
    packets = max(round(bdps * rate * rtt / (8 * PACKET)), 1)
    return tc.dumbbell(rate, rtt / 4, packets, queue=queue, access_rate=FAST, access_delay=rtt / 8)


def rates(run: tc.Run) -> np.ndarray:
    return np.asarray(run.throughput(SETTLED * run.duration).values)


# Harm.

CUBIC_FLOWS = 5
HARM_RTT, HARM_BUFFER = 0.04, 4.0
HARM_RATES = {"100 Mb/s": 100e6, "500 Mb/s": 500e6}


def _ignore(s, p, a):
    s.repairing = s.repairing


@cache
def deaf() -> Controller:
    """BBRv3 without a response to marks."""
    return dataclasses.replace(CONTROLLERS.find("bbr3"), name="bbr3_deaf", on_mark=_ignore)


def queues(rate: float) -> dict[str, Any]:
    """Queue disciplines by name; None is drop-tail."""
    bdp = rate * HARM_RTT / (8 * PACKET)
    return {
        "drop-tail": None,
        "CoDel": tc.queues.CoDel(ecn=True),
        "marks above BDP/4": tc.queues.StepMark(threshold=bdp / 4),
        "marks above BDP": tc.queues.StepMark(threshold=bdp),
    }


CONTENDERS = {"CUBIC": "cubic", "BBRv3": "bbr3", "BBRv3 without response": "deaf"}


def harm(rate: float, queue: str, contender: str, seed: int) -> tc.Scenario:
    """A flow of `contender` beside five CUBIC flows; with ECN unless the queue is drop-tail."""
    starts = np.random.default_rng(seed).uniform(0, 1, 1 + CUBIC_FLOWS)
    ecn = {} if queue == "drop-tail" else {"ecn": "classic"}

    def linux(kind: str, start: float) -> tc.Flow:
        if kind == "cubic":
            return tc.Flow.linux("cubic", start=start, transport=ecn)
        return tc.Flow(
            deaf() if kind == "deaf" else kind, start=start, packet_size=PACKET, header=52,
            ack_size=52, recovery="rack-tlp", transport=tc.Transport.linux(**ecn),
        )  # fmt: skip

    kinds = [CONTENDERS[contender], *["cubic"] * CUBIC_FLOWS]
    flows = [linux(kind, float(at)) for kind, at in zip(kinds, starts, strict=True)]
    net = path(rate, HARM_RTT, HARM_BUFFER, queues(rate)[queue])
    return tc.Scenario(net, flows, duration=60, interval=1, seed=seed)


def harm_runs() -> dict[tuple[str, str, str, int], tc.Scenario]:
    return {
        (name, queue, contender, seed): harm(rate, queue, contender, seed)
        for name, rate in HARM_RATES.items()
        for queue in queues(rate)
        for contender in CONTENDERS
        if not (queue == "drop-tail" and CONTENDERS[contender] == "deaf")
        for seed in SEEDS
    }


def harm_share(run: tc.Run) -> float:
    """The first flow's share of the throughput."""
    goodputs = rates(run)
    return float(goodputs[0] / goodputs.sum())


# Flows with unlike RTTs.

TRIPS = (0.005, 0.030)  # s
TRIP_RATE = 10e6  # bit/s
TRIP_BUFFERS = (0.5, 1.0, 4.0, 16.0, 64.0)  # BDPs of the longer RTT
TRIP_KINDS = {"BBRv1": "bbr", "BBRv3": "bbr3", "CUBIC": "cubic_2008", "Reno": "reno"}


def unlike(kind: str, buffer: float, seed: int) -> tc.Scenario:
    """Two flows of a kind with the RTTs `TRIPS`."""
    starts = np.random.default_rng(seed).uniform(0, 1, 2)
    common = TRIPS[0] / 4 + TRIPS[0] / 8  # the bottleneck and the receivers' link, one way
    flows = [
        tc.Flow(
            TRIP_KINDS[kind], start=float(at), recovery="rack-tlp",
            access_delay=rtt / 2 - common,
        )
        for rtt, at in zip(TRIPS, starts, strict=True)
    ]  # fmt: skip
    packets = max(round(buffer * TRIP_RATE * TRIPS[1] / (8 * PACKET)), 1)
    net = tc.dumbbell(TRIP_RATE, TRIPS[0] / 4, packets, access_rate=FAST, access_delay=TRIPS[0] / 8)
    return tc.Scenario(net, flows, duration=120, interval=1, seed=seed)


def trip_runs() -> dict[tuple[str, float, int], tc.Scenario]:
    return {
        (kind, buffer, seed): unlike(kind, buffer, seed)
        for kind in TRIP_KINDS
        for buffer in TRIP_BUFFERS
        for seed in SEEDS
    }


def trip_ratio(run: tc.Run) -> float:
    """Throughput of the flow with the long RTT divided by the other's."""
    short, long = rates(run)
    return float(long / short)


# Starvation.

STARVED_RATE, STARVED_RTT = 48e6, 0.04  # bit/s, s
KINDS = {"Vegas": "vegas", "FAST": "fast", "Copa": "copa", "Vivace": "vivace", "BBRv1": "bbr"}
MULTIPLES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Jitter divided by delta."""
JITTERS = ("random", "constant")
ONE_PACKET = 8 * PACKET / STARVED_RATE  # s


def alone(kind: str) -> tc.Scenario:
    """One flow, for its range of delays."""
    net = path(STARVED_RATE, STARVED_RTT, 20)
    return tc.Scenario(net, [tc.Flow(KINDS[kind])], duration=60, interval=0.1, seed=1)


@cache
def delta(kind: str) -> float:
    """Width of the range of a single flow's RTT in the second half of a minute, s.

    The smallest and the largest one per cent of the samples are left out: PROBE_RTT's empty queue
    is no delay of the equilibrium.
    """
    trips = tc.simulate(alone(kind)).data["rtt"].sel(time=slice(30, None)).values
    low, high = np.nanpercentile(trips, (1, 99))
    return float(max(high - low, ONE_PACKET))


def starved(kind: str, jitter: str, late: float, seed: int) -> tc.Scenario:
    """Two flows, the first with `late` seconds of jitter."""
    name, wait = "first", STARVED_RTT / 8
    flows = [
        tc.Flow(KINDS[kind], name=name),
        tc.Flow(KINDS[kind], name="second", start=0.5),
    ]
    link = f"{name}:access"
    changes = {
        "random": [tc.Change(0, link, jitter=late)],
        "constant": [tc.Change(2, link, delay=wait + late)],
    }[jitter]
    net = path(STARVED_RATE, STARVED_RTT, 20)
    return tc.Scenario(
        net, flows, duration=60, interval=0.1, seed=seed, changes=changes if late else []
    )


def starved_runs() -> dict[tuple[str, str, float, int], tc.Scenario]:
    return {
        (kind, jitter, m, seed): starved(kind, jitter, m * delta(kind), seed)
        for kind in KINDS
        for jitter in JITTERS
        for m in MULTIPLES
        for seed in SEEDS
    }


def unfairness(run: tc.Run) -> float:
    """The larger throughput divided by the smaller one."""
    goodputs = rates(run)
    return float(goodputs.max() / max(goodputs.min(), 1.0))


STUDIES: Mapping[str, Any] = {
    "harm": (harm_runs, harm_share),
    "round_trips": (trip_runs, trip_ratio),
    "starvation": (starved_runs, unfairness),
}
"""Scenarios by key, the seed last, and the number of a run, by study."""


def measured(study: str, progress: bool | None = None, cache: Path = CACHE) -> dict[Any, Measured]:
    """Means over seeds of a study's number, by key; stored numbers if the code is the same.

    Args:
        study: one of `STUDIES`.
        progress: as in `tcpcc.sweep`.
        cache: folder of runs, beside which numbers are stored.
    """
    make, number = STUDIES[study]
    scenarios = make()
    place = numbers_of(cache), "bbr_cubic", study, "packet", number_store.digest(make, number)
    stored = number_store.load(*place)
    if stored is not None:
        keys = dict.fromkeys(key[:-1] for key in scenarios)
        return {key: Measured(*stored[study, str(key)]) for key in keys}  # type: ignore[arg-type]
    runs = tc.sweep(scenarios.values(), progress=progress)
    cells = means(number, dict(zip(scenarios, runs, strict=True)))
    number_store.store(*place, {(study, str(key)): cell for key, cell in cells.items()})
    return cells
