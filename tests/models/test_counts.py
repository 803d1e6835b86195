"""Counts add up at every link: in each model, for each discipline and each cause of a drop.

`conservation.check_links` also checks the links of all other runs of the tests.
"""

import pytest
from every_model import simulate_in

import tcpcc as tc
from tcpcc.queues import QUEUES

DISCIPLINES = ("droptail", "red", "adaptive_red", "pie", "pi", "rem", "codel", "fq_codel")
MODELS = ("packet", "trains", "fluid", "hybrid")


def overloaded(queue, model, loss=0.0):
    """15 Mb/s into a link of 10 Mb/s: a third must be dropped."""
    net = tc.dumbbell("10 Mbps", "10 ms", 100, queue=queue, loss=loss)
    flows = [tc.CBR("15 Mbps", name="full")]
    if model == "hybrid":
        flows.append(tc.Flow("reno", background=True, start=19, stop=19.5))
    return tc.Scenario(net, flows, duration=20)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("queue", DISCIPLINES)
def test_a_link_with_half_as_much_again_drops_a_third(queue, model):
    """In each model, whatever drops the packets; 20 s with 25,000 packets, the first second off."""
    run = simulate_in(model, overloaded(queue, model))
    assert run.drop_rate(after=1, before=19) == pytest.approx(1 / 3, abs=0.06)
    lost, sent = (run.data[name].sel(flow="full").sum().item() for name in ("dropped", "sent"))
    assert float(run.data["drops"].sum()) == pytest.approx(lost, rel=0.01)
    assert float(run.data["arrived"].sum()) == pytest.approx(sent, rel=0.01)


@pytest.mark.parametrize("model", MODELS)
def test_packets_lost_at_random_arrive_once(model):
    run = simulate_in(model, overloaded("red", model, loss=0.1))
    assert float(run.data["arrived"].sum()) == pytest.approx(
        float(run.data["sent"].sel(flow="full").sum()), rel=0.01
    )


@pytest.mark.filterwarnings("ignore::tcpcc.errors.ScenarioWarning")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("queue", list(QUEUES))
def test_flows_that_share_a_queue_lose_what_the_link_drops(queue, model):
    """TCP and CBR, packets that stand for several: drops and arrivals of the link and the flows."""
    net = tc.dumbbell("20 Mbps", "20 ms", 60, queue=queue)
    flows = [
        tc.Flow("newreno", count=10, background=True, jitter=1, processing="1 ms"),
        tc.Flow("cubic", count=120, background=True, jitter=1, processing="1 ms", name="many"),
        tc.CBR("2 Mbps"),
    ]
    run = simulate_in(model, tc.Scenario(net, flows, duration=20))
    data = run.data.sum("time")
    assert float(data["drops"].sum()) == pytest.approx(float(data["dropped"].sum()), rel=0.001)
    sent = float(data["sent"].sum())
    assert float(data["arrived"].sum()) == pytest.approx(sent, rel=0.005)


def sent_packets(run, link):
    of_link = run.data.sel(link=link)
    return float(of_link["sent_bits"].sum()) / 8 / float(run.data["packet_size"][0])


@pytest.mark.parametrize("model", ["packet", "trains"])
def test_where_no_queue_stands_lost_packets_are_not_sent(model):
    """At 2 % loss ten flows leave the link half idle: what is lost has never waited."""
    net = tc.dumbbell("50 Mbps", "20 ms", 300, loss=0.02)
    run = simulate_in(model, tc.Scenario(net, [tc.Flow("newreno", count=10)], duration=20))
    assert run.utilization() < 0.6
    kept = float((run.data["arrived"] - run.data["drops"]).sel(link="bottleneck").sum())
    assert sent_packets(run, "bottleneck") == pytest.approx(kept, abs=12)  # ten SYNs


@pytest.mark.parametrize("model", ["packet", "trains"])
def test_each_link_of_a_short_chain_sends_what_arrives(model):
    """A train reaches the next link while it still leaves the one before. RED: a queue that is a
    fluid."""
    net = tc.chain(3, rate="5 Mbps", delay="1 ms", buffer=200, queue="red")
    flow = tc.Flow("cubic", size=400, transport={"initial_window": 60})
    run = simulate_in(model, tc.Scenario(net, [flow], duration=20))
    for link in run.links:
        kept = float((run.data["arrived"] - run.data["drops"]).sel(link=link).sum())
        assert sent_packets(run, link) == pytest.approx(kept, abs=2)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("queue", [q for q in QUEUES if not QUEUES[q].header])
def test_every_discipline_bears_an_outage(queue, model):
    net = tc.dumbbell("10 Mbps", "10 ms", 50, queue=queue)
    flows = [tc.Flow("newreno"), tc.Flow("cubic", background=model == "hybrid")]
    changes = tc.changes.outage(net, "bottleneck", 2, 3)
    run = simulate_in(model, tc.Scenario(net, flows, duration=8, changes=changes))
    sent = run.data["sent_bits"].sel(link="bottleneck")
    assert abs(float(sent.sel(time=slice(2.02, 2.98)).sum())) < 1e-6  # bits
    assert float(sent.sel(time=slice(5, 8)).sum()) > 1e6
