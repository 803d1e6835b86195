"""What removes the differences between the models: experiments/data/differences.csv."""

import csv

import pytest

from experiments import differences, harness
from experiments.published import DIFFERENCES

CHEAP = {  # an item of each paper whose runs take few seconds
    "quick_vegas": "figure_3",
    "red_fairness": "cause",
    "tcp_vegas": "table_3",
    "westwood_rbe": "figure_4",
}


def stored():
    with DIFFERENCES.open(encoding="utf-8", newline="") as file:
        return [tuple(line.values()) for line in csv.DictReader(file)]


@pytest.mark.parametrize("name", harness.papers())
def test_the_stored_cells_are_those_in_which_the_models_differ(name):
    differ = {
        key for keys in differences.differing(harness.papers()[name]).values() for key in keys
    }
    assert {line[1:4] for line in stored() if line[0] == name} == differ


@pytest.mark.papers
@pytest.mark.parametrize("name", CHEAP)
def test_the_difference_goes(name):
    fresh = differences.rows(harness.papers()[name], [CHEAP[name]])
    assert fresh == [line for line in stored() if line[:2] == (name, CHEAP[name])]
    assert any(line[-1] == "phases" for line in fresh)
