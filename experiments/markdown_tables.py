"""Tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], words: int = 1) -> str:
    """A table whose first `words` columns are words, and the others numbers."""
    ruler = words * ["---"] + (len(head) - words) * ["--:"]
    return "\n".join([_line(head), f"|{'|'.join(ruler)}|", *map(_line, rows)])


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
