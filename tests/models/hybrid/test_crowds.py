"""Large backgrounds: where the hybrid warns, and completion times."""

import resource
import warnings

import pytest

import tcpcc as tc
from tcpcc.models.refusals import FluidWarning


def warnings_of(number, mbps, buffer):
    net = tc.dumbbell(mbps * 1e6, "20 ms", buffer)
    flows = [tc.Flow("newreno", count=number, background=True), tc.Flow("newreno")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tc.simulate(tc.Scenario(net, flows, duration=0.1), "hybrid", representatives=10)
    return [str(x.message) for x in caught if issubclass(x.category, FluidWarning)]


def test_small_windows_are_warned_of():
    (text,) = warnings_of(10_000, 400, 1000)
    assert "10001 flows with windows of at most 0.3 packets" in text
    assert warnings_of(1000, 2000, 12_000) == warnings_of(5, 1, 5) == []


@pytest.mark.parametrize("model", ["hybrid", "fluid"])
@pytest.mark.parametrize("number", [3, 150])
def test_completion_times_do_not_depend_on_the_order_of_flows(model, number):
    """More than 100 background flows are representatives."""
    net = tc.dumbbell("300 Mbps", "20 ms", 1800)
    flows = [
        tc.Flow("newreno", count=number, background=True, name="b"),
        tc.Flow("newreno", size=100, start=0.5, name="x"),
    ]
    for order in (flows, flows[::-1]):
        times = tc.simulate(tc.Scenario(net, order, duration=2), model).fct()
        assert times["flow"].tolist() == ["x"]
        assert 0.1 < times["fct_s"].item() < 1.0
        assert times["ideal_s"].item() == pytest.approx(0.0829, rel=0.01)


def test_completion_times_beside_a_million_flows_cost_nothing():
    number = 1_000_000
    queue = tc.RED(min_thresh=1.5 * number, max_thresh=9 * number, weight=0.2 / number)
    net = tc.dumbbell(number * 2e6, "20 ms", 12 * number, queue=queue)
    flows = [
        tc.Flow("newreno", count=number, background=True, record=False),
        tc.Flow("newreno", size=100, start=0.1),
    ]
    run = tc.simulate(tc.Scenario(net, flows, duration=0.5, interval=0.1), "hybrid")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(run.fct()) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50e3  # kB
