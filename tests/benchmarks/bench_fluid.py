"""Speed of the fluid model, at bandwidths that the packet model pays for; run with `make bench`."""

import pytest

import tcpcc as tc
from experiments.quick_vegas.scenarios import sharing
from tcpcc.apps.bench import speed


@pytest.mark.parametrize(("rate", "flows"), [*speed.CASES, (10e9, 10)])
def test_a_minute_on_the_dumbbell(benchmark, rate, flows):
    case = speed.scenario(rate, flows).replace(duration=60, interval=0.06)
    benchmark.pedantic(speed.speed, (case, "fluid"), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("controller", ["vegas", "quick_vegas", "newreno"])
def test_sixty_flows_at_1_gbps(benchmark, controller):
    benchmark.pedantic(speed.speed, (sharing(controller), "fluid"), rounds=3, warmup_rounds=1)


def test_a_hundred_scenarios_of_ten_flows_in_a_batch(benchmark):
    """A minute each; a thousand take ten times as long."""

    def make(buffer, seed):
        flows = [tc.Flow("newreno", start=0.1 * k) for k in range(10)]
        return tc.Scenario(tc.dumbbell("10 Mbps", "20 ms", buffer), flows, duration=60, seed=seed)

    settings = {"model": "fluid", "buffer": [30, 40, 50, 60, 80], "seed": range(20)}
    benchmark.pedantic(tc.sweep, (make, "means"), settings, rounds=3, warmup_rounds=1)
