"""Reproductions of papers: one package per paper, its published values in ``data/``.

>>> import experiments
>>> experiments.papers()  # doctest: +SKIP
>>> records = experiments.reproduce("quick_vegas", "table_1")  # doctest: +SKIP
>>> experiments.scorecard(records)  # doctest: +SKIP
"""

from experiments.expected import accept
from experiments.exploring import explore
from experiments.harness import draw, draw_all, papers, reproduce
from experiments.records import MODELS, Record
from experiments.report import markdown, scorecard, summary, summary_markdown, write, write_summary

__all__ = [
    "MODELS",
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
