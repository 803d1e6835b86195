"""Simulate a scenario over a grid of values; print a table."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from tcpcc.cli.options import (
    SAME_SEEDS,
    add,
    add_simulation,
    check_targets,
    digest_of,
    import_files,
    model_options,
)
from tcpcc.cli.printing import plain_table
from tcpcc.errors import ScenarioError
from tcpcc.files import whole_file

if TYPE_CHECKING:
    import pandas as pd

RECORD = "record"  # column with the digest of a run's record


def arguments(parser: argparse.ArgumentParser) -> None:
    add_simulation(parser)
    text = "axis of the grid, such as network.buffer=10,50,100 or seed=1:20 (repeatable)"
    parser.add_argument("--over", action="append", default=[], metavar="PATH=A,B", help=text)
    add(parser, "--after", "--jobs", "--cache", "--csv")


def run(options: argparse.Namespace) -> None:
    from tcpcc.cli.settings import axis, load
    from tcpcc.sweeps import sweep

    check_targets(options, "csv")
    import_files(options.imports)
    axes: Any = dict(axis(text) for text in options.over)
    if not axes:
        raise ScenarioError("--over: give at least one axis, such as seed=1:5")

    def make(**point: Any) -> Any:
        changes = [*options.set, *(f"{k}={_toml(v)}" for k, v in point.items() if k != "seed")]
        return load(options.scenario, changes, point.get("seed", options.seed))

    def measured(run: Any) -> dict[str, Any]:
        rates = run.throughput(after=options.after)
        numbers: dict[str, Any] = {
            f"{name}_mbps": float(rates.sel(flow=name)) / 1e6 for name in run.flows
        }
        if run.links:
            link = run.busiest_link(after=options.after)
            numbers |= {"busiest_link": link} if len(run.links) > 1 else {}
            numbers["utilization"] = run.utilization(link, after=options.after)
            numbers["queue_mean"] = run.queue_mean(after=options.after, link=link)
        return numbers | {RECORD: digest_of(run)}

    settings = {"model": options.model, "jobs": options.jobs, "cache": options.cache}
    table = sweep(make, measured, **settings, **model_options(options), **axes)
    records = table.pop(RECORD)
    if options.csv:
        with whole_file(options.csv) as part:
            table.to_csv(part, index=False)
    print(plain_table(table))
    others = [name for name in axes if name != "seed"]
    if len(axes.get("seed", ())) > 1 and not _seeds_differ(table[others], records):
        print(SAME_SEEDS, file=sys.stderr)


def _seeds_differ(others: pd.DataFrame, records: pd.Series) -> bool:
    """Whether any runs with equal values on the other axes have different records."""
    points = list(others.astype(str).itertuples(index=False, name=None))
    first = dict(zip(reversed(points), reversed(list(records)), strict=True))
    return any(first[point] != record for point, record in zip(points, records, strict=True))


def _toml(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower()
