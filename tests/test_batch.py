"""Batches: means over time for a grid, in one labelled array."""

import numpy as np
import pytest

import tcpcc as tc


def make(buffer, alpha=1.0, flows=2):
    net = tc.dumbbell("10 Mbps", "20 ms", buffer)
    kinds = [tc.Flow("reno", count=flows), tc.Flow("vegas", alpha=alpha, beta=alpha + 2)]
    return tc.Scenario(net, kinds, duration=20)


def test_every_point_is_that_of_a_run():
    table = tc.batch(make, buffer=[20, 50, 100], alpha=[1, 3], after=5)
    assert dict(table.sizes) == {"buffer": 3, "alpha": 2, "flow": 2, "link": 1}
    one = make(50, 3)
    run = tc.simulate(one, "meanfield", step=0.02)
    at = table.sel(buffer=50, alpha=3)
    assert float(at.queue[0]) == pytest.approx(run.queue_mean(after=5), rel=0.02)
    assert at.throughput.values == pytest.approx(run.throughput(after=5).values, rel=0.02)
    assert at.utilization.values[0] == pytest.approx(run.utilization(after=5), rel=0.01)


def test_chunks_and_threads_change_nothing():
    axes = {"buffer": range(10, 60, 5), "alpha": [1, 2]}
    whole = tc.batch(make, **axes)
    assert tc.batch(make, chunk=3, jobs=1, **axes).identical(whole)


@pytest.mark.parametrize("model", ["fluid", "packet"])
def test_other_models_answer_in_the_same_words(model):
    table = tc.batch(make, model=model, buffer=[20, 50], flows=[1], after=5)
    assert set(table.variables) >= {"cwnd", "queue", "utilization", "throughput"}
    run = tc.simulate(make(50, flows=1), model)
    assert table.throughput.sel(buffer=50, flows=1).values == pytest.approx(
        run.throughput(after=5).values
    )
    assert np.isfinite(table.queue.values).all()


def test_scenarios_of_a_batch_are_alike():
    def unlike(n):
        net = tc.dumbbell("10 Mbps", "20 ms", 50)
        return tc.Scenario(net, [tc.Flow("reno")] * n, duration=5)

    with pytest.raises(tc.ScenarioError, match="must be alike"):
        tc.batch(unlike, n=[1, 2])
    with pytest.raises(tc.ScenarioError, match="unknown model of a batch 'fluidd'"):
        tc.batch(make, model="fluidd", buffer=[10])
