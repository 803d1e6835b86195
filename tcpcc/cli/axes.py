"""Axes of a grid as text, and whether the axis `seed` matters."""

from __future__ import annotations

from typing import Any

from tcpcc.cli.settings import value_of
from tcpcc.errors import ScenarioError

SAME_SEEDS = (
    "note: the seed changes nothing here: runs that differ only in their seed are identical;"
    " --set flow.jitter='0.1 s' spreads the starts at random"
)


def axis(text: str) -> tuple[str, list[Any]]:
    """An axis of a grid: "path=1,2,5", or "path=1:20" for whole numbers including both ends."""
    path, equals, values = text.partition("=")
    low, colon, high = values.partition(":")
    if equals and colon and low.isdigit() and high.isdigit():
        if int(low) > int(high):
            raise ScenarioError(f"--over {text}: the first number must not be above the last")
        return path, list(range(int(low), int(high) + 1))
    if not equals or not values:
        raise ScenarioError(f"--over {text}: must be path=value,value or path=first:last")
    return path, [value_of(value) for value in values.split(",")]


def digest_of(run: Any) -> str:
    """Hash of all numbers in a record."""
    from tcpcc.engine.framing import digest
    from tcpcc.engine.source import encoded

    return digest(*(encoded(variable.values) for variable in run.data.variables.values()))
