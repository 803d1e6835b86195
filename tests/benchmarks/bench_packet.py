"""Speed of the packet model on the dumbbell of `tcpcc.apps.speed.speed`; run with `make bench`."""

import pytest

from tcpcc.apps.bench import speed

DRIVERS = {"compiled": speed.PACKETS, "simpy": speed.PACKETS / 10}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(("rate", "flows"), speed.CASES)
def test_packets_per_cpu_second(benchmark, rate, flows, driver):
    case = speed.scenario(rate, flows, DRIVERS[driver])
    packets, seconds = benchmark.pedantic(
        speed.speed, (case, "packet", driver), rounds=3, warmup_rounds=1
    )
    benchmark.extra_info["packets per CPU second"] = round(packets / seconds)
    if driver == "compiled" and speed.has_ns2():
        ns2_packets, ns2_seconds = speed.ns2_speed(rate, flows, case.duration)
        ratio = (packets / seconds) / (ns2_packets / ns2_seconds)
        benchmark.extra_info["ratio to ns-2"] = round(ratio, 1)


@pytest.mark.parametrize("controller", ["vegas", "quick_vegas", "newreno"])
def test_sixty_flows_at_1_gbps(benchmark, controller):
    """Section IV-C of the Quick Vegas paper: about 60 million packets."""
    from experiments.quick_vegas.scenarios import sharing

    case = sharing(controller)
    packets, seconds = benchmark.pedantic(speed.speed, (case,), rounds=1)
    benchmark.extra_info["packets per CPU second"] = round(packets / seconds)
