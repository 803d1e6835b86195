"""Measured numbers kept on disk, so that what nothing has changed is not simulated again.

A file holds the numbers of one item from one model, of all seeds or of a few. Its name has a hash
of the code that decides them: of tcpcc but for what only shows, and of the paper's modules that the
item's scenarios and numbers come from; comments and docstrings do not count. Loading a run takes
longer than a quick simulation does; this takes no time.
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

import tcpcc
from experiments import seeds

Numbers = dict[tuple[str, str], tuple[float | None, ...]]
"""By (row, column), what a `harness.Measured` has."""

SHOWS = {
    "bench.py", "cli", "comparison.py", "completion.py", "figure.py", "interactive", "pcapng.py",
    "plots.py", "qlog.py", "topology.py", "trace_plots.py",
}  # fmt: skip
"""Files and folders of tcpcc that show numbers and decide none."""


def digest(*functions: Callable[..., Any]) -> str:
    """Hash of all code that decides the numbers that these functions, of a paper, give."""
    modules = frozenset(part.__module__ for each in functions for part in _parts(each))
    return _digest(modules, seeds.QUICK)


@cache
def _digest(modules: frozenset[str], quick: bool) -> str:
    text = hashlib.sha256(f"{seeds.FEW if quick else 'all'} seeds".encode())
    library = Path(tcpcc.__file__).parent
    for file in sorted(library.rglob("*.py")):
        if not SHOWS & set(file.relative_to(library).parts):
            text.update(_code(file))
    for module in sorted(_behind(modules)):
        text.update(_code(_file(module)))
    return text.hexdigest()[:16]


def _parts(function: Any) -> Iterator[Any]:
    """A function, or those that a `partial` is made of."""
    if isinstance(function, partial):
        for each in (function.func, *function.args, *function.keywords.values()):
            yield from _parts(each)
    elif callable(function):
        yield function


def _behind(modules: Iterable[str]) -> set[str]:
    """Those of the papers' modules, and of the seeds', that are among some modules or imported."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        of_paper = name.startswith("experiments.") and name.count(".") > 1
        if name in found or not (of_paper or name == seeds.__name__) or not _file(name).exists():
            continue
        found.add(name)
        for node in ast.walk(ast.parse(_file(name).read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    return found


def _file(module: str) -> Path:
    return Path(__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")


@cache
def _code(file: Path) -> bytes:
    """A file's name and code, without docstrings: expressions that are nothing but a text."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [step for step in body if not _is_text(step)]
    return file.name.encode() + ast.dump(tree).encode()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def _place(folder: Path, paper: str, item: str, model: str, code: str) -> Path:
    return folder / f"{_name(paper, item, model)}-{code}.json"


def _name(paper: str, item: str, model: str) -> str:
    return f"{paper}-{item}-{model}-{'few' if seeds.QUICK else 'all'}"


def load(folder: Path, paper: str, item: str, model: str, code: str) -> Numbers | None:
    """What is kept of an item from a model, by code of that `digest`; None if nothing, or nothing
    that can be read."""
    try:
        entries = json.loads(_place(folder, paper, item, model, code).read_text(encoding="utf-8"))
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
    """Keep an item's numbers, whole or not at all, in place of those of as many seeds from older
    code."""
    folder.mkdir(parents=True, exist_ok=True)
    place = _place(folder, paper, item, model, code)
    entries = [[row, column, list(values)] for (row, column), values in numbers.items()]
    unfinished = place.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(entries), encoding="utf-8")
    unfinished.replace(place)
    for old in folder.glob(f"{_name(paper, item, model)}-*.json"):
        if old != place:
            old.unlink(missing_ok=True)
