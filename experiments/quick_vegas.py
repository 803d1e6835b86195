"""Y.-C. Chan, C.-L. Lin, C.-T. Chan, C.-Y. Ho, "Improving performance of TCP Vegas for high
bandwidth-delay product networks": the paper that proposes Quick Vegas.

Section IV-A: one flow, CBR traffic takes half of the bottleneck for a while (Figures 2, 3).
Section IV-B: the same at other bandwidths (Figures 4-6). Section IV-C: 60 flows that come and go
(Tables I-III, Figure 7).

Settings that the paper does not give, with the evidence for each:

- A packet is 1000 bytes on the wire ("1 Kbytes"): the 59 s ramp of Vegas is proportional to the
  bandwidth-delay product in packets, and 1024 bytes would give 57.6 s.
- The flow of IV-A starts at 0.5 s: slow start ends at the printed absolute time, 1.9 s, only then.
  The CBR packets are of 1000 bytes, since a queue of 620 packets needs them.
- Every other round Quick Vegas is frozen, like Vegas' slow start: with an update in every round
  it never settles. Delta is rounded to an integer, as in the simulator that the paper used: with a
  real Delta the ramp takes 24 s, not 27 s, and the window hunts by a packet for ever.
- All 20 flows of a group start at the same time; spread over 0.1 s, Vegas would use 0.59 of the
  link in the first 25 s, not 0.335.
- New Reno is the slow-but-steady kind whose partial ACKs end the inflation of the window: the 0.170
  of the first 25 s excludes the impatient one (0.42). Its packets carry 40 bytes of header, which
  Vegas' do not, and its connections open with a handshake: so did the simulator's. A receiver
  window of 100,000 packets stops a flow that no loss stops: its access link is as fast as the
  bottleneck, and a flow whose packets always arrive just after a departure loses none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import tcpcc as tc
from experiments.harness import Cells, Item, Measured, Paper, Runs, Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"vegas": "Vegas", "quick_vegas": "Quick Vegas", "newreno": "New Reno"}

THRESHOLDS: dict[str, float] = {"alpha": 2, "beta": 4, "gamma": 1}
"""Of Vegas and Quick Vegas, packets: section IV."""

RATE = 50e6
"""Of the bottleneck in section IV-A, bit/s."""

BDPS = (0.25e6, 0.5e6, 1e6, 2e6, 3e6, 4e6, 5e6, 10e6)
"""Bandwidth-delay products of Figures 4-6, bits: from half of the 500 Kb that the text names to
twice the 5 Mb of section IV-A."""

PHASES = tuple(k * 0.05 for k in range(8))
"""Shifts of the CBR traffic's edges, s: all of Quick Vegas' update cycle of 0.2 to 0.4 s."""

FEW_PHASES = PHASES[::2]

JITTERS = range(1, 9)
"""Seeds of the runs in which New Reno's starts are spread over `JITTER`."""

JITTER = 1e-3
"""s; a hundredth of the round-trip time. It moves Vegas' utilization by less than 0.005."""

WINDOWS = ((0, 25), (25, 55), (55, 300), (300, 310), (310, 400), (400, 420), (420, 435), (435, 500))
"""Intervals of Table I, s."""

HUNDREDS = ((0, 100), (100, 200), (200, 300), (300, 400), (400, 500))
"""Intervals of Tables II and III, s."""


# Scenarios.


def basic(controller: str, *, phase: float = 0.0, bdp: float = 5e6) -> tc.Scenario:
    """Sections IV-A and IV-B: one flow, joined by CBR traffic at half the bottleneck's rate.

    Args:
        controller: "vegas" or "quick_vegas".
        phase: by how much the CBR traffic comes and goes later, s.
        bdp: bandwidth-delay product, bits; 5 Mb is section IV-A. The times are stretched with it,
            so that the flow has settled at each event, but not below a quarter.
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
        seed: 0: the flows of a group start together; else of starts spread over `JITTER`.
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
            "transport": OPENING.replace(handshake=True, partial_deflation=False, rwnd=100_000),
        }
    flows = [
        tc.Flow(controller, start=start, stop=100.0 * (k // 20) + 300, **settings)
        for k, start in enumerate(starts)
    ]
    return tc.Scenario(net, flows, duration=500)


OPENING = tc.Transport(initial_window=1, handshake=False, window_validation=False)
"""The first packet is data, the window starts at one packet, and grows, as in ns-2, also where a
flow that was stopped has nothing to send."""


# Section IV-A: Figures 2 and 3.


def basic_runs(controller: str, phases: Sequence[float]) -> dict[Any, tc.Scenario]:
    return {phase: basic(controller, phase=phase) for phase in phases}


def basic_values(controller: str, runs: Runs) -> Values:
    """The transients quoted in the text, with their range over the phases."""
    return {
        (NAMES[controller], column): over({key: metric(run) for key, run in runs.items()})
        for column, metric in TRANSIENTS.items()
    }


def slow_start_end(run: tc.Run) -> float:
    """Time at which the window first exceeds the slow-start threshold, s."""
    flow = run.data.isel(flow=0)
    above = (flow["ssthresh"] < flow["cwnd"]).values
    return float(run.data["time"].values[above.argmax()]) if above.any() else math.nan


def settling(event: str, run: tc.Run) -> float:
    """Seconds from an event until the window has settled: "start", "halved" or "doubled"."""
    flow, cross = run.scenario.flows
    assert cross.stop is not None
    begin, end = {
        "start": (flow.start, cross.start),
        "halved": (cross.start, cross.stop),
        "doubled": (cross.stop, run.duration),
    }[event]
    return run.convergence_time(run.flows[0], begin, before=end)


def throughput_at_85(run: tc.Run) -> float:
    """Mean from 80 to 85 s, Mb/s."""
    return float(run.throughput(80, 85)[0]) / 1e6


TRANSIENTS: dict[str, Callable[[tc.Run], float]] = {
    "slow start ends": slow_start_end,
    "new connection": partial(settling, "start"),
    "halved": partial(settling, "halved"),
    "doubled": partial(settling, "doubled"),
    "largest queue": tc.Run.queue_max,
    "throughput at 85 s": throughput_at_85,
}


def over(values: Mapping[Any, float]) -> Measured:
    """The first of several numbers, and the range of all; a number alone has none."""
    numbers = list(values.values())
    if len(numbers) == 1:
        return Measured(numbers[0])
    return Measured(numbers[0], min(numbers), max(numbers))


# Section IV-B: Figures 4 to 6.


def bdp_runs() -> dict[Any, tc.Scenario]:
    return {
        (controller, bdp, phase): basic(controller, phase=phase, bdp=bdp)
        for controller, phases in (("vegas", (0.0,)), ("quick_vegas", FEW_PHASES))
        for bdp in BDPS
        for phase in phases
    }


def bdp_column(bdp: float) -> str:
    return f"{bdp / 1e3:g} Kb"


def bdp_values(event: str, runs: Runs) -> Values:
    """Convergence times in base round-trip times, means over phases, and their mean ratio."""
    curves = {controller: convergence(event, controller, runs) for controller in CURVES}
    values: dict[tuple[str, str], float | Measured] = {}
    for controller, (mean, low, high) in curves.items():
        for bdp, *three in zip(BDPS, mean, low, high, strict=True):
            chance = controller == "quick_vegas" and event != "start"
            values[NAMES[controller], bdp_column(bdp)] = Measured(*three) if chance else three[0]
    large = np.array(BDPS) > 0.5e6
    ratio = curves["quick_vegas"][0][large] / curves["vegas"][0][large]
    values["Quick Vegas / Vegas", "above 500 Kb"] = float(ratio.mean())
    return values


CURVES = ("vegas", "quick_vegas")


def convergence(event: str, controller: str, runs: Runs) -> tuple[np.ndarray, ...]:
    """Mean, least and largest over the phases in which the window settles, in base round-trip
    times, shape [bdp] each; NaN where it settles in none."""
    times = np.array(
        [
            [
                settling(event, run) / float(run.data["base_rtt"][0])
                for (name, at, _), run in runs.items()
                if (name, at) == (controller, bdp)
            ]
            for bdp in BDPS
        ]
    )
    settled = np.ma.masked_invalid(times)
    return tuple(f(axis=1).filled(np.nan) for f in (settled.mean, settled.min, settled.max))


# Section IV-C: Tables I to III and Figure 7.


def sharing_runs(controllers: Sequence[str], seeds: Sequence[int] = ()) -> dict[Any, tc.Scenario]:
    runs: dict[Any, tc.Scenario] = {(name, 0): sharing(name) for name in controllers}
    return runs | {("newreno", seed): sharing("newreno", seed=seed) for seed in seeds}


def each_controller(metric: Callable[[tc.Run], Mapping[str, float]], runs: Runs) -> Values:
    """What `metric` gives by column, for the row of each controller, with the range over seeds."""
    values: dict[tuple[str, str], float | Measured] = {}
    for controller in dict.fromkeys(key[0] for key in runs):
        seeds = {key: metric(run) for key, run in runs.items() if key[0] == controller}
        for column in next(iter(seeds.values())):
            values[NAMES[controller], column] = over({k: v[column] for k, v in seeds.items()})
    return values


def utilizations(run: tc.Run) -> dict[str, float]:
    """Share of the bottleneck that carried data packets, headers not counted, by interval."""
    share = float(run.data["payload"][0] / run.data["packet_size"][0])
    used = {f"{a}-{b}": share * run.utilization(after=a, before=b) for a, b in WINDOWS}
    return used if str(run.data["controller"][0].item()) == "newreno" else used | full(run)


def full(run: tc.Run) -> dict[str, float]:
    """From when on the bottleneck stays busy, 99 % of each bin, till the second group starts."""
    busy = run.data["busy"].isel(link=0).sel(time=slice(None, 100)).values
    gaps = np.flatnonzero(busy < 0.99)
    return {"full from": float(run.data["time"].values[gaps[-1]]) if gaps.size else 0.0}


def mean_queues(run: tc.Run) -> dict[str, float]:
    return {f"{a}-{b}": run.queue_mean(a, b) for a, b in (*HUNDREDS, (0, 500))}


def fairness(run: tc.Run) -> dict[str, float]:
    return {f"{a}-{b}": run.jain_index(a, b) for a, b in HUNDREDS}


def largest_queue(run: tc.Run) -> dict[str, float]:
    return {"largest queue": run.queue_max()}


# Figures, in the paper's arrangement; the fluid model is dashed.


def draw_basic(runs: Mapping[str, Runs]) -> Figure:
    """Figures 2 and 3: window, queue and throughput over time."""
    from tcpcc import plots

    with plots.style():
        figure, axes = _panels("Window (packets)", "Queue (packets)", "Throughput (Mb/s)")
        for model, of_model in runs.items():
            run, look = of_model[0.0], _look(model)
            times = run.data["time"].values
            rate = run.throughput_series(1.0).isel(flow=0) / 1e6
            axes[0].plot(times, run.data["cwnd"].isel(flow=0), **look)
            axes[1].plot(times, run.queue(), **look)
            axes[2].plot(rate["time"] - 0.5, rate, **look)
        for ax in axes:
            ax.set(xlim=(0, 200))
            ax.set_ylim(bottom=0)
            for edge in (80, 160):
                ax.axvline(edge, color=plots.GREY, lw=0.7, ls=":", zorder=0)
        low = axes[0].get_xaxis_transform()
        axes[0].text(120, 0.06, "CBR traffic on", transform=low, ha="center", size=8)
        _legend(axes[0], runs)
    return figure


def chart_convergence(cells: Mapping[str, Cells]) -> Figure:
    """Figures 4 to 6: convergence time against the bandwidth-delay product, both logarithmic."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import ScalarFormatter

    from tcpcc import plots

    with plots.style():
        figure, ax = plt.subplots(figsize=(plots.WIDTH * 0.62, plots.WIDTH * 0.44))
        for model, of_model in cells.items():
            fluid = {"mfc": "white"} if model == "fluid" else {}
            for controller, colour, marker in zip(CURVES, plots.PALETTE, "os", strict=False):
                line = [of_model[NAMES[controller], bdp_column(bdp)] for bdp in BDPS]
                look = _look(model) | {"color": colour, "marker": marker, "ms": 4} | fluid
                look["label"] = NAMES[controller] + (", fluid model" if fluid else "")
                ax.plot(np.array(BDPS) / 1e3, [cell.value for cell in line], **look)
                for bdp, cell in zip(BDPS, line, strict=True):
                    if cell.low is not None and cell.high is not None:
                        ax.vlines(bdp / 1e3, cell.low, cell.high, color=colour, lw=1)
        ax.set(xscale="log", yscale="log", xlim=(220, 11500))
        ax.set(xlabel="Bandwidth-delay product (Kb)", ylabel="Convergence time (base RTTs)")
        ax.set_xticks([250, 500, 1000, 2000, 5000, 10000])
        ax.set_yticks([10, 20, 50, 100, 200, 500, 1000])
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(ScalarFormatter())
        ax.minorticks_off()
        ax.legend(loc="upper left")
    return figure


def draw_queues(runs: Mapping[str, Runs]) -> Figure:
    """Figure 7: the bottleneck's queue with 60 flows of each kind."""
    from tcpcc import plots

    with plots.style():
        figure, axes = _panels(*["Queue (packets)"] * 3)
        for ax, (controller, name), letter in zip(axes, NAMES.items(), "abc", strict=True):
            for model, of_model in runs.items():
                run = of_model[controller, 0]
                ax.plot(run.data["time"], run.data["queue_max"].isel(link=0), **_look(model))
            ax.axhline(1250, color=plots.GREY, lw=0.7, ls=":", zorder=0)
            ax.set(xlim=(0, 500), ylim=(0, 1300))
            ax.set_title(f"({letter}) {name}", loc="left")
        _legend(axes[0], runs)
    return figure


def _panels(*labels: str) -> tuple[Figure, Sequence[Axes]]:
    import matplotlib.pyplot as plt

    from tcpcc import plots

    rows = len(labels)
    figure, axes = plt.subplots(rows, 1, sharex=True, figsize=(plots.WIDTH, 1.65 * rows + 0.3))
    for ax, label in zip(axes, labels, strict=True):
        ax.set_ylabel(label)
    axes[-1].set_xlabel("Time (s)")
    figure.align_ylabels(axes)
    return figure, axes


def _look(model: str) -> dict[str, Any]:
    from tcpcc import plots

    if model == "packet":
        return {"color": plots.BLUE, "lw": 1.2, "label": "packet model"}
    return {"color": plots.VERMILION, "lw": 0.9, "ls": (0, (4, 1.5)), "label": "fluid model"}


def _legend(ax: Axes, runs: Mapping[str, Runs]) -> None:
    if len(runs) > 1:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)


VEGAS_KIND = ("vegas", "quick_vegas")
EVENTS = {"figure_4": "start", "figure_5": "halved", "figure_6": "doubled"}

PAPER = Paper(
    "quick_vegas",
    {
        "figure_2": Item(
            partial(basic_runs, "vegas", (0.0,)), partial(basic_values, "vegas"), draw_basic
        ),
        "figure_3": Item(
            partial(basic_runs, "quick_vegas", PHASES),
            partial(basic_values, "quick_vegas"),
            draw_basic,
        ),
        **{
            figure: Item(bdp_runs, partial(bdp_values, event), chart=chart_convergence)
            for figure, event in EVENTS.items()
        },
        "table_1": Item(
            partial(sharing_runs, tuple(NAMES), JITTERS), partial(each_controller, utilizations)
        ),
        "figure_7": Item(
            partial(sharing_runs, tuple(NAMES)),
            partial(each_controller, largest_queue),
            draw_queues,
        ),
        "table_2": Item(partial(sharing_runs, VEGAS_KIND), partial(each_controller, mean_queues)),
        "table_3": Item(partial(sharing_runs, VEGAS_KIND), partial(each_controller, fairness)),
    },
)
