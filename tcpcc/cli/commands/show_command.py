"""Print the summary of a saved run, or what a scenario would cost in each model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.cli.options import add, check_targets, import_files, save_plot
from tcpcc.cli.printing import plain_table, print_run
from tcpcc.errors import ScenarioError

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="scenario (.toml), or run saved by `run --save`")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--scenario", dest="toml", action="store_true", help="print the scenario as TOML instead"
    )
    what.add_argument(
        "--cite", action="store_true", help="print BibTeX of all that it uses instead"
    )
    parser.add_argument(
        "--also", action="append", default=[], metavar="SOURCE",
        help="with --cite: further source, such as 'RFC 3168' (repeatable)",
    )  # fmt: skip
    add(parser, "--after", "--plot", "--json", "--set", "--import")


def run(options: argparse.Namespace) -> None:
    from tcpcc.cli.settings import load
    from tcpcc.results import Run

    check_targets(options, "plot")
    import_files(options.imports)
    is_scenario = options.file.suffix == ".toml"
    if is_scenario:
        shown: Any = load(options.file, options.set)
    else:
        shown = Run.load(options.file, lazy=True)
    _refuse(options, is_scenario)
    if options.cite:
        print(shown.cite(*options.also), end="")
    elif options.toml:
        print(shown.to_toml() if is_scenario else shown.data.attrs["scenario"], end="")
    elif is_scenario:
        print_costs(shown)
    else:
        if options.plot:
            save_plot(shown, options.plot)
        print_run(shown, options.after, options.json)


def _refuse(options: argparse.Namespace, is_scenario: bool) -> None:
    """Refuse options that are for the other kind of file."""
    for name in ("after", "plot", "json") if is_scenario else ("set",):
        if getattr(options, name):
            kind = "saved run" if is_scenario else "scenario (.toml)"
            raise ScenarioError(f"--{name}: is for a {kind}, not for {options.file}")


def print_costs(scenario: Scenario) -> None:
    """A row per model: packets, steps, time, memory."""
    import pandas as pd

    from tcpcc.models import estimate

    rows: list[dict[str, Any]] = []
    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("packet", "packet", {}),
        ("packet, SimPy driver", "packet", {"driver": "simpy"}),
        ("packet, trains=16", "packet", {"trains": 16}),
        ("fluid", "fluid", {}),
        ("hybrid", "hybrid", {}),
    ]
    for name, model, options in ways:
        try:
            cost = estimate(scenario, model, **options)
        except ScenarioError as error:
            rows.append({"model": name, "note": str(error)})
            continue
        row = {"model": name, "packets": _about(cost.packets), "steps": _about(cost.steps)}
        row |= {"CPU time (s)": _about(cost.seconds)}
        rows.append({**row, "memory (MiB)": _about(cost.memory / 2**20)})
    columns = ["model", "packets", "steps", "CPU time (s)", "memory (MiB)", "note"]
    table = pd.DataFrame(rows, columns=columns).dropna(axis="columns", how="all")
    print(plain_table(table.astype(object)))


def _about(number: float) -> float | None:
    """A number rounded to two digits; None for 0."""
    return float(f"{number:.2g}") if number else None
