"""The hybrid with ``steps``: packets in the foreground, the fluid model in the background."""

import numpy as np
import pytest
from drivers import both_drivers

import tcpcc as tc
from tcpcc.models.hybrid.coupling import CoupledWorld

RED = tc.queues.RED(min_thresh=30, max_thresh=180, max_p=0.1, gentle=True, weight=0.01)
ECN = tc.Transport(ecn="classic")


def behind(controller="newreno", count=40, **settings):
    settings = {"jitter": 1, "background": True, "name": "behind", **settings}
    return tc.Flow(controller, count=count, **settings)


def scenario(*flows, queue=RED, rate="40 Mbps", buffer=240, duration=20, **settings):
    net = tc.dumbbell(rate, "20 ms", buffer, queue=queue)
    return tc.Scenario(net, flows, duration=duration, **settings)


def test_both_drivers_give_the_same_bits():
    """With drops, marks, a trace, delayed ACKs and a workload."""
    case = scenario(
        tc.Flow("newreno", name="ecn", transport=ECN),
        tc.Flow("cubic", name="late", transport=tc.Transport(delayed_ack=0.04)),
        behind(transport=ECN),
        queue=tc.queues.RED(min_thresh=30, max_thresh=90, ecn=True),
        workloads=[tc.workloads.web("newreno", rate=5, size=20)],
        duration=4,
    )
    run = both_drivers(case, "hybrid", trace="ecn", steps=20)
    assert float(run.data.drops.sum()) > 0
    assert float(run.data.marks.sum()) > 0
    assert len(run.fct()) > 10


@pytest.mark.parametrize("window", [15, 30])
def test_a_packet_waits_for_the_fluid_before_it(window):
    """Four windows of fluid on a path of 101.04 packets (40 ms, and 0.416 ms to send a packet and
    its ACK): what is left over waits, and a packet of another flow waits for it."""
    closed = {"rwnd": window}
    case = scenario(
        tc.Flow("reno", name="front", transport={"rwnd": 1}, start=2),
        *(behind("reno", 1, name=f"b{k}", transport=closed) for k in range(4)),
        queue=tc.queues.DropTail(), rate="20 Mbps", duration=10,
    )  # fmt: skip
    run = tc.simulate(case, "hybrid", steps=80)  # path and waits are whole steps
    bits = 4 * window * 8000
    trip = max(0.040 + 0.000416, (bits + 8000) / 20e6)
    assert float(run.data.rtt[-1, 0]) == pytest.approx(trip, abs=1e-4)
    sent = float(run.data.delivered[:, 0].sum())
    assert sent == pytest.approx(8 / trip, rel=0.02)


def test_fluid_waits_for_packets():
    """A source of half the link's rate leaves the other half to the fluid."""
    case = scenario(tc.CBR("20 Mbps", name="load"), behind(), queue=tc.queues.DropTail())
    run = tc.simulate(case, "hybrid", steps=20)
    late = run.data.sel(time=slice(5, None))
    delivered = late.delivered.sum("time").values * 8000 / 15
    assert delivered[0] == pytest.approx(20e6, rel=0.03)
    assert delivered.sum() == pytest.approx(40e6, rel=0.01)


@pytest.mark.parametrize("queue", [RED, tc.queues.DropTail(), tc.queues.PIE()])
def test_counts_of_a_link_add_up(queue):
    """At the link arrived = dropped + sent + waiting, foreground and background together."""
    case = scenario(tc.Flow("newreno"), tc.CBR("4 Mbps"), behind(count=20), queue=queue)
    world = CoupledWorld(case, False, 20.0, 100)
    run = tc.simulate(case, "hybrid", steps=20)
    link = run.data.isel(link=0)
    inside = float(link.arrived.sum() - link.drops.sum() - link.sent_bits.sum() / 8000)
    assert world.fluid_links == [0]
    assert float(link.drops.sum()) > 20
    assert -1 <= inside <= float(link.queue_max.max()) + 1
    dropped = float(run.data.dropped.sum())
    assert dropped == pytest.approx(float(link.drops.sum()), abs=1)


@pytest.mark.parametrize("ecn", [False, True])
def test_the_foreground_gets_its_share_of_a_red_link(ecn):
    """Eight equal flows, four of them packets: their share is 1 in packets, and marks and drops
    are those of packets."""
    transport = ECN if ecn else tc.Transport()
    queue = tc.queues.RED(min_thresh=30, max_thresh=180, gentle=True, weight=0.01, ecn=ecn)
    front = tc.Flow("newreno", count=10, jitter=1, transport=transport)
    case = scenario(front, behind(count=10, transport=transport), queue=queue, duration=60)
    found = []
    for model, options in (("packet", {}), ("hybrid", {"steps": 20})):
        run = tc.simulate(case, model, **options)
        late = run.data.sel(time=slice(10, None))
        hits = late.marks if ecn else late.drops
        share = late.delivered[:, :10].sum() / late.delivered.sum()
        found.append([float(late.queue.mean()), float(hits.sum()), float(share)])
    assert found[1] == pytest.approx(found[0], rel=0.1)
    assert found[1][2] == pytest.approx(0.5, abs=0.03)


def test_a_full_buffer_has_room_for_packets_as_often_as_for_fluid():
    """Twenty equal flows, ten of them packets: over four seeds both lose as large a part."""
    losses = []
    for seed in range(1, 5):
        front = tc.Flow("newreno", count=10, jitter=1)
        case = scenario(front, behind(count=10), queue=tc.queues.DropTail(), duration=60, seed=seed)
        late = tc.simulate(case, "hybrid", steps=20).data.sel(time=slice(10, None))
        dropped, sent = late.dropped.sum("time").values, late.sent.sum("time").values
        losses.append(
            [dropped[part].sum() / sent[part].sum() for part in np.split(np.arange(20), 2)]
        )
    of_packets, of_fluid = np.mean(losses, axis=0)
    assert of_fluid > 0.005
    assert of_packets == pytest.approx(of_fluid, rel=0.2)


def test_a_million_flows_behind_one():
    """At 1 and at 100 Gb/s, as 100 senders of fluid each, whose series are not recorded."""
    found = []
    for rate in (1e9, 100e9):
        net = tc.dumbbell(rate, "20 ms", 2e-6 * rate, queue=tc.queues.RED(
            min_thresh=2e-7 * rate, max_thresh=1e-6 * rate, weight=1e-4
        ))  # fmt: skip
        count = int(rate / 1e5)
        flows = [tc.Flow("newreno", name="front"), behind(count=count, record=False)]
        run = tc.simulate(tc.Scenario(net, flows, duration=5), "hybrid", steps=20)
        assert float(run.data.sent_bits.sum()) / 5 / rate > 0.5
        found.append(run.flows)
    assert found == [["front"], ["front"]]


@pytest.mark.parametrize(("change", "message"), [
    ({"queue": tc.queues.CoDel()}, "has the queue 'codel': give trains=16 instead of steps"),
    ({"changes": [tc.Change(5, "bottleneck", rate="1 Mbps")]}, "changes: give trains=16 instead"),
])  # fmt: skip
def test_links_of_single_packets_are_refused(change, message):
    with pytest.raises(tc.ScenarioError, match=message):
        tc.simulate(scenario(tc.Flow("reno"), behind(), **change), "hybrid", steps=20)


def test_a_fluid_flow_has_no_trace_and_no_relatives_among_packets():
    case = scenario(tc.Flow("reno"), behind(count=2))
    with pytest.raises(tc.ScenarioError, match=r"trace: flow 'behind.1' is fluid"):
        tc.simulate(case, "hybrid", steps=20, trace="behind.1")
    one = tc.Flow("lia", group="g", name="a"), tc.Flow("lia", group="g", background=True, name="b")
    with pytest.raises(tc.ScenarioError, match="group 'g': has flows with and without"):
        tc.simulate(scenario(*one), "hybrid", steps=20)


def test_a_background_is_fluid_or_in_trains():
    with pytest.raises(tc.ScenarioError, match="must be one of them"):
        tc.simulate(scenario(tc.Flow("reno"), behind()), "hybrid", steps=20, trains=16)


def test_a_rule_that_fails_in_the_background_is_named():
    def fails(s, p, a):
        s.cwnd += a.acked / (s.cwnd - 12.0)

    broken = tc.Controller(name="broken", summary="fails", on_ack=fails, on_loss=fails)
    case = scenario(tc.Flow("reno"), behind(broken, transport={"initial_window": 12}))
    with pytest.raises(tc.errors.RuleError, match="'broken', on_ack"):
        tc.simulate(case, "hybrid", steps=20)


def test_the_foreground_does_not_change_the_steps_of_others():
    """Rows are in the scenario's order, and all of the foreground's flows are simulated."""
    flows = [behind(count=30), tc.Flow("reno", count=3, name="front")]
    run = tc.simulate(scenario(*flows, duration=2), "hybrid", steps=20, senders=3)
    assert run.flows == [f"behind.{k}" for k in (1, 2, 3)] + [f"front.{k}" for k in (1, 2, 3)]
    assert (run.data.delivered.sum("time") > 0).all()
    assert np.isfinite(run.data.rtt[-1]).all()
