"""`tcpcc reproduce variants`."""

from __future__ import annotations

import argparse
import sys

from experiments import figure_files
from experiments.harness import CACHE, FIGURES, numbers_of
from experiments.variants import figures, page, references, tables
from experiments.variants.measures import MAIN, MEASURES
from tcpcc.errors import ScenarioError


def reproduce(options: argparse.Namespace) -> None:
    """Simulate, print the ranking and what differs from the stored numbers, write files.

    Args:
        options: of `tcpcc reproduce`: item (a network), model, accept, figures, scorecard, json.

    Raises:
        ScenarioError: an option that papers have and this has not, or files wanted of a part.
    """
    if options.readme:
        raise ScenarioError("readme: is for the papers; leave out variants")
    whole = options.item is None and options.model == "both"
    for name in ("accept", "figures", "scorecard"):
        if getattr(options, name) and not whole:
            raise ScenarioError(f"{name}: covers all networks and models; leave out item and model")
    lines = tables.reproduce(
        None if options.item is None else [options.item],
        None if options.model == "both" else [options.model],
        cache=numbers_of(CACHE),
    )
    table = tables.summary(lines)
    if options.json:
        from tcpcc.cli.printing import print_json

        print_json(
            [
                {**dict(zip(tables.KEY, key, strict=True)), "refused": row.refused}
                | {m: entry._asdict() for m, entry in row.entries.items()}
                for key, row in table.items()
            ]
        )
    else:
        print(_ranking(table))
    if options.accept:
        files = [*tables.accept(lines), references.accept(references.simulate(table))]
        for file in files:
            print(f"wrote {file}", file=sys.stderr)
    elif changes := tables.moved(table, tables.stored()):
        print(f"{len(changes)} numbers differ from experiments/data/variants.csv:", *changes[:20],
              sep="\n  ", file=sys.stderr)  # fmt: skip
    if options.figures:
        for file in figure_files.save(figures.draw(table), FIGURES / "variants", ("png", "pdf")):
            print(f"drew {file}", file=sys.stderr)
    if options.scorecard:
        page.write_page(options.scorecard, table)
        print(f"wrote {options.scorecard}", file=sys.stderr)


def _ranking(table: tables.Table) -> str:
    """Means over networks of the main measures as text, in the order of the ranks."""
    import pandas as pd

    from tcpcc.cli.printing import plain_table

    models = [m for m in tables.MODELS if any(key[2] == m for key in table)]
    table = tables.distinct(table)
    order = tables.ranks(table, models[0])
    rows = [
        {"controller": name, "rank": rank}
        | {
            f"{MEASURES[m].title}, {tables.NAMES[model]}": tables.over_networks(
                table, name, model, m
            )
            for m in MAIN
            for model in models
        }
        for name, rank in order.items()
    ]
    return plain_table(pd.DataFrame(rows))
