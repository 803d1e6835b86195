"""Figures 3 and 4 of the Westwood paper: rounding errors do not change the bytes of a figure."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from accepted import accepted

from experiments import figure_files
from experiments.westwood_rbe import figures


def values(item, rng):
    """The accepted numbers, each changed by at most one unit in the last place."""
    return {
        model: {
            key: number._replace(value=float(np.nextafter(number.value, rng.choice([-9.0, 9.0]))))
            for key, number in accepted("westwood_rbe", item, model).items()
        }
        for model in ("packet", "fluid")
    }


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
