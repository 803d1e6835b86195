"""Means over time of a sweep, in one labelled array."""

import numpy as np
import pytest
import xarray as xr

import tcpcc as tc
from tcpcc.models.fluid import fluid_batch
from tcpcc.results.metrics import mean_of_known
from tcpcc.sweeps import parallel, time_means


def make(buffer, alpha=1.0, flows=2):
    net = tc.dumbbell("10 Mbps", "20 ms", buffer)
    kinds = [tc.Flow("reno", count=flows), tc.Flow("vegas", alpha=alpha, beta=alpha + 2)]
    return tc.Scenario(net, kinds, duration=20)


OPTIONS = [("fluid", {}), ("fluid", {"steps": 40}), ("packet", {}), ("packet", {"trains": 16})]


@pytest.mark.parametrize(("model", "options"), OPTIONS)
def test_every_point_is_that_of_a_run(model, options):
    table = tc.sweep(make, "means", model=model, buffer=[20, 50], alpha=[1, 3], after=5, **options)
    assert dict(table.sizes) == {"buffer": 2, "alpha": 2, "flow": 2, "link": 1}
    run = tc.simulate(make(50, 3), model, **options)
    at = table.sel(buffer=50, alpha=3)
    assert float(at.queue[0]) == pytest.approx(run.queue_mean(after=5), rel=1e-9)
    rates = run.throughput(after=5).values
    assert at.throughput.values == pytest.approx([rates[:2].sum(), rates[2]], rel=1e-9)
    assert at.utilization.values[0] == pytest.approx(run.utilization(after=5), rel=1e-9)


def test_options_reach_the_model():
    coarse, fine = (
        tc.sweep(make, "means", model="fluid", buffer=[50], steps=steps) for steps in (20, 40)
    )
    assert (coarse.queue != fine.queue).all()
    with pytest.raises(tc.ScenarioError, match="unknown option of the fluid model 'trains'"):
        tc.sweep(make, "means", model="fluid", buffer=[50], trains=16)


@pytest.mark.parametrize("model", ["fluid", "packet"])
def test_chunks_and_threads_change_nothing(model, monkeypatch):
    axes = {"buffer": range(10, 60, 10), "alpha": [1, 2]}
    whole = tc.sweep(make, "means", model=model, **axes)
    monkeypatch.setattr(time_means, "CHUNK", 3)
    monkeypatch.setattr(fluid_batch, "LARGEST", 3)
    assert tc.sweep(make, "means", model=model, jobs=1, **axes).identical(whole)


def test_a_cache_and_processes_change_nothing(tmp_path, monkeypatch):
    whole = tc.sweep(make, "means", model="fluid", buffer=[20, 50], after=5)
    kept = tc.sweep(make, "means", model="fluid", buffer=[20, 50], after=5, cache=tmp_path)
    assert len(list(tmp_path.glob("*.run"))) == 2
    xr.testing.assert_allclose(kept, whole, rtol=1e-12)
    monkeypatch.setattr(parallel, "_one", None)  # nothing is simulated again
    again = tc.sweep(make, "means", model="fluid", buffer=[50, 20], after=5, cache=tmp_path)
    assert again.sel(buffer=[20, 50]).identical(kept)


def test_models_are_the_first_axis_and_a_list_is_an_axis():
    both = tc.sweep([make(20), make(50)], "means", model=["fluid", "packet"], after=5)
    assert dict(both.sizes) == {"model": 2, "scenario": 2, "flow": 2, "link": 1}
    for model in ("fluid", "packet"):
        one = tc.sweep(make, "means", model=model, buffer=[20, 50], after=5)
        assert (both.sel(model=model).queue.values == one.queue.values).all()


def test_a_count_is_an_axis():
    table = tc.sweep(make, "means", model="fluid", buffer=[50], flows=[1, 4], after=5)
    assert table.sizes["flow"] == 2
    late = tc.simulate(make(50, flows=4), "fluid").data.sel(time=slice(5.001, None))
    of = table.sel(buffer=50, flows=4)
    cwnd = mean_of_known(late["cwnd"].values)
    assert of.cwnd.values == pytest.approx([cwnd[:4].mean(), cwnd[4]], rel=1e-9)
    dropped, sent = (late[x].sum("time").values[:4].sum() for x in ("dropped", "sent"))
    assert float(of.loss[0]) == pytest.approx(dropped / sent, rel=1e-9)


def test_representatives_count_as_the_flows_that_they_stand_for():
    """120 flows in 100 rows; and a flow that ends, one that is not recorded, one that starts."""
    own = [{}, {"size": 50}, {"count": 120}, {"record": False}, {"start": 6}]
    flows = [tc.Flow("newreno", **{"start": 0.1 * k, **more}) for k, more in enumerate(own)]
    case = tc.Scenario(tc.dumbbell("50 Mbps", "20 ms", 200), flows, duration=10, interval=0.1)
    table = tc.sweep(
        lambda seed: case.replace(seed=seed), "means", model="fluid", seed=[3], after=5
    ).sel(seed=3)
    assert table.flow.values.tolist() == ["newreno1", "newreno2", "newreno3", "newreno5"]
    run = tc.simulate(case.replace(seed=3), "fluid")
    rates = run.throughput(after=5).values
    crowd = slice(2, 102)
    assert float(table.throughput[2]) == pytest.approx(rates[crowd].sum(), rel=1e-9)
    counts = run.data["count"].values[crowd]
    assert counts.sum() == 120
    rtts = mean_of_known(run.data["rtt"].sel(time=slice(5.001, None)).values[:, crowd])
    assert float(table.rtt[2]) == pytest.approx((rtts * counts).sum() / 120, rel=1e-9)
    assert np.isnan(table.rtt.values).tolist() == [False, True, False, False]


def test_scenarios_are_alike():
    def unlike(n):
        net = tc.dumbbell("10 Mbps", "20 ms", 50)
        return tc.Scenario(net, [tc.Flow("reno")] * n, duration=5)

    with pytest.raises(tc.ScenarioError, match="must be equal"):
        tc.sweep(unlike, "means", model="fluid", n=[1, 2])
    with pytest.raises(tc.ScenarioError, match="unknown model 'fluidd': did you mean 'fluid'"):
        tc.sweep(make, "means", model="fluidd", buffer=[10])
    for alphas in ([1], [1, 2]):  # in a world of its own, and in a batch
        with pytest.raises(tc.ScenarioError, match=r"^after = 25: no bin ends later"):
            tc.sweep(make, "means", model="fluid", buffer=[50], alpha=alphas, after=25)
    with pytest.raises(tc.ScenarioError, match='after = 5: must be 0, except with keep="means"'):
        tc.sweep(make, tc.Run.jain_index, buffer=[10], after=5)


@pytest.mark.parametrize("name", ["rtt", "queue", "flow", "link"])
def test_an_axis_has_a_name_of_its_own(name):
    with pytest.raises(tc.ScenarioError, match=f"axis '{name}': the result has a variable"):
        tc.sweep(lambda **axis: make(50), "means", model="fluid", **{name: [1, 2]})


def test_every_seed_is_a_run():
    def seeded(seed):
        net = tc.dumbbell("10 Mbps", "20 ms", 50, queue="red")
        return tc.Scenario(net, [tc.Flow("reno", count=5)], duration=20, seed=seed)

    table = tc.sweep(seeded, "means", model="fluid", seed=[1, 2, 1], after=5)
    one, two, again = table.queue.values
    assert one == again != two


def test_a_failed_scenario_of_many_is_named():
    def wrong(s, p, a):
        s.cwnd = -1.0

    broken = tc.Controller(name="broken", summary="", source="", on_ack=wrong)

    def make(kind):
        net = tc.dumbbell("10 Mbps", "2 ms", 50)
        return tc.Scenario(net, [tc.Flow(kind)], duration=20)

    for model in ("fluid", "packet"):
        with pytest.raises(tc.errors.SweepError, match=r"1 of 2 .* at kind = .*'broken'") as error:
            tc.sweep(make, "means", model=model, kind=["reno", broken])
        assert list(error.value.failed) == [1]
        rates = error.value.finished.throughput.values[:, 0]
        assert rates[0] > 5e6
        assert np.isnan(rates[1])


def test_ctrl_c_hands_over_the_means_so_far(monkeypatch):
    def made(seed):
        if seed == 3:
            raise KeyboardInterrupt
        return make(50).replace(seed=seed)

    monkeypatch.setattr(fluid_batch, "LARGEST", 1)
    with pytest.raises(tc.errors.SweepInterrupted) as error:
        tc.sweep(made, "means", model="fluid", jobs=1, seed=[1, 2, 3, 4])
    finished = np.isfinite(error.value.finished.queue.values[:, 0])
    assert finished.tolist() in ([1, 0, 0, 0], [1, 1, 0, 0])  # the second may be under way
    assert f"interrupted with {finished.sum()} of 4 runs" in str(error.value)
