"""Measure the speed of the models on this machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tcpcc.cli.printing import plain_table
from tcpcc.errors import ScenarioError
from tcpcc.files import around


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--readme", action="store_true", help="write the table into ./README.md (needs ns-2)"
    )
    parser.add_argument(
        "--precision", action="store_true", help="measure cost and error of each model instead"
    )
    parser.add_argument(
        "--page", type=Path, metavar="X.md", help="with --precision: write tables and figure there"
    )


def run(options: argparse.Namespace) -> None:
    from tcpcc.apps.bench import precision
    from tcpcc.apps.bench.speed import measure, write_readme

    if options.page and not options.precision:
        raise ScenarioError("--page: needs --precision")
    if options.precision:
        if options.page:
            around(options.page, precision.MARKS)
        table = precision.measure(report=lambda line: print(line, file=sys.stderr))
        print(plain_table(table))
        if options.page:
            precision.write_page(table, options.page)
            print(f"wrote {options.page}")
        return

    speeds = measure(report=lambda line: print(line, file=sys.stderr))
    print(plain_table(speeds))
    if options.readme:
        write_readme(speeds, Path("README.md"))
