"""`tcpcc reproduce pam25`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from experiments import pictures
from experiments.bbr_cubic.command import show
from experiments.harness import FIGURES
from experiments.ifip25.tables import Key, moved, simulated, store
from experiments.pam25 import figures, tables, traced
from tcpcc.errors import ScenarioError, unknown

ITEMS = ("shares", "traced")


def reproduce(options: argparse.Namespace) -> None:
    """Simulate, print the errors and what differs from the stored numbers, draw.

    Args:
        options: of `tcpcc reproduce`: item ("shares", "traced"; None: the first), accept, figures,
            json.

    Raises:
        ScenarioError: an option or an item that is not for this experiment.
    """
    for name in ("report", "readme", "scorecard"):
        if getattr(options, name):
            raise ScenarioError(f"{name}: is for the papers; leave out pam25")
    if options.model not in ("both", *tables.MODELS):
        raise unknown("model of pam25", options.model, ["both", *tables.MODELS])
    if options.item not in (None, *ITEMS):
        raise unknown("item of pam25", options.item, ITEMS)
    if options.item == "traced":
        show({"traced": traced.rows()}, options.json)
        return
    models = tables.MODELS if options.model == "both" else (options.model,)
    item, accepted = tables.ITEM, tables.everything()
    found: dict[Key, tuple[float, ...]] = {}
    for model in models:
        mine, cost = simulated(
            item.cells(), model, item.seeds[model], of=tables.of_mixture, title="PAM 2025"
        )
        print(f"{model}: {cost:.5f} CPU s per simulated second", file=sys.stderr)
        found |= mine
    if options.accept:
        store(item, {**accepted, **found})
        print(f"wrote {item.file}", file=sys.stderr)
        tables.renew_page()
        print(f"wrote {tables.PAGE}", file=sys.stderr)
    elif changes := moved(found, accepted):
        print(f"{len(changes)} numbers differ from {item.file.name}:", *changes[:20],
              sep="\n  ", file=sys.stderr)  # fmt: skip
    numbers: dict[Any, Any] = {**accepted, **found}
    show({"shares": tables.summary(numbers)}, options.json)
    for name in figures.DRAW if options.figures else ():
        for file in pictures.save(
            figures.DRAW[name](numbers), FIGURES / f"pam25_{name}", ("png", "pdf")
        ):
            print(f"drew {file}", file=sys.stderr)
