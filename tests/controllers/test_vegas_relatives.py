"""Vegas by the letter of JSAC 13(8), and what that paper compares it with: DUAL, CARD, Tri-S, its
own experimental slow start Vegas*, and the sender of 4.3BSD-Reno."""

import math

import numpy as np
import pytest
from by_hand import Rules
from endpoint import MEASURE, Endpoint, started
from every_model import EVERY_MODEL, PACKETS_AND_TRAINS, simulate_in
from hypothesis import given, settings
from hypothesis import strategies as st
from vegas_sender import Sender

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.vegas import backlog

windows = st.floats(2, 1e4)


def in_rounds(name, *rtts):
    """The window after each of the rounds that end with packets of these round-trip times."""
    end = Rules(name, cwnd=20.0)
    return [end.round(rtt=rtt).cwnd for rtt in rtts]


# DUAL


@given(windows, st.floats(0.01, 0.2), st.floats(0, 0.5), st.floats(0, 1))
def test_dual_takes_an_eighth_when_the_rtt_is_past_the_middle(cwnd, low, width, place):
    """(1), in the second of two rounds; the middle itself is not past it."""
    rtt, high = low + place * width, low + width
    end = Rules("dual", cwnd=cwnd)
    end.ack(acked=0.0, base_rtt=low, rtt=high)
    assert end.round(rtt=rtt).cwnd == cwnd
    assert end.round().cwnd == (cwnd - cwnd / 8 if rtt > (low + high) / 2 else cwnd)


@pytest.mark.parametrize("event", ["on_loss", "on_timeout"])
def test_dual_does_not_take_the_wait_for_a_repair_for_a_queue(event):
    """The ACK that ends a recovery is of a packet that arrived long before."""
    end = Rules("dual", cwnd=20.0)
    end.ack(rtt=0.2)
    window = end.call(event).cwnd
    end.s.odd = 1.0
    assert end.round(rtt=1.5).cwnd == window
    assert end.ack().max_rtt == 0.2


@pytest.mark.parametrize("name", ["dual", "card"])
def test_a_window_taken_back_in_slow_start_ends_it(name):
    end = Rules(name, cwnd=16.0, ssthresh=math.inf, sample={"acked": 8.0, "base_rtt": 0.1})
    for rtt in (0.1, 0.1, 0.2, 0.2):
        end.round(rtt=rtt)
        if rtt == 0.1:
            end.ack()
    assert (end.s.cwnd, end.s.ssthresh) == (28, 28)


def test_a_repeated_packet_s_round_has_its_mean_rtt():
    """It has no round-trip time of its own."""
    end = Rules("dual", cwnd=16.0, max_rtt=0.2, odd=1.0)
    assert end.round(rtt=0.0, round_rtt=0.2, base_rtt=0.1).cwnd == 14


# CARD


@pytest.mark.parametrize(
    ("rtts", "cwnds"),
    [
        ((0.1, 0.1, 0.1), (21, 22, 23)),  # delay stays: (2)
        ((0.1, 0.11, 0.12), (21, 21 * 7 / 8, 21 * 7 / 8 + 1)),  # rises with W: (1); against it: (2)
        ((0.1, 0.09, 0.08), (21, 22, 23)),  # falls while W rises: (2)
        ((0.12, 0.13, 0.11), (21, 21 * 7 / 8, 21 * 49 / 64)),  # falls with W: (1)
        ((0.1, 0.1 * (1 + 1e-13), 0.1), (21, 22, 23)),  # rounding is no change
    ],
)
def test_card_moves_by_the_sign_of_the_product(rtts, cwnds):
    """Every other round, and every time."""
    found = in_rounds("card", *(rtt for rtt in rtts for _ in range(2)))
    assert found[1::2] == pytest.approx(cwnds)
    assert found[2::2] == found[1:-1:2]


# Tri-S


def in_a_pipe(rounds, cwnd, ssthresh=2.0, rate=200.0, base=0.1):
    """Tri-S' windows round by round; W packets have the round-trip time max(base, W / rate), which
    the packet that ends a round tells of the window before."""
    end = Rules("tri_s", cwnd=cwnd, ssthresh=ssthresh, sample={"base_rtt": base})
    s, found, before = end.s, [], cwnd
    for _ in range(rounds):
        now = {"inflight": s.cwnd, "rtt": max(base, before / rate)}
        before = s.cwnd
        end.round(**now)
        if s.cwnd < s.ssthresh:
            end.ack(acked=s.cwnd)
        found.append(s.cwnd)
    return s, found


@pytest.mark.parametrize(
    ("share", "after"), [(1.0, 12), (0.51, 12), (0.49, 10), (0.0, 10), (-0.5, 10)]
)
def test_tri_s_takes_a_packet_back_that_adds_less_than_half_of_the_first_ones_throughput(
    share, after
):
    """(2) and (3): with 10 packets T' = 100/s, and the 11th adds a share of T1 = 10/s."""
    last = {"flight": 11.0, "last_flight": 10.0, "last_throughput": 100.0}
    end = Rules("tri_s", cwnd=11.0, **last)
    rtt = 11 / (100 + 10 * share)
    assert end.round(base_rtt=0.1, inflight=12.0, rtt=rtt).cwnd == after


def test_tri_s_climbs_by_a_packet_a_round_to_the_knee_and_hovers_there():
    """The pipe has 20 packets."""
    _, found = in_a_pipe(40, 10.0)
    assert found[:10] == list(range(11, 21))
    assert {19, 20, 21, 22} >= set(found[12:])
    assert np.mean(found[-8:]) == pytest.approx(21, abs=0.6)


def test_tri_s_ends_slow_start_where_a_round_s_packets_add_too_little():
    s, found = in_a_pipe(40, 2.0, math.inf)
    assert found[:4] == [4, 8, 16, 32]
    assert s.ssthresh < math.inf
    assert np.mean(found[-8:]) == pytest.approx(21, abs=0.6)


@pytest.mark.parametrize("name", ["card", "tri_s"])
def test_loss_and_timeout_are_reno_s(name):
    assert CONTROLLERS.find(name).on_loss is CONTROLLERS.find("reno").on_loss
    assert CONTROLLERS.find(name).on_timeout is CONTROLLERS.find("reno").on_timeout


# What each was made for, in both models


def alone(name, model, buffer=60, **flow):
    net = tc.dumbbell("2 Mbps", "50 ms", buffer)
    case = tc.Scenario(
        net, [tc.Flow(name, **{"transport": tc.Transport.ns2()} | flow)], duration=120
    )
    return simulate_in(model, case)


def test_all_of_them_fill_the_pipe_and_not_the_buffer():
    """The pipe has 26 packets. Reno fills all 60 places; DUAL about half of what its slow start has
    seen; CARD stays at the knee, and below it by an eighth; Tri-S where its slow start has left it,
    since without losses it never takes back more than its last step."""
    queue = {}
    for name in ("reno", "dual", "card", "tri_s"):
        run = alone(name, "packet")
        assert run.utilization(after=40) > (0.88 if name == "card" else 0.99)
        queue[name] = run.queue_mean(after=40), run.queue_max(after=40)
    assert queue["reno"][1] > 58
    assert 10 < queue["dual"][0] < 32
    assert queue["dual"][1] < 45
    assert queue["card"][0] < 3
    assert queue["tri_s"][0] < 28
    assert queue["tri_s"][1] < queue["tri_s"][0] + 2


# Vegas by the letter


def test_vegas_s_distinguished_segment_is_the_one_that_ends_the_round():
    """Its RTT counts, not the mean; where it was sent twice, the mean does."""
    end = Sender("vegas", params={"distinguished": True, "integer_delta": False}).full(5.0, 20.0)
    for end.a.rtt, expected in ((0.125, 20 * (1 - 0.1 / 0.125)), (0.0, 5)):
        assert backlog(end.s, end.p, end.a) == pytest.approx(expected)


@pytest.mark.parametrize(("cut", "after"), [(0.0, 64), (1 / 8, 56), (0.5, 32)])
def test_how_much_the_end_of_slow_start_takes_is_a_parameter(cut, after):
    end = Sender("vegas", cwnd=64.0, ssthresh=math.inf, params={"start_cut": cut}, frozen=1.0)
    s = end.full(2.0, 64.0).round()
    assert (s.cwnd, s.ssthresh) == (after, 2)


@pytest.mark.parametrize("syn_rtt", [False, True])
@PACKETS_AND_TRAINS
def test_the_handshake_counts_for_base_rtt_only_with_syn_rtt(model, syn_rtt):
    """Data take 4 ms longer to send than the SYN does: W (1 - BaseRTT / RTT) is then a packet with
    an empty queue, and Vegas, which wants 1 to 3, is content with that."""
    queue = alone("vegas", model, transport={"syn_rtt": syn_rtt}).queue_mean(after=40)
    assert queue < 0.1 if syn_rtt else 1.5 < queue < 3.1


# Vegas*


def train(sent, came, start_up="vegas_star"):
    """ssthresh after the ACKs of packets sent and come back at these times, in slow start."""
    end = Rules("vegas", start_up, cwnd=1.0, ssthresh=math.inf, sample={"base_rtt": 0.1})
    end.round().incr = 0.0
    for go, come in zip(sent, came, strict=True):
        end.ack(now=come, rtt=come - go)
    return end.s.ssthresh


def test_vegas_star_ends_slow_start_at_bandwidth_times_base_rtt():
    """JSAC's example: 200 KB/s and segments of 1 KB come back every 5 ms, the RTT is 100 ms."""
    assert train([0, 0, 0, 0], [0.1, 0.105, 0.11, 0.115]) == pytest.approx(20)


@pytest.mark.parametrize(
    "came",
    [[0.1, 0.105, 0.11], [0.1, 0.1, 0.1, 0.1]],
    ids=["three packets", "no time between them"],
)
def test_vegas_star_waits_for_four_segments_with_time_between_them(came):
    assert train([0] * len(came), came) == math.inf


@pytest.mark.parametrize(("spacing", "estimated"), [(0.005, False), (0.0035, True)])
def test_what_left_as_slowly_as_it_came_tells_nothing(spacing, estimated):
    sent = [spacing * k for k in range(4)]
    found = train(sent, [0.1 + 0.005 * k for k in range(4)])
    assert (found < math.inf) == estimated


def test_a_train_does_not_span_a_segment_sent_twice():
    end = Rules("vegas", "vegas_star", cwnd=1.0, ssthresh=math.inf)
    for k, rtt in enumerate([0.1, 0.105, 0.0, 0.115, 0.12, 0.125]):
        end.ack(now=0.1 + 0.005 * k, rtt=rtt)
    assert end.s.ssthresh == math.inf


JSAC = {"distinguished": 1, "start_cut": 0}


def jsac(model, rate, buffer, slow_start="standard"):
    net = tc.dumbbell(rate * 8192, "50 ms", buffer, access_rate="10 Mbps")
    flow = tc.Flow(
        "vegas", size="1 MB", packet_size=1434, header=40, params=JSAC, slow_start=slow_start,
        transport=tc.Transport.bsd(syn_rtt=True),
    )  # fmt: skip
    return simulate_in(model, tc.Scenario(net, [flow], duration=20, interval=0.02))


@EVERY_MODEL
def test_vegas_star_does_not_overshoot_where_vegas_does(model):
    """JSAC's Figure 11, 300 KB/s and 16 buffers: Vegas doubles beyond what the path takes and loses
    a segment; Vegas* stops there and loses none."""
    vegas, star = (jsac(model, 300, 16, each) for each in ("standard", "vegas_star"))
    assert float(vegas.retransmissions()[0]) == 1
    assert float(star.retransmissions()[0]) == 0
    assert star.queue_max() < 0.6 * vegas.queue_max()


# 4.3BSD


@given(
    st.lists(st.tuples(st.floats(0.01, 3), st.floats(0, 2)), min_size=1, max_size=30),
    st.floats(0, 0.5),
)
@settings(deadline=None, max_examples=50)
def test_bsd_counts_ticks_and_expires_at_one(samples, phase):
    """tcp_xmit_timer of 4.3BSD-Reno, with t_rtt - 1 = the ticks that passed: srtt in 1/8 of a tick,
    rttvar in 1/4; a timer of n ticks is up at the n-th one from now."""
    end = started(make=tc.Transport.bsd, clock_phase=phase)
    srtt = rttvar = 0
    now = 0.0
    for rtt, pause in samples:
        now += rtt + pause
        end.call(MEASURE, now, rtt=rtt)
        t_rtt = 1 + math.floor((now + phase) / 0.5) - math.floor((now - rtt + phase) / 0.5)
        if srtt == 0:
            srtt, rttvar = t_rtt * 8, t_rtt * 2
        else:
            delta = t_rtt - 1 - (srtt >> 3)
            srtt = max(srtt + delta, 1)
            rttvar = max(rttvar + abs(delta) - (rttvar >> 2), 1)
        assert end.rto == ((srtt >> 3) + rttvar) / 2


@pytest.mark.parametrize(
    ("at", "phase", "expires"), [(0.01, 0, 1.5), (0.49, 0, 1.5), (0.5, 0.2, 1.8)]
)
def test_a_bsd_timer_expires_with_the_clock(at, phase, expires):
    """Of a first round trip without a tick: 1 + 2 ticks, the third of which is up after 1 to 1.5 s
    (4.3BSD's own example is 2 ticks, 0.5 to 1 s)."""
    end = Endpoint(make=tc.Transport.bsd, clock_phase=phase)
    end.start(at - 0.01)
    end.ack(at, 0)
    assert end.rto == 1.5
    assert end.deadline == pytest.approx(expires)
    assert 1 < end.deadline - at <= 1.5


def test_the_bsd_timeout_is_never_below_two_ticks():
    end = Endpoint(make=tc.Transport.bsd, initial_rto=0.1)
    end.start(0.3)
    assert end.deadline == 1.0


def lossy(recovery):
    """Two of sixteen packets are lost; the second's duplicates come after the first's repair."""
    end = started(recovery, initial_window=16)
    cuts = []
    for seq in [0, 1, *range(3, 8), *range(9, 16)]:
        end.ack(0.1, min(seq, 1), seq)
    cuts.append(end.loss_events)
    end.ack(0.2, 7, 2)  # the repair of packet 2 shows the hole at 8
    for seq in (16, 17, 18):
        end.ack(0.21, 7, seq)
    return [*cuts, end.loss_events]


def test_bsd_s_reno_cuts_twice_for_one_window():
    """Floyd's "TCP and successive fast retransmits"; Reno with the guard of RFC 6582 does not."""
    assert lossy("reno") == [1, 1]
    assert lossy("reno-rfc5681") == [1, 2]


def test_reno_and_vegas_alone_have_the_published_throughput():
    """JSAC, Figures 5 and 7: 123 and 169 KB/s, Reno's mean over the clock's phases, within 5 %."""
    vegas = jsac("packet", 200, 10)
    assert 1024 / float(vegas.data["finished"][0]) == pytest.approx(169, rel=0.05)
    assert float(vegas.retransmissions()[0]) == 0
    net = tc.dumbbell(200 * 8192, "50 ms", 10, access_rate="10 Mbps")
    rates = []
    for phase in np.arange(10) / 20:
        flow = tc.Flow(
            "reno", recovery="reno-rfc5681", size="1 MB", packet_size=1434, header=40,
            integer_ssthresh=True, transport=tc.Transport.bsd(rwnd=35, clock_phase=phase),
        )  # fmt: skip
        run = tc.simulate(tc.Scenario(net, [flow], duration=30))
        rates.append(1024 / float(run.data["finished"][0]))
    assert np.mean(rates) == pytest.approx(123, rel=0.05)
