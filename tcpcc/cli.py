"""The ``tcpcc`` command: list, run, reproduce, bench.

What a user got wrong is one line on stderr and exit code 2; Ctrl-C says in one line what is
finished and exits with 130. Results go to stdout, progress bars and notes to stderr.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError, TcpccError

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.results import Run

USER_ERROR, INTERRUPTED = 2, 130

PICTURES = (".png", ".pdf", ".svg")

LISTS = ("controllers", "slow_starts", "queues", "recoveries", "papers")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (TcpccError, OSError) as error:
        print(f"tcpcc: {' '.join(str(error).split())}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt as error:
        print(f"tcpcc: {error or 'interrupted; nothing was kept'}", file=sys.stderr)
        return INTERRUPTED
    return 0


def parser() -> argparse.ArgumentParser:
    from tcpcc import __version__

    top = argparse.ArgumentParser(
        prog="tcpcc",
        description="TCP congestion control written once, simulated as packets and as fluid.",
    )
    top.add_argument("--version", action="version", version=f"tcpcc {__version__}")
    commands = top.add_subparsers(required=True, metavar="command")

    def command(name: str, run: Callable[[argparse.Namespace], None], text: str) -> Any:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=run)
        return sub

    listing = command("list", list_names, "Show what can be named in a scenario, with parameters.")
    listing.add_argument("what", nargs="?", choices=LISTS, help="default: all")

    one = command("run", run_scenario, "Simulate the scenario in a TOML file; print a summary.")
    one.add_argument("scenario", type=Path, help="TOML file")
    one.add_argument("--model", default="packet", help="packet (default) or fluid")
    one.add_argument("--driver", default="compiled", help="compiled (default) or simpy")
    one.add_argument("--after", type=float, default=0.0, metavar="S", help="summary from then on")
    one.add_argument("--save", type=Path, metavar="X.nc", help="keep the record, as NetCDF")
    one.add_argument("--csv", type=Path, metavar="X.csv", help="write the flows' series")
    one.add_argument("--plot", type=Path, metavar="X.png", help="draw windows, queue, throughput")
    one.add_argument("--json", action="store_true", help="print the summary as JSON")

    again = command(
        "reproduce", reproduce, "Reproduce published tables and figures, from a checkout of tcpcc."
    )
    again.add_argument("paper", nargs="?", help="default: all")
    again.add_argument("item", nargs="?", help="table or figure, such as table_1; default: all")
    again.add_argument("--model", default="both", help="packet, fluid or both (default)")
    again.add_argument("--json", action="store_true", help="print one JSON list of records")
    again.add_argument("--figures", action="store_true", help="draw the figures into figures/")
    again.add_argument("--scorecard", type=Path, metavar="X.md", help="write them as Markdown")
    again.add_argument("--readme", type=Path, metavar="X.md", help="renew the summary in it")
    again.add_argument(
        "--accept",
        action="store_true",
        help="make these numbers and verdicts those that the tests expect; look at the diff",
    )

    command("bench", bench, "Measure the speed of the models on this machine.")
    return top


# list


def list_names(options: argparse.Namespace) -> None:
    """``tcpcc list``"""
    import tcpcc as tc

    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "controllers": lambda: _short(tc.controllers()),
        "slow_starts": lambda: _short(tc.slow_starts()),
        "queues": lambda: _short(tc.queues()),
        "recoveries": lambda: _short(tc.recoveries()),
        "papers": _papers,
    }
    if options.what:
        print(_table(tables[options.what]()))
        return
    if checkout() is None:
        del tables["papers"]
    print("\n\n".join(f"{what}\n\n{_table(table())}" for what, table in tables.items()))


def _short(table: pd.DataFrame) -> pd.DataFrame:
    """A table of definitions for a terminal: what one without parameters means is its summary."""
    short = table.drop(columns=["summary", "source"], errors="ignore")
    short["meaning"] = table["meaning"].where(table["parameter"] != "", table["summary"])
    empty = short.isna() | (short == "")
    return short.loc[:, ~empty.all()]


def _papers() -> pd.DataFrame:
    import pandas as pd

    rows = [
        {"paper": name, "item": item, "cells": len(paper.cells(item)), "title": title}
        for name, paper in experiments().papers().items()
        for item, title in paper.published.titles.items()
    ]
    return pd.DataFrame(rows)


# run


def run_scenario(options: argparse.Namespace) -> None:
    """``tcpcc run``"""
    from tcpcc.models import simulate
    from tcpcc.scenario import Scenario

    for target in (options.save, options.csv, options.plot):
        if target is not None and not target.parent.is_dir():
            raise ScenarioError(f"{target.parent}: no such directory")
    if options.plot and options.plot.suffix not in PICTURES:
        raise ScenarioError(f"plot = {options.plot}: must end in {', '.join(PICTURES)}")
    scenario = Scenario.load(options.scenario)
    settings = {} if options.model == "fluid" else {"driver": options.driver}
    try:
        run = simulate(scenario, options.model, progress=sys.stderr.isatty(), **settings)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; a run is kept when it is complete") from None
    if options.save:
        run.save(options.save)
    if options.csv:
        run.to_csv(options.csv)
    if options.plot:
        run.plot().savefig(options.plot)
    _print_run(run, options.after, options.json)


def _print_run(run: Run, after: float, as_json: bool) -> None:
    flows = run.summary(after=after)
    links = run.link_summary(after=after)
    if as_json:
        attrs = {key: run.data.attrs[key] for key in ("model", "driver", "seed", "duration")}
        tables = {
            "flows": flows.reset_index().to_dict("records"),
            "links": links.reset_index().to_dict("records"),
        }
        print_json({**attrs, **tables})
        return
    print(_table(flows.dropna(axis="columns", how="all").reset_index()))
    if len(links):
        print("\n" + _table(links.reset_index()))


# reproduce


def reproduce(options: argparse.Namespace) -> None:
    """``tcpcc reproduce``"""
    book = experiments()
    for name in ("scorecard", "readme"):
        if getattr(options, name) and options.paper:
            raise ScenarioError(f"{name}: must be of all papers; leave out the paper")
    if options.accept and options.model != "both":
        raise ScenarioError(f"accept: must be of both models, not of {options.model!r} alone")
    records = book.reproduce(options.paper, options.item, options.model)
    if options.figures:
        for file in book.draw_all(options.paper, options.item, options.model):
            print(f"drew {file}", file=sys.stderr)
    if options.scorecard:
        book.write(records, options.scorecard)
        print(f"wrote {options.scorecard}", file=sys.stderr)
    if options.readme:
        book.write_summary(records, options.readme)
        print(f"wrote {options.readme}", file=sys.stderr)
    if options.accept:
        for file in book.accept(records):
            print(f"wrote {file}", file=sys.stderr)
    if options.json:
        print_json([record.as_dict() for record in records])
        return
    table = book.scorecard(records)
    table["range"] = ["" if r is None else f"{r[0]:.4g} to {r[1]:.4g}" for r in table["spread"]]
    columns = [
        "item", "row", "column", "unit", "published", "reference", "formula", "packet", "range",
        "error", "verdict", "fluid", "fluid_print_error", "fluid_verdict", "agreement",
    ]  # fmt: skip
    print(_table(table[columns].dropna(axis="columns", how="all")))
    for kind in ("cause", "fluid_cause"):
        told = [(getattr(r, kind), f"{r.item} {r.row} {r.column}") for r in records]
        for cause in dict.fromkeys(cause for cause, _ in told if cause):
            where = "; ".join(cell for each, cell in told if each == cause)
            print(f"\n{where}:\n  {'Fluid: ' if kind == 'fluid_cause' else ''}{cause}")
    print("\n" + book.summary_markdown(records))


def experiments() -> Any:
    """The package `experiments` of the checkout; one line says so if there is none."""
    root = checkout()
    if root is None:
        raise TcpccError(
            "reproduce needs a checkout of tcpcc (the folder with experiments/); start it there"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module("experiments")


def checkout() -> Path | None:
    """The checkout that this was started in, or that tcpcc is used from; None if neither is one."""
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).parents[1]):
        if (folder / "experiments" / "harness.py").is_file():
            return folder
    return None


# bench


def bench(options: argparse.Namespace) -> None:
    """``tcpcc bench``"""
    from tcpcc.bench import measure

    print(_table(measure(report=lambda line: print(line, file=sys.stderr))))


# Output.


def print_json(value: Any) -> None:
    """One JSON document on stdout; what is not a number is null."""
    print(json.dumps(_plain(value), indent=1, allow_nan=False, default=str))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _table(table: pd.DataFrame) -> str:
    """Plain text: words to the left, numbers to the right, nothing where there is no value."""
    columns = []
    for name in table:
        values = [_text(value) for value in table[name]]
        width = max(map(len, [str(name), *values]))
        words = any(isinstance(value, str) and value for value in table[name])
        columns.append([f"{v:{'<' if words else '>'}{width}}" for v in [str(name), *values]])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
