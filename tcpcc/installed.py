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
    found: dict[str, Offers] = {}
    for one in sorted(entry_points(group=group), key=lambda each: (each.name, each.value)):
        found[one.name] = (*found.get(one.name, ()), one)
    return found


def packages_of(offers: Offers) -> str:
    """The packages of entry points, for messages."""
    dists = [each.dist for each in offers]
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
    (one,) = offers
    try:
        return one.load(), one.module
    except Exception as error:  # whatever the module does
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ScenarioError(
            f"{kind} {name!r} of {packages_of(offers)}: {one.value!r} cannot be loaded: {reason}"
        ) from error
