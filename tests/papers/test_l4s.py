"""Evidence for causes: the L4S paper, RFC 9332; and why a Prague in whole packets is starved."""

import math

import numpy as np
import pytest

import tcpcc as tc
from experiments.l4s import scenarios as s
from experiments.l4s import tables as t
from tcpcc.controllers.reno import PARAMS, on_loss
from tcpcc.definition import State

pytestmark = pytest.mark.papers

SEEDS = (1, 2, 3)


def mean_mbps(make):
    return np.mean([t.prague_mbps(tc.simulate(make(seed))) for seed in SEEDS])


def test_larger_pieces_of_bbr_leave_prague_what_is_published():
    """Pieces of the link's whole rate, 8 packets, instead of those of BBR's rate."""
    published = 55.9
    assert int(s.RATE / 8 / (s.FRAME - s.linux("bbr", {}).header) / 1024) == 8

    def plain(seed):
        return s.beside("FIFO", "BBRv1", 4, seed)

    def with_larger(seed):
        case = plain(seed)
        prague, bbr = case.flows
        larger = bbr.replace(transport=bbr.transport.replace(gso_segments=8))
        return case.replace(flows=[prague, larger])

    assert mean_mbps(plain) > published + 5
    assert mean_mbps(with_larger) == pytest.approx(published, abs=5)


def test_pieces_of_two_packets_have_the_published_delay():
    """0.35 ms, within a quarter; packets that leave one by one wait half as long."""

    def delay(packets):
        cases = [s.beside("DualPI2", "CUBIC", 2, seed) for seed in SEEDS]
        runs = []
        for case in cases:
            prague, rival = case.flows
            pieces = prague.transport.replace(gso_segments=packets)
            runs.append(tc.simulate(case.replace(flows=[prague.replace(transport=pieces), rival])))
        return np.mean([t.delay_ms(run) for run in runs])

    assert delay(1) < 0.35 / 1.5
    assert delay(2) == pytest.approx(0.35, rel=0.25)


@pytest.mark.parametrize(("rival", "published"), [("CUBIC", 73.6), ("CUBIC ECN", 74.9)])
def test_a_codel_buffer_of_one_bdp_is_at_an_edge(rival, published):
    """The share rises by a third within 20 packets, and passes the published one on the way."""
    share = {
        packets: mean_mbps(lambda seed, packets=packets: with_buffer(rival, packets, seed))
        for packets in (55, 60, 70, 85)
    }
    assert share[55] < published - 12
    assert share[60] < published < share[70]
    assert share[85] > published + 10


def with_buffer(rival, packets, seed):
    net = tc.dumbbell(s.RATE, s.BASE_RTT / 2, packets, queue=s.queue("CoDel+ECN", s.THRESHOLD))
    return s.beside("CoDel+ECN", rival, 1, seed).replace(net=net)


# RFC 9332


def test_with_single_packets_the_percentile_is_below_2_ms():
    one, two = (
        np.mean(
            [
                t.DUALQ["L4S, 99th percentile"](
                    tc.simulate(s.pair("Prague", "CUBIC", 12, 10, seed, gso_segments=pieces))
                )
                for seed in SEEDS
            ]
        )
        for pieces in (1, 2)
    )
    assert one < 2 < 2.4 < two


@pytest.mark.parametrize("rate", [4, 12])
def test_l4s_packets_are_dropped_in_the_first_seconds_only(rate):
    runs = [tc.simulate(s.pair("Prague", "CUBIC", rate, 100, seed)) for seed in s.SEEDS]
    dropped = [run.data["dropped"].isel(flow=0) for run in runs]
    assert sum(float(each.sum()) for each in dropped) > 0
    for each, run in zip(dropped, runs, strict=True):
        assert each.sel(time=slice(5, None)).sum() == 0
        if each.sum() > 0:
            assert run.data["queue_prob"].max() > 0.5


def test_at_4_mbps_the_queue_is_in_overload_for_moments():
    runs = [tc.simulate(s.pair("Prague", "CUBIC", 4, 20, seed)) for seed in s.SEEDS]
    for run in runs:
        prague = run.data.isel(flow=0)
        assert 0 < float(prague["dropped"].sum()) < 2e-3 * float(prague["sent"].sum())
        assert float((run.data["queue_prob"] > 0.5).mean()) < 0.01
        assert run.data["queue_prob"].max() > 0.5


def test_with_ten_flows_of_each_kind_the_classic_queue_has_its_target():
    one, ten = (
        t.classic_wait_ms(tc.simulate(s.pair("Prague", "CUBIC", 120, 100, 1, count=count)))
        for count in (1, 10)
    )
    assert one < 7.5
    assert ten == pytest.approx(15, abs=1.5)


@pytest.mark.parametrize(
    ("classic", "rate", "rtt"),
    [("CUBIC", 40, 20), ("Reno", 40, 20), ("Reno", 40, 50), ("Reno", 40, 100)],
)
def test_with_ten_flows_of_each_kind_prague_has_less_than_twice_as_much(classic, rate, rtt):
    one, ten = (
        [
            t.balance(tc.simulate(s.pair("Prague", classic, n * rate, rtt, seed, count=n)))
            for seed in range(1, 9)
        ]
        for n in (1, 10)
    )
    assert np.mean(ten) + 2 * np.std(ten, ddof=1) / 8**0.5 < 2 < np.mean(one)


def test_after_200_s_prague_has_caught_up():
    run = tc.simulate(s.pair("Prague", "CUBIC", 200, 100, 1).replace(duration=300))
    early, late = (run.goodput(*span).values for span in ((15, 60), (200, 300)))
    assert early[0] < 0.5 * early[1]
    assert 1 < late[0] / late[1] < 2


# A user's Prague, written on the shared window, had 3.5 of 40 Mb/s at 10 ms and 21 at 40 ms


def on_ack(s, p, a):
    s.acked += a.delivered
    s.marked += a.marked
    if s.cwnd < s.ssthresh:
        s.cwnd += a.acked
    else:
        s.cwnd += min((a.srtt / 0.025) ** 2, 1.0) * max(a.delivered - a.marked, 0.0) / s.cwnd
    if a.srtt > 0:
        s.pacing_rate = s.cwnd / a.srtt * (2.0 if s.cwnd < s.ssthresh / 2 else 1.0)


def on_round(s, p, a):
    if s.acked > 0:
        s.alpha += (min(s.marked / s.acked, 1.0) - s.alpha) / 16
    s.acked = 0.0
    s.marked = 0.0


def on_mark(s, p, a):
    s.cwnd = max(s.cwnd * (1 - s.alpha / 2), 2.0)
    s.ssthresh = s.cwnd


def on_timeout(s, p, a):
    s.ssthresh = max(s.cwnd / 2, 2.0)
    s.cwnd = 1.0


def in_shared_window():
    return tc.Controller(
        name="prague in a shared window", summary="Prague without a window of its own",
        on_ack=on_ack, on_round=on_round, on_loss=on_loss, on_timeout=on_timeout, on_mark=on_mark,
        params=PARAMS,
        state={
            "alpha": State(1, "", ""), "acked": State(0, "", ""), "marked": State(0, "", ""),
            "pacing_rate": State(math.inf, "packets/s", ""),
        },
    )  # fmt: skip


def beside_cubic(controller, base_rtt, **transport):
    """Prague's share of a DualPI2 of 40 Mb/s beside CUBIC."""
    net = tc.dumbbell("40 Mbps", base_rtt / 2, 10_000, queue=tc.queues.DualPI2())
    linux = tc.Transport.linux(ecn="l4s", **transport)
    shares = []
    for seed in (1, 2):
        prague = tc.Flow(controller, recovery="rack-tlp", transport=linux, packet_size=1500)
        flows = [prague.replace(jitter=0.1), tc.Flow.linux("cubic", jitter=0.1)]
        rates = tc.simulate(tc.Scenario(net, flows, duration=60, seed=seed)).goodput(after=10)
        shares.append(float(rates[0] / rates.sum()))
    return np.mean(shares)


def test_whole_packets_starve_prague_at_a_short_rtt_only():
    """A cut of a packet or so is rounded down by half a packet more, and at 10 ms the increase is
    0.16 packets per RTT. With fractions the share is half of the link."""
    user = in_shared_window()
    assert beside_cubic(user, 0.01) < 0.22
    assert beside_cubic(user, 0.04) > 0.35
    assert beside_cubic(user, 0.01, whole_window=False) > 0.33
    assert 0.4 < beside_cubic("prague", 0.01) < 0.65
