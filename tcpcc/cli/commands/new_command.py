"""Write a template: a controller, a scenario, or a paper for `tcpcc reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tcpcc.cli.checkout import required
from tcpcc.errors import ScenarioError
from tcpcc.files import whole_file

FILES = Path(__file__).parents[1] / "new"
"""The templates; `str.format` fills in their names."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=["controller", "scenario", "paper"])
    parser.add_argument("name", help="letters, digits and _")
    parser.add_argument(
        "--package",
        action="store_true",
        help="controller: write an installable package with its tests",
    )


def run(options: argparse.Namespace) -> None:
    for path in write(options.kind, options.name, options.package):
        print(f"wrote {path}")


def write(kind: str, name: str, package: bool = False) -> list[Path]:
    """Write a template of the given kind and name; return the paths of what it wrote.

    Args:
        kind: "controller" and "scenario" are files in the current folder; "paper" is a package of
            the checkout's `experiments` and its data file, which `tcpcc reproduce` reads.
        name: an identifier.
        package: write the folder tcpcc_NAME, an installable package whose entry point offers the
            controller, with its tests.

    Raises:
        ScenarioError: the name is not an identifier, the file or folder exists, or a package of
            another kind is asked for.
        TcpccError: a paper without a checkout.
    """
    if not name.isidentifier():
        raise ScenarioError(f"name = {name!r}: must be letters, digits and _, such as 'my_{kind}'")
    if package and kind != "controller":
        raise ScenarioError(f"--package: is for a controller, not for a {kind}")
    module = f"tcpcc_{name}"
    importing = ""
    if kind == "scenario":
        templates = {Path(f"{name}.toml"): "scenario.toml"}
    elif kind == "paper":
        folder = required() / "experiments"
        templates = {
            folder / name / "__init__.py": "paper.py",
            folder / "data" / f"{name}_published.toml": "paper.toml",
        }
    elif package:
        templates = {
            Path(module) / "pyproject.toml": "pyproject.toml",
            Path(module) / "README.md": "README.md",
            Path(module) / module / "__init__.py": "controller.py",
            Path(module) / "tests" / f"test_{name}.py": "tests.py",
        }
    else:
        templates = {Path(f"{name}.py"): "controller.py"}
        importing = f" --import {name}.py"
    shown = [Path(module)] if package else list(templates)
    for path in shown:
        if path.exists():
            raise ScenarioError(f"{path}: already exists")
    fields = {
        "name": name,
        "title": name.replace("_", " ").capitalize(),
        "file": shown[0],
        "importing": importing,
        "module": module,
        "project": module.replace("_", "-"),
    }
    for file, template in templates.items():
        text = (FILES / f"{template}.txt").read_text(encoding="utf-8").format(**fields)
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as part:
            part.write_text(text, encoding="utf-8")
    return shown
