"""Simulate scenarios, or one scenario with several models; print measures side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcpcc.cli.options import SAME_SEEDS, add, check_targets, digest_of, import_files
from tcpcc.cli.printing import fitted, over_seeds
from tcpcc.errors import ScenarioError
from tcpcc.files import whole_file


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenarios", type=Path, nargs="+", metavar="scenario", help="TOML file")
    parser.add_argument(
        "--models", default="packet", metavar="A,B", help="models to compare; default: packet"
    )
    add(parser, "--trains", help="also packets in trains, N in a round trip")
    add(parser, "--steps")
    parser.add_argument(
        "--seeds", metavar="A,B", help="seeds, 1,2 or 1:5: mean ± standard deviation"
    )
    add(parser, "--after")
    parser.add_argument("--link", help="link to measure; default: the busiest of each run")
    add(parser, "--jobs", "--csv", "--force", "--set", "--import")


def run(options: argparse.Namespace) -> None:
    from tcpcc.cli.settings import axis, load
    from tcpcc.models import check_model
    from tcpcc.results.comparison_table import side_by_side
    from tcpcc.sweeps import sweep

    check_targets(options, "csv")
    import_files(options.imports)
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
    seeds: list[Any] = [None] if options.seeds is None else axis(f"seed={options.seeds}")[1]
    names = _columns(options.scenarios, list(models))
    tables = []
    digests: list[list[str]] = []
    for seed in seeds:
        cases = [load(path, options.set, seed) for path in options.scenarios]
        runs: dict[str, Any] = {}
        for model, model_options in models.items():
            name = "packet" if model == "trains" else model
            results = sweep(cases, model=name, jobs=options.jobs, **model_options)
            runs |= {
                names[path, model]: run
                for path, run in zip(options.scenarios, results, strict=True)
            }
        ordered = {name: runs[name] for name in names.values()}
        digests.append([digest_of(run) for run in runs.values()])
        tables.append(side_by_side(ordered, after=options.after, link=options.link))
    if options.csv:
        import pandas as pd

        table = tables[0]
        if options.seeds is not None:
            table = pd.concat(tables, keys=seeds, names=["seed"])
        with whole_file(options.csv) as part:
            table.to_csv(part)
    print(fitted(over_seeds(tables).reset_index()))
    if len(digests) > 1 and all(of_seed == digests[0] for of_seed in digests):
        print(SAME_SEEDS, file=sys.stderr)


def _columns(paths: Sequence[Path], models: Sequence[str]) -> dict[tuple[Path, str], str]:
    """Names of the columns: what distinguishes the runs, the file, the model or both."""
    stems = [path.stem for path in paths]
    short = len(set(stems)) == len(stems)
    columns = {}
    for path in paths:
        file = path.stem if short else str(path)
        for model in models:
            both = [*([file] if len(paths) > 1 else []), *([model] if len(models) > 1 else [])]
            columns[path, model] = " ".join(both) or file
    if len(set(columns.values())) < len(paths) * len(models):
        raise ScenarioError("compare: the same scenario is given twice")
    return columns
