"""Write a template: a controller, a scenario, or a paper for `tcpcc reproduce`."""

from __future__ import annotations

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=["controller", "scenario", "paper"])
    parser.add_argument("name", help="letters, digits and _")
    parser.add_argument(
        "--package",
        action="store_true",
        help="controller: write an installable package with its tests",
    )


def run(options: argparse.Namespace) -> None:
    from tcpcc.cli.templates import write

    for path in write(options.kind, options.name, options.package):
        print(f"wrote {path}")
