"""The C that is written by hand: files of this package, in `bpf` and `userspace`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tcpcc.errors import ScenarioError

FOLDER = Path(__file__).parent


@cache
def text_of(name: str) -> str:
    file = FOLDER / name
    if not file.is_file():
        raise ScenarioError(f"export: {name} is missing from this installation")
    return file.read_text(encoding="utf-8")


@cache
def functions_of(name: str) -> dict[str, str]:
    """The functions of a file by name, in order, each with its comment. Blank lines part them."""
    _, *blocks = text_of(name).rstrip("\n").split("\n\n")
    return {re.search(r"(\w+)\(\w+ \w+", block)[1]: block for block in blocks}  # type: ignore[index]
