"""The criteria of all sections of RFC 9743."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tcpcc.apps.evaluate import alone_criteria, mixed_criteria, path_criteria, special_criteria
from tcpcc.apps.evaluate.criterion import Criterion


def criteria(against: Iterable[str], cellular: Iterable[str | Path] = ()) -> tuple[Criterion, ...]:
    """All criteria, in the order of the RFC's sections.

    Args:
        against: controllers beside which the tested one runs.
        cellular: Mahimahi traces of cellular links.

    Raises:
        ScenarioError: a trace cannot be read.
    """
    return (
        *alone_criteria.criteria(), *mixed_criteria.criteria(tuple(against)),
        *path_criteria.criteria(tuple(cellular)), *special_criteria.criteria(),
    )  # fmt: skip
