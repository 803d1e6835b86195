"""Batches: means over time for a grid, in one labelled array."""

import sys

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.models.meanfield import many_worlds
from tcpcc.models.meanfield.meanfield_world import FIRST_ROWS, MeanFieldWorld


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


@pytest.mark.parametrize("after", [0, 5, 5.013])
def test_fluid_sums_up_what_its_series_hold(after):
    """Of a flow that ends, one that stands for many, one of which nothing is recorded."""
    own = [{}, {"size": 50}, {"count": 120}, {"record": False}, {"start": 6}]
    flows = [tc.Flow("newreno", **{"start": 0.1 * k, **more}) for k, more in enumerate(own)]
    case = tc.Scenario(tc.dumbbell("50 Mbps", "20 ms", 200), flows, duration=10)
    table = tc.batch(lambda seed: case.replace(seed=seed), model="fluid", seed=[3], after=after)
    run = tc.simulate(case.replace(seed=3), "fluid")
    batch = sys.modules["tcpcc.batch"]
    series = {name: run.data[name].values for name in batch.AVERAGED}
    sizes = run.data["packet_size"].values
    for means in batch._over_time(series, sizes, case.interval, after):
        for name, values in means.items():
            assert table[name].values[0] == pytest.approx(values, rel=1e-12, nan_ok=True), name
    assert np.isnan(table.rtt.values).any() == (after >= 5)


def test_scenarios_of_a_batch_are_alike():
    def unlike(n):
        net = tc.dumbbell("10 Mbps", "20 ms", 50)
        return tc.Scenario(net, [tc.Flow("reno")] * n, duration=5)

    with pytest.raises(tc.ScenarioError, match="must be equal"):
        tc.batch(unlike, n=[1, 2])
    with pytest.raises(tc.ScenarioError, match="unknown model of a batch 'fluidd'"):
        tc.batch(make, model="fluidd", buffer=[10])


@pytest.mark.parametrize("name", ["rtt", "queue", "flow", "link"])
def test_an_axis_has_a_name_of_its_own(name):
    with pytest.raises(tc.ScenarioError, match=f"axis '{name}': the result has a variable"):
        tc.batch(lambda **axis: make(50), **{name: [1, 2]})


@pytest.fixture
def laid_out(monkeypatch):
    """The worlds that are laid out."""
    worlds = []

    def world(*args, **kwargs):
        worlds.append(MeanFieldWorld(*args, **kwargs))
        return worlds[-1]

    monkeypatch.setattr(many_worlds, "MeanFieldWorld", world)
    return worlds


def seeded(seed, controller="reno", queue=None, size=50):
    net = tc.dumbbell("10 Mbps", "20 ms", size, queue=queue)
    return tc.Scenario(net, [tc.Flow(controller, count=5)], duration=20, seed=seed)


def test_a_mean_field_without_chance_is_integrated_once_for_all_seeds(laid_out):
    table = tc.batch(lambda size, seed: seeded(seed, size=size), seed=[1, 2, 3], size=[20, 50])
    assert len(laid_out) == 2
    assert (table.cwnd == table.cwnd.sel(seed=1)).all()
    assert float(table.cwnd[0, 0, 0]) != float(table.cwnd[0, 1, 0])


def test_where_a_queue_may_draw_every_seed_is_a_run_of_its_own(laid_out):
    table = tc.batch(lambda seed: seeded(seed, queue="red"), seed=[1, 2], after=5)
    assert len(laid_out) == 2
    for seed in (1, 2):
        alone = MeanFieldWorld(seeded(seed, queue="red"), after=5, bins=False)
        alone.start()
        alone.run(alone.end)
        assert (table.cwnd.sel(seed=seed) == alone.means()[0]["cwnd"]).all()


def test_worlds_that_run_short_of_history_are_finished(laid_out):
    """A full buffer of 0.8 s on a path of 4 ms takes longer to pass than the rows at first last."""

    def deep(seed, size):
        net = tc.dumbbell("10 Mbps", "2 ms", size)
        return tc.Scenario(net, [tc.Flow("reno", slow_start="standard")], duration=20)

    table = tc.batch(deep, seed=[1], size=[20, 1000])
    assert [len(world.history) > FIRST_ROWS for world in laid_out] == [False, True]
    assert float(table.queue_max.sel(size=1000)[0, 0]) == pytest.approx(1000)


def test_a_failed_scenario_of_many_is_named():
    def wrong(s, p, a):
        s.cwnd = -1.0

    broken = tc.Controller(
        name="broken", summary="", source="", on_ack=wrong, on_loss=None, on_timeout=None
    )

    def make(kind):
        net = tc.dumbbell("10 Mbps", "2 ms", 50)
        return tc.Scenario(net, [tc.Flow(kind)], duration=20)

    with pytest.raises(tc.TcpccError, match=r"controller 'broken': cwnd .* flow 'broken1'"):
        tc.batch(make, kind=["reno", broken])
