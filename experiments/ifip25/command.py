"""`tcpcc reproduce ifip25`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from experiments import pictures
from experiments.bbr_cubic.command import show
from experiments.harness import FIGURES
from experiments.ifip25 import figures, tables, traced
from tcpcc.errors import ScenarioError, unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRACED = {"traced_ten": traced.ten, "traced_single": traced.single}
ITEMS = (*tables.ITEMS, *TRACED)


def reproduce(options: argparse.Namespace) -> None:
    """Simulate, print the errors and what differs from the stored numbers, draw.

    Args:
        options: of `tcpcc reproduce`: item ("ten", "single", "traced_ten", "traced_single"; None:
            the first two), accept, figures, json.

    Raises:
        ScenarioError: an option or an item that is not for this experiment.
    """
    for name in ("report", "readme", "scorecard"):
        if getattr(options, name):
            raise ScenarioError(f"{name}: is for the papers; leave out ifip25")
    if options.model not in ("both", *tables.MODELS):
        raise unknown("model of ifip25", options.model, ["both", *tables.MODELS])
    models = tables.MODELS if options.model == "both" else (options.model,)
    if options.item not in (None, *ITEMS):
        raise unknown("item of ifip25", options.item, ITEMS)
    results: dict[str, Any] = {}
    drawn: dict[str, Figure] = {}
    for name in tables.ITEMS if options.item is None else (options.item,):
        if name in TRACED:
            results[name] = TRACED[name]()
            continue
        item = tables.ITEMS[name]
        numbers = _simulated(item, models, options.accept)
        results[name] = tables.summary(item, numbers)
        if options.figures:
            drawn[name] = figures.DRAW[name](numbers)
    if options.accept:
        print(f"wrote {tables.renew_page()}", file=sys.stderr)
    show(results, options.json)
    for name, figure in drawn.items():
        for file in pictures.save(figure, FIGURES / f"ifip25_{name}", ("png", "pdf")):
            print(f"drew {file}", file=sys.stderr)


def _simulated(item: tables.Item, models: tuple[str, ...], accept: bool) -> tables.Numbers:
    """Published and own numbers; stores ours if they are accepted."""
    accepted = tables.stored(item)
    found: dict[tables.Key, tuple[float, ...]] = {}
    for model in models:
        mine, cost = tables.simulated(item.cells(), model, item.seeds[model], title=item.name)
        print(f"{item.name}, {model}: {cost:.5f} CPU s per simulated second", file=sys.stderr)
        found |= mine
    if accept:
        tables.store(item, accepted | found)
        print(f"wrote {item.file}", file=sys.stderr)
    elif changes := tables.moved(found, accepted):
        print(f"{len(changes)} numbers differ from {item.file.name}:", *changes[:20],
              sep="\n  ", file=sys.stderr)  # fmt: skip
    return {**tables.published(item), **accepted, **found}
