"""Reproduce published tables and figures, from a checkout of tcpcc."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tcpcc.cli.checkout import experiments
from tcpcc.cli.options import add
from tcpcc.cli.printing import plain_table, print_json
from tcpcc.errors import ModelWarning, ScenarioError, one_of


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paper",
        nargs="?",
        help="default: all; variants: the table of all controllers; bbr_cubic, ifip25: BBR on a"
        " test-bed; pam25: Prague on one",
    )
    parser.add_argument(
        "item",
        nargs="?",
        help="table or figure, such as table_1; for variants: a network; default: all",
    )
    add(parser, "--model", default="both", help="packet, fluid or both (default)")
    add(parser, "--json", "--verbose")
    parser.add_argument("--figures", action="store_true", help="draw the figures into figures/")
    parser.add_argument("--report", nargs="?", const=True, help=argparse.SUPPRESS)  # former option
    parser.add_argument(
        "--scorecard", type=Path, metavar="X.md", help="write the scorecard as Markdown"
    )
    parser.add_argument(
        "--readme", type=Path, metavar="X.md", help="update the summary in this file"
    )
    parser.add_argument(
        "--accept",
        action="store_true",
        help="store these numbers and verdicts as those that the tests expect; review the diff",
    )


def run(options: argparse.Namespace) -> None:
    if options.report:
        raise ScenarioError("report: `make docs` builds the papers' pages, docs/_build/html/papers")
    warnings.simplefilter("ignore", ModelWarning)
    book = experiments()
    if options.paper in book.STUDIES:
        import_module(f"experiments.{options.paper}.command").reproduce(options)
        return
    if options.paper is not None:
        one_of("paper or study", options.paper, known=(*book.papers(), *book.STUDIES))
    for name in ("scorecard", "readme"):
        if getattr(options, name) and options.paper:
            raise ScenarioError(f"{name}: covers all papers; leave out the paper")
    if options.accept and options.model != "both":
        raise ScenarioError(f"accept: needs both models, not {options.model!r} alone")

    def watch(paper: Any, item: str | None, records: Sequence[Any]) -> None:
        """Show a table and draw the figures of a paper as soon as they are ready.

        For one paper all numbers are shown, for all papers only the first item, as a sample.
        """
        if records and not options.json and (item is not None or options.paper or options.verbose):
            print(f"{paper.title}\n\n{_scores(book, records)}\n", flush=True)
        for file in book.draw_all(paper.name, item, options.model) if options.figures else ():
            print(f"drew {file}", file=sys.stderr)

    records = book.reproduce(options.paper, options.item, options.model, watch=watch)
    if options.scorecard:
        book.write(records, options.scorecard)
        print(f"wrote {options.scorecard}", file=sys.stderr)
    if options.readme:
        book.write_summary(records, options.readme)
        print(f"wrote {options.readme}", file=sys.stderr)
    if options.accept:
        for file in book.accept(records):
            print(f"wrote {file}", file=sys.stderr)
    if options.json:
        print_json([record.as_dict() for record in records])
        return
    for model in ("packet", "fluid") if options.paper or options.verbose else ():
        for cause, cells in _causes(records, model).items():
            print(f"\n{'; '.join(cells)}:\n  {'Fluid: ' if model == 'fluid' else ''}{cause}")
    if records:  # an item may be a figure without numbers
        print("\n" + _overview(book, records))
    if options.scorecard:
        print(f"scorecard: {options.scorecard}")
    if options.figures:
        print("figures: figures/")


def _overview(book: Any, records: Sequence[Any]) -> str:
    """One row per paper: printed numbers, and those that each model reproduces."""
    table = book.scorecard_page.overview(records)
    shown = table[["paper"]].assign(printed=table["text"])
    for part, whole in (
        ("reproduced", "tested"), ("within 10 %", "tested"), ("undecided", "tested"),
        ("claims hold", "claims"),
    ):  # fmt: skip
        for model, name in (("packet", "packets"), ("fluid", "fluid")):
            counts = zip(table[f"{model} {part}"], table[f"{model} {whole}"], strict=True)
            shown[f"{part}, {name}"] = [f"{count} of {total}" for count, total in counts]
    return plain_table(shown)


def _causes(records: Sequence[Any], model: str) -> dict[str, list[str]]:
    """Causes of differences, and how many seeds are missing, with the names of their cells."""
    causes: dict[str, list[str]] = {}
    for r in records:
        cause = r.cause if model == "packet" else r.fluid_cause
        for text in filter(None, (cause, r.undecided(model))):
            causes.setdefault(text, []).append(f"{r.item} {r.row} {r.column}")
    return causes


def _scores(book: Any, records: Sequence[Any]) -> str:
    """Table of all numbers with their verdicts, for a terminal."""
    table = book.scorecard(records)
    table["range"] = ["" if r is None else f"{r[0]:.4g} to {r[1]:.4g}" for r in table["spread"]]
    columns = [
        "item", "row", "column", "unit", "published", "reference", "tolerance", "formula", "packet",
        "range", "error", "verdict", "fluid", "fluid_print_error", "fluid_verdict", "agreement",
    ]  # fmt: skip
    return plain_table(table[columns].dropna(axis="columns", how="all"))
