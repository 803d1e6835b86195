"""Where packets of several flows keep their order they need no event, and the bits are the same."""

import math

import hypothesis
import pytest
from hypothesis import strategies as st

import tcpcc as tc
from tcpcc.apps.bench.speed import events_per_packet
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.models.packet.memory.path_memory import PathMemory
from tcpcc.models.packet.packet_records import BY_EVENT, RECEIVER


def flows(number=5, **settings):
    return [tc.Flow("newreno", start=0.05 * k, **settings) for k in range(number)]


def scenario(network=None, members=(), **settings):
    net = tc.dumbbell(**{"rate": "10 Mbps", "delay": "10 ms", "buffer": 40} | (network or {}))
    return tc.Scenario(net, [*flows(**settings), *members], duration=20.0)


ACCESS = {"access_rate": 1e9, "access_delay": 1e-3}


@pytest.mark.parametrize(
    ("case", "events"),
    [
        (scenario(), 1),
        (scenario(members=[tc.CBR("1 Mbps")]), 1),
        (scenario(members=[tc.Flow("newreno", packet_size=100)]), 1),
        (scenario(members=[tc.Flow("newreno", transport={"delayed_ack": 0.1})]), 1.9),
        (scenario(ACCESS), 3),
    ],
)
def test_events_of_a_packet(case, events):
    assert events_per_packet(case) == pytest.approx(events, rel=0.08)


@pytest.mark.filterwarnings("ignore:senders")
@pytest.mark.parametrize(
    ("case", "settings", "then"),
    [
        (scenario(), {}, RECEIVER),
        (scenario(count=3), {"growing": True}, BY_EVENT),
        (scenario(count=3), {"senders": 1}, BY_EVENT),
        (scenario({"rate": math.inf}), {}, BY_EVENT),  # packets leave at the same time
        (scenario({"jitter": "5 ms"}), {}, BY_EVENT),
        (scenario(members=[tc.Flow("newreno", source="right", target="left")]), {}, BY_EVENT),
    ],
)
def test_what_follows_the_way_of_data(case, settings, then):
    world = PacketWorld(case, **settings)
    assert world.paths.hops["then"][world.flows["n_forward"][0] - 1] == then


def differing(case):
    """The variables of a run that differ if every packet has an event at every such link."""
    run = tc.simulate(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PathMemory, "_in_order", lambda *_: set())
        plain = tc.simulate(case)
    variables = run.data.variables
    return [n for n, v in variables.items() if not v.identical(plain.data[n].variable)]


def test_acks_may_come_on_different_ways():
    """The way over c takes 3 ms longer, so ACKs reach the last link in another order."""
    ends = [("a", "b", 20e6), ("b", "c", 1e9), ("b", "d", 1e9), ("c", "e", 1e9), ("d", "e", 1e9)]
    links = [
        tc.Link(x, y, rate=rate, delay=4e-3 if x == "c" else 1e-3, buffer=20) for x, y, rate in ends
    ]
    back = tc.Link("e", "a", rate=1e6, delay=1e-3)
    net = tc.Network([*links, back])
    members = [
        tc.Flow("newreno", path=["a", "b"], ack_path=["b", via, "e", "a"]) for via in ("c", "d")
    ]
    assert differing(tc.Scenario(net, members, duration=5.0)) == []


SIZES = (1500, 100)


@st.composite
def scenarios(draw):
    """Flows over a dumbbell, most of them alike and in one direction."""
    mostly = st.sampled_from([True] * 4 + [False])
    accesses = st.sampled_from([{}, {}, {"access_rate": 1e8, "access_delay": 1e-3}])
    own = draw(accesses)
    size = draw(st.sampled_from(SIZES))
    members = []
    for _ in range(draw(st.integers(2, 5))):
        access = own if draw(mostly) else draw(accesses)
        ends = {} if draw(mostly) else {"source": "right", "target": "left"}
        members.append(
            tc.Flow(
                draw(st.sampled_from(["newreno", "vegas", "bbr"])),
                start=draw(st.floats(0, 0.5)),
                packet_size=size if draw(mostly) else draw(st.sampled_from(SIZES)),
                ack_size=40 if draw(mostly) else 90,
                count=1 if draw(mostly) else 3,
                transport={"delayed_ack": 0 if draw(mostly) else 0.04},
                **access,
                **ends,
            )
        )
    if draw(st.integers(0, 4)) == 0:
        members.append(tc.CBR("2 Mbps", packet_size=draw(st.sampled_from(SIZES))))
    net = tc.dumbbell(
        draw(st.sampled_from([1e7, 1e8])), 0.01, draw(st.integers(3, 40)),
        queue=draw(st.sampled_from(["droptail", "red", "fq"])),
        loss=draw(st.sampled_from([0.0, 0.01])),
        **draw(st.sampled_from([{}, {}, {"jitter": 5e-3}, {"jitter": 5e-3, "reordering": True}])),
    )  # fmt: skip
    return tc.Scenario(net, members, duration=2.0, seed=draw(st.integers(0, 9)))


@pytest.mark.long
@hypothesis.settings(max_examples=100)
@hypothesis.given(scenarios())
def test_bits_are_those_of_an_event_at_every_link(case):
    assert differing(case) == []
