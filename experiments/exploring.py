"""A paper's tables and figures as starting points of the explorer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiments import harness
from experiments.run_labels import in_words
from experiments.scorecard_page import heading
from tcpcc import CBR, Scenario

if TYPE_CHECKING:
    from tcpcc.apps.interactive.explorer import Explorer


def starting_points(paper: str, item: str | None = None) -> dict[str, Scenario]:
    """Scenarios of a paper by title.

    Args:
        paper: name of the paper.
        item: name of one of its tables or figures: all its scenarios, one seed each. None: the
            first scenario of every item.

    Raises:
        ScenarioError: unknown paper or item.
    """
    of_paper = harness.papers_of(paper)[0]
    names = [name for name in of_paper.items if name in harness.items_of(of_paper, item)]
    scenarios: dict[str, Scenario] = {}
    for name in names:
        of_item: Mapping[Any, Scenario] = of_paper.items[name].scenarios()
        for key, scenario in of_item.items():
            if _can_be_explored(scenario):
                title = (
                    heading(name)
                    if item is None
                    else f"{heading(name)}: {in_words(key, of_paper.items[name].parts, seed=False)}"
                )
                scenarios.setdefault(title, scenario)
    return scenarios


def explore(paper: str, item: str | None = None) -> Explorer:
    """`tcpcc.explore` with a paper's scenarios to start from.

    Arguments as in `starting_points`; errors also as in `tcpcc.explore`.
    """
    import tcpcc as tc

    return tc.explore(starting_points(paper, item))


def _can_be_explored(scenario: Scenario) -> bool:
    flows = [flow for flow in scenario.flows if not isinstance(flow, CBR)]
    return bool(flows) and not scenario.workloads
