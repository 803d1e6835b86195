"""The ``tcpcc`` command: list, run, show, cite, sweep, compare, estimate, evaluate, league,
attack, judge, new, export, web, kernel, reproduce, bench.

A user's error gives one line on stderr and exit code 2; an evaluation or a trace that fails has
exit code 1.
Ctrl-C prints one line on what is finished and exits with 130. Results go to stdout, progress bars
and notes to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.cli.printing import (
    fitted,
    over_seeds,
    plain_table,
    print_json,
    print_run,
)
from tcpcc.cli.settings import value_of
from tcpcc.errors import ScenarioError, TcpccError, one_of, unknown
from tcpcc.files import check_target, whole_file

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.controllers.controller import Controller
    from tcpcc.results import Run
    from tcpcc.scenario import Flow

USER_ERROR, INTERRUPTED = 2, 130

PICTURES = (".png", ".pdf", ".svg")

LISTS = ("controllers", "evidence", "slow_starts", "queues", "recoveries", "fields", "papers")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = parser().parse_args(arguments)
    code = None
    try:
        code = options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (TcpccError, OSError) as error:
        print(f"tcpcc: {' '.join(str(error).split())}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt as error:
        print(f"tcpcc: {str(error) or _interrupted(options)}", file=sys.stderr)
        return INTERRUPTED
    return code or 0


def _interrupted(options: argparse.Namespace) -> str:
    """What is left of an interrupted command."""
    cache = getattr(options, "cache", None)
    if cache:
        return f"interrupted; finished runs are kept in {cache}; run it again to resume"
    if hasattr(options, "cache"):
        return "interrupted; nothing is kept; with --cache FOLDER finished runs would be"
    return "interrupted; no result was saved"


def parser() -> argparse.ArgumentParser:
    from tcpcc import __version__

    top = argparse.ArgumentParser(
        prog="tcpcc",
        description="Simulate TCP congestion control: an algorithm is written once for all models.",
    )
    top.add_argument("--version", action="version", version=f"tcpcc {__version__}")
    commands = top.add_subparsers(required=True, metavar="command")

    def command(name: str, run: Callable[[argparse.Namespace], int | None], text: str) -> Any:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=run)
        return sub

    listing = command(
        "list", list_names, "List the names that a scenario can use, with their parameters."
    )
    what = f"{', '.join(LISTS)}, or a name, such as reno; default: all"
    listing.add_argument("what", nargs="?", help=what)
    _importing(listing)

    one = command("run", run_scenario, "Simulate the scenario in a TOML file; print a summary.")
    _simulating(one)
    one.add_argument(
        "--after", type=float, default=0.0, metavar="S", help="summarize from this time on, in s"
    )
    one.add_argument("--save", type=Path, metavar="X.nc", help="save the record as NetCDF")
    one.add_argument(
        "--stream",
        type=Path,
        metavar="X.nc",
        help="save the record during the run, for long runs",
    )
    one.add_argument("--csv", type=Path, metavar="X.csv", help="write the time series of flows")
    one.add_argument("--plot", type=Path, metavar="X.png", help="draw windows, queue, throughput")
    one.add_argument("--json", action="store_true", help="print the summary as JSON")

    shown = command("show", show, "Print the summary of a saved run.")
    shown.add_argument("run", type=Path, help="file saved by `run --save`")
    shown.add_argument(
        "--after", type=float, default=0.0, metavar="S", help="summarize from this time on, in s"
    )
    shown.add_argument("--plot", type=Path, metavar="X.png", help="draw windows, queue, throughput")
    shown.add_argument(
        "--scenario", dest="toml", action="store_true", help="print the scenario as TOML instead"
    )
    shown.add_argument("--json", action="store_true", help="print the summary as JSON")

    cited = command("cite", cite, "Print BibTeX of all that a scenario or a saved run uses.")
    cited.add_argument("file", type=Path, help="scenario (.toml), or run saved by `run --save`")
    cited.add_argument("--also", action="append", default=[], metavar="SOURCE",
                       help="further source, such as 'RFC 3168' (repeatable)")  # fmt: skip
    _importing(cited)

    many = command("sweep", sweep_file, "Simulate a scenario over a grid of values; print a table.")
    _simulating(many)
    axis = "axis of the grid, such as network.buffer=10,50,100 or seed=1:20 (repeatable)"
    many.add_argument("--over", action="append", default=[], metavar="PATH=A,B", help=axis)
    many.add_argument(
        "--after", type=float, default=0.0, metavar="S", help="measure from this time on, in s"
    )
    many.add_argument(
        "--jobs", type=int, help="number of parallel runs; default: one per processor"
    )
    many.add_argument("--cache", type=Path, metavar="DIR", help="store finished runs, to resume")
    many.add_argument("--csv", type=Path, metavar="X.csv", help="write the table")

    both = command(
        "compare",
        compare,
        "Simulate scenarios, or one scenario with several models; print measures side by side.",
    )
    both.add_argument("scenarios", type=Path, nargs="+", metavar="scenario", help="TOML file")
    both.add_argument(
        "--models", default="packet", metavar="A,B", help="models to compare; default: packet"
    )
    both.add_argument(
        "--trains", type=float, metavar="N", help="also packets in trains, N in a round trip"
    )
    _stepping(both)
    both.add_argument("--seeds", metavar="A,B", help="seeds, 1,2 or 1:5: mean ± standard deviation")
    both.add_argument(
        "--after", type=float, default=0.0, metavar="S", help="measure from this time on, in s"
    )
    both.add_argument("--link", help="link to measure; default: the busiest of each run")
    both.add_argument(
        "--jobs", type=int, help="number of parallel runs; default: one per processor"
    )
    both.add_argument("--csv", type=Path, metavar="X.csv", help="write the table")
    both.add_argument(
        "--force", action="store_true", help="run even if it needs much time or memory"
    )
    _changing(both)

    cost = command(
        "estimate",
        estimate_cost,
        "Print what a run would cost in each model: packets, steps, time, memory.",
    )
    cost.add_argument("scenario", type=Path, help="TOML file")
    _changing(cost)

    judged = command(
        "evaluate", evaluate_one, "Evaluate a controller by RFC 9743; exit code 1 if it fails."
    )
    judged.add_argument(
        "controller", help="name, such as vegas, or the file MY.py that registers it"
    )
    judged.add_argument(
        "--against", default="cubic,reno,bbr3", metavar="A,B", help="competing controllers"
    )
    judged.add_argument("--sections", metavar="A,B", help="sections, such as 5.1.3,7; default: all")
    judged.add_argument("--cellular", action="append", default=[], type=Path, metavar="FILE",
                        help="Mahimahi trace of a cellular link; may be repeated")  # fmt: skip
    judged.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for page, numbers, scenarios"
    )
    judged.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="value of a parameter")  # fmt: skip
    _evaluating(judged)

    ranked = command(
        "league", league_of, "Evaluate many controllers; print how many criteria each one fails."
    )
    ranked.add_argument("controllers", nargs="*", help="names; default: all")
    ranked.add_argument("--out", type=Path, metavar="DIR", help="write dossiers, league, numbers")
    _evaluating(ranked)

    worst = command("attack", attack_one, "Search for the worst scenario of a controller.")
    worst.add_argument(
        "controller", help="name, such as vegas, or the file MY.py that registers it"
    )
    worst.add_argument(
        "--harm", default="throughput", help="throughput, starvation, loss, delay or others"
    )
    worst.add_argument(
        "--over", action="append", default=[], metavar="NAME=LOW:HIGH",
        help="quantity to vary, such as rtt=0.01:0.2 or queue=droptail,codel; default: all",
    )  # fmt: skip
    worst.add_argument("--trials", type=int, default=200, help="number of points; default: 200")
    worst.add_argument("--seed", type=int, default=1, help="seed of the search; default: 1")
    worst.add_argument("--save", type=Path, metavar="X.toml", help="save the scenario found")
    worst.add_argument(
        "--jobs", type=int, help="number of parallel runs; default: one per processor"
    )
    worst.add_argument("--cache", type=Path, metavar="DIR", help="store finished runs, to resume")
    worst.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                       help="value of a parameter")  # fmt: skip
    _importing(worst)

    trace = command(
        "judge",
        judge_trace,
        "Check a trace against cases of the conformance kit; exit code 1 if a check fails.",
    )
    trace.add_argument(
        "trace",
        nargs="?",
        type=Path,
        help="qlog, capture, output of ss (.ss), CSV of the kit, or file saved by `run --save`",
    )
    trace.add_argument("--case", metavar="A,B", help="names of cases, such as bbr-03")
    trace.add_argument("--list", action="store_true", help="print the cases")
    trace.add_argument(
        "--write", type=Path, metavar="FOLDER",
        help="write scenarios, envelopes and reference traces; default: of all cases",
    )  # fmt: skip
    trace.add_argument(
        "--controller", metavar="NAME", help="simulate the cases with this controller, or MY.py"
    )
    trace.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                       help="value of its parameter")  # fmt: skip
    trace.add_argument(
        "--complete", action="store_true", help="also fail checks for which the trace lacks data"
    )
    trace.add_argument("--verbose", action="store_true", help="print reasons and sources")
    trace.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    _importing(trace)

    fresh = command("new", new_file, "Write a template file.")
    fresh.add_argument("kind", choices=["controller", "scenario", "paper"])
    fresh.add_argument("name", help="letters, digits and _")
    fresh.add_argument(
        "--package", action="store_true",
        help="controller: write an installable package with its tests",
    )  # fmt: skip

    out = command("export", export_rules, "Write a controller's rules as C or as BPF for Linux.")
    out.add_argument("controller", nargs="?", help="name, such as vegas")
    out.add_argument("--to", default="c", help="c (default) or bpf")
    out.add_argument(
        "--out", type=Path, default=Path("."), metavar="DIR", help="folder; default: this one"
    )
    out.add_argument("--slow-start", default="standard", help="slow-start rule, such as hystart")
    out.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="value of a parameter"
    )
    out.add_argument(
        "--glue", action="store_true", help="also write NAME_glue.h and .c, for a stack's events"
    )
    out.add_argument("--list", action="store_true", help="print which controllers can be exported")
    _importing(out)

    alive = command("web", web_page, "Write a scenario as one HTML file that simulates it.")
    alive.add_argument("scenario", type=Path, help="TOML file")
    alive.add_argument("--out", type=Path, default=Path("page.html"), metavar="X.html",
                       help="file to write; default: page.html")  # fmt: skip
    alive.add_argument("--title", help="heading of the page")
    for what, default in (
        ("controls", "all: rate,delay,buffer,loss,queue,controllers,starts,seed"),
        ("controllers", "reno,cubic,vegas,quick_vegas,fusion,westwood_rbe,bbr,bbr3"),
        ("queues", "droptail,red,codel,pie,dualpi2"),
    ):
        text = f"what the reader can change; default: {default}"
        if what != "controls":
            text = f"{what} to choose from; default: {default}"
        alive.add_argument(f"--{what}", metavar="A,B", help=text)
    alive.add_argument("--no-fluid", action="store_true", help="leave the fluid model out")
    alive.add_argument("--seed", type=int, help="seed; overrides that of the file")
    _changing(alive)

    inside = command(
        "kernel", in_kernel, "Load controllers into the running Linux, unload and list them (root)."
    )
    inside.add_argument("action", choices=["load", "unload", "list"])
    inside.add_argument(
        "name", nargs="?", help="load: a controller, such as vegas; unload: its name in the kernel"
    )
    inside.add_argument("--name", dest="called", help="load: name in the kernel; default: tc_NAME")
    inside.add_argument(
        "--slow-start", default="standard", help="load: slow-start rule, such as hystart"
    )
    inside.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="load: a parameter's value"
    )
    _importing(inside)

    again = command(
        "reproduce", reproduce, "Reproduce published tables and figures, from a checkout of tcpcc."
    )
    again.add_argument(
        "paper",
        nargs="?",
        help="default: all; variants: the table of all controllers; bbr_cubic, ifip25: BBR on a "
        "test-bed; pam25: Prague on one",
    )
    again.add_argument(
        "item",
        nargs="?",
        help="table or figure, such as table_1; for variants: a network; default: all",
    )
    again.add_argument(
        "--model",
        default="both",
        help="packet, fluid or both (default)",
    )
    again.add_argument("--json", action="store_true", help="print one JSON list of records")
    again.add_argument("--verbose", action="store_true", help="print every number and cause")
    again.add_argument("--figures", action="store_true", help="draw the figures into figures/")
    again.add_argument("--report", type=Path, metavar="FOLDER", help="write a report as HTML pages")
    again.add_argument(
        "--scorecard", type=Path, metavar="X.md", help="write the scorecard as Markdown"
    )
    again.add_argument(
        "--readme", type=Path, metavar="X.md", help="update the summary in this file"
    )
    again.add_argument(
        "--accept",
        action="store_true",
        help="store these numbers and verdicts as those that the tests expect; review the diff",
    )

    done = command(
        "completion",
        completion,
        'Print a shell completion script; use: eval "$(tcpcc completion bash)".',
    )
    done.add_argument("shell", choices=["bash", "zsh", "tcsh"])

    timed = command("bench", bench, "Measure the speed of the models on this machine.")
    timed.add_argument(
        "--readme", action="store_true", help="write the table into ./README.md (needs ns-2)"
    )
    timed.add_argument(
        "--precision", action="store_true", help="measure cost and error of each model instead"
    )
    timed.add_argument(
        "--page", type=Path, metavar="X.md", help="with --precision: write tables and figure there"
    )
    return top


def _evaluating(sub: argparse.ArgumentParser) -> None:
    """Add the arguments of evaluations."""
    sub.add_argument("--quick", action="store_true", help="fewer criteria and seeds")
    sub.add_argument("--seeds", type=int, help="number of seeds; default: 5, quick 3")
    sub.add_argument("--jobs", type=int, help="number of parallel runs; default: one per processor")
    sub.add_argument("--cache", type=Path, metavar="DIR", help="store finished runs, to resume")
    sub.add_argument(
        "--cluster", metavar="KIND[=ADDRESS]",
        help="run on a cluster: dask, dask=tcp://host:8786, ray, ray=auto",
    )  # fmt: skip
    _importing(sub)


def _importing(sub: argparse.ArgumentParser) -> None:
    text = "Python file that registers your own controllers or queues (repeatable)"
    sub.add_argument(
        "--import", dest="imports", action="append", default=[], type=Path, metavar="MY.py",
        help=text,
    )  # fmt: skip


def _changing(sub: argparse.ArgumentParser) -> None:
    """Add the arguments of every command that reads a scenario."""
    setting = "override a value of the file: network.rate='5 Mbps', flow.2.start=3"
    sub.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help=setting)
    _importing(sub)


def _simulating(sub: argparse.ArgumentParser) -> None:
    """Add the arguments of every command that simulates a file."""
    sub.add_argument("scenario", type=Path, help="TOML file")
    sub.add_argument(
        "--model",
        default="packet",
        help="packet (default), fluid or hybrid",
    )
    sub.add_argument("--driver", default="compiled", help="compiled (default) or simpy")
    sub.add_argument(
        "--trains", type=float, metavar="N",
        help="packet and hybrid model: send packets in trains, N in a round trip, such as 16",
    )  # fmt: skip
    _stepping(sub)
    sub.add_argument("--seed", type=int, help="seed; overrides that of the file")
    sub.add_argument(
        "--force", action="store_true", help="run even if it needs much time or memory"
    )
    _changing(sub)


def _stepping(sub: argparse.ArgumentParser) -> None:
    text = "fluid model (default: 20), and hybrid with fluid: steps in the shortest base RTT"
    sub.add_argument("--steps", type=float, metavar="N", help=text)


def _model_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `simulate` that a command has for its model."""
    given: dict[str, Any] = {"trains": options.trains, "steps": options.steps}
    given |= {"driver": None if options.driver == "compiled" else options.driver}
    given |= {"force": options.force or None}
    return {name: value for name, value in given.items() if value is not None}


def _import(files: Sequence[Path]) -> None:
    """Run the user's files, which register their definitions."""
    from importlib.util import module_from_spec, spec_from_file_location

    for file in files:
        if not file.is_file():
            raise ScenarioError(f"--import {file}: no such file")
        spec = spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise ScenarioError(f"--import {file}: must be a Python file (.py)")
        module = module_from_spec(spec)
        sys.modules.setdefault(file.stem, module)
        try:
            spec.loader.exec_module(module)
        except TcpccError:
            raise
        except Exception as error:
            raise ScenarioError(f"--import {file}: {type(error).__name__}: {error}") from None


# list


def list_names(options: argparse.Namespace) -> None:
    """``tcpcc list``"""
    import tcpcc as tc
    from tcpcc.cli.fields import fields
    from tcpcc.models.evidence import evidence_table

    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "controllers": lambda: _short(tc.controllers()),
        "evidence": evidence_table,
        "slow_starts": lambda: _short(tc.slow_starts()),
        "queues": lambda: _short(tc.queues()),
        "recoveries": lambda: _short(tc.recoveries()),
        "fields": fields,
        "papers": _papers,
    }
    _import(options.imports)
    if options.what in tables:
        print(plain_table(tables[options.what]()))
        return
    if options.what:
        print(_one_definition(options.what))
        return
    if checkout() is None:
        del tables["papers"]
    print("\n\n".join(f"{what}\n\n{plain_table(table())}" for what, table in tables.items()))


def _short(table: pd.DataFrame) -> pd.DataFrame:
    """A table of definitions for a terminal; rows without a parameter show the summary."""
    short = table.drop(columns=["summary", "source"], errors="ignore")
    short["meaning"] = table["meaning"].where(table["parameter"] != "", table["summary"])
    empty = short.isna() | (short == "")
    return short.loc[:, ~empty.all()]


def _evidence_for(controller: Controller) -> list[str]:
    """One line each: source of its constants, tests of its behaviour."""
    from tcpcc.models.evidence import evidence

    lines = []
    if controller.name in evidence():
        one = evidence()[controller.name]
        lines.append(f"constants: {one.constants}")
        lines += [
            f"tested against: {each.kind}: {each.what} (tests/{each.test})" for each in one.tests
        ]
    return lines


def _one_definition(name: str) -> str:
    """Description of the definitions with this name, of any kind."""
    from tcpcc.controllers import CONTROLLERS
    from tcpcc.queues.discipline import QUEUES
    from tcpcc.slow_start import SLOW_STARTS
    from tcpcc.transport.recovery import RECOVERIES

    registries = (CONTROLLERS, SLOW_STARTS, QUEUES, RECOVERIES)
    found = [registry for registry in registries if name in registry]
    if not found:
        raise unknown("name", name, [*LISTS, *(n for r in registries for n in r)])
    parts = []
    for registry in found:
        table = registry.table()
        mine = table[table[registry.kind] == name]
        head = [f"{registry.kind} {name}: {mine['summary'].iloc[0]}"]
        head += [f"{c}: {mine[c].iloc[0]}" for c in registry.columns if mine[c].iloc[0]]
        rows = mine[["parameter", "default", "unit", "meaning"]]
        if registry is CONTROLLERS:
            head += _evidence_for(CONTROLLERS[name])
        if registry[name].params:
            head.append("\n" + plain_table(rows))
        parts.append("\n".join(head))
    return "\n\n".join(parts)


def _papers() -> pd.DataFrame:
    """The papers of the checkout, from their data files: `list` runs no code of a checkout."""
    import tomllib

    import pandas as pd

    root = checkout()
    if root is None:
        raise TcpccError(_NO_CHECKOUT)
    rows = []
    for file in sorted((root / "experiments" / "data").glob("*.toml")):
        if not (root / "experiments" / file.stem).is_dir():
            continue
        for item in tomllib.loads(file.read_text(encoding="utf-8"))["item"]:
            cells = sum(len(b["rows"]) * len(b["columns"]) for b in item.get("block", ()))
            row = {"paper": file.stem, "item": item["name"], "cells": cells}
            rows.append({**row, "title": item["title"]})
    return pd.DataFrame(rows)


# run


def run_scenario(options: argparse.Namespace) -> None:
    """``tcpcc run``"""
    from tcpcc.cli.settings import load
    from tcpcc.models import simulate

    _check_targets(options, "save", "stream", "csv", "plot")
    _import(options.imports)
    scenario = load(options.scenario, options.set, options.seed)
    try:
        run = simulate(
            scenario,
            options.model,
            stream=options.stream,
            progress=sys.stderr.isatty(),
            **_model_options(options),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; only complete runs are saved") from None
    try:
        if options.save:
            run.save(options.save)
        if options.csv:
            run.to_csv(options.csv)
        if options.plot:
            _save_plot(run, options.plot)
    except OSError:  # the results are not lost with the file
        print_run(run, options.after, options.json)
        raise
    print_run(run, options.after, options.json)


def _save_plot(run: Run, path: Path) -> None:
    with whole_file(path) as part:
        run.plot().savefig(part, format=path.suffix[1:])


def _check_targets(options: argparse.Namespace, *names: str) -> None:
    """Check before a simulation that its results can be written without overwriting inputs."""
    seen = {options.scenario.resolve(): "the scenario"} if hasattr(options, "scenario") else {}
    for name in names:
        target = getattr(options, name)
        if target is None:
            continue
        if not target.parent.is_dir():
            raise ScenarioError(f"{target.parent}: no such directory")
        if target.resolve() in seen:
            raise ScenarioError(f"--{name} {target}: is also {seen[target.resolve()]}")
        if name == "plot" and target.suffix not in PICTURES:
            raise ScenarioError(f"plot = {target}: must end in {', '.join(PICTURES)}")
        check_target(target)
        seen[target.resolve()] = f"--{name}'s file"


# show


def show(options: argparse.Namespace) -> None:
    """``tcpcc show``"""
    from tcpcc.results import Run

    _check_targets(options, "plot")
    run = Run.load(options.run, lazy=True)
    if options.toml:
        print(run.data.attrs["scenario"], end="")
        return
    if options.plot:
        _save_plot(run, options.plot)
    print_run(run, options.after, options.json)


# cite


def cite(options: argparse.Namespace) -> None:
    """``tcpcc cite``"""
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

    _import(options.imports)
    of_file = options.file.suffix == ".toml"
    found = Scenario.load(options.file) if of_file else Run.load(options.file, lazy=True)
    print(found.cite(*options.also), end="")


# sweep


def sweep_file(options: argparse.Namespace) -> None:
    """``tcpcc sweep``"""
    from tcpcc.cli.settings import load
    from tcpcc.sweep import sweep

    _check_targets(options, "csv")
    _import(options.imports)
    axes: Any = dict(_axis(text) for text in options.over)
    if not axes:
        raise ScenarioError("--over: give at least one axis, such as seed=1:5")

    def make(**point: Any) -> Any:
        changes = [*options.set, *(f"{k}={_toml(v)}" for k, v in point.items() if k != "seed")]
        return load(options.scenario, changes, point.get("seed", options.seed))

    def measured(run: Any) -> dict[str, Any]:
        rates = run.throughput(after=options.after)
        found: dict[str, Any] = {
            f"{name}_mbps": float(rates.sel(flow=name)) / 1e6 for name in run.flows
        }
        if run.links:
            link = run.busiest_link(after=options.after)
            found |= {"busiest_link": link} if len(run.links) > 1 else {}
            found["utilization"] = run.utilization(link, after=options.after)
            found["queue_mean"] = run.queue_mean(after=options.after, link=link)
        return found | {_RECORD: _digest(run)}

    common: dict[str, Any] = {
        "model": options.model, "jobs": options.jobs, "cache": options.cache,
        "options": _model_options(options),
    }  # fmt: skip
    table = sweep(make, measured, **common, **axes)
    records = table.pop(_RECORD)
    if options.csv:
        with whole_file(options.csv) as part:
            table.to_csv(part, index=False)
    print(plain_table(table))
    others = [name for name in axes if name != "seed"]
    if len(axes.get("seed", ())) > 1 and not _seeds_differ(table[others], records):
        print(_SAME_SEEDS, file=sys.stderr)


_SAME_SEEDS = (
    "note: the seed changes nothing here: runs that differ only in their seed are identical;"
    " --set flow.jitter='0.1 s' spreads the starts at random"
)

_RECORD = "record"  # column with the digest of a run's record


def _digest(run: Any) -> str:
    """Hash of all numbers in a record."""
    from tcpcc.engine.framed import digest
    from tcpcc.engine.source import encoded

    return digest(*(encoded(variable.values) for variable in run.data.variables.values()))


def _seeds_differ(others: pd.DataFrame, records: pd.Series) -> bool:
    """Whether any runs with equal values on the other axes have different records."""
    points = list(others.astype(str).itertuples(index=False, name=None))
    first = dict(zip(reversed(points), reversed(list(records)), strict=True))
    return any(first[point] != record for point, record in zip(points, records, strict=True))


def _axis(text: str) -> tuple[str, list[Any]]:
    """An axis of a grid: "path=1,2,5", or "path=1:20" for whole numbers including both ends."""
    path, equals, values = text.partition("=")
    low, colon, high = values.partition(":")
    if equals and colon and low.isdigit() and high.isdigit():
        if int(low) > int(high):
            raise ScenarioError(f"--over {text}: the first number must not be above the last")
        return path, list(range(int(low), int(high) + 1))
    if not equals or not values:
        raise ScenarioError(f"--over {text}: must be path=value,value or path=first:last")
    return path, [value_of(value) for value in values.split(",")]


def _toml(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower()


# compare


def compare(options: argparse.Namespace) -> None:
    """``tcpcc compare``"""
    from tcpcc.cli.settings import load
    from tcpcc.many import simulate_many
    from tcpcc.models import check_model
    from tcpcc.results.side_by_side import side_by_side

    _check_targets(options, "csv")
    _import(options.imports)
    settings: dict[str, Any] = {"force": True} if options.force else {}
    given_models = options.models.split(",")
    models = {model: dict(settings) for model in given_models}
    for model in models:
        check_model(model)
    if len(models) < len(given_models):
        raise ScenarioError(f"--models {options.models}: a model is given twice")
    if options.steps is not None:
        if "fluid" not in models:
            raise ScenarioError(f"--steps {options.steps:g}: needs --models fluid")
        models["fluid"]["steps"] = options.steps
    if options.trains is not None:
        models["trains"] = settings | {"trains": options.trains}
    seeds: list[Any] = [None] if options.seeds is None else _axis(f"seed={options.seeds}")[1]
    names = _columns(options.scenarios, list(models))
    tables = []
    digests: list[list[str]] = []
    for seed in seeds:
        cases = [load(path, options.set, seed) for path in options.scenarios]
        runs: dict[str, Any] = {}
        for model, given in models.items():
            name = "packet" if model == "trains" else model
            found = simulate_many(cases, model=name, jobs=options.jobs, **given)
            runs |= {
                names[path, model]: run for path, run in zip(options.scenarios, found, strict=True)
            }
        ordered = {name: runs[name] for name in names.values()}
        digests.append([_digest(run) for run in runs.values()])
        tables.append(side_by_side(ordered, after=options.after, link=options.link))
    if options.csv:
        import pandas as pd

        table = tables[0]
        if options.seeds is not None:
            table = pd.concat(tables, keys=seeds, names=["seed"])
        with whole_file(options.csv) as part:
            table.to_csv(part)
    print(fitted(over_seeds(tables).reset_index()))
    if len(digests) > 1 and all(one == digests[0] for one in digests):
        print(_SAME_SEEDS, file=sys.stderr)


def _columns(paths: Sequence[Path], models: Sequence[str]) -> dict[tuple[Path, str], str]:
    """Names of the columns: what distinguishes the runs, the file, the model or both."""
    stems = [path.stem for path in paths]
    short = len(set(stems)) == len(stems)
    found = {}
    for path in paths:
        file = path.stem if short else str(path)
        for model in models:
            both = [*([file] if len(paths) > 1 else []), *([model] if len(models) > 1 else [])]
            found[path, model] = " ".join(both) or file
    if len(set(found.values())) < len(paths) * len(models):
        raise ScenarioError("compare: the same scenario is given twice")
    return found


# estimate


def estimate_cost(options: argparse.Namespace) -> None:
    """``tcpcc estimate``"""
    import pandas as pd

    from tcpcc.cli.settings import load
    from tcpcc.models import estimate

    _import(options.imports)
    scenario = load(options.scenario, options.set)
    rows: list[dict[str, Any]] = []
    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("packet", "packet", {}),
        ("packet, SimPy driver", "packet", {"driver": "simpy"}),
        ("packet, trains=16", "packet", {"trains": 16}),
        ("fluid", "fluid", {}),
        ("hybrid", "hybrid", {}),
    ]
    for name, model, given in ways:
        try:
            found = estimate(scenario, model, **given)
        except ScenarioError as error:
            rows.append({"model": name, "note": str(error)})
            continue
        row = {"model": name, "packets": _about(found.packets), "steps": _about(found.steps)}
        row |= {"CPU time (s)": _about(found.seconds)}
        rows.append({**row, "memory (MiB)": _about(found.memory / 2**20)})
    columns = ["model", "packets", "steps", "CPU time (s)", "memory (MiB)", "note"]
    table = pd.DataFrame(rows, columns=columns).dropna(axis="columns", how="all")
    print(plain_table(table.astype(object)))


def _about(number: float) -> float | None:
    """A number rounded to two digits; None for 0."""
    return float(f"{number:.2g}") if number else None


# new


def new_file(options: argparse.Namespace) -> None:
    """``tcpcc new``"""
    from tcpcc.cli.templates import write

    print(f"wrote {write(options.kind, options.name, options.package)}")


# export


def evaluate_one(options: argparse.Namespace) -> int:
    """``tcpcc evaluate``; returns 1 if a criterion fails."""
    from tcpcc.apps.evaluate import evaluate

    sections = options.sections.split(",") if options.sections else None
    with _cluster(options):
        dossier = evaluate(
            _evaluated(options), against=options.against.split(","), sections=sections,
            cellular=options.cellular, **_evaluation(options),
        )  # fmt: skip
    table = dossier.sections()
    print(plain_table(table[table["criteria"] > 0].reset_index()))
    print(f"\n{dossier!r}".replace("<", "").replace(">", ""))
    if options.out:
        print(f"wrote {dossier.save(options.out)}")
    return 1 if dossier.failed else 0


def league_of(options: argparse.Namespace) -> None:
    """``tcpcc league``"""
    from tcpcc.apps.evaluate import league

    _import(options.imports)
    with _cluster(options):
        found = league(options.controllers or None, out=options.out, **_evaluation(options))
    print(plain_table(found.table().reset_index()))
    if options.out:
        print(f"wrote {options.out / 'index.html'}")


def attack_one(options: argparse.Namespace) -> None:
    """``tcpcc attack``"""
    from tcpcc.apps.evaluate import attack

    found = attack(
        _evaluated(options), options.harm, ranges=_ranges(options.over) or None,
        trials=options.trials, seed=options.seed, jobs=options.jobs, cache=options.cache,
    )  # fmt: skip
    told = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in found.point.items()
    )
    print(f"{options.harm}: harm {found.harm:.3f} with {told or 'nothing special'}")
    if options.save:
        found.save(options.save)
        own = [name for name in (*options.imports, options.controller) if str(name).endswith(".py")]
        needed = "".join(f" --import {name}" for name in own)
        print(f"wrote {options.save} (harm {found.replayed:.3f}): tcpcc run {options.save}{needed}")


def _ranges(texts: Sequence[str]) -> dict[str, Any]:
    """Ranges of an attack: "rtt=0.01:0.2", "queue=droptail,codel" or "rtt"."""
    ranges: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            ranges[name] = None
        elif ":" in value:
            ranges[name] = tuple(value_of(end) for end in value.split(":"))
        else:
            ranges[name] = tuple(value.split(","))
    return ranges


def judge_trace(options: argparse.Namespace) -> int:
    """``tcpcc judge``; returns 1 if a case fails."""
    from tcpcc.apps.conformance import cases, find, judge, publish

    names = [find(name).name for name in options.case.split(",")] if options.case else None
    if options.list:
        import pandas as pd

        rows = [
            {"case": c.name, "source": c.source, "checks": len(c.checks), "title": c.title}
            for c in cases().values()
        ]
        print(plain_table(pd.DataFrame(rows)))
        return 0
    if options.write is not None:
        found = publish(options.write, names)
        print("\n".join(repr(each).strip("<>") for each in found))
        print(f"wrote {options.write / 'README.md'}")
        return 0
    if names is None or (options.trace is None) == (options.controller is None):
        raise ScenarioError(
            "judge: give --case and either a trace or --controller; or --list, or --write FOLDER"
        )
    if options.controller is None:
        found = [judge(options.trace, name) for name in names]
    else:
        flow = _evaluated(options)
        runs = [find(name).simulate(flow.controller, params=flow.params) for name in names]
        found = [judge(run, name) for run, name in zip(runs, names, strict=True)]
    good = all(each.passed and (each.complete or not options.complete) for each in found)
    if options.json:
        print_json([{"case": each.case.name, **row} for each in found for row in each.rows()])
        return int(not good)
    for each in found:
        table = each.table()
        short = ["check", "verdict", "envelope", "found", "time", "value"]
        print(f"{each.case.name}: {each.case.title}\n")
        print(plain_table(table if options.verbose else table[short]))
        print("\n" + repr(each).strip("<>"))
    return int(not good)


def _evaluated(options: argparse.Namespace) -> Flow:
    """The flow of a controller's name, or of the file that registers it."""
    from tcpcc.scenario import Flow

    _import(options.imports)
    name = options.controller
    return Flow(
        _registered_by(Path(name)) if name.endswith(".py") else name, params=_params(options)
    )


def _evaluation(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("quick", "seeds", "jobs", "cache")}


def _cluster(options: argparse.Namespace) -> AbstractContextManager[None]:
    from tcpcc.many import on_cluster

    return on_cluster(options.cluster) if options.cluster else nullcontext()


def _registered_by(file: Path) -> str:
    """Name of the one controller that a file registers."""
    from tcpcc.controllers import CONTROLLERS

    before = set(CONTROLLERS.names())
    _import([file])
    new = [name for name in CONTROLLERS.names() if name not in before]
    if len(new) != 1:
        count = "no controller" if not new else f"{len(new)} controllers: {', '.join(new)}"
        raise ScenarioError(f"evaluate {file}: must register one controller; it registers {count}")
    return new[0]


def export_rules(options: argparse.Namespace) -> None:
    """``tcpcc export``"""
    from tcpcc.apps.export import export, exportable

    _import(options.imports)
    if options.list:
        print(plain_table(exportable()))
        return
    if options.controller is None:
        raise ScenarioError("export: give a controller's name, or --list")
    settings = _rule_settings(options)
    settings["glue"] = options.glue
    for path in export(options.controller, options.to, options.out, **settings):
        print(f"wrote {path}")


# web


def web_page(options: argparse.Namespace) -> None:
    """``tcpcc web``"""
    from tcpcc.apps.browser import to_html
    from tcpcc.cli.settings import load

    _check_targets(options, "out")
    _import(options.imports)
    given = {name: getattr(options, name) for name in ("controls", "controllers", "queues")}
    chosen = {name: text.split(",") for name, text in given.items() if text is not None}
    scenario = load(options.scenario, options.set, options.seed)
    fluid = False if options.no_fluid else None
    page = to_html(scenario, options.out, title=options.title, fluid=fluid, **chosen)
    print(f"{options.out}: {len(page.encode()) / 1e3:.0f} kB; open it in a browser")


# kernel


def in_kernel(options: argparse.Namespace) -> None:
    """``tcpcc kernel``"""
    from tcpcc.apps.export import loader

    _import(options.imports)
    if options.action == "list":
        print("\n".join(loader.loaded_names()) or "no controller is loaded")
        return
    if options.name is None:
        raise ScenarioError(f"kernel {options.action}: give a name")
    if options.action == "load":
        name = loader.load(options.name, name=options.called, **_rule_settings(options))
        print(f"loaded {name}: iperf3 -C {name}, or the socket option TCP_CONGESTION")
    else:
        loader.unload(options.name)
        print(f"unloaded {options.name}")


def _rule_settings(options: argparse.Namespace) -> Any:
    """The slow start and the parameters of a controller that is exported."""
    return {"slow_start": options.slow_start, "params": _params(options)}


def _params(options: argparse.Namespace) -> dict[str, Any]:
    """Values of a controller's parameters."""
    params = {}
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"--set {text}: must be name=value")
        params[name] = value_of(value)
    return params


# completion


def completion(options: argparse.Namespace) -> None:
    """``tcpcc completion``"""
    import shtab

    print(shtab.complete(parser(), shell=options.shell))


# reproduce


def reproduce(options: argparse.Namespace) -> None:
    """``tcpcc reproduce``; the scorecard says where fluid is off, so that it need not warn."""
    import warnings

    from tcpcc.models.limits import ModelWarning

    warnings.simplefilter("ignore", ModelWarning)
    book = experiments()
    if options.paper in book.STUDIES:
        import_module(f"experiments.{options.paper}.command").reproduce(options)
        return
    if options.paper is not None:
        one_of("paper or study", options.paper, known=(*book.papers(), *book.STUDIES))
    for name in ("scorecard", "readme"):
        if getattr(options, name) and options.paper:
            raise ScenarioError(f"{name}: covers all papers; leave out the paper")
    if options.accept and options.model != "both":
        raise ScenarioError(f"accept: needs both models, not {options.model!r} alone")

    def watch(paper: Any, item: str | None, records: Sequence[Any]) -> None:
        """Show a table and draw the figures of a paper as soon as they are ready.

        For one paper all numbers are shown, for all papers only the first item, as a sample.
        """
        if records and not options.json and (item is not None or options.paper or options.verbose):
            print(f"{paper.title}\n\n{_scores(book, records)}\n", flush=True)
        for file in book.draw_all(paper.name, item, options.model) if options.figures else ():
            print(f"drew {file}", file=sys.stderr)

    records = book.reproduce(options.paper, options.item, options.model, watch=watch)
    if options.report:
        build = import_module("experiments.site").build
        page = build(records, options.report, options.paper, options.item)
        print(f"wrote {page}", file=sys.stderr)
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
    for model in ("packet", "fluid") if options.paper or options.verbose else ():
        for cause, cells in _causes(records, model).items():
            print(f"\n{'; '.join(cells)}:\n  {'Fluid: ' if model == 'fluid' else ''}{cause}")
    if records:  # an item may be a figure without numbers
        print("\n" + _overview(book, records))
    for what, place in (
        ("every number", options.scorecard),
        ("figures", "figures/" if options.figures else None),
        ("pages", options.report and options.report / "index.html"),
    ):
        if place:
            print(f"{what}: {place}")


def _overview(book: Any, records: Sequence[Any]) -> str:
    """One row per paper: printed numbers, and those that each model reproduces."""
    table = book.report.overview(records)
    shown = table[["paper"]].assign(printed=table["text"])
    for part, whole in (
        ("reproduced", "tested"), ("within 10 %", "tested"), ("undecided", "tested"),
        ("claims hold", "claims"),
    ):  # fmt: skip
        for model, name in (("packet", "packets"), ("fluid", "fluid")):
            counts = zip(table[f"{model} {part}"], table[f"{model} {whole}"], strict=True)
            shown[f"{part}, {name}"] = [f"{found} of {total}" for found, total in counts]
    return plain_table(shown)


def _causes(records: Sequence[Any], model: str) -> dict[str, list[str]]:
    """Causes of differences, and how many seeds are missing, with the names of their cells."""
    found: dict[str, list[str]] = {}
    for r in records:
        cause = r.cause if model == "packet" else r.fluid_cause
        for text in filter(None, (cause, r.undecided(model))):
            found.setdefault(text, []).append(f"{r.item} {r.row} {r.column}")
    return found


def _scores(book: Any, records: Sequence[Any]) -> str:
    """Table of all numbers with their verdicts, for a terminal."""
    table = book.scorecard(records)
    table["range"] = ["" if r is None else f"{r[0]:.4g} to {r[1]:.4g}" for r in table["spread"]]
    columns = [
        "item", "row", "column", "unit", "published", "reference", "tolerance", "formula", "packet",
        "range", "error", "verdict", "fluid", "fluid_print_error", "fluid_verdict", "agreement",
    ]  # fmt: skip
    return plain_table(table[columns].dropna(axis="columns", how="all"))


def experiments() -> Any:
    """The package `experiments` of the checkout; only `reproduce` imports it.

    Raises:
        TcpccError: there is no checkout, the current folder is in another one, or Python finds
            another package of that name.
    """
    root = checkout()
    if root is None:
        raise TcpccError(_NO_CHECKOUT)
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if folder != root and _is_checkout(folder):
            raise TcpccError(
                f"{folder} is a checkout of tcpcc, but tcpcc is imported from {root};"
                " run `python -m tcpcc` there, or go to another folder"
            )
    if sys.path[:1] != [str(root)]:
        sys.path.insert(0, str(root))
    book = import_module("experiments")
    if Path(book.__file__ or "").resolve().parent != root / "experiments":
        raise TcpccError(f"experiments is imported from {book.__file__}, not from {root}")
    return book


_NO_CHECKOUT = (
    "the papers need a checkout of tcpcc, and tcpcc imported from it: run `pip install -e .` or"
    " `python -m tcpcc` in the checkout"
)


def checkout() -> Path | None:
    """The checkout of tcpcc that this package is imported from, or None.

    Neither the current folder nor its parents count: their code is not ours.
    """
    root = Path(__file__).resolve().parents[2]
    return root if _is_checkout(root) else None


def _is_checkout(folder: Path) -> bool:
    """Whether a folder is a checkout of this project; reads files and runs nothing."""
    import tomllib

    try:
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
        name = tomllib.loads(text).get("project", {}).get("name")
    except (OSError, ValueError, AttributeError):
        return False
    return name == "tcpcc" and (folder / "experiments" / "harness.py").is_file()


# bench


def bench(options: argparse.Namespace) -> None:
    """``tcpcc bench``"""
    from tcpcc import precision
    from tcpcc.bench import measure, write_readme

    if options.page and not options.precision:
        raise ScenarioError("--page: needs --precision")
    if options.precision:
        if options.page:
            precision.text_of(options.page)
        table = precision.measure(report=lambda line: print(line, file=sys.stderr))
        print(plain_table(table))
        if options.page:
            precision.write_page(table, options.page)
            print(f"wrote {options.page}")
        return

    found = measure(report=lambda line: print(line, file=sys.stderr))
    print(plain_table(found))
    if options.readme:
        write_readme(found, Path("README.md"))
