"""Evaluate controllers by RFC 9743; exit code 1 if a single one fails."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from tcpcc.cli.options import add, add_parameters, flow_of, import_files
from tcpcc.cli.printing import plain_table
from tcpcc.errors import ScenarioError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "controllers", nargs="+", metavar="controller",
        help="name, such as vegas, or the file MY.py that registers it; several, or `all`: print"
        " how many criteria each one fails",
    )  # fmt: skip
    parser.add_argument(
        "--against", metavar="A,B", help="competing controllers; default: cubic,reno,bbr3"
    )
    parser.add_argument("--sections", metavar="A,B", help="sections, such as 5.1.3,7; default: all")
    parser.add_argument(
        "--cellular", action="append", default=[], type=Path, metavar="FILE",
        help="Mahimahi trace of a cellular link (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for pages, numbers, scenarios"
    )
    parser.add_argument("--quick", action="store_true", help="fewer criteria and seeds")
    parser.add_argument("--seeds", type=int, help="number of seeds; default: 5, quick 3")
    add(parser, "--jobs", "--cache")
    parser.add_argument(
        "--cluster",
        metavar="KIND[=ADDRESS]",
        help="run on a cluster: dask, dask=tcp://host:8786, ray, ray=auto",
    )
    add_parameters(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 1 if a single controller fails a criterion."""
    from tcpcc.sweeps.parallel import on_cluster

    import_files(options.imports)
    names = options.controllers
    settings = {name: getattr(options, name) for name in ("quick", "seeds", "jobs", "cache")}
    for name in ("against", "sections"):
        if getattr(options, name):
            settings[name] = getattr(options, name).split(",")
    with on_cluster(options.cluster) if options.cluster else nullcontext():
        if len(names) == 1 and names != ["all"]:
            return _one(names[0], options, settings)
        return _many(names, options, settings)


def _one(controller: str, options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from tcpcc.apps.evaluate import evaluate

    evaluation = evaluate(flow_of(controller, options), cellular=options.cellular, **settings)
    table = evaluation.sections()
    print(plain_table(table[table["criteria"] > 0].reset_index()))
    print(f"\n{evaluation!r}".replace("<", "").replace(">", ""))
    if options.out:
        print(f"wrote {evaluation.save(options.out)}")
    return 1 if evaluation.failed else 0


def _many(names: Sequence[str], options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from tcpcc.apps.evaluate import league

    for name in ("set", "cellular"):
        if getattr(options, name):
            raise ScenarioError(f"--{name}: needs a single controller")
    flows = None if "all" in names else [flow_of(name, options) for name in names]
    result = league(flows, out=options.out, **settings)
    print(plain_table(result.table().reset_index()))
    if options.out:
        print(f"wrote {options.out / 'index.html'}")
    return 0
