"""HTML tables that show definitions, records and scenarios in a notebook."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table; empty columns are left out."""
    texts = [[_cell(value) for value in row] for row in rows]
    used = [k for k in range(len(head)) if any(row[k] for row in texts)]
    if not used:
        return ""
    top = "".join(f"<th>{html.escape(head[k])}</th>" for k in used)
    lines = ("".join(f"<td>{row[k]}</td>" for k in used) for row in texts)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def headed(title: str, text: str, *parts: str) -> str:
    """A bold title, a line of text after it, and the `parts` below."""
    line = f": {html.escape(text)}" if text else ""
    return f"<div><b>{html.escape(title)}</b>{line}{''.join(parts)}</div>"


def settings(values: Mapping[str, Any]) -> str:
    """A table of names and values."""
    return table(("setting", "value"), values.items())


def _cell(value: Any) -> str:
    """A float with six digits, a string unchanged, anything else as its `repr`."""
    if value is None or value == () or value == "":
        return ""
    if isinstance(value, float):
        return "unlimited" if math.isinf(value) and value > 0 else f"{value:.6g}"
    return html.escape(value if isinstance(value, str) else repr(value))
