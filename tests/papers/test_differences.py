"""What removes the differences between the models: experiments/data/differences.csv."""

import csv

import pytest

from experiments import differences, harness, seeds
from experiments.published_numbers import DIFFERENCES

# An item of a paper, and causes that its experiments show; few seconds.
PAPER, ITEM, CAUSES = "red_fairness", "estimator", {"windows", "recovery"}


def stored():
    with DIFFERENCES.open(encoding="utf-8", newline="") as file:
        return [tuple(line.values()) for line in csv.DictReader(file)]


@pytest.mark.parametrize("name", harness.papers())
def test_the_stored_cells_are_those_in_which_the_models_differ(name):
    differ = {
        key for keys in differences.differing(harness.papers()[name]).values() for key in keys
    }
    assert {line[1:4] for line in stored() if line[0] == name} == differ


@pytest.mark.long
def test_the_difference_goes():
    if not seeds.QUICK:
        pytest.skip("the stored numbers are of the first few seeds")
    fresh = differences.rows(harness.papers()[PAPER], [ITEM])
    assert fresh == [line for line in stored() if line[:2] == (PAPER, ITEM)]
    assert {line[-1] for line in fresh} >= CAUSES


def test_experiments_change_what_they_say():
    scenario = harness.papers()["red_fairness"].items["table_4_2"].scenarios()["RED 5V5R", 1]
    larger = differences.with_larger_windows(scenario)
    before, after = (
        next(link for link in one.net.links if link.name == "bottleneck")
        for one in (scenario, larger)
    )
    assert (after.rate, after.buffer) == (10 * before.rate, 10 * before.buffer)
    assert dict(after.queue.params)["min_thresh"] == 300
    assert dict(after.queue.params)["max_p"] == dict(before.queue.params)["max_p"]
    assert {flow.recovery for flow in differences.with_sack(scenario).flows} == {"sack-prr"}
    l4s = next(iter(harness.papers()["l4s"].items["throughput"].scenarios().values()))
    assert not differences.can_be_larger(l4s)  # 100 Mb/s
    assert differences.can_be_larger(scenario)
