"""Links of whole packets and header fields in the ODE, beside workloads and a `count`."""

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.errors import ScenarioError
from tcpcc.models.fluid.fluid_records import FREE
from tcpcc.models.fluid.fluid_world import FluidWorld

SIZES = tc.workloads.Distribution("expon", scale=20_000)


def web(queue, flow="newreno", load=0.6, duration=20.0, **settings):
    """One long flow beside transfers of 20 packets in the mean."""
    beginnings = tc.workloads.poisson(load * 20e6 / 8 / 20_000)
    work = tc.Workload(flow, tc.workloads.Conversation(SIZES), interarrival=beginnings, name="web")
    net = tc.dumbbell("20 Mbps", "20 ms", 120, queue=queue)
    return tc.Scenario(net, [tc.Flow(flow)], workloads=[work], duration=duration, **settings)


@pytest.mark.parametrize("queue", ["codel", "drr", "fq_codel"])
def test_completion_times_are_those_of_packets(queue):
    packets, fluid = (
        tc.simulate(web(queue), model).fct()["fct_s"] for model in ("packet", "fluid")
    )
    assert len(fluid) == len(packets)
    assert fluid.mean() == pytest.approx(packets.mean(), rel=0.08)
    assert fluid.quantile(0.5) == pytest.approx(packets.quantile(0.5), rel=0.08)


@pytest.mark.parametrize(
    ("queue", "flow"),
    [
        (tc.queues.CoDel(), "newreno"), (tc.queues.FQ(), "newreno"),
        (tc.queues.XCPRouter(), "xcp"), (tc.queues.DRR(), "xcp"),
    ],
)  # fmt: skip
def test_places_may_be_added_while_packets_wait(queue, flow, monkeypatch):
    """With room for all from the beginning the numbers are the same."""
    net = tc.chain(2, [30e6, 20e6], 0.005, 60, queue=[tc.queues.DropTail(), queue])
    scenario = web(queue, flow, 0.9, 8.0).replace(net=net)
    runs = []
    for places in (1, 128):
        monkeypatch.setattr("tcpcc.models.fluid.fluid_world.FIRST_PLACES", places)
        runs.append(tc.simulate(scenario, "fluid").data)
    for name in ("delivered", "sent", "dropped", "cwnd", "queue", "item_finished"):
        assert np.array_equal(runs[0][name], runs[1][name], equal_nan=True), name


def test_connections_end_though_their_last_acks_are_dropped():
    """A timeout brings another ACK, which says what they had to say."""
    net = tc.dumbbell("20 Mbps", "20 ms", 120)
    there, back = net.links[:2]
    back = tc.Link(back.src, back.dst, rate=30e3, delay=0.02, buffer=1, queue="codel", loss=0.3)
    work = tc.Workload("newreno", tc.workloads.Conversation(20_000), interarrival=0.5, count=20)
    net = net.replace(links=[there, back, *net.links[2:]])
    world = FluidWorld(tc.Scenario(net, [], workloads=[work], duration=120.0))
    world.run(world.end)
    assert world.link_bins["drops"].sum() > 20
    assert (world.flows["status"] == FREE).all()


def test_links_of_whole_packets_have_all_flows():
    net = tc.dumbbell("100 Mbps", "25 ms", 400, queue="codel")
    crowd = tc.Scenario(net, [tc.Flow("newreno", count=150, jitter=2)], duration=5.0)
    assert len(tc.simulate(crowd, "fluid").data.flow) == 150
    many = crowd.replace(flows=[tc.Flow("newreno", count=20_000)])
    with pytest.raises(ScenarioError, match="'codel' decides about each packet: must be at most"):
        tc.simulate(many, "fluid")


def test_a_router_counts_the_packets_of_all_that_a_sender_stands_for():
    net = tc.dumbbell("200 Mbps", "25 ms", 400, queue=tc.queues.XCPRouter())
    crowd = tc.Scenario(net, [tc.Flow("xcp", count=200, jitter=2)], duration=8.0)
    windows = []
    for senders in (20, 200):
        late = tc.simulate(crowd, "fluid", senders=senders).data.sel(time=slice(4, 8))
        windows.append(float(late["cwnd"].mean()))
        assert float(late["delivered"].sum()) == pytest.approx(4 * 25_000, rel=0.02)
    assert windows[0] == pytest.approx(windows[1], rel=0.05)
