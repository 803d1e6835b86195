"""Write a controller's rules as C or as BPF for Linux."""

from __future__ import annotations

import argparse
from pathlib import Path

from tcpcc.cli.options import add, add_parameters, import_files, parameters
from tcpcc.cli.printing import plain_table
from tcpcc.errors import ScenarioError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("controller", nargs="?", help="name, such as vegas")
    parser.add_argument("--to", default="c", help="c (default) or bpf")
    parser.add_argument(
        "--out", type=Path, default=Path("."), metavar="DIR", help="folder; default: this one"
    )
    add(parser, "--slow-start")
    parser.add_argument(
        "--glue", action="store_true", help="also write NAME_glue.h and .c, for a stack's events"
    )
    parser.add_argument(
        "--list", action="store_true", help="print which controllers can be exported"
    )
    add_parameters(parser)


def run(options: argparse.Namespace) -> None:
    from tcpcc.apps.export import export, exportable

    import_files(options.imports)
    if options.list:
        print(plain_table(exportable()))
        return
    if options.controller is None:
        raise ScenarioError("export: give a controller's name, or --list")
    settings = {"slow_start": options.slow_start, "params": parameters(options)}
    for path in export(options.controller, options.to, options.out, glue=options.glue, **settings):
        print(f"wrote {path}")
