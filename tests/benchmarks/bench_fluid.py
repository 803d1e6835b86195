"""Speed of the fluid model, at bandwidths that the packet model pays for; run with `make bench`."""

import pytest

from experiments.quick_vegas.scenarios import sharing
from tcpcc import bench


@pytest.mark.parametrize(("rate", "flows"), [*bench.CASES, (10e9, 10)])
def test_a_minute_on_the_dumbbell(benchmark, rate, flows):
    case = bench.scenario(rate, flows).replace(duration=60, interval=0.06)
    benchmark.pedantic(bench.speed, (case, "fluid"), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("controller", ["vegas", "quick_vegas", "newreno"])
def test_sixty_flows_at_1_gbps(benchmark, controller):
    benchmark.pedantic(bench.speed, (sharing(controller), "fluid"), rounds=3, warmup_rounds=1)
