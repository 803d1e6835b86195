"""Measured numbers kept on disk, so that what nothing has changed is not simulated again.

A file holds the numbers of one item from one model. Its name has a hash of the source of tcpcc and
of the experiments in it, so an edit of either measures anew. Loading a run takes longer than a
quick simulation does; this takes no time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import tcpcc

Numbers = dict[tuple[str, str], tuple[float | None, ...]]
"""By (row, column), what a `harness.Measured` has."""


@cache
def digest() -> str:
    """Hash of all source that decides a number."""
    text = hashlib.sha256()
    for folder in (Path(tcpcc.__file__).parent, Path(__file__).parent):
        for file in sorted(folder.rglob("*.py")):
            text.update(file.relative_to(folder).as_posix().encode() + file.read_bytes())
    return text.hexdigest()[:16]


def _place(folder: Path, paper: str, item: str, model: str) -> Path:
    return folder / f"{paper}-{item}-{model}-{digest()}.json"


def load(folder: Path, paper: str, item: str, model: str) -> Numbers | None:
    """What is kept of an item from a model; None if nothing, or nothing that can be read."""
    try:
        entries = json.loads(_place(folder, paper, item, model).read_text(encoding="utf-8"))
        return {(row, column): tuple(numbers) for row, column, numbers in entries}
    except (OSError, ValueError):
        return None


def store(
    folder: Path,
    paper: str,
    item: str,
    model: str,
    numbers: Mapping[tuple[str, str], Iterable[float | None]],
) -> None:
    """Keep an item's numbers, whole or not at all, in place of those of older source."""
    folder.mkdir(parents=True, exist_ok=True)
    place = _place(folder, paper, item, model)
    entries = [[row, column, list(values)] for (row, column), values in numbers.items()]
    unfinished = place.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(entries), encoding="utf-8")
    unfinished.replace(place)
    for old in folder.glob(f"{paper}-{item}-{model}-*.json"):
        if old != place:
            old.unlink(missing_ok=True)
