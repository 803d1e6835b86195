"""`tcpcc reproduce bbr_cubic`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from experiments import testbeds
from experiments.bbr_cubic import figures, scenarios, studies, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITEMS = ("sample", "all", *studies.STUDIES)


def reproduce(options: argparse.Namespace) -> None:
    """Simulate, print the comparison and what differs from the stored numbers, draw.

    Args:
        options: of `tcpcc reproduce`: item ("sample", "all", "harm", "round_trips", "starvation";
            None: all but "all"), accept, figures, json.

    Raises:
        ScenarioError: an option or an item that is not for this experiment.
    """
    models = testbeds.check_options(options, "bbr_cubic", tables.STORED, ITEMS)
    results: dict[str, Any] = {}
    drawn: dict[str, Figure] = {}
    for item in ITEMS if options.item is None else (options.item,):
        if item in studies.STUDIES:
            cells = studies.measured(item)
            results[item] = [
                {"case": ", ".join(map(str, key)), **number._asdict()}
                for key, number in cells.items()
            ]
            if options.figures:
                drawn[item] = figures.STUDIES[item](cells)
        elif item == "sample" or options.item == "all":
            results[item] = []
            for model in models:
                rows, points = _shares(item, model, options.accept)
                results[item] += rows
                if options.figures and model == "packet":
                    drawn |= dict(_of_shares({**tables.stored(model), **points}))
    if options.accept:
        print(f"wrote {tables.renew_page()}", file=sys.stderr)
    testbeds.show(results, options.json)
    testbeds.save_figures("bbr_cubic", drawn)


def _shares(
    item: str, model: str, accept: bool
) -> tuple[list[dict[str, object]], tables.Throughputs]:
    numbers = scenarios.ALL if item == "all" else scenarios.SAMPLE
    results, seconds = tables.simulated(tables.sample(numbers), model=model)
    print(
        f"{len(results)} points, {model}: {seconds:.0f} CPU s; the test-bed needed "
        f"{tables.TESTBED_HOURS / 2 * len(results) / len(scenarios.testbed()):.0f} hours for them",
        file=sys.stderr,
    )
    if accept:
        tables.store({**tables.stored(model), **results}, tables.STORED[model])
        print(f"wrote {tables.STORED[model]}", file=sys.stderr)
    else:
        testbeds.show_changes(tables.moved(results, tables.stored(model)), tables.STORED[model])
    return [{"model": model, **row} for row in tables.summary(results)], results


def _of_shares(results: tables.Throughputs) -> Iterator[tuple[str, Figure]]:
    for net in scenarios.networks():
        yield f"{net.rate:g}_{net.rtt:g}", figures.draw_shares(net, results)
    yield "equilibria", figures.draw_equilibria(results)
