"""Evidence for causes: the thesis. See test_causes.py."""

import numpy as np
import pytest

import tcpcc as tc
from experiments.red_fairness import scenarios as s
from experiments.red_fairness import tables as t

pytestmark = pytest.mark.papers

MODELS = ("packet", "fluid")
SEEDS = range(1, 7)


def test_4v1r_hangs_on_the_smallest_timeout():
    """It is the same in ns-2 (test_mixed_against_ns2.py)."""
    column = s.mixed("table_4_1", "4V1R", "drop-tail")
    run = tc.simulate(column)
    drops = run.data["drops"].isel(link=0)
    assert float(drops.sel(time=slice(None, 2)).sum()) == 84
    assert float(drops.sum()) < 90
    longer = [flow.replace(transport=flow.transport.replace(min_rto=2.5)) for flow in column.flows]
    then = t.rates(tc.simulate(column.replace(flows=longer)))
    assert np.round(then).tolist() == [80, 80, 78, 78, 1135]
    assert t.rates(run)[:4] == pytest.approx(4 * [75], abs=1)


@pytest.mark.parametrize(
    ("table", "mix", "more"), [("table_4_1", "4V1R", 17), ("table_4_2", "9V1R", 10)]
)
def test_fluid_loses_more_in_the_first_slow_start(table, mix, more):
    early, late = {}, {}
    for model in MODELS:
        drops = [
            tc.simulate(s.mixed(table, mix, "RED", seed), model=model).data["drops"].isel(link=0)
            for seed in SEEDS
        ]
        early[model] = np.mean([float(each.sel(time=slice(None, 5)).sum()) for each in drops])
        late[model] = np.mean([float(each.sum()) for each in drops]) - early[model]
    assert 66 < early["packet"] < 73
    assert early["fluid"] - early["packet"] == pytest.approx(more, abs=3)
    assert late["fluid"] - late["packet"] < early["fluid"] - early["packet"]


@pytest.mark.parametrize(("mix", "least"), [("9V1R", 0.6), ("5V5R", 4), ("1V9R", 4)])
def test_packets_wait_for_timers_where_fluid_does_not(mix, least):
    """Vegas' timeouts per flow, with its own recovery."""
    timeouts, ratio = {}, {}
    for model in MODELS:
        runs = [
            tc.simulate(s.mixed("table_4_2", mix, "RED", seed, recovery="vegas"), model=model)
            for seed in SEEDS
        ]
        vegas = runs[0].data["controller"].values == "vegas"
        timeouts[model] = np.mean([np.asarray(run.timeouts())[vegas] for run in runs])
        ratio[model] = np.mean([t.of_mix(run)["Fairness"] for run in runs])
    assert timeouts["packet"] > least
    assert timeouts["fluid"] < timeouts["packet"] / 2
    assert ratio["fluid"] > ratio["packet"]
