"""Write a scenario as one HTML file that simulates it."""

from __future__ import annotations

import argparse
from pathlib import Path

from tcpcc.cli.options import add, check_targets, import_files

CHOICES = {
    "controls": (
        "what the reader can change",
        "all: rate,delay,buffer,loss,queue,controllers,starts,seed",
    ),
    "controllers": (
        "controllers to choose from",
        "reno,cubic,vegas,quick_vegas,fusion,westwood_rbe,bbr,bbr3",
    ),
    "queues": ("queues to choose from", "droptail,red,codel,pie,dualpi2"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "scenario")
    parser.add_argument(
        "--out", type=Path, default=Path("page.html"), metavar="X.html",
        help="file to write; default: page.html",
    )  # fmt: skip
    parser.add_argument("--title", help="heading of the page")
    for name, (what, default) in CHOICES.items():
        parser.add_argument(f"--{name}", metavar="A,B", help=f"{what}; default: {default}")
    parser.add_argument("--no-fluid", action="store_true", help="leave the fluid model out")
    add(parser, "--seed", "--set", "--import")


def run(options: argparse.Namespace) -> None:
    from tcpcc.apps.browser import to_html
    from tcpcc.cli.settings import load

    check_targets(options, "out")
    import_files(options.imports)
    texts = {name: getattr(options, name) for name in CHOICES}
    chosen = {name: text.split(",") for name, text in texts.items() if text is not None}
    scenario = load(options.scenario, options.set, options.seed)
    fluid = False if options.no_fluid else None
    page = to_html(scenario, options.out, title=options.title, fluid=fluid, **chosen)
    print(f"{options.out}: {len(page.encode()) / 1e3:.0f} kB; open it in a browser")
