"""Simulate the scenario in a TOML file; print a summary."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tcpcc.cli.options import (
    add,
    add_simulation,
    check_targets,
    import_files,
    model_options,
    save_plot,
)
from tcpcc.cli.printing import print_run


def arguments(parser: argparse.ArgumentParser) -> None:
    add_simulation(parser)
    add(parser, "--after")
    parser.add_argument("--save", type=Path, metavar="X.nc", help="save the record as NetCDF")
    parser.add_argument(
        "--stream", type=Path, metavar="X.nc",
        help="save the record during the run, for long runs",
    )  # fmt: skip
    add(parser, "--csv", help="write the time series of flows")
    add(parser, "--plot", "--json")


def run(options: argparse.Namespace) -> None:
    from tcpcc.cli.settings import load
    from tcpcc.models import simulate

    check_targets(options, "save", "stream", "csv", "plot")
    import_files(options.imports)
    scenario = load(options.scenario, options.set, options.seed)
    try:
        run = simulate(
            scenario,
            options.model,
            stream=options.stream,
            progress=sys.stderr.isatty(),
            **model_options(options),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; only complete runs are saved") from None
    try:
        if options.save:
            run.save(options.save)
        if options.csv:
            run.to_csv(options.csv)
        if options.plot:
            save_plot(run, options.plot)
    except OSError:  # the results are not lost with the file
        print_run(run, options.after, options.json)
        raise
    print_run(run, options.after, options.json)
