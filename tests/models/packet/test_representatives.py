"""One sender for several flows in the packet model (`senders`)."""

import math
import warnings

import pytest
from drivers import both_drivers

import tcpcc as tc
from tcpcc.errors import ScenarioError, ScenarioWarning

RED = {"name": "red", "min_thresh": 50, "max_thresh": 150, "max_p": 0.1, "gentle": True}


def crowd(count=100, queue=RED, buffer=300, rate="50 Mbps", duration=40.0, **settings):
    net = tc.dumbbell(rate, "25 ms", buffer, queue=queue)
    settings = {"jitter": 2, "processing": "2 ms", **settings}
    return tc.Scenario(net, [tc.Flow("newreno", count=count, **settings)], duration=duration)


def lone(count, rwnd, **settings):
    """One sender with a constant window."""
    transport = tc.Transport(rwnd=rwnd, initial_window=rwnd, handshake=False)
    net = tc.dumbbell("8 Mbps", "20 ms", math.inf, access_delay=0.0)
    flow = tc.Flow("newreno", count=count, transport=transport, **settings)
    return tc.Scenario(net, [flow], duration=10.0)


def test_a_packet_takes_the_time_of_those_it_stands_for():
    """10 packets of 1000 byte last 10 ms at 8 Mb/s, their ACKs 0.4 ms; each of the 10 flows gets a
    packet in a round trip of 50.4 ms."""
    run = tc.simulate(lone(10, 1), senders=1)
    rtt = 2 * 0.02 + 10 * (8000 + 320) / 8e6
    assert run.totals()["delivered"].item() == 10 * (math.floor((10 - 0.03) / rtt) + 1)
    assert float(run.data["rtt"][-1, 0]) == pytest.approx(rtt)
    assert run.totals()["count"].item() == 10


def test_a_packet_takes_the_place_of_those_it_stands_for():
    """Five packets at once: the first goes out, 9 + 40 places are taken after it."""
    run = tc.simulate(lone(10, 5), senders=1)
    assert float(run.data["queue_max"].isel(link=0).max()) == 49.0
    assert float(run.data["arrived"].isel(link=0).sum()) == run.totals()["sent"].item()


def test_own_links_carry_one_packet():
    slow = {"access_rate": "8 Mbps"}
    rtts = [
        float(tc.simulate(lone(10, 1, **own), senders=1).data["rtt"][-1, 0]) for own in ({}, slow)
    ]
    assert rtts[1] - rtts[0] == pytest.approx(
        2 * (8000 + 320) / 8e6
    )  # at the source and at the sink


def test_all_flows_as_senders_is_the_default():
    one, other = (tc.simulate(crowd(10, duration=5), **o) for o in ({}, {"senders": 10}))
    assert one.data.drop_vars("cpu_seconds", errors="ignore").equals(other.data)


def test_crowds_are_nearly_those_of_single_flows():
    """Ten packets at once: utilization within 1 %, queue and losses within 8 %."""
    single, grouped = (tc.simulate(crowd(), **o) for o in ({}, {"senders": 10}))
    assert list(grouped.data["count"].values) == [10] * 10
    assert grouped.utilization(after=10) == pytest.approx(single.utilization(after=10), abs=0.01)

    def mean(run, name):
        return float(run.data[name].isel(link=0).sel(time=slice(10, None)).mean())

    assert mean(grouped, "queue") == pytest.approx(mean(single, "queue"), rel=0.08)
    assert mean(grouped, "drops") == pytest.approx(mean(single, "drops"), rel=0.08)


def test_foreground_flows_keep_their_share():
    front = tc.Flow("newreno", count=4, name="front", jitter=2, processing="2 ms")
    back = crowd(duration=60).flows[0]
    scenario = tc.Scenario(crowd().net, [front, back], duration=60.0)
    run = tc.simulate(scenario, senders=10)
    rates, counts = run.throughput(after=10).values, run.data["count"].values
    assert list(counts[:4]) == [1] * 4
    assert rates[:4].mean() == pytest.approx(rates[4:].sum() / counts[4:].sum(), rel=0.15)


def test_marks_count_for_each():
    transport = tc.Transport(ecn="classic")
    run = tc.simulate(crowd(transport=transport, queue={**RED, "ecn": True}), senders=10)
    marks = float(run.data["marks"].isel(link=0).sum())
    assert marks > 0
    assert marks % 10 == 0
    assert marks > 0.01 * run.totals()["sent"].sum()


def test_both_drivers_have_the_same_bits():
    both_drivers(crowd(20, duration=5), senders=4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"queue": "codel"}, "'codel'"),
        ({"queue": "fq_codel"}, "'fq_codel'"),
    ],
)
def test_scheduled_queues_are_refused(settings, message):
    with pytest.raises(ScenarioError, match=f"link 'bottleneck' .* has the queue {message}"):
        tc.simulate(crowd(**settings), senders=10)


def test_links_that_change_are_refused():
    scenario = crowd()
    changed = tc.Scenario(
        scenario.net, scenario.flows, duration=40, changes=[tc.Change(5, "bottleneck", rate=1e6)]
    )
    with pytest.raises(ScenarioError, match=r"link 'bottleneck' on the path of .* changes"):
        tc.simulate(changed, senders=10)


def test_phase_effects_are_warned_of():
    with pytest.warns(
        ScenarioWarning, match="a drop-tail queue: give all flows processing = 0.0032"
    ):
        tc.simulate(crowd(duration=3, queue=None, processing=0), senders=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tc.simulate(crowd(duration=3, queue=None, processing=0.0032), senders=10)


def test_the_estimate_counts_senders():
    all_of_them, some = (tc.estimate(crowd(), senders=n) for n in (math.inf, 10))
    assert some.packets == pytest.approx(all_of_them.packets / 10, rel=0.01)
