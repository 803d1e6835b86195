"""`tcpcc reproduce pam25`."""

from __future__ import annotations

import argparse
import sys

from experiments import testbeds
from experiments.pam25 import causes, figures, tables

ITEMS = ("shares", "traced")


def reproduce(options: argparse.Namespace) -> None:
    """Simulate, print the errors and what differs from the stored numbers, draw.

    Args:
        options: of `tcpcc reproduce`: item ("shares", "traced"; None: the first), accept, figures,
            json.

    Raises:
        ScenarioError: an option or an item that is not for this experiment.
    """
    models = testbeds.check_options(options, "pam25", testbeds.MODELS, ITEMS)
    if options.item == "traced":
        testbeds.show({"traced": causes.rows()}, options.json)
        return
    numbers = testbeds.renewed(
        tables.ITEM, models, options.accept, of=tables.of_mixture, title="PAM 2025"
    )
    if options.accept:
        tables.renew_page()
        print(f"wrote {tables.PAGE}", file=sys.stderr)
    testbeds.show({"shares": tables.summary(numbers)}, options.json)
    if options.figures:
        drawn = {name: draw(numbers) for name, draw in figures.DRAW.items()}
        testbeds.save_figures("pam25", drawn)
