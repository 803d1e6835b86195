"""Work and precision: the CPU time of each model beside its error, measured on this machine.

The reference is the mean of the packet model over `SEEDS`. An error below the spread of these seeds
means nothing; the first row of each case is that spread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.apps.bench import speed
from tcpcc.files import write_between

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

SEEDS = (1, 2, 3, 4, 5)
DURATION, AFTER = 60.0, 20.0  # s; measured from `AFTER` on

MARKS = ("<!-- written by tcpcc bench --precision -->", "<!-- end -->")
"""Lines around the tables in docs/work_precision.md."""


@dataclass(frozen=True)
class Case:
    """A dumbbell of 40 ms: rate in bit/s, buffer in BDP, flows as (controller, number)."""

    title: str
    rate: float
    buffer: float
    flows: tuple[tuple[str, int], ...]
    many: bool = False

    def scenario(self, seed: int) -> Scenario:
        """The scenario with a seed; starts are spread over a second, hosts need up to 0.2 ms."""
        from tcpcc import Flow, Scenario, dumbbell

        net = dumbbell(self.rate, "20 ms", f"{self.buffer} BDP")
        common: dict[str, Any] = {"jitter": 1.0, "processing": "0.2 ms"}
        sources = [Flow(name, count=count, **common) for name, count in self.flows]
        return Scenario(net, sources, duration=DURATION, seed=seed)

    @property
    def ways(self) -> dict[str, dict[str, Any]]:
        """The models and their options by name, the reference first."""
        if self.many:
            return {
                "packets": {},
                **{f"packets, {n} representatives": {"senders": n} for n in (200, 50)},
                **{
                    f"fluid, {n} representatives": {"model": "fluid", "senders": n}
                    for n in (200, 50, 20)
                },
            }
        return {
            "packets": {},
            **{f"trains={n}": {"trains": n} for n in (64, 16, 8)},
            **{f"fluid, steps={n}": {"model": "fluid", "steps": n} for n in (80, 40, 20, 10)},
        }


CASES = (
    Case("10 Reno flows, 100 Mb/s, buffer 1 BDP", 100e6, 1, (("reno", 10),)),
    Case("10 Reno flows, 1 Gb/s, buffer 0.25 BDP", 1e9, 0.25, (("reno", 10),)),
    Case("CUBIC beside BBR, 50 Mb/s, buffer 2 BDP", 50e6, 2, (("cubic", 1), ("bbr", 1))),
    Case("500 Reno flows, 1 Gb/s, buffer 0.5 BDP", 1e9, 0.5, (("reno", 500),), many=True),
)


def numbers(run: Run) -> tuple[float, ...]:
    """Utilization, mean queue in packets, drop rate, share of the first row of flows."""
    rates = run.throughput(after=AFTER).values
    share = rates[0] / rates.sum() if len(set(run.data["controller"].values)) > 1 else np.nan
    means = (measured(after=AFTER) for measured in (run.utilization, run.queue_mean, run.drop_rate))
    return (*means, float(share))


def measure(report: Callable[[str], None] = lambda line: None) -> pd.DataFrame:
    """Run all cases in all ways.

    Args:
        report: called with a line of text before each case.

    Returns:
        one row for each case and way: `CPU ms/s`, CPU milliseconds per simulated second;
        `speed`, how many times as fast as packets; and the errors against the mean of packets:
        `utilization` and `share` in points (hundredths), `queue` and `loss` in percent. In the row
        of packets they are the mean absolute deviations of single seeds from that mean.
    """
    import pandas as pd

    from tcpcc import simulate

    rows: list[dict[str, Any]] = []
    for case in CASES:
        report(f"{case.title} ...")
        first: tuple[float, Any] | None = None
        for way, options in case.ways.items():
            simulate(case.scenario(SEEDS[0]).replace(duration=AFTER), **options)  # compiles
            rows_of_seeds, seconds = [], 0.0
            for seed in SEEDS:
                scenario = case.scenario(seed)
                begin = time.process_time()
                run = simulate(scenario, **options)
                seconds += time.process_time() - begin
                rows_of_seeds.append(numbers(run))
            cost = seconds / len(SEEDS) / DURATION * 1e3
            values = np.array(rows_of_seeds)
            if first is None:
                first = cost, values.mean(axis=0)
                off = np.abs(values - first[1]).mean(axis=0)
            else:
                off = np.abs(values.mean(axis=0) - first[1])
            scale = np.array([1.0, first[1][1], first[1][2] or np.nan, 1.0])
            errors = 100 * off / scale
            names = ("utilization", "queue", "loss", "share")
            rows.append(
                {"case": case.title, "way": way, "CPU ms/s": cost, "speed": first[0] / cost}
                | dict(zip(names, errors.tolist(), strict=True))
            )
    return pd.DataFrame(rows)


def tables(table: pd.DataFrame) -> str:
    """The tables of docs/work_precision.md."""
    lines = []
    for case, rows in table.groupby("case", sort=False):
        columns = [n for n in ("utilization", "queue", "loss", "share") if rows[n].notna().all()]
        units = {"utilization": "points", "queue": "%", "loss": "%", "share": "points"}
        head = [f"{name} ({units[name]})" for name in columns]
        lines += [
            f"### {case}",
            "",
            f"| model | CPU ms per simulated s | speed | {' | '.join(head)} |",
        ]
        lines += ["|---|--:|--:|" + "--:|" * len(columns)]
        for row in rows.to_dict("records"):
            spread = "± " if row["way"] == "packets" else ""
            errors = " | ".join(f"{spread}{_two_digits(row[name])}" for name in columns)
            cost, speed = _two_digits(row["CPU ms/s"]), _two_digits(row["speed"])
            lines.append(f"| {row['way']} | {cost} | {speed} | {errors} |")
        lines.append("")
    return "\n".join(lines)


def _two_digits(number: float) -> str:
    """A number from 0.01 on with two digits, or with all before the point."""
    if number < 0.01:
        return "0.00"
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def draw(table: pd.DataFrame) -> Figure:
    """Error of the mean queue against the speed, relative to packets; one panel for each case."""
    import matplotlib.pyplot as plt

    from tcpcc.results import plots

    with plots.style():
        figure, axes = plt.subplots(2, 2, figsize=(7.4, 5.4), sharex=True, sharey=True)
        for ax, (case, rows) in zip(axes.flat, table.groupby("case", sort=False), strict=True):
            _panel(ax, str(case), rows)
        for ax in axes[-1]:
            ax.set_xlabel("Speed, packets = 1")
        for ax in axes[:, 0]:
            ax.set_ylabel("Error of the mean queue (%)")
        return figure


def _panel(ax: Axes, title: str, rows: pd.DataFrame) -> None:
    from tcpcc.results import plots

    spread = rows["queue"].iloc[0]
    ax.axhspan(0.01, spread, color="0.9", lw=0, label="spread of packets")
    for name, colour, marker in (
        ("packets,", plots.SKY, "s"), ("trains", plots.ORANGE, "^"), ("fluid", plots.BLUE, "o"),
    ):  # fmt: skip
        points = rows[rows["way"].str.startswith(name)]
        if len(points):
            errors = np.maximum(points["queue"], 0.05)
            label = "packets, representatives" if name == "packets," else name
            ax.plot(points["speed"], errors, marker + "-", color=colour, lw=0.8, label=label)
            for way, x, y in zip(points["way"], points["speed"], errors, strict=True):
                number = way.rpartition("=")[2].removesuffix(" representatives").rpartition(" ")[2]
                ax.annotate(number, (x, y), (3, 3), textcoords="offset points", fontsize=7)
    ax.set(xscale="log", yscale="log", ylim=(0.05, 100))
    ax.set_title(title, fontsize=8)
    ax.legend(fontsize=7, loc="upper left")


def events() -> str:
    """A table of events per packet; README.md has the packets per CPU second of the same cases."""
    lines = ["| bottleneck | flows | events per packet |", "|---|--:|--:|"]
    for rate, flows in speed.CASES:
        number = speed.events_per_packet(speed.scenario(rate, flows, speed.PACKETS / 10))
        lines.append(f"| {rate / 1e6:g} Mb/s | {flows} | {number:.1f} |")
    return "\n".join(lines)


def write_page(table: pd.DataFrame, page: Path) -> None:
    """Write the tables between the marks in `page`, and the figure beside it."""
    write_between(page, MARKS, f"{tables(table)}\n## Events\n\n{events()}")
    draw(table).savefig(page.with_suffix(".png"), dpi=160)
