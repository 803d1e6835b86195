"""Where packets of several flows keep their order they need no event, and the bits are the same."""

import math

import hypothesis
import pytest
from hypothesis import strategies as st

import tcpcc as tc
from tcpcc.bench import events_per_packet
from tcpcc.models.packet.memory import path_memory
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.models.packet.memory.same_order import Way, keeps_order
from tcpcc.models.packet.packet_records import BY_EVENT


def flows(number=5, **settings):
    return [tc.Flow("newreno", start=0.05 * k, **settings) for k in range(number)]


def scenario(access=None, members=(), **settings):
    net = tc.dumbbell("10 Mbps", "10 ms", 40, **(access or {}))
    return tc.Scenario(net, [*flows(**settings), *members], duration=20.0)


FAST = {"access_rate": 1e9, "access_delay": 1e-3}


@pytest.mark.parametrize(
    ("case", "events"),
    [
        (scenario(), 1),
        (scenario(FAST), 2),
        (scenario(FAST | {"access_rate": 1e8}), 3),  # a SYN may pass a data packet there
        (scenario(FAST | {"access_rate": 1e8}, transport={"handshake": False}), 2),
        (scenario(FAST, members=[tc.Flow("newreno", access_delay=2e-3)]), 2),  # at its sender
        (scenario(FAST, members=[tc.Flow("newreno", access_rate=5e8)]), 3),
        (scenario(members=[tc.Flow("newreno", transport={"delayed_ack": 0.1})]), 1.9),
        (scenario(members=[tc.CBR("1 Mbps")]), 1),
    ],
)
def test_events_of_a_packet(case, events):
    assert events_per_packet(case) == pytest.approx(events, rel=0.08)


@pytest.mark.filterwarnings("ignore:senders")
@pytest.mark.parametrize("settings", [{"growing": True}, {"senders": 1}])
def test_flows_may_come_and_packets_may_stand_for_several(settings):
    world = PacketWorld(scenario(count=3), **settings)
    assert set(world.paths.hops["then"]) == {BY_EVENT}


def way(k, sizes=(1000, 1000), acks=(40, 40)):
    """Link 0, two links of flow `k` to its receiver, its receiver, one link back, and link 1."""
    return Way([0, 10 + k, 20 + k, -1, 30 + k, 1], [sizes] * 3 + [acks] * 3)


OWN = {link + k: (1e8, 1e-3) for link in (10, 20, 30) for k in range(2)} | {-1: (math.inf, 0.0)}


@pytest.mark.parametrize(
    ("ways", "own", "rate", "kept"),
    [
        ([way(0), way(1)], OWN, 1e7, True),
        ([way(0), way(1)], OWN, 1e8, True),
        ([way(0), way(1)], OWN, 1.01e8, False),  # packets wait on links of their own
        ([way(0), way(1)], dict.fromkeys(OWN, (math.inf, 0.0)), math.inf, False),
        ([way(0), way(1)], OWN | {31: (1e8, 2e-3)}, 1e7, False),
        ([way(0), way(1)], {k: OWN[k] for k in OWN if k not in (30, 31)}, 1e7, False),
        ([way(0), way(1)], {k: OWN[k] for k in OWN if k != -1}, 1e7, False),
        ([way(0), way(1)._replace(hops=[21, 31, 1])], OWN, 1e7, False),
        ([way(0), way(1)._replace(hops=[0, 11, 21, -1, 31, 1, 1])], OWN, 1e7, False),
        ([way(0)._replace(hops=[0, *way(0).hops]), way(1)], OWN, 1e7, False),
        ([way(0), way(1, sizes=(40, 1000))], OWN, 2.0e6, True),
        ([way(0), way(1, sizes=(40, 1000))], OWN, 2.1e6, False),  # the small one comes too soon
        ([way(0), way(1, sizes=(700, 1000))], OWN, 6e7, False),  # on the second link
        ([way(0), way(1, acks=(900, 950))], OWN, 1e8, True),
        ([way(0), way(1, acks=(900, 1050))], OWN, 1e8, False),
    ],
)
def test_the_order_is_kept_if_nothing_waits(ways, own, rate, kept):
    assert keeps_order(1, ways, own, {0: rate, 1: 1e7}) is kept


RATES, DELAYS, SIZES = (1e9, 1e8, 1e7), (0.0, 1e-3), (1500, 100)


@st.composite
def scenarios(draw):
    """Flows over a dumbbell, most of them with the same access links and packets."""
    mostly = st.sampled_from([True] * 4 + [False])
    own = {
        "access_rate": draw(st.sampled_from(RATES)),
        "access_delay": draw(st.sampled_from(DELAYS)),
    }
    size = draw(st.sampled_from(SIZES))
    handshake = draw(st.booleans())
    members = []
    for _ in range(draw(st.integers(2, 5))):
        access = own if draw(mostly) else own | {"access_rate": draw(st.sampled_from(RATES))}
        transport = {"handshake": handshake, "delayed_ack": 0 if draw(mostly) else 0.04}
        members.append(
            tc.Flow(
                draw(st.sampled_from(["newreno", "vegas", "bbr"])),
                start=draw(st.floats(0, 0.5)),
                packet_size=size if draw(mostly) else draw(st.sampled_from(SIZES)),
                ack_size=40 if draw(mostly) else 90,
                count=1 if draw(mostly) else 3,
                transport=transport,
                **access,
            )
        )
    if draw(st.integers(0, 4)) == 0:
        members.append(tc.CBR("2 Mbps", packet_size=draw(st.sampled_from(SIZES))))
    net = tc.dumbbell(
        draw(st.sampled_from([1e7, 1e8])), 0.01, draw(st.integers(3, 40)),
        queue=draw(st.sampled_from(["droptail", "red", "fq"])),
        loss=draw(st.sampled_from([0.0, 0.01])),
    )  # fmt: skip
    return tc.Scenario(net, members, duration=2.0, seed=draw(st.integers(0, 9)))


@hypothesis.settings(max_examples=100)
@hypothesis.given(scenarios())
def test_bits_are_those_of_an_event_at_every_link(case):
    run = tc.simulate(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_memory, "keeps_order", lambda *_: False)
        plain = tc.simulate(case)
    for name, values in run.data.variables.items():
        assert values.identical(plain.data[name].variable), name
