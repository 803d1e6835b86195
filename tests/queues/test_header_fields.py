"""Header fields: words of packets that controllers send and queue disciplines read and write."""

import math
from dataclasses import replace

import pytest
from drivers import both_drivers
from every_model import EVERY_MODEL, simulate_in

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.engine.jit import record_view
from tcpcc.errors import ScenarioError, ScenarioWarning
from tcpcc.models.packet import run_to_end
from tcpcc.models.packet.simpy_driver import PacketSimulation
from tcpcc.models.trains.train_world import TrainWorld
from tcpcc.queues.discipline import QUEUES

# Telemetry of each hop, as HPCC uses it: Y. Li et al., "HPCC: High precision congestion control",
# SIGCOMM 2019. Each link writes its queue, its bytes sent, the time and its rate into words of its
# own; the window is a target share of what the busiest link allows.

HOPS = 16
TELEMETRY = {"int_hops": 1, "int_queue": HOPS, "int_sent": HOPS, "int_at": HOPS, "int_rate": HOPS}


def stamp(s, p, q):
    s.sent += q.size
    if q.words != 0:
        hop = int(q.int_hops)
        q.int_queue[hop] = q.queue_bytes
        q.int_sent[hop] = s.sent
        q.int_at[hop] = q.now
        q.int_rate[hop] = q.rate / 8
        q.int_hops += 1


def measure(s, p, ack):
    """The largest normalized inflight of the links, and the link that has it."""
    largest = 0.0
    for hop in range(int(ack.int_hops)):
        time = ack.int_at[hop] - s.at[hop]
        if time > 0 and s.at[hop] > 0:
            rate = (ack.int_sent[hop] - s.sent[hop]) / time
            full = ack.int_rate[hop] * ack.base_rtt
            use = min(ack.int_queue[hop], s.queue[hop]) / full + rate / ack.int_rate[hop]
            if use > largest:
                largest = use
                s.busiest = hop
        s.at[hop] = ack.int_at[hop]
        s.sent[hop] = ack.int_sent[hop]
        s.queue[hop] = ack.int_queue[hop]
    s.crossed = ack.int_hops
    return largest


def on_round(s, p, ack):
    use = measure(s, p, ack)
    if use > 0:
        s.cwnd = max(s.cwnd / max(use / p.target, 0.5) + p.increase, 1.0)
        s.ssthresh = s.cwnd


def on_loss(s, p, ack):
    s.ssthresh = s.cwnd = max(s.cwnd / 2, 1.0)


@pytest.fixture
def telemetry():
    """The controller; its discipline is registered as "int_switch"."""
    tc.register(
        tc.Discipline(
            "int_switch", "writes its load", on_departure=stamp, header=TELEMETRY,
            state={"sent": tc.State(0, "bytes", "sent")},
        )
    )  # fmt: skip
    kept = {name: tc.State(0, "", name, size=HOPS) for name in ("at", "sent", "queue")}
    last = {name: tc.State(-1, "", name) for name in ("busiest", "crossed")}
    yield tc.Controller(
        "per_hop", "the window is a share of what the busiest link allows",
        on_round=on_round, on_loss=on_loss, on_timeout=on_loss, header=TELEMETRY,
        params={"target": tc.Param(0.95, ""), "increase": tc.Param(0.5, "packets")},
        state=kept | last, record=("busiest", "crossed"),
    )  # fmt: skip
    del QUEUES._known["int_switch"]


def parking_lot(rates, queue="int_switch"):
    return tc.parking_lot(len(rates), [f"{rate} Mbps" for rate in rates], "4 ms", 200, queue=queue)


def test_every_hop_has_words_of_its_own(telemetry):
    """The slowest of four links is the third, until others take most of the second."""
    others = tc.CBR(rate="34 Mbps", source="r1", target="r2", on=[(6, 12)])
    case = tc.Scenario(parking_lot([40, 40, 20, 40]), [tc.Flow(telemetry), others], duration=12)
    run = both_drivers(case)
    trace = run.trace()
    trace = trace[trace["busiest"] >= 0]
    assert set(trace["crossed"].iloc[10:]) == {4}
    assert set(trace["busiest"][trace["time"].between(3, 6)]) == {2}
    assert set(trace["busiest"][trace["time"].between(7, 12)]) == {1}


@EVERY_MODEL
def test_the_busiest_link_is_nearly_full_and_has_a_short_queue(telemetry, model):
    case = tc.Scenario(parking_lot([40, 40, 20, 40]), [tc.Flow(telemetry)] * 2, duration=12)
    run = simulate_in(model, case)
    assert 0.88 < run.utilization("r2>r3", after=4) < 0.97
    assert run.queue("r2>r3").sel(time=slice(4, None)).mean() < 8


@pytest.mark.parametrize("hops", [8, HOPS])
def test_long_paths(telemetry, hops):
    case = tc.Scenario(parking_lot([20] * hops), [tc.Flow(telemetry)], duration=3)
    assert both_drivers(case).trace()["crossed"].max() == hops


# Systems of header fields side by side


def add_a(s, p, q):
    if q.words != 0:
        q.a_count += 1
        q.a_load[1] += 10
    else:
        s.others += 1 if math.isnan(q.a_count) and math.isnan(q.a_load[0]) else 1000


def add_b(s, p, q):
    if q.words != 0:
        q.b_count += 1


def read_a(s, p, ack):
    s.seen_a = ack.a_count + ack.a_load[1]


def read_b(s, p, ack):
    s.seen_b = ack.b_count


def read_both(s, p, ack):
    read_a(s, p, ack)
    read_b(s, p, ack)


A, B = {"a_count": "first", "a_load": 2}, {"b_count": 1}


@pytest.fixture
def systems():
    """Two disciplines, and controllers that send the fields of one or of both."""
    for name, rule, header in (
        ("add_a", add_a, {"a_count": 1, "a_load": 2}),
        ("add_b", add_b, B),
    ):
        state = {"others": tc.State(0, "packets", "without its fields")}
        tc.register(
            tc.Discipline(name, "counts", rule, header=header, in_amounts=True, state=state,
                          record=("others",))
        )  # fmt: skip

    def sender(name, rule, header):
        state = {
            "seen_a": tc.State(-1, "", "returned"),
            "seen_b": tc.State(-1, "", "returned"),
            "first": tc.State(100, "", "sent in a_count"),
        }
        reno = CONTROLLERS.find("reno")
        return replace(
            reno, name=name, on_round=rule, header=header, state=state, record=("seen_a", "seen_b")
        )

    yield (
        sender("of_a", read_a, A),
        sender("of_b", read_b, B),
        sender("of_both", read_both, {**B, **A}),
    )
    for name in ("add_a", "add_b"):
        del QUEUES._known[name]


def seen(run, flow):
    last = run.trace(flow)[["seen_a", "seen_b"]].dropna().iloc[-1]
    return last["seen_a"], last["seen_b"]


@pytest.mark.filterwarnings("ignore::tcpcc.errors.ScenarioWarning")
def test_two_systems_share_no_words(systems):
    """Two links of one system and one of the other; a packet has the fields of its flow only."""
    net = parking_lot([20, 20, 20], ["add_a", "add_b", "add_a"])
    flows = [tc.Flow(c, name=c.name) for c in systems] + [tc.Flow("reno")]
    run = both_drivers(tc.Scenario(net, flows, duration=3))
    assert seen(run, "of_a") == (100 + 2 + 20, -1)
    assert seen(run, "of_b") == (-1, 1)
    assert seen(run, "of_both") == (100 + 2 + 20, 1)
    others = run.data["queue_others"].values[-1]
    assert 100 < others[0] < 1e5  # NaN in packets without the fields: no thousand was added


def read_count(s, p, ack):
    s.seen_a = ack.a_count


def test_a_packet_with_a_part_of_the_fields_is_one_without(systems):
    part = replace(systems[0], name="part", on_round=read_count, header={"a_count": "first"})
    flows = [tc.Flow(systems[0]), tc.Flow(part, name="part")]
    run = tc.simulate(tc.Scenario(parking_lot([20, 20], "add_a"), flows, duration=2), trace=True)
    assert seen(run, "of_a1") == (100 + 2 + 20, -1)
    assert seen(run, "part") == (100, -1)


@pytest.mark.parametrize("number", range(3))
@pytest.mark.filterwarnings("ignore::tcpcc.errors.ScenarioWarning")
def test_trains_carry_the_same_words(systems, number):
    """With flows of all three in one scenario; a state read at the end of the run."""
    net = parking_lot([20, 20, 20], ["add_a", "add_b", "add_a"])
    world = TrainWorld(tc.Scenario(net, [tc.Flow(c) for c in systems], duration=3), 16)
    run_to_end(world, "compiled", False, 0.0)
    state = record_view(systems[number].state_dtype, int(world.tcp["state"][number]))
    expected = [(122, -1), (-1, 1), (122, 1)][number]
    assert (state["seen_a"], state["seen_b"]) == expected


@pytest.mark.filterwarnings("ignore::tcpcc.errors.ScenarioWarning")
def test_a_flow_that_is_added_brings_its_own_fields(systems):
    net = parking_lot([20, 20], ["add_a", "add_b"])
    sim = PacketSimulation(
        tc.Scenario(net, [tc.Flow(systems[0])], duration=4), growing=True, trace=True
    )
    late = tc.Flow(systems[2], name="late", start=1)

    def add():
        yield sim.env.timeout(1)
        sim.add(late)

    sim.env.process(add())
    run = sim.run()
    assert seen(run, "of_a1") == (111, -1)
    assert seen(run, "late") == (111, 1)
    there = tc.simulate(sim.scenario.replace(flows=[tc.Flow(systems[0]), late]), trace=True)
    assert run.trace().equals(there.trace())


def test_a_field_that_no_queue_reads_is_named_in_a_warning(systems):
    net = parking_lot([20, 20], ["add_a", "add_a"])
    with pytest.warns(ScenarioWarning, match="reads the header fields b_count of controller"):
        tc.simulate(tc.Scenario(net, [tc.Flow(systems[2])], duration=0.1))


# What is refused


def test_header_fields_that_cannot_be_are_refused_in_one_line():
    reno = CONTROLLERS.find("reno")
    for header, text in (
        ({"a": 256}, "controller 'x': header 'a' = 256"),
        ({"a": 0}, "header 'a' = 0: must be 1 to 255 words"),
        ({"a": "nobody"}, "header 'a' = 'nobody': must be a real variable of its state"),
        ({"rtt": 1}, "header = 'rtt'"),
    ):
        with pytest.raises(ScenarioError) as info:
            replace(reno, name="x", header=header)
        assert text in str(info.value)
        assert "\n" not in str(info.value)
    with pytest.raises(ScenarioError, match="queue 'x': header = 'queue'"):
        tc.Discipline("x", "none", add_b, header={"queue": 1, **B})


def test_two_sizes_of_a_field_are_refused_in_one_line(systems):
    other = replace(systems[1], name="longer", on_round=None, header={"b_count": 3})
    net = parking_lot([20, 20], ["add_b", "add_b"])
    two = tc.Scenario(net, [tc.Flow(systems[1]), tc.Flow(other)], duration=1)
    with pytest.raises(ScenarioError, match="header 'b_count': 3 words, but 1 in that of flow"):
        tc.simulate(two)
    with pytest.raises(ScenarioError, match="queue 'add_b': header 'b_count': 1 words, but 3"):
        tc.simulate(tc.Scenario(net, [tc.Flow(other)], duration=1))


@pytest.mark.filterwarnings("ignore::tcpcc.errors.ScenarioWarning")
def test_more_than_62_fields_are_refused_in_one_line():
    many = replace(CONTROLLERS.find("reno"), name="many", header={f"f{i}": 1 for i in range(63)})
    with pytest.raises(ScenarioError, match="header 'f62': a scenario has at most 62"):
        tc.simulate(tc.Scenario(parking_lot([9, 9], None), [tc.Flow(many)], duration=1))
