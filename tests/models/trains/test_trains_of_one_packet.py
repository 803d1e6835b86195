"""Trains of one packet are packets: the results have the same bits."""

import math
import random

import fuzz
import pytest

import tcpcc as tc
from tcpcc.models.layout import in_single_packets

SHORT = 100_000  # trains in a round trip


def dumbbell(controllers, queue="droptail", **settings):
    """Flows with unlike round trips on 10 Mb/s."""
    flows = [
        tc.Flow(controller, access_delay=0.001 * (k + 1), start=0.1 * k)
        for k, controller in enumerate(controllers)
    ]
    settings = {"flows": flows, "duration": 20} | settings
    return tc.Scenario(tc.dumbbell("10 Mb/s", "10 ms", 50, queue=queue), **settings)


def two_hops(controller):
    flows = [
        tc.Flow(controller, count=2),
        tc.Flow(controller, source="r0", target="r1", access_delay="3 ms"),
        tc.Flow(controller, source="r1", target="r2", start=0.3),
    ]
    return tc.Scenario(tc.parking_lot(2, "10 Mb/s", "10 ms", 50), flows, duration=20)


CASES = {
    "one CUBIC": dumbbell(["cubic"]),
    **{
        f"{n} {controller}, {queue}": dumbbell([controller] * n, queue)
        for controller, n in (("newreno", 2), ("cubic", 4), ("vegas", 10))
        for queue in ("droptail", "red", "codel")
    },
    "two hops, NewReno": two_hops("newreno"),
    "two hops, CUBIC": two_hops("cubic"),
    "CBR and transfers beside CUBIC": dumbbell(
        [],
        flows=[tc.Flow("cubic"), tc.CBR("3 Mb/s", on=[(2, 9)])],
        workloads=[tc.workloads.web("newreno", rate=5)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_trains_of_one_packet_have_the_bits_of_packets(name):
    one = CASES[name]
    assert tc.simulate(one).data.equals(tc.simulate(one, trains=SHORT).data)


@pytest.mark.filterwarnings("ignore::tcpcc.errors.ScenarioWarning")
def test_random_scenarios_have_the_bits_of_packets():
    """With changing links, outages and workloads."""
    found = 0
    for number in range(30):
        try:
            one = fuzz.scenario(random.Random(f"one packet {number}"))
        except tc.ScenarioError:  # a controller that needs another loss recovery
            continue
        if in_single_packets(one.resolve(), SHORT, one.duration):
            assert tc.simulate(one).data.equals(tc.simulate(one, trains=SHORT).data), number
            found += 1
    assert found > 10


@pytest.mark.parametrize("driver", ["compiled", "simpy"])
def test_so_have_events_and_streams(driver, tmp_path):
    one = CASES["two hops, NewReno"].replace(duration=3)
    packets, trains = (tc.simulate(one, driver=driver, trace=True, trains=n) for n in (None, SHORT))
    assert packets.events.tobytes() == trains.events.tobytes()
    streamed = tc.simulate(one, driver=driver, stream=tmp_path / "run.nc", trains=SHORT)
    assert tc.simulate(one, driver=driver).data.equals(streamed.data)


def test_packets_cost_what_packets_cost():
    one = CASES["4 cubic, droptail"]
    assert tc.estimate(one, trains=SHORT) == tc.estimate(one)
    assert tc.estimate(one, trains=16) != tc.estimate(one)


@pytest.mark.parametrize(
    ("settings", "fewest"),
    [
        ({}, 100),  # 40 ms and 50 packets, at 1250 packets/s
        ({"buffer": 1}, 51),
        ({"buffer": "75 kB"}, 125),
        ({"jitter": 0.02}, 125),
        ({"rate": "100 Mb/s"}, 550),
        ({"access_rate": "1 Gb/s"}, 100),
        ({"access_rate": "1 Mb/s"}, 7500),  # here and below 60 s
        ({"buffer": math.inf}, 75_000),
        ({"variable": True}, 75_000),
    ],
)
def test_a_round_trip_with_full_buffers_decides(settings, fewest):
    net = tc.dumbbell(**{"rate": "10 Mb/s", "delay": "20 ms", "buffer": 50} | settings)
    assert_needed(tc.Scenario(net, [tc.Flow("reno")], duration=60), fewest)


def test_packets_of_a_constant_rate_are_its_interval_apart():
    """Twice 10 ms and 50 packets of 0.8 ms, at 12,500 packets/s."""
    assert_needed(dumbbell([], flows=[tc.CBR("100 Mb/s")]), 1250)


def assert_needed(one, fewest):
    """So many trains in a round trip have one packet each; fewer have more."""
    found = [in_single_packets(one.resolve(), fewest + k, one.duration) for k in (-1, 1)]
    assert found == [False, True]


def test_a_longer_train_on_one_path_puts_all_flows_in_trains():
    net = tc.Network(
        [
            tc.Link(a, b, rate=rate, delay="5 ms", buffer=10)
            for a, b, rate in (("a", "b", "1 Mb/s"), ("c", "d", "100 Mb/s"))
            for a, b in ((a, b), (b, a))
        ]
    )
    slow, fast = (tc.Flow("newreno", source=a, target=b) for a, b in ("ab", "cd"))
    for flows, trains in (([slow], None), ([fast], 30), ([slow, fast], 30)):
        run = tc.simulate(tc.Scenario(net, flows, duration=1), trains=30)
        assert run.data.attrs.get("trains") == trains
