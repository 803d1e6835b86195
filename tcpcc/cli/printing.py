"""Output of the command: tables that fit a terminal, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.results import Run

WIDTH = 100  # characters; wider tables are split into blocks

MANY = 1000  # numbers from here on are printed whole, with separators


def print_run(run: Run, after: float, as_json: bool) -> None:
    """Print the summary of a run: flows and links."""
    flows = run.summary(after=after)
    links = run.link_summary(after=after)
    if as_json:
        attrs = {key: run.data.attrs[key] for key in ("model", "driver", "seed", "duration")}
        tables = {
            "flows": flows.reset_index().to_dict("records"),
            "links": links.reset_index().to_dict("records"),
        }
        print_json({**attrs, **tables})
        return
    print(fitted(flows.dropna(axis="columns", how="all").reset_index()))
    if len(links):
        print("\n" + fitted(links.reset_index()))


def print_json(value: Any) -> None:
    """Print one JSON document; NaN and infinities become null."""
    print(json.dumps(_plain(value), indent=1, allow_nan=False, default=str))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def fitted(table: pd.DataFrame) -> str:
    """A table split into blocks of columns that fit `WIDTH`; each block has the first column."""
    blocks = []
    head, rest = list(table)[:1], list(table)[1:]
    while rest:
        for take in range(len(rest), 0, -1):
            block = plain_table(table[head + rest[:take]])
            if max(map(len, block.splitlines())) <= WIDTH:
                break
        blocks.append(block)
        rest = rest[take:]
    return "\n\n".join(blocks) if blocks else plain_table(table)


def plain_table(table: pd.DataFrame) -> str:
    """A table as plain text: text left-aligned, numbers right-aligned, missing values empty."""
    columns = []
    for name in table:
        values = [_text(value) for value in table[name]]
        wide = max(map(len, [str(name), *values]))
        words = any(isinstance(value, str) and value for value in table[name])
        columns.append([f"{v:{'<' if words else '>'}{wide}}" for v in [str(name), *values]])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, Real):
        return str(value)
    number = float(value)
    if MANY <= abs(number) < 1e15:  # a count: all its digits
        return f"{number:,.0f}"
    return f"{number:.4g}"


def over_seeds(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables of numbers of several seeds as one of texts, mean ± standard deviation."""
    import pandas as pd

    if len(tables) == 1:
        return tables[0]
    first = tables[0]

    def cell(row: Any, column: Any) -> str:
        values = [table.loc[row, column] for table in tables]
        if any(isinstance(value, str) for value in values):
            return ", ".join(dict.fromkeys(map(str, values)))
        numbers = pd.Series(values, dtype=float)
        if numbers.isna().all():
            return ""
        return f"{_text(float(numbers.mean()))} ± {numbers.std():.2g}"

    rows = {row: {column: cell(row, column) for column in first} for row in first.index}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("measure")
