"""The smooth limit: scaling, classes of equal flows, its right-hand side, and many packet flows."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tcpcc as tc
from tcpcc.models.analysis.smooth_world import SmoothWorld


def scenario(*flows, rate="10 Mbps", delay="50 ms", buffer=1e6, duration=60, **link):
    net = tc.dumbbell(rate, delay, buffer, **link)
    return tc.Scenario(net, flows, duration=duration, interval=duration / 100)


def test_scipy_settles_at_the_equilibrium_of_the_right_hand_side():
    """The equilibrium does not depend on the delays either."""
    queue = tc.queues.RED(min_thresh=5, max_thresh=80, wait=False)
    case = scenario(tc.Flow("reno", count=10), queue=queue)
    f = tc.analysis.right_hand_side(case)
    end = solve_ivp(f, (0, 100), f.y0, method="LSODA", rtol=1e-6).y[:, -1]
    rest = tc.analysis.equilibrium(case)
    assert end[f.names.index("reno1.cwnd")] == pytest.approx(float(rest.cwnd[0]), rel=1e-3)
    assert end[-1] / 8000 == pytest.approx(float(rest.queue[0]), rel=1e-3)


def scaled(k, seed=1, duration=60):
    """N, C, buffer and thresholds times k. RED averages over the same time, and the base RTT, which
    includes a packet's transmission time, stays the same."""
    weight = 1 - (1 - 0.002) ** (1 / k)
    queue = tc.queues.RED(
        min_thresh=20 * k, max_thresh=400 * k, max_p=0.02, weight=weight, mean_packet=1000
    )
    delay = 0.05 - 8 * 1040 / (2 * 10e6 * k)
    net = tc.dumbbell(10e6 * k, delay, 3000 * k, queue=queue)
    flows = [
        tc.Flow("reno", count=4 * k, jitter=1, transport={"rwnd": 30}),
        tc.Flow("cubic", count=4 * k, jitter=1, access_delay=0.01, transport={"rwnd": 30}),
    ]
    return tc.Scenario(net, flows, duration=duration, interval=0.1, seed=seed)


@pytest.mark.parametrize("k", [3, 1000])
def test_scaling_leaves_windows_and_delays_unchanged(k):
    one, many = (tc.analysis.equilibrium(scaled(n)) for n in (1, k))
    for name in ("cwnd", "rtt", "rate", "delay", "loss"):
        assert many[name].values == pytest.approx(one[name].values, rel=1e-9), name
    assert many["queue"].values == pytest.approx(k * one["queue"].values, rel=1e-9)


def test_scaling_holds_in_packets_within_noise():
    few, many = (tc.simulate(scaled(k, duration=100)) for k in (5, 20))
    late = {"time": slice(20, None)}
    for name in ("cwnd", "rtt"):
        means = [run.data[name].sel(late).mean() for run in (few, many)]
        assert float(means[1] / means[0]) == pytest.approx(1, abs=0.03)


def test_rates_and_rtts_agree_with_many_packet_flows():
    """100 Reno flows with two round-trip times under RED: rates within 5 %, RTTs within 4 %.

    Flows with random losses have a window 8 % below that of the smooth limit, so RED's queue is
    longer there.
    """
    queue = tc.queues.RED(min_thresh=100, max_thresh=900)
    net = tc.dumbbell("100 Mbps", "40 ms", 2000, queue=queue)
    flows = [
        tc.Flow("reno", count=50, jitter=2),
        tc.Flow("reno", count=50, jitter=2, access_delay=0.03),
    ]
    case = tc.Scenario(net, flows, duration=60)
    packets, found = tc.simulate(case), tc.analysis.equilibrium(case)
    wait = 0.08 + packets.queue_mean(after=20) / 12500
    assert 0.08 + float(found["delay"][0]) == pytest.approx(wait, rel=0.04)
    rates = packets.throughput(after=20).values / 8000
    near, far = rates[:50].mean(), rates[50:].mean()
    through = (found["rate"] * (1 - found["lost"])).values
    assert through == pytest.approx([near, far], rel=0.05)


def test_equal_flows_are_one_class():
    alike = SmoothWorld(scenario(*[tc.Flow("reno") for _ in range(10)], tc.CBR("1 Mbps")))
    assert [(one.members, one.count) for one in alike.classes] == [
        (tuple(range(10)), 10),
        ((10,), 1),
    ]
    crowd = SmoothWorld(scenario(tc.Flow("reno", count=100_000), rate="100 Gbps"))
    assert [one.count for one in crowd.classes] == [100_000]


def test_controllers_with_equal_names_are_separate_classes():
    """For example two versions of a rule that a notebook defines under one name."""
    reno = tc.controllers.get("reno")
    slower = dataclasses.replace(reno, params={**reno.params})
    world = SmoothWorld(scenario(tc.Flow(reno), tc.Flow(slower), tc.Flow(reno)))
    assert [one.members for one in world.classes] == [(0, 2), (1,)]


def test_a_source_that_is_on_at_several_times_loads_a_link_once():
    """All traffic is assumed to be open."""
    often = tc.CBR("4 Mbps", on=[(0, 10), (20, 30), (40, 50)])
    found = tc.analysis.equilibrium(scenario(often))
    assert np.array(found["utilization"]) == pytest.approx([0.4])


def test_the_state_of_a_coupled_controller_is_its_variables():
    """Not the size and the address of its group, which are in its record, too."""
    net = tc.dumbbell("10 Mbps", "20 ms", 100, queue=tc.queues.RED(min_thresh=5, max_thresh=80))
    flow = tc.Flow("lia", name="a", slow_start="standard")
    f = tc.analysis.right_hand_side(tc.Scenario(net, [flow], duration=10))
    assert f.names == ["a.cwnd", "a.ssthresh", "a.rtt", "bottleneck.backlog"]
    rtt = f.y0[2]
    assert f(0, f.y0)[0] == pytest.approx(1 / rtt, rel=0.05)  # a packet in a round trip, as Reno
