"""Linux senders and receivers: windows in whole packets, ACKs that count delivered packets,
segments sent in pieces of several packets (GSO). These change the number of losses."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from by_hand import Rules
from drivers import both_drivers
from endpoint import Endpoint, Wire, started
from on_a_link import on_a_link
from traced import events

import tcpcc as tc
from tcpcc.controllers import bbr, bbr3
from tcpcc.transport import flow_record as r
from tcpcc.transport import output, pacing

SETTINGS = {
    "whole_window": True, "count_delivered": True, "gso_segments": 2, "gso_time": 1 / 1024,
}  # fmt: skip
RECOVERY = "rack-tlp"


def note(s, p, ack):
    """Reno that notes the largest number of packets that an ACK counted for."""
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    else:
        s.most = max(s.most, ack.acked)
        s.cwnd += ack.acked / s.cwnd


def cut(s, p, ack):
    s.ssthresh = max(ack.window / 2, 2.0)
    s.cwnd = s.ssthresh


NOTING = tc.Controller(
    name="noting",
    summary="",
    on_ack=note,
    on_loss=cut,
    on_timeout=cut,
    state={"most": tc.State(0, "packets", "")},
    record=("most",),
)


def case(controller="reno", duration=8, recovery=RECOVERY, **transport):
    """A flow over 10 Mb/s with 20 packets of buffer; every second packet is acknowledged."""
    settings = {"initial_window": 10, "delayed_ack": 0.04, "abc_limit": math.inf} | transport
    flow = tc.Flow(controller, packet_size=1500, recovery=recovery, transport=settings)
    return on_a_link(flow, buffer=20, duration=duration, interval=0.02)


def of(run, kind, after=0.0):
    """The events of a kind after a time."""
    found = events(run, kind)
    return found[found["time"] > after]


def run(*args, **settings):
    return tc.simulate(case(*args, **settings), trace=True)


def sizes(run, after=0.0):
    """The number of packets sent at each sending time."""
    times = of(run, "send", after)["time"]
    return np.diff(np.flatnonzero(np.diff(times, prepend=-1, append=np.inf) > 1e-9))


@pytest.mark.parametrize("recovery", ["newreno", "sack-prr", "rack-tlp"])
def test_a_whole_window_is_an_integer_and_grows_by_one(recovery):
    cwnd = of(run(recovery=recovery, whole_window=True, initial_window=2), "ack", 2)["cwnd"]
    assert np.all(cwnd == np.round(cwnd))
    steps = np.diff(cwnd)
    assert set(steps[steps >= 0]) == {0.0, 1.0}


def test_fractions_of_a_packet_are_kept_for_the_next_one():
    """Of two controllers that add 0.4 and 0.8 for each packet the second grows twice as fast."""

    def on_ack(s, p, ack):
        s.cwnd += p.add * ack.acked / s.cwnd

    adding = tc.Controller(
        name="adding", summary="", on_ack=on_ack, on_loss=cut, on_timeout=cut,
        params={"add": tc.Param(0.4, "packets", "")},
    )  # fmt: skip
    settings = {"initial_window": 40, "handshake": False, "whole_window": True}
    grown = []
    for add in (0.4, 0.8):
        flow = tc.Flow(adding, transport=settings, add=add)
        case = on_a_link(flow, rate="1 Gbps", buffer=1000, duration=1)
        grown.append(tc.simulate(case).data["cwnd"].values[-1, 0] - 40)
    assert grown[0] > 5
    assert grown[1] == pytest.approx(2 * grown[0], abs=1)


@pytest.mark.parametrize("recovery", ["newreno", "sack-prr", "rack-tlp"])
def test_an_ack_counts_the_packets_that_it_delivers(recovery):
    """With cumulative counting the ACK that ends a recovery counts for a whole window, although
    previous ACKs have reported its packets."""
    most = {}
    for counted in (False, True):
        trace = run(NOTING, recovery=recovery, count_delivered=counted).events
        most[counted] = np.nanmax(trace["most"])
    assert most[True] <= 3 < most[False]


def test_counting_deliveries_makes_reno_lose_two_packets_at_a_time():
    """The second one a round trip later: the ACK before the loss is detected also counts the packet
    behind the hole, and opens the window once more."""
    lost = {}
    for counted in (False, True):
        times = of(run("reno", 20, whole_window=True, count_delivered=counted), "drop", 3)["time"]
        lost[counted] = len(times) / np.sum(np.diff(times, prepend=0) > 0.4)
    assert lost[True] == pytest.approx(2, abs=0.05)
    assert lost[False] < 1.6


def test_pieces_are_sent_whole():
    """Outside of recovery nearly all packets leave in pairs."""
    alone, pieces = (sizes(run("bbr", 5, gso_segments=n)) for n in (1, 2))
    assert np.mean(alone == 1) > 0.9
    assert np.mean(pieces == 2) > 0.9


def sent_together(controller, mbps, rtt=0.04, **transport):
    """The usual number of packets that a flow with 1448 bytes of payload sends at once."""
    settings = {"gso_segments": 2, "gso_time": 1 / 1024} | transport
    flow = tc.Flow(
        controller, packet_size=1500, header=52, recovery=RECOVERY, transport=settings,
        slow_start="standard",
    )  # fmt: skip
    rate = mbps * 1e6
    link = {"rate": rate, "delay": rtt / 2, "buffer": max(int(rate * rtt / 12_000), 20)}
    run = tc.simulate(on_a_link(flow, duration=3 + 10 * rtt, **link), trace=True)
    counts = sizes(run, 3)
    return int(np.median(np.repeat(counts, counts)))


@pytest.mark.parametrize(
    ("controller", "windows", "mbps"),
    [*(("bbr", 0.99, mbps) for mbps in (1, 30, 100)), ("reno", 1.2, 30), ("reno", 1.2, 100)],
)
def test_a_piece_has_the_packets_of_a_millisecond_at_the_pacing_rate(controller, windows, mbps):
    """BBR paces at 0.99 of its bandwidth; Reno, which is not paced, has 1.2 windows per RTT, and
    waits for the next ACK if it comes within a millisecond."""
    packets = windows * mbps * 1e6 / 12_000 / 1024
    assert sent_together(controller, mbps) == max(int(packets), 2)


def test_a_piece_has_at_most_64_kilobytes():
    assert sent_together("bbr", 1000) == 65536 // 1448


def test_pieces_are_single_packets_below_the_rate_of_bbr():
    """tcp_bbr, bbr_min_tso_rate: 1.2 Mb/s."""
    assert sent_together("bbr", 1, gso_above=1.2e6) == 1
    assert sent_together("bbr", 2, gso_above=1.2e6) == 2


def test_pieces_are_larger_on_a_short_path():
    """64 KB, halved for each half of a millisecond of RTT (tcp_tso_rtt_log): an eighth at 1.7 ms,
    while a millisecond has 8 packets."""
    assert sent_together("bbr", 100, rtt=0.0017) == int(0.99 * 1e8 / 12_000 / 1024 + 45.04 / 8)


@pytest.mark.parametrize(("segments", "pieces"), [(2, [2, 2, 2]), (3, [3, 3]), (6, [3, 3])])
def test_a_piece_is_at_most_half_of_the_window(segments, pieces):
    """``tcp_cwnd_test``. Of a first window of six packets the end of each piece is acknowledged at
    once, the others with every eighth."""
    settings = {"gso_segments": segments, "initial_window": 6, "delayed_ack": 0.5, "ack_every": 8}
    flow = tc.Flow("reno", size=6, transport=settings)
    acks = events(tc.simulate(on_a_link(flow, buffer=20, duration=1), trace=True), "ack")["seq"]
    assert np.diff(acks[acks > 0]).tolist() == pieces


@pytest.mark.parametrize("piece", [1.0, 2.0, 7.0])
def test_bbrs_windows_have_room_for_three_pieces(piece):
    """BBR: beyond 2 BDP, in even numbers (``bbr_quantization_budget``). BBRv3: at least
    (draft-ietf-ccwg-bbr, offload budget)."""
    sample = {"piece": piece}
    one = Rules("bbr", mode=bbr.PROBE_BW, phase=2.0, base_rtt=0.1, sample=sample)
    target = bbr.target(one.s, one.p, one.a, 100.0, 2.0, 0.0)
    assert target == 20 + 2 * math.ceil(3 * piece / 2)
    three = Rules("bbr3", mode=bbr3.CRUISE, sample=sample)
    assert bbr3.budget(three.s, three.p, three.a, 5.0) == max(5.0, 3 * piece)


def test_pacing_keeps_its_rate_for_any_piece_size():
    sent = [run("bbr", 8, gso_segments=n).data["sent"].values[200:].sum() for n in (1, 2, 4)]
    assert sent[1] == pytest.approx(sent[0], rel=0.01)
    assert sent[2] == pytest.approx(sent[0], rel=0.02)


def acknowledged(run):
    """Packets acknowledged by each ACK of new data after 1 s."""
    return np.diff(of(run, "ack", 1)["seq"])


def test_the_end_of_a_piece_is_acknowledged_at_once():
    """So some ACKs acknowledge one packet; without pieces only the delayed-ACK timer causes
    this."""
    assert np.mean(acknowledged(run(gso_segments=2)) == 1) > 0.02
    assert np.mean(acknowledged(run()) == 1) < 0.01


@pytest.mark.parametrize("recovery", ["reno", "sack", "sack-prr", "rack-tlp"])
@pytest.mark.parametrize("segments", [2, 3])
def test_deferred_pieces_are_sent_in_the_end(recovery, segments):
    """A transfer of any size ends, about as fast as without pieces."""
    for size in (1, 2, 7, 400):
        took = []
        for each in (1, segments):
            settings = {"delayed_ack": 0.04, "gso_segments": each}
            flow = tc.Flow("reno", size=size, recovery=recovery, transport=settings)
            run = tc.simulate(on_a_link(flow, buffer=20, duration=60))
            took.append(float(run.data["finished"][0]))
        assert took[1] < took[0] + 0.25, size


def host(size=10, recovery="rack-tlp", *, written=10, window=None, **settings):
    """A Linux sender that has sent ten packets, all acknowledged at 0.1 s, with a window and
    ssthresh set then."""
    end = started(recovery, make=tc.Transport.linux, size=size, **settings)
    end.write(0.0, written)
    end.ack(0.1, 9)
    if window:
        end.set(cwnd=window[0], ssthresh=window[1])
    return end


@pytest.mark.parametrize("controller", ["reno", "cubic", "bbr"])
def test_both_drivers_give_the_same_bits(controller):
    both_drivers(case(controller, 3, **SETTINGS))


def test_linux_transport_has_these_settings():
    linux = tc.Transport.linux(delayed_ack=0)
    assert all(getattr(linux, name) == value for name, value in SETTINGS.items())
    assert linux.delayed_ack == 0


@pytest.mark.parametrize("recovery", ["sack", "sack-prr", "rack-tlp"])
@pytest.mark.parametrize("burst", [1, 2, 3])
def test_a_piece_is_not_longer_than_a_burst(recovery, burst):
    """Of two packets at most: a third one waits for an ACK."""
    end = Endpoint(recovery, initial_window=20, max_burst=burst, gso_segments=2)
    assert end.start() == list(range(min(burst, 2)))
    assert (end.piece, end.in_piece) == (min(burst, 2), 0)


def test_in_congestion_avoidance_a_whole_window_of_acks_adds_one_packet():
    """``tcp_cong_avoid_ai``: the fractions add up."""
    end = started("sack", initial_window=8, whole_window=True, ssthresh=2.0)
    windows = [(end.ack(0.1, k), end.cwnd)[1] for k in range(17)]
    assert windows == [8] * 7 + [9] * 9 + [10]


@pytest.mark.parametrize(
    ("rate", "base_rtt", "time", "paced", "size"),
    [
        (8192, 1.0, 1 / 1024, 8, 8),
        (8192, 1.0, 1 / 2048, 4, 4),
        (8192, 1.0, 0.0, 2, 2),  # only the least number of segments
        (100, 1.0, 1 / 1024, 2, 2),
        (99, 1.0, 1 / 1024, 1, 1),  # below `gso_above`
        (1e6, 1.0, 1 / 1024, 45, 45),
        (8192, 5e-4, 1 / 1024, 8, 45),
        (8192, 0.0017, 1 / 1024, 8, 8 + 45 // 8),
    ],
)
def test_a_full_piece(rate, base_rtt, time, paced, size, monkeypatch):
    """``tcp_tso_autosize``, with the pacing rate in packets/s; controllers see the piece without
    the addition on short paths."""
    d = SimpleNamespace(piece=0.0)
    monkeypatch.setattr(pacing, "sending_rate", lambda f: float(rate))
    monkeypatch.setattr(pacing, "delivery_at", lambda *_: d)
    f = SimpleNamespace(
        gso_segments=2, gso_above=100.0, gso_time=time, gso_most=45.0, base_rtt=base_rtt, delivery=1
    )
    assert (pacing.full_piece(f), d.piece) == (size, paced)


@pytest.mark.parametrize(("cwnd", "windows"), [(9, 2.0), (10, 1.2), (20, 1.2)])
def test_the_rate_that_sizes_pieces_is_two_windows_per_rtt_until_half_of_ssthresh(cwnd, windows):
    """``tcp_update_pacing_rate``; with more packets in flight than the window, of these."""
    end = started("sack", initial_window=4)
    f = r.tcp_at(end.address, 0)
    assert pacing.sending_rate(f) == math.inf  # no RTT is known
    end.set(srtt=0.1, cwnd=float(cwnd), ssthresh=20.0)
    assert pacing.sending_rate(f) == pytest.approx(windows * cwnd / 0.1)
    end.set(max_seq=39)
    assert pacing.sending_rate(f) == pytest.approx(windows * 40 / 0.1)


# Windows that are not used


@pytest.mark.parametrize("timeouts", [0.5, 1.5, 2.5, 3.5, 8.5])
def test_a_window_halves_for_each_timeout_of_idle_time(timeouts):
    """tcp_cwnd_restart; ssthresh remembers 3/4 of the window before."""
    end = host(window=(200.0, 50.0))
    sent = end.write(timeouts * max(end.rto, end.min_rto), 1000)
    halvings = math.floor(timeouts)
    expected = max(200 >> halvings, 10)
    assert end.cwnd == expected
    assert len(sent) <= expected
    assert end.ssthresh == (50 if halvings == 0 else 150)


def test_a_window_that_the_application_does_not_use_is_kept():
    """Two packets per 40 ms: ``tcp_cwnd_application_limited`` has no effect, since each ACK sets
    ``snd_cwnd_stamp``."""
    end = host(window=(600.0, 300.0))
    now, written = 0.1, 12
    end.write(now, written)
    while now < 3.0:
        written += 2
        end.write(now + 0.02, written)
        now += 0.04
        end.ack(now, written - 3)
        assert (end.cwnd, end.ssthresh) == (600, 300)


@pytest.mark.parametrize(("decay", "after"), [(True, 40), (False, 27)])
def test_slow_start_goes_on_while_the_last_window_is_acknowledged(decay, after):
    """``tcp_is_cwnd_limited`` keeps what it was when data were last sent: the window was full."""
    end = started("rack-tlp", make=tc.Transport.linux, size=30, window_decay=decay)
    end.ack(0.1, 9)
    assert (end.cwnd, end.next_seq) == (20, 30)
    for k in range(10, 30):
        end.ack(0.3 + k / 1000, k)
    assert end.cwnd == pytest.approx(after, abs=1)


def test_a_window_that_is_partly_used_grows_to_twice_its_use():
    """Slow start, ``max_packets_out``."""
    end = host(window=(25.0, math.inf))
    end.write(0.15, 30)
    for k in range(10, 30):
        end.ack(0.2 + k / 1000, k)
    assert end.cwnd == 40


def test_a_window_that_the_receiver_limits_does_not_fall():
    """The application waits for room in its socket's buffer: SOCK_NOSPACE."""
    end = Endpoint("rack-tlp", make=tc.Transport.linux, rwnd=20)
    wire = Wire(end)
    end.set(cwnd=600.0, ssthresh=300.0)
    wire.run(4)
    assert end.cwnd == 600


def test_a_retransmission_is_no_idle_time():
    """``lsndtime``: the window does not halve a timeout after the last new packet."""
    end = host(window=(200.0, 50.0))
    end.set(resent_at=0.5)
    end.write(0.6, 20)
    assert end.cwnd == 200


def test_the_echo_of_a_retransmission_gives_the_timer_an_rtt():
    """``tcp_ack_update_rtt``, with timestamps."""
    smoothed = []
    for eifel in (True, False):
        end = started("rack-tlp", make=tc.Transport.linux, size=20, eifel=eifel)
        for k in range(1, 5):
            end.ack(0.4 + k / 1000, -1, k, (1, k + 1))
        assert end.retransmitted == 1
        end.ack(0.5, 9, 0)
        smoothed.append(end.srtt8)
    assert smoothed[0] < smoothed[1]


def test_a_probe_and_the_recovery_that_follows_are_one_loss_event():
    """``tcp_init_cwnd_reduction`` forgets the probe. Two bursts overflow the buffer. The end of
    the second is lost; the probe repeats its last packet, and its ACK begins a recovery."""
    flow = tc.Flow.linux("reno", size=14)
    sim = tc.PacketSimulation(on_a_link(flow, buffer=40, access_delay=0, duration=1.74))

    def write():
        for packets in (35, 140, 70, 14):
            yield sim.env.timeout(0.35)
            sim.flow("reno1").send(packets)

    sim.env.process(write())
    sim.run()
    assert sim.flow("reno1").acknowledged == 274
    assert sim.flow("reno1").loss_events == 2


@pytest.mark.parametrize(
    ("first", "newest", "waits"), [(0.0, 0.0985, True), (0.01, 0.0985, False), (0.0, 0.09, False)]
)
def test_a_part_of_a_piece_waits_for_the_ack_of_the_first_outstanding_packet(
    first, newest, waits, monkeypatch
):
    """``tcp_tso_should_defer``: it is nearly an RTT old, and the newest packet a millisecond."""
    sent_at = {3: -1.0, 4: -1.0, 5: first, 6: -1.0, 9: newest}
    monkeypatch.setattr(output, "segment_at", lambda _, k: SimpleNamespace(sent_at=sent_at[k]))
    sender = SimpleNamespace(
        phase=r.OPEN, high_ack=4, max_seq=9, segments=0, segment_mask=15, srtt=0.1, piece_wait=2e-3
    )
    assert output.is_worth_waiting(sender, 0.099) == waits
