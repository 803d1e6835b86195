"""Coast in fluid, recover in packets, against the packet model."""

import pytest

import tcpcc as tc
from tcpcc.models.coast.coasting import simulate


def lone(controller, rate, buffer=0.5, duration=10, **settings):
    packets = int(rate * 1e6 * 0.05 / 8000 * buffer)
    net = tc.dumbbell(rate * 1e6, 0.001, packets, access_delay=0.0115)
    return tc.Scenario(net, [tc.Flow(controller, **settings)], duration=duration, interval=0.1)


@pytest.mark.parametrize("rate", [20, 100])
def test_overshoot_and_timeouts_of_a_lone_newreno_are_those_of_packets(rate):
    scenario = lone("newreno", rate)
    ours, packets = simulate(scenario), tc.simulate(scenario)
    ours_sent, sent = ours.totals()["retransmitted"].sum(), packets.totals()["retransmitted"].sum()
    assert sent > 100
    assert ours_sent == pytest.approx(sent, rel=0.15)
    assert ours.timeouts().values == packets.timeouts().values
    assert float(ours.goodput(0).sum()) == pytest.approx(float(packets.goodput(0).sum()), rel=0.1)


def test_a_lone_vegas_keeps_the_same_packets_queued():
    """Its window settles where it does in packets: RTTs and rounds are those of packets."""
    scenario = lone("vegas", 20, 2, 40)
    ours, packets = simulate(scenario), tc.simulate(scenario)
    windows = [float(run.data["cwnd"].values[-50:].mean()) for run in (ours, packets)]
    assert windows[0] == pytest.approx(windows[1], abs=1)
    queues = [float(run.queue_mean(after=30)) for run in (ours, packets)]
    assert queues[0] == pytest.approx(queues[1], abs=1.01)


@pytest.mark.parametrize("controller", ["bbr", "copa"])
def test_controllers_that_need_packets_run(controller):
    scenario = lone(controller, 20, 2, 20)
    ours, packets = simulate(scenario), tc.simulate(scenario)
    assert float(ours.goodput(5).sum()) == pytest.approx(float(packets.goodput(5).sum()), rel=0.05)


def test_rack_runs_by_its_own_rules():
    """A recovery that the fluid model would play by flags."""
    scenario = lone("newreno", 10, recovery="rack-tlp")
    ours, packets = simulate(scenario), tc.simulate(scenario)
    assert float(ours.goodput(0).sum()) == pytest.approx(float(packets.goodput(0).sum()), rel=0.05)


def test_marks_hold_the_queue_of_dctcp():
    net = tc.dumbbell("100 Mbps", "1 ms", 250, access_delay=0.0015, queue=tc.StepMark(threshold=20))
    flows = [
        tc.Flow("dctcp", start=0.02 * k, transport=tc.Transport(ecn="accurate"), name=f"d{k}")
        for k in range(4)
    ]
    scenario = tc.Scenario(net, flows, duration=5, interval=0.1)
    ours, packets = simulate(scenario), tc.simulate(scenario)
    assert ours.data["dropped"].sum() == 0
    queue = float(packets.queue_mean(after=2))
    assert float(ours.queue_mean(after=2)) == pytest.approx(queue, rel=0.2)


def test_two_queues_without_losses_agree_with_packets():
    net = tc.parking_lot(hops=2, rate="20 Mbps", delay="5 ms", buffer=1000)
    flows = [
        tc.Flow("fast", start=0.1, access_delay=0.010, name="long"),
        tc.Flow("fast", start=0.5, access_delay=0.011, source="r0", target="r1", name="first"),
        tc.Flow("fast", start=0.7, access_delay=0.012, source="r1", target="r2", name="second"),
    ]
    scenario = tc.Scenario(net, flows, duration=30, interval=0.1)
    ours, packets = simulate(scenario), tc.simulate(scenario)
    windows = [run.data["cwnd"].values[-50:].mean(axis=0) for run in (ours, packets)]
    # a late flow's BaseRTT depends on which single packets were queued when it started
    assert windows[0] == pytest.approx(windows[1], abs=1.5)


@pytest.mark.parametrize("size", [1, 3, 10, 100, 1000])
def test_a_transfer_takes_as_long_as_in_packets(size):
    scenario = lone("newreno", 10, 2, 15, size=size)
    ours, packets = simulate(scenario).fct()["fct_s"][0], tc.simulate(scenario).fct()["fct_s"][0]
    assert ours == pytest.approx(packets, rel=0.03)


def test_what_is_sent_is_delivered_dropped_or_on_its_way():
    scenario = lone("cubic", 50, 0.3)
    run = simulate(scenario)
    sent, delivered, dropped = (
        float(run.data[name].sum()) for name in ("sent", "delivered", "dropped")
    )
    repeats = float(run.totals()["retransmitted"].sum())
    assert dropped <= repeats + 1
    in_flight = sent - delivered - dropped
    assert -2 <= in_flight <= 500 + (repeats - dropped)
