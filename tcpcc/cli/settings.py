"""Values as text: scenario files with values overridden, and axes of a grid."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from tcpcc.errors import ScenarioError, unknown
from tcpcc.scenario import Scenario


def load(path: Path, changes: list[str], seed: int | None = None) -> Scenario:
    """Load a scenario file and apply ``path=value`` settings and another seed.

    A path consists of keys of tables. In a list of tables, a number from 1 selects one table
    (``flow.2.start=3``); without a number the setting applies to all (``flow.recovery=sack``). A
    value is TOML, or else a plain string.

    Raises:
        ScenarioError: a path that does not exist; the message names the setting.
    """
    scenario = Scenario.load(path)
    if not changes and seed is None:
        return scenario
    data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    for change in changes:
        where, equals, text = change.partition("=")
        if not equals or not where:
            raise ScenarioError(
                f"--set {change}: must be path=value, such as network.rate='5 Mbps'"
            )
        _put(data, where.split("."), value_of(text), f"--set {where}")
    if seed is not None:
        data["seed"] = seed
    try:
        return Scenario.from_toml(tomli_w.dumps(data))
    except ScenarioError as error:
        raise ScenarioError(f"scenario file {str(path)!r}, as changed: {error}") from None


def value_of(text: str) -> Any:
    """A value parsed as TOML, or else a string: 5, true, [1, 2], 5 Mbps."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


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


def _put(table: Any, keys: list[str], value: Any, owner: str) -> None:
    key, *rest = keys
    if isinstance(table, list):
        if key.isdigit():
            if not 1 <= int(key) <= len(table):
                raise ScenarioError(f"{owner}: the list has {len(table)}, numbered from 1")
            members, rest = [table[int(key) - 1]], rest
            if not rest:
                raise ScenarioError(f"{owner}: is a table; add one of its keys")
        else:
            members, rest = table, keys
        for member in members:
            _put(member, rest, value, owner)
    elif not isinstance(table, dict):
        raise ScenarioError(f"{owner}: there is no table to set {key!r} in")
    elif rest:
        if key not in table and key not in ("transport", "params", "network"):
            raise unknown(f"table of {owner}", key, table)
        _put(table.setdefault(key, {}), rest, value, owner)
    else:
        table[key] = value
