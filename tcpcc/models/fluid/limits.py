"""Checks of the fluid model: they refuse unsupported features and warn of inaccurate ones."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError
from tcpcc.models.refusals import (
    FluidWarning,
    refuse_what_needs_packets,
    warn_of_jitter,
    warn_of_unread_headers,
)

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved


def refuse_workloads(scenario: Scenario) -> None:
    """Refuse workloads.

    Raises:
        ScenarioError: the scenario has a workload.
    """
    if scenario.workloads:
        raise ScenarioError(
            "workloads: the fluid model runs only the flows of a scenario; "
            "scenario.spelled_out() converts every conversation to a flow"
        )


def look(resolved: Resolved) -> None:
    """Warn where the fluid model may be inaccurate, and refuse unsupported features.

    Raises:
        ScenarioError: a feature needs packets (`refusals`), a link's rate changes to 0, or a link's
            jitter changes.
    """
    refuse_what_needs_packets(resolved, "fluid")
    warn_of_jitter(resolved, "fluid")
    warn_of_unread_headers(resolved)
    for change in resolved.changes:
        where = f"change of link {change.spec.link!r} at {change.spec.at:g}"
        if change.spec.rate == 0:
            raise ScenarioError(
                f"{where}: rate = 0: the fluid model needs a positive rate; use the packet model"
            )
        for name in ("jitter", "jitter_share"):
            if (value := getattr(change.spec, name)) is not None:
                raise ScenarioError(
                    f"{where}: {name} = {value:g}: the fluid model does not support changes of"
                    " jitter; use the packet model"
                )
    shared = _contended(resolved)
    if len(shared) > 1:
        names = ", ".join(repr(resolved.links[i].name) for i in shared[:3])
        warnings.warn(
            f"fluid model: {len(shared)} drop-tail links ({names}{', ...' if shared[3:] else ''})"
            " are shared by flows with different paths; their throughputs can be wrong by a quarter"
            " or more ('Traffic phases' in tcpcc.models.fluid.automaton): check with the packet"
            " model",
            FluidWarning,
            stacklevel=5,
        )


def _contended(resolved: Resolved) -> list[int]:
    """Drop-tail links with finite buffers that flows with different paths share."""
    paths: dict[int, set[tuple[int, ...]]] = {}
    own = {i for i, link in enumerate(resolved.links) if not _can_drop(resolved, i)}
    for flow in resolved.flows:
        way = tuple(i for i in flow.forward if i not in own)
        for i in way:
            paths.setdefault(i, set()).add(way)
    return sorted(i for i, ways in paths.items() if len(ways) > 1)


def _can_drop(resolved: Resolved, index: int) -> bool:
    link = resolved.links[index]
    return math.isfinite(link.buffer) and link.queue.discipline.on_arrival is None
