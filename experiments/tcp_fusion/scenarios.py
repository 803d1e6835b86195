"""The Fusion paper's scenarios, with the settings that its text does not give.

Its network diagrams (Figures 3, 7, 12) are drawings; what stands in them was chosen to fit the
text and is marked *assumed*.

- Packets of 1500 bytes on the wire ("when we assume ... 1500B packet size"). The bottleneck of the
  laboratory has 100 Mb/s: 500 KB are the BDP of 40 ms.
- Hosts have Gigabit Ethernet (*assumed* for the testbed, 1 Gb/s is printed for the simulations).
- Testbed hosts ran Linux 2.6.15: SACK, a smallest timeout of 0.2 s, receivers that acknowledge
  every second packet. BIC and CUBIC allow for that (``ack_ratio``) and begin with a slow-start
  threshold of 100 packets; the others do neither. ns-2 acknowledges every packet. `RECEIVERS` has
  both.
- CUBIC is Linux' first one with the scales that its next version corrected (``fixed``): kernel
  2.6.15's own, `KERNEL_CUBIC`, does not take twice as much as Reno; in Table 1 it is 4 : 1.
- Route 1 (Tokyo-Honjo) is the laboratory's link with the round-trip time of the emulator, 80 ms, or
  20 ms and the second flow's 20, 60 or 120 ms. Its buffer is the laboratory's 500 KB (*assumed*).
- Route 2 (Tokyo-Kitakyushu) has a BDP of about 50 packets: 30 Mb/s and 20 ms (*assumed*), with
  a buffer of as many packets (*assumed*).
- Figure 11: access links of 1 Gb/s and 1 ms, a bottleneck of 20 ms: a round trip of 44 ms. FAST's
  alpha is not given (erratum B4): 200 packets per 1 Gb/s, as its authors have it.
- Figure 12: three links of 100 Mb/s and 10 ms each, access links of 1 Gb/s and 1 ms (*assumed*).
- Flows start within the first `JITTER` seconds, which a seed decides; means are taken from
  `SETTLED` on. Every number is a mean over `SEEDS`.
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
"""Of these: IP, TCP and the time stamps that Linux sends."""

ACCESS = 1e9
"""bit/s."""

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
"""With its errors of scale."""

CONTROLLERS: dict[str, str | Controller] = {
    **VARIANTS,
    "FAST": "fast",
    KERNEL_CUBIC: "cubic_2005",
    **CLOCKED,
}
"""With the one that is only simulated, and what the testbed may have had instead."""

PARAMS: dict[str, dict[str, float]] = {"CUBIC": {"fixed": 1}}

LINUX = {"ack_ratio": 2.0, "initial_ssthresh": 100.0}
"""Further parameters of BIC and CUBIC, which have these in Linux, with delayed ACKs."""

RECEIVERS: dict[str, dict[str, Any]] = {
    "every packet": {},
    "delayed ACK": {"delayed_ack": 0.040, "ack_every": 2},
}
"""Settings of `Transport`; Linux holds an ACK back for at least 40 ms."""

SEEDS = seeds_up_to(10)

JITTER = 1.0
"""s."""

PHASES = 1e-3
"""s. Where round trips are multiples of each other, or windows small, the order in which single
packets arrive decides for a whole run who loses: with 20 and 60 ms exactly, and every packet
acknowledged, Reno's longer flow gets more than its shorter one. So each seed has its own delays."""

SETTLED = 20.0
"""s."""

LENGTH, SIMULATED = 50.0, 30.0
"""s, of runs of the testbed and of simulations: 10 s more change a mean by less than three standard
errors. But at 600 Mb/s and 1 Gb/s, where a loss in 100 000 packets comes seldom, HSTCP, CUBIC and
FAST are still finding their share."""

PAIRS_SETTLED = 30.0
"""s, from which Table 1's means are taken."""

PAIR, TWINS, DRIFTING = 90.0, 50.0, 210.0
"""s, length of Table 1's runs: of two variants; of two flows of one, which share evenly whatever
the time; of the pairs that drift apart for minutes, which are CUBIC's and HSTCP beside BIC. Means
are those of 330 s within three standard errors (tests)."""


def flow(
    variant: str, *, start: float = 0.0, receiver: str = "every packet", **more: Any
) -> tc.Flow:
    """A flow of one of `CONTROLLERS` or of any controller, as it ran in the laboratory.

    Args:
        variant: a key of `CONTROLLERS`, or the name of a controller.
        start: s.
        receiver: a key of `RECEIVERS`; with "delayed ACK" BIC and CUBIC are Linux'.
        **more: of `tc.Flow`.
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
        variants: of the flows, as in :func:`flow`.
        seed: of starts and of losses by chance.
        duration: s.
        receiver: a key of `RECEIVERS`.
        begin: s, before which no flow starts; None: all at 0.
        interval: of recording, s.
        more: further settings of each flow.
        phases: s, up to which a seed lengthens each flow's access delay; see `PHASES`.
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
    """Figure 3: a bottleneck and the emulator's delay and loss; `more` as in :func:`scenario`."""
    net = tc.dumbbell(rate, rtt / 2, buffer, access_rate=ACCESS, loss=loss)
    return scenario(net, variants, duration=duration, **more)


def joining(variant: str, seed: int) -> tc.Scenario:
    """Figure 8: three flows of a kind on Route 1, 50 s after one another."""
    return laboratory([variant] * 3, rtt=0.080, seed=seed, duration=250.0, begin=[0.0, 50.0, 100.0])


def round_trips(variant: str, longer: float, seed: int) -> tc.Scenario:
    """Figure 9: two flows of a kind on Route 1, with round trips of 20 ms and of `longer` s."""
    return laboratory(
        [variant] * 2,
        rtt=0.020,
        seed=seed,
        phases=PHASES,
        more=[{"access_delay": 0.0}, {"access_delay": (longer - 0.020) / 2}],
    )


def route_2(variant: str, seed: int) -> tc.Scenario:
    """Figure 10: beside Reno, with a BDP of 50 packets."""
    return laboratory([variant, "Reno"], rate=30e6, rtt=0.020, buffer=50, seed=seed, phases=PHASES)


def high_speed(variant: str, rate: float, seed: int) -> tc.Scenario:
    """Figure 11: beside Reno at `rate` bit/s, a packet in 100 000 being lost by chance."""
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
"""Of Figure 12, bit/s and s."""


def parking_lot(variant: str, reverse: bool, seed: int, phases: float = 0.0) -> tc.Scenario:
    """Figure 12: Reno and a variant over one, two and three hops that end at the same node; with
    `reverse`, four Reno flows on each link the other way. Delays are exact, as in the paper's
    simulator, unless `phases` are given."""
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


# Runs by (key, seed), as the items need them.


Scenarios = dict[Any, tc.Scenario]


def with_seeds(make: Callable[..., tc.Scenario], keys: Any) -> Scenarios:
    """`make(*key, seed)` by (key, seed)."""
    return {(key, seed): make(*key, seed) for key in keys for seed in SEEDS}


def length(first: str, second: str) -> float:
    """Duration of a pair's run,"""
    both = {first, second}
    if first == second:
        return TWINS
    drifts = KERNEL_CUBIC in both or "CUBIC" in both or both == {"HSTCP", "BIC"}
    return DRIFTING if drifts else PAIR


def pair(first: str, second: str, seed: int) -> tc.Scenario:
    """Two flows at the testbed's receivers."""
    return laboratory([first, second], seed=seed, duration=length(first, second))


def table_1_runs() -> Scenarios:
    return with_seeds(pair, combinations_with_replacement(VARIANTS, 2))


def kernel_runs() -> Scenarios:
    """CUBIC as kernel 2.6.15 has it, beside Reno."""
    return with_seeds(pair, [(KERNEL_CUBIC, "Reno")])


LOSSES = {f"1e-{k}": 10.0**-k for k in range(6, 0, -1)}


def alone(variant: str, loss: str, seed: int) -> tc.Scenario:
    return laboratory([variant], loss=LOSSES[loss], seed=seed)


def beside_reno(variant: str, loss: str, seed: int) -> tc.Scenario:
    return laboratory([variant, "Reno"], loss=LOSSES[loss], seed=seed)


def figure_4_runs() -> Scenarios:
    return with_seeds(alone, [(v, loss) for v in VARIANTS for loss in LOSSES])


def clock_runs() -> Scenarios:
    """With a clock that ticks."""
    return with_seeds(alone, [(v, loss) for v in CLOCKED for loss in ("1e-4", "1e-3", "1e-2")])


def lossy_runs(*variants: str) -> Scenarios:
    return with_seeds(beside_reno, [(v, loss) for v in variants for loss in LOSSES])


PRINTED = ("Fusion", "HSTCP")
"""Variants whose throughputs the text gives."""


def figure_8_runs() -> Scenarios:
    """Ten seeds where numbers are printed, one of the others for the drawing."""
    drawn = {((v,), 1): joining(v, 1) for v in VARIANTS if v != "Reno"}
    return drawn | with_seeds(joining, [(v,) for v in PRINTED])


LONGER = {"20 ms": 0.020, "60 ms": 0.060, "120 ms": 0.120}


def figure_9_runs() -> Scenarios:
    def make(variant: str, longer: str, seed: int) -> tc.Scenario:
        return round_trips(variant, LONGER[longer], seed)

    return with_seeds(make, [(v, longer) for v in VARIANTS for longer in LONGER])


def figure_10_runs() -> Scenarios:
    return with_seeds(lambda v, _, seed: route_2(v, seed), [(v, "Route 2") for v in VARIANTS])


RATES = {"100 Mb/s": 100e6, "300 Mb/s": 300e6, "600 Mb/s": 600e6, "1 Gb/s": 1e9}


SIMULATED_VARIANTS = ("Fusion", "ARENO", "CTCP", "HSTCP", "BIC", "CUBIC", "FAST", "Reno")
"""In the order of Figure 11; the last is two Reno flows."""


def figure_11_runs() -> Scenarios:
    def make(variant: str, rate: str, seed: int) -> tc.Scenario:
        return high_speed(variant, RATES[rate], seed)

    return with_seeds(make, [(v, rate) for v in SIMULATED_VARIANTS for rate in RATES])


TRAFFIC = {"without": False, "with": True}
"""Reverse traffic."""


def figure_13_runs() -> Scenarios:
    def make(variant: str, reverse: str, seed: int) -> tc.Scenario:
        return parking_lot(variant, TRAFFIC[reverse], seed)

    return with_seeds(make, [(v, reverse) for v in SIMULATED_VARIANTS for reverse in TRAFFIC])


def phases_runs() -> Scenarios:
    """The same with delays that are not exact, of Reno alone."""

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
    """Half a BDP of buffer."""
    return {
        "half": laboratory(
            ["Fusion", "Reno"], buffer=BUFFER // 2, seed=1, receiver="every packet", interval=0.05
        )
    }
