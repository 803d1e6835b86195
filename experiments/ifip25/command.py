"""`tcpcc reproduce ifip25`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from experiments import testbeds
from experiments.ifip25 import causes, figures, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAUSES = {"traced_ten": causes.ten, "traced_single": causes.single}
ITEMS = (*tables.ITEMS, *CAUSES)


def reproduce(options: argparse.Namespace) -> None:
    """Simulate, print the errors and what differs from the stored numbers, draw.

    Args:
        options: of `tcpcc reproduce`: item ("ten", "single", "traced_ten", "traced_single"; None:
            the first two), accept, figures, json.

    Raises:
        ScenarioError: an option or an item that is not for this experiment.
    """
    models = testbeds.check_options(options, "ifip25", testbeds.MODELS, ITEMS)
    results: dict[str, Any] = {}
    drawn: dict[str, Figure] = {}
    for name in tables.ITEMS if options.item is None else (options.item,):
        if name in CAUSES:
            results[name] = CAUSES[name]()
            continue
        item = tables.ITEMS[name]
        ours = testbeds.renewed(
            item, models, options.accept, of=tables.measured, title=name, label=f"{name}, "
        )
        numbers = tables.published(item) | ours
        results[name] = tables.summary(item, numbers)
        if options.figures:
            drawn[name] = figures.DRAW[name](numbers)
    if options.accept:
        print(f"wrote {tables.renew_page()}", file=sys.stderr)
    testbeds.show(results, options.json)
    testbeds.save_figures("ifip25", drawn)
