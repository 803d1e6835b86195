"""The scenarios of the Quick Vegas paper.

One departure from the paper: the flow of IV-A starts at 0.5 s, where the text says 0 s. Only then
does slow start end at the published time. Four published numbers of Quick Vegas depend on this
choice (item "settings").

Settings that the paper does not give, with the evidence for each:

- A packet is 1000 bytes on the wire ("1 Kbytes"). The duration of Vegas' ramp, 59 s, is
  proportional to the bandwidth-delay product in packets; 1024 bytes would give 57.6 s.
- CBR packets have 1000 bytes, because the published queue of 620 packets requires it.
- Quick Vegas updates its window every other round, like Vegas' slow start. With an update in every
  round it never settles. Delta is rounded to an integer, as in the simulator that the paper used.
  With a real Delta the ramp is too short (item "settings"), and the window keeps oscillating by one
  packet.
- All 20 flows of a group start at the same time. With starts spread over 0.1 s, Vegas would use
  0.59 of the link in the first 25 s, not 0.335.
- New Reno is the slow-but-steady variant, and a partial ACK ends the inflation of the window. The
  published 0.170 of the first 25 s excludes the impatient variant (0.42). As in the paper's
  simulator, its packets have 40 bytes of header (Vegas' have none), its connections start with a
  handshake, and its windows are whole packets (``precisionReduce_ 0``, which the thesis from the
  same laboratory needs too). A receiver window of 100,000 packets limits flows without losses: the
  access link is as fast as the bottleneck, and a flow whose packets always arrive just after a
  departure has no losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.seeds import seeds_up_to

NAMES = {"vegas": "Vegas", "quick_vegas": "Quick Vegas", "newreno": "New Reno"}

THRESHOLDS: dict[str, float] = {"alpha": 2, "beta": 4, "gamma": 1}
"""Parameters of Vegas and Quick Vegas, packets (section IV)."""

VEGAS_KIND = ("vegas", "quick_vegas")

RATE = 50e6
"""Rate of the bottleneck in section IV-A, bit/s."""

BDPS = (0.25e6, 0.5e6, 1e6, 2e6, 3e6, 4e6, 5e6, 10e6)
"""Bandwidth-delay products of Figures 4-6, bits: from half of the text's 500 Kb to twice the 5 Mb
of section IV-A."""

PHASES = tuple(k * 0.05 for k in range(8))
"""Shifts of the start and stop of CBR traffic, s. They cover Quick Vegas' update cycle of 0.2 to
0.4 s."""

FEW_PHASES = PHASES[::2]

JITTERS = seeds_up_to(8)
"""Seeds of the runs with New Reno's start times spread over `JITTER`."""

JITTER = 1e-3
"""s; a hundredth of the RTT. It changes Vegas' utilization by less than 0.005."""


OPENING = tc.Transport.ns2(initial_window=1, handshake=False, window_validation=False)
"""The first packet is data, and the window starts at one packet. As in ns-2, the window also grows
when a stopped flow has no data to send."""


def basic(controller: str, *, phase: float = 0.0, bdp: float = 5e6) -> tc.Scenario:
    """Sections IV-A and IV-B: one flow, joined by CBR traffic at half the bottleneck's rate.

    Args:
        controller: "vegas" or "quick_vegas".
        phase: delay of the start and stop of CBR traffic, s.
        bdp: bandwidth-delay product, bits; 5 Mb in section IV-A. All times scale with it, but not
            below a quarter, so that the flow has settled before each event.
    """
    rate = RATE * bdp / 5e6
    stretch = max(bdp / 5e6, 0.25)
    net = tc.dumbbell(rate, 0.048, buffer=math.inf, access_rate=1e9, access_delay=1e-3)
    on, off = 80 * stretch + phase, 160 * stretch + phase
    flow = tc.Flow(controller, start=0.5, transport=OPENING, params=THRESHOLDS)
    cross = tc.CBR(rate / 2, on=[(on, off)])
    return tc.Scenario(net, [flow, cross], duration=200 * stretch, interval=0.01)


def sharing(controller: str, *, seed: int = 0) -> tc.Scenario:
    """Section IV-C: 60 flows in three groups, each active for 300 s.

    Args:
        controller: "vegas", "quick_vegas" or "newreno".
        seed: 0: the flows of a group start together; else start times are spread over `JITTER`.
    """
    net = tc.dumbbell(1e9, 0.048, buffer=1250, access_rate=1e9, access_delay=1e-3)
    late = np.random.default_rng(seed).uniform(0, JITTER if seed else 0, 60)
    starts = [100.0 * (k // 20) + late[k] for k in range(60)]
    settings: dict[str, Any] = {"transport": OPENING, "params": THRESHOLDS}
    if controller == "newreno":
        settings = {
            "packet_size": 1040,
            "header": 40,
            "recovery": "newreno-steady",
            "params": {"integer_window": True, "integer_ssthresh": True},
            "transport": OPENING.replace(handshake=True, partial_deflation=False, rwnd=100_000),
        }
    flows = [
        tc.Flow(controller, start=start, stop=100.0 * (k // 20) + 300, **settings)
        for k, start in enumerate(starts)
    ]
    return tc.Scenario(net, flows, duration=500)


# Runs of the items, by key.


def basic_runs(controller: str, phases: Sequence[float]) -> dict[Any, tc.Scenario]:
    return {phase: basic(controller, phase=phase) for phase in phases}


SETTINGS: dict[str, Callable[[tc.Scenario], tc.Scenario]] = {
    "as in Figures 2 and 3": lambda scenario: scenario,
    "start at 0 s, as in the text": lambda scenario: with_flow(scenario, start=0.0),
    "real Delta": lambda scenario: with_flow(
        scenario, params={**THRESHOLDS, "integer_delta": False}
    ),
    "packets of 1024 bytes": lambda scenario: with_flow(scenario, packet_size=1024),
}
"""What the item "settings" changes in section IV-A."""


def with_flow(scenario: tc.Scenario, **changes: Any) -> tc.Scenario:
    """A scenario of section IV-A with another flow."""
    flow, cross = scenario.flows
    return scenario.replace(flows=[flow.replace(**changes), cross])


def settings_runs() -> dict[Any, tc.Scenario]:
    return {
        (controller, name): change(basic(controller))
        for controller in VEGAS_KIND
        for name, change in SETTINGS.items()
    }


def bdp_runs() -> dict[Any, tc.Scenario]:
    return {
        (controller, bdp, phase): basic(controller, phase=phase, bdp=bdp)
        for controller, phases in (("vegas", (0.0,)), ("quick_vegas", FEW_PHASES))
        for bdp in BDPS
        for phase in phases
    }


def ramp_runs() -> dict[Any, tc.Scenario]:
    return {(name, bdp): basic(name, bdp=bdp) for name in VEGAS_KIND for bdp in BDPS[1:]}


def sharing_runs(controllers: Sequence[str], seeds: Sequence[int] = ()) -> dict[Any, tc.Scenario]:
    runs: dict[Any, tc.Scenario] = {(name, 0): sharing(name) for name in controllers}
    return runs | {("newreno", seed): sharing("newreno", seed=seed) for seed in seeds}
