"""Load controllers into the running Linux, unload and list them (root)."""

from __future__ import annotations

import argparse

from tcpcc.cli.options import add, add_parameters, import_files, parameters
from tcpcc.errors import ScenarioError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["load", "unload", "list"])
    parser.add_argument(
        "name", nargs="?", help="load: a controller, such as vegas; unload: its name in the kernel"
    )
    parser.add_argument("--name", dest="called", help="load: name in the kernel; default: tc_NAME")
    add(parser, "--slow-start")
    add_parameters(parser)


def run(options: argparse.Namespace) -> None:
    from tcpcc.apps.export import loader

    import_files(options.imports)
    if options.action == "list":
        print("\n".join(loader.loaded_names()) or "no controller is loaded")
        return
    if options.name is None:
        raise ScenarioError(f"kernel {options.action}: give a name")
    if options.action == "load":
        name = loader.load(
            options.name, name=options.called, slow_start=options.slow_start,
            params=parameters(options),
        )  # fmt: skip
        print(f"loaded {name}: iperf3 -C {name}, or the socket option TCP_CONGESTION")
    else:
        loader.unload(options.name)
        print(f"unloaded {options.name}")
