"""Definitions that other installed packages offer by entry points.

The pyproject.toml of such a package names a controller and the module and variable that hold it:

    [project.entry-points."tcpcc.controllers"]
    mine = "my_package:mine"

The groups are `tcpcc.controllers`, `tcpcc.queues`, `tcpcc.recoveries` and `tcpcc.slow_starts`. A
package is imported when one of its names is first used, or when all names are listed.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from tcpcc.errors import ScenarioError

Offers = tuple[EntryPoint, ...]


@cache
def offered(group: str) -> dict[str, Offers]:
    """The entry points of a group by name; more than one if several packages have that name."""
    offers: dict[str, Offers] = {}
    for entry in sorted(entry_points(group=group), key=lambda e: (e.name, e.value)):
        offers[entry.name] = (*offers.get(entry.name, ()), entry)
    return offers


def packages_of(offers: Offers) -> str:
    """The packages of entry points, for messages."""
    dists = [entry.dist for entry in offers]
    return ", ".join(f"package {d.name} {d.version}" if d else "a package" for d in dists)


def load(kind: str, group: str, name: str) -> tuple[object, str] | None:
    """The object behind an entry point and the name of its module; None if there is none.

    Raises:
        ScenarioError: its module cannot be imported, or several packages offer the name.
    """
    offers = offered(group).get(name)
    if offers is None:
        return None
    if len(offers) > 1:
        raise ScenarioError(
            f"{kind} {name!r}: is offered by {packages_of(offers)}; uninstall all but one"
        )
    (entry,) = offers
    try:
        return entry.load(), entry.module
    except Exception as error:  # whatever the module does
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ScenarioError(
            f"{kind} {name!r} of {packages_of(offers)}: {entry.value!r} cannot be loaded: {reason}"
        ) from error
