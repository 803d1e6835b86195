"""Figures 3 and 4 of the Westwood paper: rounding errors do not change the bytes of a figure."""

import csv

import matplotlib.pyplot as plt
import numpy as np
import pytest

from experiments import figure_files, published_numbers
from experiments.measured_numbers import Measured
from experiments.westwood_rbe import figures


def values(item, rng):
    """The accepted numbers, each changed by at most one unit in the last place."""
    found = {"packet": {}, "fluid": {}}
    path = published_numbers.DATA / "westwood_rbe_expected.csv"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        if row["item"] == item:
            for model, cells in found.items():
                value = float(np.nextafter(float(row[model]), rng.choice([-9.0, 9.0])))
                ends = (float(row[f"{model}_{k}"]) for k in ("low", "high"))
                cells[row["row"], row["column"]] = Measured(value, *ends)
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("item", "panels"), [("figure_3", figures.CROWD_PANELS), ("figure_4", figures.PAIR_PANELS)]
)
def test_a_rounding_error_does_not_move_a_line(item, panels):
    """Ends of lines that matplotlib finds by bisection move by up to 0.01 points."""
    seen = set()
    for seed in range(3):
        figure = figures.draw_tradeoff(panels, values(item, np.random.default_rng(seed)))
        seen.add(figure_files.png(figure))
        plt.close(figure)
    assert len(seen) == 1
