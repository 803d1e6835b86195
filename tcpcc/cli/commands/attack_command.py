"""Search for the worst scenario of a controller."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcpcc.cli.options import add, add_parameters, flow_of, import_files
from tcpcc.cli.settings import value_of


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "controller", help="name, such as vegas, or the file MY.py that registers it"
    )
    parser.add_argument(
        "--harm", default="throughput", help="throughput, starvation, loss, delay or others"
    )
    parser.add_argument(
        "--over", action="append", default=[], metavar="NAME=LOW:HIGH",
        help="quantity to vary, such as rtt=0.01:0.2 or queue=droptail,codel; default: all",
    )  # fmt: skip
    parser.add_argument("--trials", type=int, default=200, help="number of points; default: 200")
    add(parser, "--seed", default=1, help="seed of the search; default: 1")
    parser.add_argument("--save", type=Path, metavar="X.toml", help="save the scenario found")
    add(parser, "--jobs", "--cache")
    add_parameters(parser)


def run(options: argparse.Namespace) -> None:
    from tcpcc.apps.evaluate import attack

    import_files(options.imports)
    worst = attack(
        flow_of(options.controller, options), options.harm, ranges=_ranges(options.over) or None,
        trials=options.trials, seed=options.seed, jobs=options.jobs, cache=options.cache,
    )  # fmt: skip
    settings = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in worst.point.items()
    )
    print(f"{options.harm}: harm {worst.harm:.3f} with {settings or 'nothing special'}")
    if options.save:
        worst.save(options.save)
        own = [name for name in (*options.imports, options.controller) if str(name).endswith(".py")]
        needed = "".join(f" --import {name}" for name in own)
        print(f"wrote {options.save} (harm {worst.replayed:.3f}): tcpcc run {options.save}{needed}")


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
