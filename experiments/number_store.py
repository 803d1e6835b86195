"""Measured numbers stored on disk, so that unchanged items are not simulated again.

A file has the numbers of one item in one model, with all seeds or a few. Its name contains a hash
of the code that determines them: tcpcc without its display code, the paper's modules that the item
uses, the modules of `COMMON`, and those of `SHARED` that it imports. Comments and docstrings do not
change the hash. Reading these files is faster than loading cached runs. The first line is a
checksum of the rest and of the file's name.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from experiments import seeds
from tcpcc.engine.source import PACKAGE, code_of

_code = cache(code_of)

Numbers = dict[tuple[str, str], tuple[float | None, ...]]
"""Fields of a `Measured` by (row, column)."""

SHOWS = {
    "apps", "cli", "comparison_plot.py", "pcapng.py", "plot_style.py", "plots.py",
    "qlog.py", "topology_plot.py", "vegas_trace_plot.py",
}  # fmt: skip
"""Files and folders of tcpcc that display numbers and do not affect them."""

COMMON = ("experiments.measured_numbers", "experiments.seeds")
"""Modules that compute numbers of every paper: quotients, and statistics over seeds."""

SHARED = ("experiments.random_hosts",)
"""Modules with changes of scenarios."""


def digest(*functions: Callable[..., Any]) -> str:
    """Hash of all code that affects the results of a paper's `functions`."""
    modules = frozenset(part.__module__ for function in functions for part in _parts(function))
    return _digest(modules, seeds.QUICK)


@cache
def _digest(modules: frozenset[str], quick: bool) -> str:
    parts = [f"{seeds.QUICK_SEEDS if quick else 'all'} seeds"]
    for file in sorted(PACKAGE.rglob("*.py")):
        within = file.relative_to(PACKAGE)
        if not SHOWS & set(within.parts):
            parts += [within.as_posix(), _code(file)]
    for module in sorted(_dependencies(modules)):
        parts += [module, _code(_file(module))]
    # as JSON, in which no two lists of texts are the same bytes
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _parts(function: Any) -> Iterator[Any]:
    """The function itself, or the functions inside a `partial`."""
    if isinstance(function, partial):
        for part in (function.func, *function.args, *function.keywords.values()):
            yield from _parts(part)
    elif callable(function):
        yield function


def _dependencies(modules: Iterable[str]) -> set[str]:
    """`COMMON`, and the papers' modules among `modules` and their imports, direct or indirect."""
    visited: set[str] = set()
    waiting = [*modules, *COMMON]
    while waiting:
        name = waiting.pop()
        of_paper = name.startswith("experiments.") and name.count(".") > 1
        if name in visited or not (of_paper or name in COMMON + SHARED) or not _file(name).exists():
            continue
        visited.add(name)
        for node in ast.walk(ast.parse(_file(name).read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return visited


def _file(module: str) -> Path:
    return Path(__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")


def _place(folder: Path, paper: str, item: str, model: str, code: str) -> Path:
    return folder / f"{_name(paper, item, model)}-{code}.json"


def _checksum(place: Path, text: str) -> str:
    return hashlib.sha256(json.dumps([place.name, text]).encode()).hexdigest()


def _name(paper: str, item: str, model: str) -> str:
    return f"{paper}-{item}-{model}-{'few' if seeds.QUICK else 'all'}"


def load(folder: Path, paper: str, item: str, model: str, code: str) -> Numbers | None:
    """Stored numbers of an item in a model, for the `digest` in `code`.

    Returns:
        The numbers, or None if there is no readable file.
    """
    try:
        place = _place(folder, paper, item, model, code)
        checksum, _, text = place.read_text(encoding="utf-8").partition("\n")
        if checksum != _checksum(place, text):
            return None
        entries = json.loads(text)
        return {(row, column): tuple(numbers) for row, column, numbers in entries}
    except (OSError, ValueError):
        return None


def store(
    folder: Path,
    paper: str,
    item: str,
    model: str,
    code: str,
    numbers: Mapping[tuple[str, str], Iterable[float | None]],
) -> None:
    """Store an item's numbers atomically, and delete those of other code with the same seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    place = _place(folder, paper, item, model, code)
    entries = [[row, column, list(values)] for (row, column), values in numbers.items()]
    unfinished = place.with_suffix(f".{os.getpid()}")
    text = json.dumps(entries)
    unfinished.write_text(f"{_checksum(place, text)}\n{text}", encoding="utf-8")
    unfinished.replace(place)
    for old in folder.glob(f"{_name(paper, item, model)}-*.json"):
        if old != place:
            old.unlink(missing_ok=True)
