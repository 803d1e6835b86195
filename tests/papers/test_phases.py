"""Random host times and the differences between the models: experiments/data/phases.csv."""

import csv

import pytest

from experiments import harness, phases
from experiments.published import PHASES

CHEAP = {  # an item of each paper whose runs take few seconds
    "quick_vegas": "figure_5",
    "red_fairness": "figure_3_5",
    "tcp_vegas": "table_4",
    "westwood_rbe": "figure_4",
}


def stored():
    with PHASES.open(encoding="utf-8", newline="") as file:
        return [tuple(line.values()) for line in csv.DictReader(file)]


@pytest.mark.parametrize("name", harness.papers())
def test_the_stored_cells_are_those_in_which_the_models_differ(name):
    differ = {key for keys in phases.differing(harness.papers()[name]).values() for key in keys}
    assert {line[1:4] for line in stored() if line[0] == name} == differ


@pytest.mark.papers
@pytest.mark.parametrize("name", CHEAP)
def test_random_hosts_remove_the_difference(name):
    fresh = phases.rows(harness.papers()[name], [CHEAP[name]])
    assert fresh == [line for line in stored() if line[:2] == (name, CHEAP[name])]
    assert any(line[-1] == "yes" for line in fresh)
