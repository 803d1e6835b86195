"""Reproductions of papers: one package per paper, its published values in ``data/``.

>>> import experiments
>>> experiments.papers()  # doctest: +SKIP
>>> records = experiments.reproduce("quick_vegas", "table_1")  # doctest: +SKIP
>>> experiments.scorecard(records)  # doctest: +SKIP
"""

from experiments.expected_numbers import accept
from experiments.exploring import explore
from experiments.harness import draw, draw_all, papers, reproduce
from experiments.records import MODELS, Record
from experiments.scorecard_page import (
    markdown,
    scorecard,
    summary,
    summary_markdown,
    write,
    write_summary,
)

STUDIES = ("variants", "bbr_cubic", "ifip25", "pam25")
"""Studies of our own that `tcpcc reproduce` runs by name; each is a package with a command.py."""

__all__ = [
    "MODELS",
    "STUDIES",
    "Record",
    "accept",
    "draw",
    "draw_all",
    "explore",
    "markdown",
    "papers",
    "reproduce",
    "scorecard",
    "summary",
    "summary_markdown",
    "write",
    "write_summary",
]
