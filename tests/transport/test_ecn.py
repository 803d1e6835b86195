"""Explicit congestion notification: bits on packets, marks at queues, echoes to the sender."""

from types import SimpleNamespace

import numpy as np
import pytest
from drivers import both_drivers
from endpoint import DATA, Endpoint, started
from every_model import BESIDE_PACKETS, EVERY_MODEL, simulate_in
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.definition import State
from tcpcc.engine.jit import address, entry
from tcpcc.errors import ScenarioError
from tcpcc.models.packet.simpy_driver import PacketSimulation
from tcpcc.queues import QUEUES
from tcpcc.transport import ecn
from tcpcc.transport import flow_record as r


def scenario(queue, choice="accurate", flows=2, **settings):
    flow = tc.Flow("newreno", transport=tc.Transport(ecn=choice, **settings))
    return on_a_link(*[flow] * flows, delay="10 ms", buffer=60, queue=queue, duration=6)


@pytest.mark.parametrize(
    "queue",
    [tc.queues.StepMark(threshold=8), tc.queues.RED(ecn=True), tc.queues.REM(gamma=0.01, ecn=True)],
)
@pytest.mark.parametrize("delayed_ack", [0, 0.1])
def test_all_marks_are_echoed_to_the_sender(queue, delayed_ack):
    """Each marked packet that the receiver has seen is echoed to the sender, except for echoes
    still in flight. (Lost and delayed ACKs make no difference.)"""
    sim = PacketSimulation(scenario(queue, delayed_ack=delayed_ack))
    run = sim.run()
    marks = run.data["marks"].sum()
    seen, told = sim.world.tcp["marks_seen"], sim.world.tcp["echoed"]
    assert marks > 5
    assert marks - 120 <= seen.sum() <= marks
    assert np.all(told <= seen)
    assert np.all(seen - told < 70)


def test_only_ecn_capable_packets_are_marked_instead_of_dropped():
    drops = {}
    for choice in ("off", "classic"):
        run = tc.simulate(scenario(tc.queues.StepMark(threshold=8), choice))
        drops[choice] = run.data["drops"].sum()
    assert drops["off"] > 20
    assert run.queue_max() > 9  # what is marked is let in
    assert "marks" not in tc.simulate(scenario(tc.queues.RED(), "off")).data


@pytest.mark.parametrize(
    "queue", [tc.queues.StepMark(threshold=8), tc.queues.RED(ecn=True), tc.queues.PIE(ecn=True)]
)
@pytest.mark.parametrize("choice", ["classic", "accurate"])
def test_both_drivers_mark_the_same_packets(queue, choice):
    assert both_drivers(scenario(queue, choice, delayed_ack=0.05)).data["marks"].sum() > 0


@pytest.mark.parametrize("name", ["red", "adaptive_red", "pi", "rem", "pie"])
def test_ecn_of_a_queue_does_not_affect_other_packets(name):
    """With no ECN-capable packet `ecn` makes no difference, to the bit."""
    runs = [tc.simulate(scenario(QUEUES[name](ecn=e), "off")) for e in (0, 1)]
    assert runs[0].data["drops"].sum() > 0
    for variable in ("cwnd", "drops", "queue"):
        assert runs[0].data[variable].identical(runs[1].data[variable])


def test_headers_are_reused():
    """Every header belongs to a packet in flight or is free, whatever was dropped or delayed."""
    sim = PacketSimulation(scenario(tc.queues.RED(ecn=True), delayed_ack=0.05, flows=3))
    sim.run()
    world = sim.world
    free = int(world.w["n_spare_headers"][0])
    numbers = world.headers.free_places[:free]
    assert len(set(numbers.tolist())) == free
    under_way = world.tcp["sent"] + world.flows["acks_sent"] - world.tcp["arrived"]
    under_way -= world.flows["inbound"] + world.flows["dropped"]
    held = np.count_nonzero(world.flows["held_header"])
    assert len(world.headers.headers) - 1 - free == under_way.sum() + held


def test_flows_over_a_lossy_link_leak_no_header():
    flow = tc.Flow("newreno", transport=tc.Transport(ecn="classic"))
    link = {"delay": "10 ms", "buffer": 60, "queue": tc.queues.StepMark(), "loss": 0.02}
    sim = PacketSimulation(on_a_link(*[flow] * 4, **link))
    sim.run()
    assert len(sim.world.headers.headers) == 256


# A window of one packet (RFC 3168, 6.1.2)


def test_with_a_window_of_one_a_mark_waits_for_the_timer():
    """The ACK releases nothing; one packet leaves when the timer expires."""
    end = Endpoint("sack", ecn="classic", initial_window=1)
    assert end.start() == [0]
    end.set(marked=1)
    assert end.ack(0.1, 0) == []
    assert end.cwnd == 1
    assert end.deadline == pytest.approx(0.1 + end.rto)
    assert end.time_out() == [1]
    assert end.timeouts == 0


def test_a_mark_at_two_packets_halves_the_window_at_once():
    end = started("sack", ecn="classic", initial_window=1)
    end.set(cwnd=4.0, ssthresh=2.0, marked=1)
    assert end.ack(0.1, 0) != []
    assert end.cwnd == pytest.approx(2, abs=0.6)


# Over the round trip that follows a mark


def answered(recovery, gradual, **settings):
    """A trace of Reno over a link that marks above 60 packets."""
    transport = {"ecn": "classic", "gradual_marks": gradual, "initial_window": 10} | settings
    flow = tc.Flow("reno", recovery=recovery, transport=transport)
    case = on_a_link(flow, buffer=200, queue=tc.queues.StepMark(threshold=60), duration=8)
    return tc.simulate(case, trace=True)


def silence(run):
    """The longest time after 3 s in which no packet is sent, in packets of the link."""
    trace = run.trace("reno1")
    return np.diff(trace["time"][(trace["event"] == "send") & (trace["time"] > 3)]).max() * 1250


@pytest.mark.parametrize("recovery", ["sack-prr", "rack-tlp"])
def test_gradual_marks_spread_the_reduction_over_a_round_trip(recovery):
    """Every second ACK releases a packet; with an immediate reduction no ACK does until half the
    window has arrived. The window is the same, and does not grow until the outstanding packets have
    arrived."""
    at_once, gradual = (answered(recovery, g) for g in (False, True))
    assert silence(at_once) > 20
    assert silence(gradual) < 3
    trace = gradual.trace("reno1")
    cwnd, time = trace["cwnd"].dropna(), trace["time"]
    for cut in cwnd.index[1:][np.diff(cwnd) < 0]:
        later = cwnd[(time[cwnd.index] > time[cut]) & (time[cwnd.index] < time[cut] + 0.041)]
        assert set(later) <= {cwnd[cut]}
    assert (np.diff(cwnd) < 0).sum() > 2


@pytest.mark.parametrize(("whole", "window"), [(False, 5.25), (True, 5.0)])
def test_the_window_does_not_grow_until_a_mark_is_answered(whole, window):
    end = started(
        "sack-prr", ecn="classic", gradual_marks=True, whole_window=whole, initial_window=10
    )
    end.set(cwnd=10.5, ssthresh=2.0, marked=1)
    windows = [(end.ack(0.1, k), end.cwnd)[1] for k in range(9)]
    assert windows == [window] * 9
    edge = end.mark_edge
    for k in range(9, edge + 8):
        end.ack(0.2, k)
    assert end.cwnd > window


def test_both_drivers_give_the_same_bits_with_gradual_marks():
    sender = {"transport": tc.Transport.linux(ecn="accurate"), "recovery": "rack-tlp"}
    link = {"buffer": 60, "queue": tc.queues.RED(ecn=True), "loss": 0.002}
    case = on_a_link(*[tc.Flow("reno", **sender)] * 3, duration=5, **link)
    assert both_drivers(case).data["marks"].sum() > 0


def test_gradual_marks_need_proportional_rate_reduction():
    with pytest.raises(
        ScenarioError, match="gradual_marks needs one with proportional rate reduction"
    ):
        answered("newreno", True)
    answered("newreno", True, ecn="off")  # nothing is marked


# The connection's part, by hand


def connection(choice, **fields):
    known = {name: 0 for name in r.TCP_FLOW.names}
    return SimpleNamespace(**(known | {"ecn": ecn.CHOICES[choice], "held_until": 0.0} | fields))


def test_handshake_and_retransmissions_are_not_ecn_capable():
    """RFC 3168, 6.1.1 and 6.1.5."""
    f = connection("classic", handshake=1)
    assert ecn.bits_to_send(f, 0, False) == 0
    assert ecn.bits_to_send(f, 1, False) == r.ECT
    assert ecn.bits_to_send(f, 1, True) == 0
    assert ecn.bits_to_send(connection("off"), 5, False) == 0


def test_classic_echoes_until_the_sender_has_reduced():
    """RFC 3168, 6.1.3: ECE on every ACK from a mark until CWR arrives."""
    f = connection("classic")
    told = []
    for bits in (r.ECT, r.ECT | r.CE, r.ECT, r.ECT, r.ECT | r.CWR, r.ECT):
        ecn.on_bits(f, bits, True)
        told.append(ecn.bits_of_ack(f))
    assert told == [0, r.ECE, r.ECE, r.ECE, 0, 0]


def test_a_mark_on_the_segment_with_cwr_is_echoed():
    f = connection("classic", echoes=1)
    ecn.on_bits(f, r.ECT | r.CWR | r.CE, True)
    assert ecn.bits_of_ack(f) == r.ECE


def test_cwr_is_sent_once_with_new_data():
    f = connection("classic", cwr=1)
    assert ecn.bits_to_send(f, 7, True) == 0
    assert ecn.bits_to_send(f, 9, False) == r.ECT | r.CWR
    assert ecn.bits_to_send(f, 10, False) == r.ECT


# One reduction per window (RFC 3168, 6.1.2)


@pytest.mark.parametrize("how", ["mark", "loss", "timeout"])
def test_the_first_new_segment_after_any_reduction_carries_cwr(how):
    end = started("sack", make=tc.Transport, ecn="classic")
    assert end.cwr == 0
    if how == "mark":
        end.set(marked=1)
        end.ack(0.1, 0)
    elif how == "loss":
        end.dupacks(0.1, 1, 2, 3)
    else:
        end.time_out()
    f = r.tcp_at(end.address, 0)
    assert ecn.bits_to_send(f, 1, True) == 0  # not the retransmission
    assert ecn.bits_to_send(f, 12, False) == r.ECT | r.CWR
    assert ecn.bits_to_send(f, 13, False) == r.ECT


def test_if_the_segment_with_cwr_is_lost_the_next_window_is_reduced_too():
    """The receiver still sets ECE. The sender ignores it until all that was outstanding is
    acknowledged; the next reduction sends CWR again."""
    end = started("sack", make=tc.Transport, ecn="classic", initial_window=10)
    reductions = []
    for k in range(22):
        edge = end.max_seq
        end.set(marked=1, cwr=0)
        end.ack(0.1 + k / 1000, k)
        if end.cwr != 0:
            reductions.append((k, edge))
    assert [k for k, _ in reductions] == [0, *(edge + 1 for _, edge in reductions[:-1])]
    assert len(reductions) == 4


def drop_and_mark(s, p, q):
    s.arrived += 1
    if s.arrived == 200:
        q.drop = 1.0
    elif s.arrived == 210:
        q.mark = 1.0


@pytest.mark.parametrize("recovery", ["newreno", "sack-prr", "rack-tlp"])
def test_a_loss_and_a_mark_of_one_window_reduce_it_once(recovery):
    """The segment with CWR that follows the retransmission ends the echo of the mark."""
    queue = tc.register(
        tc.queues.Discipline(
            "both", "drops a packet and marks a later one", on_arrival=drop_and_mark,
            state={"arrived": State(0, "packets", "")},
        )
    )  # fmt: skip
    flow = tc.Flow("reno", recovery=recovery, transport={"ecn": "classic", "rwnd": 40})
    case = on_a_link(flow, rate="100 Mbps", buffer=1000, queue=queue(), duration=2)
    run = tc.simulate(case, trace=True)
    cwnd = run.trace("reno1")["cwnd"].dropna().to_numpy()
    assert int(run.data["marks"].sum()) == int(run.data["drops"].sum()) == 1
    assert (np.diff(cwnd) < -1).sum() == 1


def test_accurate_acks_are_sent_when_marks_begin_and_end():
    """RFC 8257, 3.2."""
    f = connection("accurate")
    bits = [0, r.CE, r.CE, 0, 0]
    assert [ecn.on_bits(f, r.ECT | b, False) for b in bits] == [False, True, False, True, False]
    assert f.marks_seen == 2


def test_an_ack_makes_up_for_lost_acks():
    f = connection("accurate", high_ack=10)
    found = []
    for ack, echo in ((11, 1), (15, 4), (14, 3), (16, 4)):
        ecn.on_echo(f, ack, 0, echo)
        found.append(f.marked)
        f.high_ack = max(f.high_ack, ack)
    assert found == [1, 3, 0, 0]


def test_an_unknown_ecn_setting_is_refused():
    with pytest.raises(ScenarioError, match=r"unknown ecn 'acurate': did you mean 'accurate'\?"):
        tc.Transport(ecn="acurate")


@BESIDE_PACKETS
def test_every_model_marks_as_many(model):
    queue = tc.queues.RED(min_thresh=5, max_thresh=20, ecn=True)
    runs = [simulate_in(m, scenario(queue)) for m in ("packet", model)]
    packets, other = (float(run.data["marks"].sum()) for run in runs)
    assert packets > 10
    assert other == pytest.approx(packets, rel=0.2)


# The ECN field


def note_ecn(s, p, q):
    s.seen[int(q.ecn)] += 1
    s.arrived += 1
    if s.arrived == 100:
        q.drop = 1.0
    elif p.marks and q.queue > 8:
        q.mark = 1.0


def seen(choice, marks=False, **settings):
    """Packets by their ECN field at the first and the second link, and the retransmissions."""
    queue = tc.register(
        tc.queues.Discipline(
            "noting", "drops the 100th packet, and marks above 8", on_arrival=note_ecn,
            params={"marks": tc.Flag(False)},
            state={"arrived": State(0, "packets", ""), "seen": State(0, "packets", "", 4)},
        )
    )  # fmt: skip
    net = tc.chain(2, rate="10 Mbps", delay="10 ms", buffer=60, queue=queue(marks=marks))
    transport = tc.Transport(ecn=choice, **settings)
    sim = PacketSimulation(tc.Scenario(net, [tc.Flow("newreno", transport=transport)], duration=2))
    sim.run()
    first, second = (memory.state["seen"][0] for memory in sim.world.queues.values())
    return first, second, int(sim.world.tcp["retransmitted"][0])


@pytest.mark.parametrize(("choice", "field"), [("classic", 2), ("accurate", 2), ("l4s", 1)])
@pytest.mark.parametrize("repeated", [False, True])
def test_data_are_ect_0_or_with_l4s_ect_1_and_retransmissions_if_asked_for(choice, field, repeated):
    """Without `ecn_control` the SYN is not ECN-capable (RFC 3168, 6.1.1)."""
    first, _, again = seen(choice, ecn_retransmissions=repeated)
    assert again >= 1
    assert first[0] == 1 + (0 if repeated or choice == "l4s" else again)
    assert first[field] > 500
    assert first[3] == 0
    assert first.sum() == first[0] + first[field]


def test_a_marked_packet_of_l4s_is_ce_at_the_next_link_and_its_mark_is_echoed():
    first, second, _ = seen("l4s", marks=True)
    assert first[3] == 0
    assert second[3] > 20
    assert second[1] > 500
    assert second[2] == 0
    queue = tc.queues.StepMark(threshold=8)
    run = both_drivers(scenario(queue, "l4s"))
    assert run.data["marks"].sum() > 5
    accurate = tc.simulate(scenario(queue, "accurate")).data
    assert run.data["cwnd"].identical(accurate["cwnd"])  # the ACKs are the same


# AccECN (RFC 9768)


@pytest.mark.parametrize(
    ("echoed", "ace", "reported", "marked"),
    [
        (0, 0, 2, 0),
        (5, 7, 2, 2),
        (6, 1, 4, 3),  # the field wraps around
        (14, 7, 1, 1),
        (3, 2, 7, 7),
        (3, 3, 8, 8),  # none or eight
        (3, 5, 9, 2),  # two; ten are more than reported
        (3, 5, 12, 10),  # two or ten
        (4, 7, 0, 0),  # reports nothing: may be old
    ],
)
def test_the_sender_reads_the_field_ace(echoed, ace, reported, marked):
    """The number of marks that fits; if it is ambiguous, the largest (appendix A.2.1)."""
    flow, delivery = np.zeros(1, r.TCP_FLOW), np.zeros(1, r.DELIVERY)
    delivery["news"] = reported
    flow["ecn"], flow["echoed"], flow["delivery"] = r.L4S, echoed, address(delivery)
    flow["ack"], flow["ace"] = 100, ace
    read_ace(address(flow))
    assert flow["marked"][0] == marked
    assert flow["echoed"][0] == echoed + marked


@entry
def read_ace(flow):
    ecn.marks_by_ace(r.tcp_at(flow, 0))


@pytest.mark.parametrize(("ack_every", "loss"), [(1, 0), (2, 0), (2, 0.05), (4, 0.05)])
def test_three_bits_tell_all_marks(ack_every, loss):
    """Delayed and lost ACKs: the sender's count is the receiver's, but for marks on the way. If
    ACKs are so rare that the field may wrap around between two of them, it is never smaller."""
    each = {"rate": "10 Mbps", "delay": "10 ms"}
    marks = {"buffer": 60, "queue": tc.queues.StepMark(threshold=8)}
    links = [tc.Link("a", "b", **each, **marks), tc.Link("b", "a", **each, loss=loss)]
    transport = tc.Transport(ecn="l4s", delayed_ack=0.05, ack_every=ack_every)
    flows = [tc.Flow("prague", source="a", target="b", transport=transport)] * 2
    case = tc.Scenario(tc.Network(links), flows, duration=6, seed=1)
    sim = PacketSimulation(case)
    run = sim.run()
    seen, told = sim.world.tcp["marks_seen"], sim.world.tcp["echoed"]
    assert seen.sum() > 200
    assert np.all(seen - told < 16)
    if ack_every < 4:
        assert np.all(told <= seen)
    assert run.data["cwnd"].identical(tc.simulate(case).data["cwnd"])


ECT_1 = r.ECT | r.ECT1


# Control packets


@pytest.mark.parametrize(
    ("settings", "syn", "again", "ack"),
    [
        ({"ecn": "accurate"}, 0, 0, 0),
        ({"ecn": "accurate", "ecn_retransmissions": True, "ecn_control": True}, *[r.ECT] * 3),
        ({"ecn": "l4s", "ecn_control": True}, *[ECT_1] * 3),
        ({"ecn": "off", "ecn_control": True}, 0, 0, 0),
    ],
)
def test_control_packets_are_ecn_capable_if_set(settings, syn, again, ack):
    """Linux, tcp_ecn_send_syn and tcp_ecn_send, for controllers that need ECN."""
    end = Endpoint(handshake=True, **settings)
    f = r.tcp_at(end.address, 0)
    assert ecn.bits_to_send(f, 0, False) == syn
    assert ecn.bits_to_send(f, 5, True) == again
    assert ecn.bits_of_ack(f) == ack


INCAST = {"rate": "10 Gbps", "delay": "10 us", "buffer": 100, "duration": 0.5, "interval": 0.1}


def drops_of(flow, **case):
    """Packets dropped of 64 connections that begin at one instant."""
    return float(tc.simulate(on_a_link(*[flow] * 64, **INCAST, **case)).data["drops"].sum())


def test_a_marked_syn_reduces_no_window():
    end = Endpoint(handshake=True, ecn="accurate", ecn_control=True)
    f = r.tcp_at(end.address, 0)
    end.call(DATA, 0.1, 0)
    ecn.on_bits(f, r.ECT | r.CE, True)
    assert end.marks_seen == 0
    end.call(DATA, 0.2, 1)
    ecn.on_bits(f, r.ECT | r.CE, True)
    assert end.marks_seen == 1


def test_an_incast_of_linux_dctcp_loses_no_syn_at_the_marking_threshold():
    """44 of the SYNs find more than K = 20 packets."""
    queue = tc.queues.StepMark(threshold=20)
    linux, rfc_3168 = (
        tc.Flow.linux("dctcp", size=1, transport=x) for x in ({}, {"ecn_control": False})
    )
    assert drops_of(linux, queue=queue) == 0
    assert drops_of(rfc_3168, queue=queue) > 30


def test_a_retransmission_of_linux_dctcp_passes_the_marking_threshold():
    """Only the link's random losses drop packets. Otherwise retransmissions are dropped, too: they
    find more than K packets."""
    queue = tc.queues.StepMark(threshold=5)
    link = {"rate": "20 Mbps", "delay": "5 ms", "buffer": 200, "queue": queue, "loss": 0.01}
    linux, rfc_3168 = (
        tc.simulate(on_a_link(*[flow] * 4, duration=5, **link)).data["dropped"].sum().item()
        for changed in ({}, {"ecn_retransmissions": False})
        for flow in [tc.Flow.linux("dctcp", size=2000, transport=changed)]
    )
    assert linux == pytest.approx(80, rel=0.2)
    assert rfc_3168 > 1.2 * linux


def test_a_threshold_in_bytes_lets_small_packets_pass():
    """64 SYNs of 40 bytes are fewer bytes than K packets of 1500."""
    flow = tc.Flow("dctcp", size=1, packet_size=1500, transport={"ecn": "accurate"})
    packets, in_bytes = (
        drops_of(flow, queue=tc.queues.StepMark(threshold=20, byte_queue=x)) for x in (False, True)
    )
    assert packets > 30
    assert in_bytes == 0


@pytest.mark.parametrize(("size", "threshold"), [(500, 60), (1500, 20)])
@EVERY_MODEL
def test_a_threshold_in_bytes_is_that_of_so_many_packets(model, size, threshold):
    """60 packets of 500 bytes are 20 of 1500."""
    flow = tc.Flow("dctcp", packet_size=size, transport={"ecn": "accurate", "handshake": False})
    link = {"rate": "20 Mbps", "delay": "5 ms", "buffer": 400, "duration": 5}
    one, other = (
        simulate_in(model, on_a_link(flow, flow, queue=tc.queues.StepMark(**settings), **link))
        for settings in ({"threshold": threshold}, {"threshold": 20, "byte_queue": True})
    )
    assert one.data["marks"].sum() > 100
    assert np.array_equal(one.data["cwnd"], other.data["cwnd"])
    assert 2 / 3 < one.queue_mean(after=2) / threshold < 4 / 3
