"""Which flow of the scenario each row of a record belongs to.

A flow with a `count` is one flow in the scenario. In a record it is `count` rows, or fewer rows
that share the count (representatives). Several rows of one flow are named "flow.1", "flow.2", ....
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tcpcc.results.run import Run
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow


def rows_of(run: Run) -> tuple[Resolved, list[int]]:
    """The scenario with each flow once, and for each row of `Run.totals` its place in
    `Resolved.rows`."""
    resolved = run.scenario.resolve(expand=False)
    place = {flow.name: k for k, flow in enumerate(resolved.rows)}
    names = run.data["each" if "each" in run.data.dims else "flow"].values.tolist()
    return resolved, [place[name if name in place else name.rpartition(".")[0]] for name in names]


def recorded_rows(run: Run) -> list[ResolvedFlow]:
    """The flow of each row of the dimension flow."""
    resolved, places = rows_of(run)
    recorded = set(resolved.recorded)
    return [resolved.rows[place] for place in places if place in recorded]


def controllers(run: Run) -> dict[str, str]:
    """The controller of each recorded flow, by its name; "cbr" of a CBR source."""
    return dict(zip(run.flows, map(str, run.data["controller"].values), strict=True))
