"""One sender for several flows of a `count` in the ODE."""

import math

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.errors import ScenarioError

BOTH = pytest.mark.parametrize("model", ["packet", "fluid"])
RED = {"name": "red", "min_thresh": 300, "max_thresh": 1200, "max_p": 0.1, "gentle": True}


def crowd(count=200, rate="200 Mbps", queue=None, buffer=750, duration=20.0, **settings):
    net = tc.dumbbell(rate, "25 ms", buffer, queue=queue)
    flow = tc.Flow("newreno", count=count, jitter=2, name="back", **settings)
    return tc.Scenario(net, [flow], duration=duration)


def lone(count, rwnd=1, **settings):
    """Senders with a constant window."""
    transport = tc.Transport(rwnd=rwnd, initial_window=rwnd, handshake=False)
    net = tc.dumbbell("8 Mbps", "20 ms", math.inf, access_delay=0.0)
    return tc.Scenario(
        net, [tc.Flow("newreno", count=count, transport=transport, **settings)], duration=10.0
    )


def late(run, name):
    data = run.data[name]
    return float(data.sel(time=data.time > 6).sum())


def test_a_packet_takes_the_place_of_those_it_stands_for():
    """40 flows with 5 packets each: 200 packets, of which 41 are on the path of 41 ms."""
    for senders in (1, 40):
        run = tc.simulate(lone(40, 5), "fluid", senders=senders)
        assert float(run.data["queue"][-1, 0]) == pytest.approx(200 - 42, abs=3)
        assert late(run, "delivered") == pytest.approx(4 * 1000, rel=0.01)
        assert float(run.data["arrived"].sum()) == pytest.approx(float(run.data["sent"].sum()))
        assert int(run.data["count"].sum()) == 40


def test_own_links_carry_one_packet():
    runs = [
        tc.simulate(lone(10, access_rate=rate), "fluid", senders=1)
        for rate in ("80 Mbps", "4 Mbps")
    ]
    rtts = [float(run.data["rtt"][-1, 0]) for run in runs]
    slower = 2 * (8000 + 320) * (1 / 4e6 - 1 / 80e6)
    assert rtts[1] - rtts[0] == pytest.approx(slower, abs=2e-4)


@pytest.mark.long
@pytest.mark.parametrize("queue", [None, RED])
def test_representatives_are_nearly_all_flows(queue):
    """Losses and mean queue within 5 %, in the mean of five runs with fewer senders, whose sum
    varies more. Hosts take random times: equal flows lose in phase, fewer senders do not. The
    queue of all senders is within 2 % of that of packets, with RED within 10 %."""
    scenario = crowd(1000, "500 Mbps", queue and {**queue, "min_thresh": 1500, "max_thresh": 6000},
                     buffer=9000 if queue else 1875, processing="48 us")  # fmt: skip
    all_of_them = tc.simulate(scenario, "fluid", senders=1000)
    few = [tc.simulate(scenario.replace(seed=k), "fluid", senders=100) for k in range(1, 6)]
    assert (len(few[0].data.flow), len(all_of_them.data.flow)) == (100, 1000)

    def lost(run):
        return late(run, "dropped") / late(run, "sent")

    assert np.mean([lost(run) for run in few]) == pytest.approx(lost(all_of_them), rel=0.05)
    waiting = np.mean([late(run, "queue") for run in few])
    assert waiting == pytest.approx(late(all_of_them, "queue"), rel=0.05)
    of_packets = late(tc.simulate(scenario), "queue")
    assert late(all_of_them, "queue") == pytest.approx(of_packets, rel=0.02 if not queue else 0.1)
    utilization = np.mean([run.utilization(after=6) for run in few])
    assert utilization == pytest.approx(all_of_them.utilization(after=6), abs=0.005)


def test_up_to_a_hundred_flows_are_simulated_each():
    one, other = (
        tc.simulate(crowd(100, duration=5), "fluid", **o) for o in ({}, {"senders": 1000})
    )
    assert one.data.equals(other.data.assign_attrs(one.data.attrs))


def test_drops_count_for_each():
    run = tc.simulate(crowd(1000, "300 Mbps", buffer=300, duration=5), "fluid")
    drops = float(run.data["drops"].sum())
    assert drops == float(run.data["dropped"].sum()) > 1000
    assert drops % 10 == 0
    waiting = float(run.data["queue_max"].max())
    assert waiting < 300 + 100  # the packets of few senders wait on top of a full buffer


def test_marks_count_for_each():
    """As many as with all flows, within 10 %."""
    transport = tc.Transport(ecn="classic")
    scenario = crowd(transport=transport, queue={**RED, "ecn": True})
    few, all_of_them = (
        float(tc.simulate(scenario, "fluid", senders=n).data["marks"].sum()) for n in (100, 200)
    )
    assert few == pytest.approx(all_of_them, rel=0.1)


def test_single_flows_get_their_share_beside_representatives():
    scenario = crowd(1000, "525 Mbps", {**RED, "min_thresh": 1500, "max_thresh": 6000}, 9000)
    front = tc.Flow("newreno", count=50, jitter=2, name="front")
    run = tc.simulate(scenario.replace(flows=[*scenario.flows, front]), "fluid")
    rates, counts = run.throughput(after=6).values, run.data["count"].values
    assert rates[counts == 1].mean() == pytest.approx(
        rates[counts > 1].sum() / counts[counts > 1].sum(), rel=0.06
    )


def test_a_million_flows_cost_a_hundred():
    """As many senders and steps; losses and queue per flow do not depend on the number."""
    small, large = (
        tc.simulate(crowd(n, 1e6 * n, buffer=3.75 * n, duration=12.0), "fluid")
        for n in (100, 10**6)
    )
    assert len(large.data.flow) == 100
    assert tc.estimate(crowd(10**6, 1e12), "fluid").seconds < 2
    shares = [late(run, "dropped") / late(run, "sent") for run in (small, large)]
    assert shares[1] == pytest.approx(shares[0], rel=0.1)
    queues = [late(run, "queue") for run in (small, large)]
    assert queues[1] / 1e4 == pytest.approx(queues[0], rel=0.05)


def test_queues_for_each_flow_have_all_flows():
    run = tc.simulate(crowd(150, queue="fq", duration=3.0), "fluid")
    assert len(run.data.flow) == 150
    with pytest.raises(ScenarioError, match=r"'fq' keeps them apart: must be at most 10,000"):
        tc.simulate(crowd(20_000, queue="fq", duration=3.0), "fluid")


@BOTH
@pytest.mark.parametrize("wrong", [0, -1, 2.5])
def test_a_number_of_senders_is_whole(model, wrong):
    with pytest.raises(ScenarioError, match="senders = "):
        tc.simulate(crowd(), model, senders=wrong)


@BOTH
def test_flows_without_series_are_summed(model):
    shown, hidden = (
        tc.simulate(crowd(duration=5.0, record=record), model, senders=100).totals()
        for record in (True, False)
    )
    assert list(shown["sent"]) == pytest.approx(list(hidden["sent"]))
    assert set(shown["count"]) == {2}
    assert np.isfinite(shown["sent"]).all()
