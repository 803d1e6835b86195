"""The ready-made networks."""

import math

import networkx as nx
import pytest

import tcpcc as tc
from tcpcc.queues import RED, DropTail
from tcpcc.scenario import Access, Flow, Scenario
from tcpcc.scenario.topologies import chain, dumbbell, from_networkx, parking_lot


def links_of(net):
    return {link.name: link for link in net.links}


def route(net, **flow):
    resolved = Scenario(net, [Flow("reno", **flow)], duration=1).resolve()
    return [resolved.links[k].name for k in resolved.flows[0].forward]


def test_a_dumbbell_has_a_bottleneck_and_a_way_back():
    queue = RED(min_thresh=5, max_thresh=15)
    net = dumbbell("10 Mbps", "20 ms", 50, queue=queue, loss=0.01)
    there, back = net.links
    assert (there.name, there.src, there.dst) == ("bottleneck", "left", "right")
    assert (there.rate, there.delay, there.buffer, there.loss) == (1e7, 0.02, 50, 0.01)
    assert there.queue == queue
    assert there.record is True
    assert (back.name, back.src, back.dst) == ("bottleneck<", "right", "left")
    assert (back.rate, back.delay, back.buffer, back.loss) == (1e7, 0.02, math.inf, 0)
    assert back.queue == DropTail()
    assert net.access is None
    assert net.default_path == ("left", "right")


def test_the_reverse_buffer_of_a_dumbbell_can_be_finite():
    assert links_of(dumbbell(1e7, 0.02, 50, reverse_buffer=30))["bottleneck<"].buffer == 30


@pytest.mark.parametrize(
    ("settings", "access"),
    [
        ({}, None),
        ({"access_delay": "1 ms"}, Access(math.inf, 0.001)),
        ({"access_rate": "1 Gbps"}, Access(1e9, 0)),
        ({"access_rate": "1 Gbps", "access_delay": "1 ms"}, Access(1e9, 0.001)),
    ],
)
def test_access_links_are_there_if_asked_for(settings, access):
    assert dumbbell(1e7, 0.02, 50, **settings).access == access
    assert chain(2, 1e7, 0.02, 50, **settings).access == access


def test_a_chain_leads_from_end_to_end():
    net = chain(3, "10 Mbps", "5 ms", 20)
    assert list(links_of(net)) == ["r0>r1", "r1>r2", "r2>r3", "r1>r0", "r2>r1", "r3>r2"]
    assert net.default_path == ("r0", "r3")
    assert route(net) == ["r0>r1", "r1>r2", "r2>r3"]
    assert [link.buffer for link in net.links] == [20, 20, 20, math.inf, math.inf, math.inf]
    assert [link.record for link in net.links] == [True, True, True, None, None, None]


def test_a_chain_takes_one_value_for_each_hop():
    net = chain(2, ["10 Mbps", 2e7], [0.01, "20 ms"], ["64 kB", 30], queue=[RED(), None])
    first, second, *_ = net.links
    assert (first.rate, first.delay, first.buffer, first.buffer_unit) == (1e7, 0.01, 64e3, "bytes")
    assert (second.rate, second.delay, second.buffer) == (2e7, 0.02, 30)
    assert (first.queue, second.queue) == (RED(), DropTail())
    assert links_of(net)["r2>r1"].delay == 0.02


def test_cross_flows_take_single_hops_of_a_parking_lot():
    net = parking_lot(3, 1e7, 0.005, 20)
    assert net == chain(3, 1e7, 0.005, 20)
    assert route(net, source="r1", target="r2") == ["r1>r2"]


def test_an_undirected_graph_gives_both_directions():
    graph = nx.Graph()
    graph.add_edge(1, 2, rate="1 Mbps", delay="1 ms", buffer=10, queue=RED(), loss=0.1)
    graph.add_edge(2, 3, rate=1e6, delay=0.001)
    net = from_networkx(graph, default_path=(1, 3))
    assert set(links_of(net)) == {"1>2", "2>1", "2>3", "3>2"}
    assert links_of(net)["2>1"] == links_of(net)["1>2"].replace(src="2", dst="1")
    assert links_of(net)["1>2"].loss == 0.1
    assert route(net) == ["1>2", "2>3"]


def test_a_directed_graph_gives_the_directions_it_has():
    graph = nx.DiGraph()
    graph.add_edge("a", "b", rate=1e6, delay=0.001, name="there")
    graph.add_edge("b", "a", rate=1e5, delay=0.002)
    net = from_networkx(graph)
    assert {name: link.rate for name, link in links_of(net).items()} == {"there": 1e6, "b>a": 1e5}
    assert route(net, source="a", target="b") == ["there"]


@pytest.mark.parametrize("topology", ["dumbbell", "chain", "parking_lot"])
def test_toml_can_name_a_topology(topology):
    make = {"dumbbell": dumbbell, "chain": chain, "parking_lot": parking_lot}[topology]
    hops = {} if topology == "dumbbell" else {"hops": 2}
    text = (
        f'duration = 1\n[network]\ntopology = "{topology}"\nrate = "1 Mbps"\ndelay = 0.01\n'
        + "".join(f"{k} = {v}\n" for k, v in hops.items())
        + 'buffer = 5\n[[flow]]\ncontroller = "reno"\n'
    )
    assert Scenario.from_toml(text).net == make(rate=1e6, delay=0.01, buffer=5, **hops)


@pytest.mark.parametrize(
    ("buffer", "access", "expected"),
    [("2 BDP", None, 100_000), ("0.5bdp", None, 25_000), ("1 BDP", "5 ms", 75_000)],
)
def test_a_buffer_in_bdp_is_rate_times_base_rtt(buffer, access, expected):
    net = tc.dumbbell("10 Mbps", "20 ms", buffer, access_delay=access)
    there = net.links[0]
    assert (there.buffer, there.buffer_unit) == (expected, "bytes")


def test_a_bdp_of_a_hop_is_of_its_rate_and_the_whole_path():
    net = tc.parking_lot(2, ["10 Mbps", "20 Mbps"], "20 ms", ["1 BDP", "2 BDP"])
    assert [link.buffer for link in net.links[:2]] == [100_000, 400_000]
