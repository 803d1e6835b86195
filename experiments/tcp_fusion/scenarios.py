"""The Fusion paper's scenarios, with the settings that its text does not give.

Its network diagrams (Figures 3, 7, 12) are images without text. Values marked *assumed* were
chosen to fit the text.

- Packets have 1500 bytes on the wire ("when we assume ... 1500B packet size"). The bottleneck of
  the laboratory has 100 Mb/s: 500 KB are the BDP of 40 ms.
- Hosts have Gigabit Ethernet (*assumed* for the testbed; published for the simulations).
- Testbed hosts ran Linux 2.6.15: SACK, a smallest timeout of 0.2 s, an ACK for every second packet.
  BIC and CUBIC account for delayed ACKs (``ack_ratio``) and start with a slow-start threshold of
  100 packets; the other variants do neither. ns-2 acknowledges every packet. `RECEIVERS` has both.
- CUBIC is the first version in Linux with the scaling that its next version corrected (``fixed``).
  The uncorrected version of kernel 2.6.15, `KERNEL_CUBIC`, gets less than twice Reno's throughput;
  in Table 1 the ratio is 4 : 1.
- Route 1 (Tokyo-Honjo) is the laboratory's link with the emulator's RTT of 80 ms, or with 20 ms for
  the first flow and 20, 60 or 120 ms for the second. Its buffer is the laboratory's 500 KB
  (*assumed*).
- Route 2 (Tokyo-Kitakyushu) has a BDP of about 50 packets: 30 Mb/s and 20 ms (*assumed*). The
  buffer has 50 packets (*assumed*).
- Figure 11: access links of 1 Gb/s and 1 ms and a bottleneck of 20 ms give an RTT of 44 ms. FAST's
  alpha is not given (erratum B4); it is 200 packets per 1 Gb/s, as recommended by its authors.
- Figure 12: three links of 100 Mb/s and 10 ms each, access links of 1 Gb/s and 1 ms (*assumed*).
- ARENO counts a waiting time below 1 ms as an empty queue (``no_queue``, *assumed*). The largest
  ratio of Fusion's throughput to ARENO's in Figure 4 depends on it (item "settings").
- Start times are random within the first `JITTER` seconds and depend on the seed. Means are taken
  from `SETTLED` on. Every number is a mean over `SEEDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.seeds import seeds_up_to
from experiments.tcp_fusion.clock import CLOCKED
from tcpcc.controllers.controller import Controller

PACKET = 1500
"""Bytes on the wire."""

HEADER = 52
"""Bytes of `PACKET` used by IP, TCP and the timestamps option, which Linux sends."""

ACCESS = 1e9
"""Rate of access links, bit/s."""

BUFFER = 333
"""Packets in 500 KB."""

VARIANTS = {
    "Reno": "reno",
    "Fusion": "fusion",
    "ARENO": "areno",
    "CTCP": "compound",
    "HSTCP": "hstcp",
    "BIC": "bic",
    "CUBIC": "cubic_2005",
}
"""Controllers by the paper's names, in its order."""

KERNEL_CUBIC = "CUBIC of 2.6.15"
"""CUBIC with the scaling errors of this kernel."""

CONTROLLERS: dict[str, str | Controller] = {
    **VARIANTS,
    "FAST": "fast",
    KERNEL_CUBIC: "cubic_2005",
    **CLOCKED,
}
"""Also FAST, which the paper only simulates, and alternatives that the testbed may have used."""

PARAMS: dict[str, dict[str, float]] = {"CUBIC": {"fixed": 1}}

LINUX = {"ack_ratio": 2.0, "initial_ssthresh": 100.0}
"""Additional parameters of BIC and CUBIC in Linux, used with delayed ACKs."""

RECEIVERS: dict[str, dict[str, Any]] = {
    "every packet": {},
    "delayed ACK": {"delayed_ack": 0.040, "ack_every": 2},
}
"""Settings of `Transport`; the delayed-ACK timer of Linux is at least 40 ms."""

SEEDS = seeds_up_to(10)

JITTER = 1.0
"""Interval of random start times, s."""

PHASES = 1e-3
"""Largest random additional access delay, s. If RTTs are multiples of each other or windows are
small, the order of single packets determines which flow has losses during the whole run. With
exactly 20 and 60 ms and an ACK for every packet, Reno's flow with the longer RTT gets more
throughput. Different delays per seed avoid this."""

SETTLED = 20.0
"""Start of the measurement, s."""

LENGTH, SIMULATED = 50.0, 30.0
"""Duration of testbed runs and of simulations, s. Another 10 s change a mean by less than three
standard errors. Exception: at 600 Mb/s and 1 Gb/s, with rare losses (1 in 100 000 packets), HSTCP,
CUBIC and FAST have not converged."""

PAIRS_SETTLED = 30.0
"""Start of the measurement for Table 1, s."""

PAIR, TWINS, DRIFTING = 90.0, 50.0, 210.0
"""Durations of Table 1's runs, s: for two variants; for two flows of one variant, which share
equally at any time; for pairs that drift for minutes (pairs with CUBIC, and HSTCP with BIC). Means
agree with those of 330 s within three standard errors (tested)."""


def flow(
    variant: str, *, start: float = 0.0, receiver: str = "every packet", **more: Any
) -> tc.Flow:
    """A flow as in the laboratory.

    Args:
        variant: a key of `CONTROLLERS`, or the name of any controller.
        start: s.
        receiver: a key of `RECEIVERS`; with "delayed ACK", BIC and CUBIC have the parameters
            `LINUX`.
        **more: arguments of `tc.Flow`.
    """
    params = {**PARAMS.get(variant, {}), **more.pop("params", {})}
    if receiver == "delayed ACK":
        params = (LINUX if variant in ("BIC", "CUBIC", KERNEL_CUBIC) else {}) | params
    return tc.Flow(
        CONTROLLERS.get(variant, variant),
        start=start,
        recovery="sack-prr-6937",
        packet_size=PACKET,
        header=HEADER,
        transport=tc.Transport.ns2(min_rto=0.2, tick=0.01, **RECEIVERS[receiver]),
        params=params,
        **more,
    )


def scenario(
    net: tc.Network,
    variants: Sequence[str],
    *,
    seed: int,
    duration: float,
    receiver: str = "delayed ACK",
    begin: Sequence[float] | None = None,
    interval: float = 1.0,
    more: Sequence[Mapping[str, Any]] | None = None,
    phases: float = 0.0,
) -> tc.Scenario:
    """Flows over a network.

    Args:
        net: the network.
        variants: variant of each flow, as in :func:`flow`.
        seed: seed of start times and random losses.
        duration: s.
        receiver: a key of `RECEIVERS`.
        begin: earliest start time of each flow, s; None for 0.
        interval: recording interval, s.
        more: further settings of each flow.
        phases: largest random additional access delay of a flow, s; see `PHASES`.
    """
    drawn = np.random.default_rng(seed).uniform(size=(2, len(variants)))
    begin = begin or [0.0] * len(variants)
    flows = []
    for k, variant in enumerate(variants):
        settings = dict(more[k]) if more else {}
        if phases > 0:
            near = net.access.delay if net.access else 0.0
            settings["access_delay"] = settings.get("access_delay", near) + phases * drawn[1, k]
        start = begin[k] + JITTER * drawn[0, k]
        flows.append(flow(variant, start=start, receiver=receiver, **settings))
    return tc.Scenario(net, flows, duration=duration, seed=seed, interval=interval)


def laboratory(
    variants: Sequence[str],
    *,
    rtt: float = 0.040,
    rate: float = 100e6,
    buffer: int = BUFFER,
    loss: float = 0.0,
    duration: float = LENGTH,
    **more: Any,
) -> tc.Scenario:
    """Figure 3: a bottleneck with the emulator's delay and loss; `more` as in :func:`scenario`."""
    net = tc.dumbbell(rate, rtt / 2, buffer, access_rate=ACCESS, loss=loss)
    return scenario(net, variants, duration=duration, **more)


def joining(variant: str, seed: int) -> tc.Scenario:
    """Figure 8: three flows of a variant on Route 1, starting 50 s apart."""
    return laboratory([variant] * 3, rtt=0.080, seed=seed, duration=250.0, begin=[0.0, 50.0, 100.0])


def round_trips(variant: str, longer: float, seed: int) -> tc.Scenario:
    """Figure 9: two flows of a variant on Route 1, with RTTs of 20 ms and `longer` s."""
    return laboratory(
        [variant] * 2,
        rtt=0.020,
        seed=seed,
        phases=PHASES,
        more=[{"access_delay": 0.0}, {"access_delay": (longer - 0.020) / 2}],
    )


BAND_RATES = {"100 Mb/s": 100e6, "400 Mb/s": 400e6}
BAND_FROM = 10.0  # s


def band_runs() -> dict[Any, tc.Scenario]:
    """A Fusion flow in the laboratory, and at four times the rate and the buffer.

    Until 10 s half of the link is taken, so that slow start does not end above the band.
    """
    runs = {}
    for name, rate in BAND_RATES.items():
        alone = laboratory(
            ["Fusion"], rate=rate, buffer=int(BUFFER * rate / 100e6), seed=1, duration=120,
            interval=0.1,
        )  # fmt: skip
        half = tc.CBR(rate / 2, on=[(0, BAND_FROM)], packet_size=PACKET)
        runs[name] = alone.replace(flows=[*alone.flows, half])
    return runs


def route_2(*variants: str, seed: int) -> tc.Scenario:
    """Figure 10: flows on a path with a BDP of 50 packets."""
    return laboratory(variants, rate=30e6, rtt=0.020, buffer=50, seed=seed, phases=PHASES)


def high_speed(variant: str, rate: float, seed: int) -> tc.Scenario:
    """Figure 11: a variant and Reno at `rate` bit/s, with a random loss rate of 1e-5."""
    bdp = round(rate * 0.044 / (8 * PACKET))
    net = tc.dumbbell(rate, 0.020, bdp, access_rate=ACCESS, access_delay=0.001, loss=1e-5)
    params = {"alpha": 200 * rate / 1e9} if variant == "FAST" else {}
    return scenario(
        net,
        [variant, "Reno"],
        seed=seed,
        duration=SIMULATED,
        receiver="every packet",
        more=[{"params": params}, {}],
    )


HOPS = 3
LINK: dict[str, Any] = {"rate": 100e6, "delay": 0.010}
"""Links of Figure 12, bit/s and s."""


def parking_lot(variant: str, reverse: bool, seed: int, phases: float = 0.0) -> tc.Scenario:
    """Figure 12: Reno and a variant over one, two and three hops that end at the same node.

    With `reverse`, four Reno flows cross each link in the other direction. Delays are exact, as in
    the paper's simulator, unless `phases` is given.
    """
    longest = 2 * (HOPS * LINK["delay"] + 0.002)
    buffer = round(LINK["rate"] * longest / (8 * PACKET))
    there = [
        tc.Link(f"R{k}", f"R{k + step}", **LINK, buffer=buffer, record=k == HOPS and step == 1)
        for k in range(1, HOPS + 2)
        for step in (1, -1)
        if 1 <= k + step <= HOPS + 1
    ]
    net = tc.Network(there, tc.Access(ACCESS, 0.001))
    kinds, ends = [], []
    for kind in ("Reno", variant):
        for hops in range(1, HOPS + 1):
            kinds.append(kind)
            number = f"{'Reno' if kind == 'Reno' and len(kinds) <= HOPS else 'Variant'}{hops}"
            ends.append({"source": f"R{HOPS + 1 - hops}", "target": f"R{HOPS + 1}", "name": number})
    for k in range(1, HOPS + 1) if reverse else ():
        kinds += ["Reno"] * 4
        ends += [{"source": f"R{k + 1}", "target": f"R{k}"}] * 4
    return scenario(
        net, kinds, seed=seed, duration=SIMULATED, receiver="every packet", more=ends, phases=phases
    )


# Scenarios of the items, by (key, seed).


Scenarios = dict[Any, tc.Scenario]


def with_seeds(make: Callable[..., tc.Scenario], keys: Any) -> Scenarios:
    """`make(*key, seed)` by (key, seed)."""
    return {(key, seed): make(*key, seed) for key in keys for seed in SEEDS}


def length(first: str, second: str) -> float:
    """Duration of a pair's run, s."""
    both = {first, second}
    if first == second:
        return TWINS
    drifts = KERNEL_CUBIC in both or "CUBIC" in both or both == {"HSTCP", "BIC"}
    return DRIFTING if drifts else PAIR


def pair(first: str, second: str, seed: int) -> tc.Scenario:
    """Two flows with the testbed's receivers."""
    return laboratory([first, second], seed=seed, duration=length(first, second))


def table_1_runs() -> Scenarios:
    return with_seeds(pair, combinations_with_replacement(VARIANTS, 2))


def kernel_runs() -> Scenarios:
    """CUBIC of kernel 2.6.15 and Reno."""
    return with_seeds(pair, [(KERNEL_CUBIC, "Reno")])


LOSSES = {f"1e-{k}": 10.0**-k for k in range(6, 0, -1)}


def alone(variant: str, loss: str, seed: int) -> tc.Scenario:
    return laboratory([variant], loss=LOSSES[loss], seed=seed)


def beside_reno(variant: str, loss: str, seed: int) -> tc.Scenario:
    return laboratory([variant, "Reno"], loss=LOSSES[loss], seed=seed)


def figure_4_runs() -> Scenarios:
    return with_seeds(alone, [(v, loss) for v in VARIANTS for loss in LOSSES])


def clock_runs() -> Scenarios:
    """Variants with a coarse clock."""
    return with_seeds(alone, [(v, loss) for v in CLOCKED for loss in ("1e-4", "1e-3", "1e-2")])


NO_QUEUE = {
    "0 ms": 0.0,
    "0.25 ms": 2.5e-4,
    "0.5 ms": 5e-4,
    "1 ms": 1e-3,
    "2 ms": 2e-3,
    "4 ms": 4e-3,
}
"""ARENO's `no_queue`, the waiting time below which the queue counts as empty, s."""


def settings_runs() -> Scenarios:
    """Figure 4's ARENO with other values of `no_queue`."""

    def make(name: str, loss: str, seed: int) -> tc.Scenario:
        params = {"no_queue": NO_QUEUE[name.removeprefix("ARENO, ")]}
        return laboratory(["ARENO"], loss=LOSSES[loss], seed=seed, more=[{"params": params}])

    return with_seeds(
        make, [(f"ARENO, {name}", loss) for name in NO_QUEUE for loss in ("1e-4", "1e-3", "1e-2")]
    )


def lossy_runs(*variants: str) -> Scenarios:
    return with_seeds(beside_reno, [(v, loss) for v in variants for loss in LOSSES])


PRINTED = ("Fusion", "HSTCP")
"""Variants with throughputs in the text."""


def figure_8_runs() -> Scenarios:
    """Ten seeds of the variants in `PRINTED`, one seed of the others for the figure."""
    drawn = {((v,), 1): joining(v, 1) for v in VARIANTS if v != "Reno"}
    return drawn | with_seeds(joining, [(v,) for v in PRINTED])


LONGER = {"20 ms": 0.020, "60 ms": 0.060, "120 ms": 0.120}


def figure_9_runs() -> Scenarios:
    def make(variant: str, longer: str, seed: int) -> tc.Scenario:
        return round_trips(variant, LONGER[longer], seed)

    return with_seeds(make, [(v, longer) for v in VARIANTS for longer in LONGER])


def figure_10_runs() -> Scenarios:
    """A variant and Reno."""
    return with_seeds(
        lambda v, _, seed: route_2(v, "Reno", seed=seed), [(v, "Route 2") for v in VARIANTS]
    )


def route_2_runs() -> Scenarios:
    """A variant alone."""
    return with_seeds(lambda v, _, seed: route_2(v, seed=seed), [(v, "Route 2") for v in VARIANTS])


RATES = {"100 Mb/s": 100e6, "300 Mb/s": 300e6, "600 Mb/s": 600e6, "1 Gb/s": 1e9}


SIMULATED_VARIANTS = ("Fusion", "ARENO", "CTCP", "HSTCP", "BIC", "CUBIC", "FAST", "Reno")
"""Variants in the order of Figure 11; the last is two Reno flows."""


def figure_11_runs() -> Scenarios:
    def make(variant: str, rate: str, seed: int) -> tc.Scenario:
        return high_speed(variant, RATES[rate], seed)

    return with_seeds(make, [(v, rate) for v in SIMULATED_VARIANTS for rate in RATES])


TRAFFIC = {"without": False, "with": True}
"""Whether there is reverse traffic."""


def figure_13_runs() -> Scenarios:
    def make(variant: str, reverse: str, seed: int) -> tc.Scenario:
        return parking_lot(variant, TRAFFIC[reverse], seed)

    return with_seeds(make, [(v, reverse) for v in SIMULATED_VARIANTS for reverse in TRAFFIC])


def phases_runs() -> Scenarios:
    """Scenarios of Figure 13 with random additional delays, only for Reno."""

    def make(variant: str, reverse: str, seed: int) -> tc.Scenario:
        return parking_lot(variant, TRAFFIC[reverse], seed, PHASES)

    return with_seeds(make, [(v, reverse) for v in ("Reno",) for reverse in TRAFFIC])


FAMILY = (
    "reno", "hstcp", "scalable", "bic", "cubic_2005", "cubic_2008", "cubic", "africa", "ghstcp",
    "westwood", "westwood_re", "westwood_abse", "westwood_plus", "westwood_rbe",
    "fast", "compound", "areno", "fusion", "adavegas",
)  # fmt: skip
"""Controllers of the high-speed, Westwood and hybrid families."""


def models_runs() -> Scenarios:
    def make(variant: str, what: str, seed: int) -> tc.Scenario:
        several = [variant] if what == "loss 1e-4" else [variant, "reno"]
        loss = 1e-4 if what == "loss 1e-4" else 0.0
        return laboratory(several, loss=loss, receiver="every packet", seed=seed, duration=40.0)

    return with_seeds(make, [(v, what) for v in FAMILY for what in ("loss 1e-4", "beside Reno")])


def figure_2_runs() -> dict[Any, tc.Scenario]:
    """Fusion and Reno with a buffer of half a BDP."""
    return {
        "half": laboratory(
            ["Fusion", "Reno"], buffer=BUFFER // 2, seed=1, receiver="every packet", interval=0.05
        )
    }
