"""The effects of a timeout in today's Linux: margin, kept ssthresh, F-RTO, SACK information."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from endpoint import STOP, opened, started
from hypothesis import given
from hypothesis import strategies as st
from late_packets import all_late
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.transport import rto
from tcpcc.transport.flow_record import RECOVERY

since_tick = getattr(rto.since_tick, "py_func", rto.since_tick)

NEW = {"rto_margin": 0.2, "hold_ssthresh": True, "frto": True}


@pytest.mark.parametrize("held", [False, True])
def test_a_timeout_in_recovery_keeps_ssthresh(held):
    """Linux, tcp_enter_loss; ns-2 and RFC 5681 reduce it again."""
    end = opened("sack-prr", initial_window=40, hold_ssthresh=held)
    end.dupacks(0.2, 2, 3, 4)
    after_loss = end.ssthresh
    end.time_out()
    assert end.cwnd == 1
    assert end.ssthresh == (after_loss if held else after_loss / 2)


@pytest.mark.parametrize("held", [False, True])
def test_the_second_timeout_of_a_segment_keeps_ssthresh(held):
    """RFC 5681, 3.1, below equation 4."""
    end = opened("sack", initial_window=40, hold_ssthresh=held)
    end.time_out()
    first = end.ssthresh
    end.time_out()
    assert first > 10
    assert end.ssthresh == (first if held else 2)


def test_after_a_timeout_sacked_packets_are_not_sent_again():
    """ "sack-prr-6937" discards the SACK information, as RFC 2018 advises."""
    again = {}
    for recovery in ("sack-prr", "sack-prr-6937"):
        end = opened(recovery, initial_window=20)
        end.dupacks(0.2, *range(5, 21))
        sent = end.time_out()
        for k in range(1, 5):
            sent += end.ack(2.0 + k, k)
        again[recovery] = sorted(seq for seq in sent if 5 <= seq <= 20)
    assert again["sack-prr"] == []
    assert again["sack-prr-6937"] != []


@pytest.mark.parametrize("recovery", ["sack", "sack-prr", "sack-prr-6937"])
def test_after_a_timeout_pipe_counts_what_is_sent_again(recovery):
    """RFC 6675, SetPipe: a lost segment and its retransmission are one packet in the network."""
    end = opened(recovery, initial_window=6)
    end.dupack(0.2, 4)
    outstanding = end.max_seq
    sent = end.time_out()
    assert end.pipe == len(sent) == 1
    sent += end.ack(1.0, 1)
    assert end.pipe == len(sent) - 1 == 2
    end.call(STOP)
    end.ack(1.1, outstanding)
    assert end.pipe == 0


@pytest.mark.parametrize("recovery", ["sack", "sack-prr-6937"])
def test_what_a_receiver_has_reneged_on_is_sent_again_after_a_timeout(recovery):
    """RFC 2018, 8: the timeout clears the SACK information. 2 and 3 are reported, then dropped by
    the receiver; 1 is lost."""
    end = opened(recovery, initial_window=4, limited_transmit=False)
    end.dupacks(0.2, 2, 3)
    assert end.time_out() == [1]
    assert end.ack(1.0, 1)[:2] == [2, 3]


@pytest.mark.parametrize("frto", [False, True])
def test_frto_undoes_a_spurious_timeout(frto):
    """All packets are late by half a second: the timer expires, although no packet is lost."""
    settings = {"rto_margin": 0.2, "rwnd": 60, "dsack": False}
    case = all_late("reno", 4, recovery="rack-tlp", frto=frto, **settings)
    run = tc.simulate(case, trace=True)
    table = run.trace("flow")
    before = table["cwnd"][table["time"] < 4].iloc[-1]
    after = table["cwnd"][table["time"] < 6].iloc[-1]
    assert int(run.data["timeouts"][0]) >= 1
    assert int(run.data["drops"].sum()) == 0
    again = int(run.data["retransmitted"].sum())
    if frto:
        assert after >= before
        assert again <= 2
    else:
        assert after < before
        assert again > 20


def test_a_real_timeout_is_not_undone():
    """An outage of a second: all packets in flight are lost."""
    cut = [tc.Change(at=at, link="bottleneck", loss=loss) for at, loss in ((4, 0.999), (5, 0))]
    runs = []
    for frto in (False, True):
        flow = tc.Flow("reno", recovery="rack-tlp", transport={**NEW, "frto": frto})
        runs.append(tc.simulate(on_a_link(flow, buffer=100, changes=cut)))
    ours = [float(run.data["ssthresh"].sel(time=slice(6, 7)).max()) for run in runs]
    assert all(math.isfinite(x) for x in ours)
    assert ours[1] == pytest.approx(ours[0], rel=0.1)
    assert all(run.utilization(after=8) > 0.9 for run in runs)


@pytest.mark.parametrize("kind", ["cubic", "reno"])
@pytest.mark.parametrize("recovery", ["sack-prr", "rack-tlp"])
@pytest.mark.parametrize(
    ("rate", "rtt", "bdp", "first"),
    [(10e6, 0.04, 1, 0.95), (50e6, 0.1, 1, 0.8), (100e6, 0.1, 0.5, 0.8), (100e6, 0.2, 1, 0.6)],
)
def test_slow_start_overshoot_causes_no_timeout(kind, recovery, rate, rtt, bdp, first):
    """A clean path; only slow start, log2(BDP / 2) round trips, reduces the utilization of the
    first 5 s."""
    link = {"rate": rate, "delay": rtt / 2, "buffer": int(bdp * rate * rtt / 8 / 1500)}
    flow = tc.Flow(kind, packet_size=1500, recovery=recovery, transport=NEW)
    run = tc.simulate(on_a_link(flow, duration=15, **link))
    assert int(run.data["timeouts"][0]) == 0
    assert run.utilization(before=5) > first
    assert run.utilization(after=5) > 0.95


@pytest.mark.parametrize("name", ["cubic", "cubic_2008", "reno"])
def test_cubics_curve_does_not_advance_while_idle(name):
    """RFC 9438, 5.8; Linux. Otherwise CUBIC would overshoot as in slow start after 20 s of
    silence."""
    net = tc.dumbbell("50 Mbps", "20 ms", 167)
    talk = tc.workloads.Conversation(40_000, items=3, gap=20)
    flow = tc.Flow(name, packet_size=1500, recovery="rack-tlp", transport=NEW)
    load = tc.Workload(flow, talk, interarrival=0.1, count=1)
    run = tc.simulate(tc.Scenario(net, [], workloads=[load], duration=90, interval=0.5))
    drops = run.data["drops"].sum("link").values
    starts = np.sort(run.data["item_start"].values)
    assert len(starts) == 3
    for start in starts[1:]:
        at = (run.data["time"].values > start) & (run.data["time"].values < start + 3)
        assert drops[at].sum() <= 30


def test_bbr_keeps_its_bandwidth_estimate_through_probe_rtt():
    """Linux marks packets sent in PROBE_RTT as limited. With 100 Mb/s and 10 ms it lasts 20
    RTTs."""
    net = tc.dumbbell("100 Mbps", "5 ms", 83)
    case = tc.Scenario(net, [tc.Flow("bbr", packet_size=1500)], duration=25)
    table = tc.simulate(case, trace=True).trace("bbr1").dropna(subset="mode")
    left = table[(table["mode"].shift() == 3) & (table["mode"] != 3)]
    assert len(left) >= 1
    assert (left["pacing_rate"] * 1500 * 8 > 70e6).all()


def test_bbr_paces_at_its_estimate_after_idle_without_probe_rtt():
    net = tc.dumbbell("50 Mbps", "20 ms", 167)
    talk = tc.workloads.Conversation(7_000, items=4, gap=12)
    load = tc.Workload(tc.Flow("bbr", packet_size=1500), talk, interarrival=0.1, count=1)
    run = tc.simulate(tc.Scenario(net, [], workloads=[load], duration=70))
    took = run.data["item_finished"].values - run.data["item_start"].values
    least = 7_000 * 1500 * 8 / 50e6
    assert (took[1:] < 1.06 * least + 0.1).all()


@pytest.mark.parametrize("recovery", ["newreno", "sack", "sack-prr", "rack-tlp"])
def test_a_partial_ack_of_a_timed_packet_ends_the_backoff(recovery):
    """RFC 6298, 5 (Karn): the doubled timeout is kept until a packet that was sent once is
    acknowledged, then it is that of the estimator."""
    end = started(recovery, initial_window=20, make=tc.Transport)
    for k in range(1, 8):
        end.dupack(0.1 + k / 1000, k)
    assert end.phase == RECOVERY
    end.set(backoff=8, timing=1, timed_seq=12)
    end.ack(0.2, 9)
    assert (end.phase, end.backoff) == (RECOVERY, 8)
    end.ack(0.25, 12)
    assert (end.phase, end.backoff) == (RECOVERY, 1)


@given(
    tick=st.sampled_from([1e-9, 1e-3, 0.004, 0.01, 0.1, 0.3, 0.5]),
    start=st.floats(0, 1e5),
    steps=st.lists(st.floats(0, 3), min_size=1, max_size=50),
)
def test_the_time_since_a_tick_is_the_remainder_to_the_bit(tick, start, steps):
    """Steps in ticks: most times are in the tick of the time before, where nothing is divided."""
    clock = SimpleNamespace(tick=tick, last_tick=0.0, last_tick_low=0.0)
    now = start
    for step in steps:
        now += step * tick
        for time in (now, round(now / tick) * tick):
            assert since_tick(clock, time) == time % tick
