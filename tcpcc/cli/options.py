"""Options that several commands have, declared once, and what commands do with them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.cli.settings import value_of
from tcpcc.errors import ScenarioError, TcpccError
from tcpcc.files import check_target, whole_file

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.scenario import Flow

PICTURES = (".png", ".pdf", ".svg")

COMMON: dict[str, dict[str, Any]] = {
    "scenario": {"type": Path, "help": "TOML file"},
    "--after": {
        "type": float, "default": 0.0, "metavar": "S", "help": "measure from this time on, in s",
    },
    "--cache": {"type": Path, "metavar": "DIR", "help": "store finished runs, to resume"},
    "--csv": {"type": Path, "metavar": "X.csv", "help": "write the table"},
    "--driver": {"default": "compiled", "help": "compiled (default) or simpy"},
    "--force": {"action": "store_true", "help": "run even if it needs much time or memory"},
    "--import": {
        "dest": "imports", "action": "append", "default": [], "type": Path, "metavar": "MY.py",
        "help": "Python file that registers your own controllers or queues (repeatable)",
    },
    "--jobs": {"type": int, "help": "number of parallel runs; default: one per processor"},
    "--json": {"action": "store_true", "help": "print the result as JSON"},
    "--model": {"default": "packet", "help": "packet (default), fluid or hybrid"},
    "--plot": {
        "type": Path, "metavar": "X.png", "help": "draw windows, queue, throughput",
    },
    "--seed": {"type": int, "help": "seed; overrides that of the file"},
    "--set": {
        "action": "append", "default": [], "metavar": "PATH=VALUE",
        "help": "override a value of the file: network.rate='5 Mbps', flow.2.start=3 (repeatable)",
    },
    "--slow-start": {"default": "standard", "help": "slow-start rule, such as hystart"},
    "--steps": {
        "type": float, "metavar": "N",
        "help": "fluid model (default: 20), and hybrid with fluid: steps in the shortest base RTT",
    },
    "--trains": {
        "type": float, "metavar": "N",
        "help": "packet and hybrid model: send packets in trains, N in a round trip, such as 16",
    },
    "--verbose": {"action": "store_true", "help": "print every number and its reasons"},
}  # fmt: skip
"""Arguments by name, as `add_argument` takes them."""

PARAMETER = "value of a parameter of the controller (repeatable)"


SAME_SEEDS = (
    "note: the seed changes nothing here: runs that differ only in their seed are identical;"
    " --set flow.jitter='0.1 s' spreads the starts at random"
)


def add(parser: argparse.ArgumentParser, *names: str, **changes: Any) -> None:
    """Add common arguments, all with these changes."""
    for name in names:
        parser.add_argument(name, **COMMON[name] | changes)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add `--set` for parameters of a controller, and `--import`."""
    add(parser, "--set", metavar="NAME=VALUE", help=PARAMETER)
    add(parser, "--import")


def add_simulation(parser: argparse.ArgumentParser) -> None:
    """Add the scenario and the options of one model."""
    add(parser, "scenario", "--model", "--driver", "--trains", "--steps", "--seed", "--force")
    add(parser, "--set", "--import")


def model_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `simulate` that were given."""
    settings = {"trains": options.trains, "steps": options.steps, "force": options.force or None}
    settings["driver"] = None if options.driver == "compiled" else options.driver
    return {name: value for name, value in settings.items() if value is not None}


def parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Values of a controller's parameters."""
    params = {}
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"--set {text}: must be name=value")
        params[name] = value_of(value)
    return params


def import_files(files: Sequence[Path]) -> None:
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


def flow_of(controller: str, options: argparse.Namespace) -> Flow:
    """The flow of a controller's name, or of the file that registers it."""
    from tcpcc.scenario import Flow

    name = _registered_by(Path(controller)) if controller.endswith(".py") else controller
    return Flow(name, params=parameters(options))


def _registered_by(file: Path) -> str:
    """Name of the one controller that a file registers."""
    from tcpcc.controllers import CONTROLLERS

    before = set(CONTROLLERS.names())
    import_files([file])
    new = [name for name in CONTROLLERS.names() if name not in before]
    if len(new) != 1:
        count = "no controller" if not new else f"{len(new)} controllers: {', '.join(new)}"
        raise ScenarioError(f"evaluate {file}: must register one controller; it registers {count}")
    return new[0]


def check_targets(options: argparse.Namespace, *names: str) -> None:
    """Check before a simulation that its results can be written without overwriting inputs."""
    targets = {options.scenario.resolve(): "the scenario"} if hasattr(options, "scenario") else {}
    for name in names:
        target = getattr(options, name)
        if target is None:
            continue
        if not target.parent.is_dir():
            raise ScenarioError(f"{target.parent}: no such directory")
        if target.resolve() in targets:
            raise ScenarioError(f"--{name} {target}: is also {targets[target.resolve()]}")
        if name == "plot" and target.suffix not in PICTURES:
            raise ScenarioError(f"plot = {target}: must end in {', '.join(PICTURES)}")
        check_target(target)
        targets[target.resolve()] = f"--{name}'s file"


def save_plot(run: Run, path: Path) -> None:
    with whole_file(path) as part:
        run.plot().savefig(part, format=path.suffix[1:])


def digest_of(run: Any) -> str:
    """Hash of all numbers in a record."""
    from tcpcc.engine.framing import digest
    from tcpcc.engine.source import encoded

    return digest(*(encoded(variable.values) for variable in run.data.variables.values()))
