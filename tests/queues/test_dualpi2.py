"""DualPI2: PI2, coupling, the native ramp, overload, the two schedulers; RFC 9332's claims."""

from types import SimpleNamespace

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.queues import QUEUES
from tcpcc.queues import dualpi2 as d

DUAL = QUEUES["dualpi2"]


def begin(prob=0.0, **params):
    """A queue with 100 kB waiting, 50 packets in both queues, at 1 s."""
    s = SimpleNamespace(
        prob=prob, delay=0.0, credit=0.0, l_delay=0.0, c_delay=0.0,
        **{f"mrg{i}": 12345 + i for i in range(6)},
    )  # fmt: skip
    p = SimpleNamespace(**DUAL.check(params))
    q = SimpleNamespace(
        now=1.0, queue=100.0, queue_bytes=1e5, size=1500.0, idle=0.0, ecn=0.0, ect=0.0,
        inner=0.0, inner_bytes=5e4, sojourn=0.0, drop=0.0, mark=0.0, wake=0.0,
        waiting=np.array([50.0, 50.0]), head_at=np.array([0.98, 0.999]),
    )  # fmt: skip
    return s, p, q


def test_p_integrates_the_delay_of_the_longer_waiting_head():
    s, p, q = begin(0.1)
    s.delay = 0.018
    DUAL.on_interval(s, p, q)
    assert s.prob == pytest.approx(0.1 + 0.16 * (0.02 - 0.015) + 3.2 * (0.02 - 0.018))
    assert q.wake == pytest.approx(1.016)
    q.head_at[:] = 0.99, 0.9
    DUAL.on_interval(s, p, q)
    assert s.delay == pytest.approx(0.1)


def rate(what, prob, inner, n=20000, *, ect=1.0, sojourn=0.0, **params):
    """Share of packets that are dropped or marked when they leave queue `inner`."""
    s, p, q = begin(prob, **params)
    hits = 0
    for _ in range(n):
        q.inner, q.ect, q.sojourn, q.drop, q.mark = float(inner), ect, sojourn, 0.0, 0.0
        DUAL.on_departure(s, p, q)
        hits += getattr(q, what) != 0
    return hits / n


@pytest.mark.parametrize("prob", [0.05, 0.2, 0.4])
def test_the_signals_are_the_square_and_k_times_p(prob):
    near = 4 * (prob / 20000) ** 0.5
    assert rate("drop", prob, d.C, ect=0.0) == pytest.approx(prob**2, abs=near)
    assert rate("mark", prob, d.C) == pytest.approx(prob**2, abs=near)
    assert rate("mark", prob, d.L) == pytest.approx(2 * prob, abs=near)


@pytest.mark.parametrize(
    ("prob", "waiting", "classic", "l4s"),
    [(0.2, 1e5, 0.04, 0.4), (0.6, 1e5, 0.36, 1), (0.2, 2999, 0, 0)],
)
def test_on_fluid_has_the_signals_of_packets(prob, waiting, classic, l4s):
    s, p, q = begin(prob)
    q.queue_bytes, q.prob, q.prob_l4s = waiting, 0.0, 0.0
    DUAL.on_fluid(s, p, q)
    assert (q.prob, q.prob_l4s) == (pytest.approx(classic), pytest.approx(l4s))
    assert q.marks == (2 * prob <= 1)


@pytest.mark.parametrize(
    ("sojourn", "share"), [(0.8e-3, 0), (0.9e-3, 0.25), (1.1e-3, 0.75), (1.2e-3, 1)]
)
def test_the_native_ramp_of_l(sojourn, share):
    assert rate("mark", 0.0, d.L, sojourn=sojourn) == pytest.approx(share, abs=0.02)


def test_the_larger_of_both_marks_l():
    assert rate("mark", 0.4, d.L, sojourn=0.9e-3) == pytest.approx(0.8, abs=0.02)


def test_overload_drops_in_l_too_and_ends_marks_in_c():
    assert rate("drop", 0.6, d.L) == pytest.approx(0.36, abs=0.02)
    assert rate("mark", 0.6, d.L) == pytest.approx(0.64, abs=0.02)
    assert rate("drop", 0.6, d.C) == pytest.approx(0.36, abs=0.02)
    assert rate("mark", 0.6, d.C) == 0
    assert rate("drop", 0.5, d.L) == 0


@pytest.mark.parametrize(("ecn", "queue"), [(0, d.C), (2, d.C), (1, d.L), (3, d.L)])
def test_ect_1_and_ce_join_l(ecn, queue):
    s, p, q = begin()
    q.ecn = float(ecn)
    DUAL.on_arrival(s, p, q)
    assert q.inner == queue


@pytest.mark.parametrize("weight", [0.1, 0.5])
def test_while_both_wait_c_has_its_weight(weight):
    s, p, q = begin(classic_weight=weight)
    served = []
    for _ in range(1000):
        DUAL.on_select(s, p, q)
        served.append(q.inner)
        DUAL.on_departure(s, p, q)
        q.mark = 0.0
    assert served.count(d.C) == pytest.approx(1000 * weight, abs=2)
    q.waiting[d.L] = 0
    DUAL.on_select(s, p, q)
    assert q.inner == d.C


def test_the_time_shifted_fifo_compares_waiting_times():
    s, p, q = begin(shift=0.03)  # heads have waited 20 and 1 ms
    DUAL.on_select(s, p, q)
    assert q.inner == d.L
    q.head_at[d.C] = 0.968
    DUAL.on_select(s, p, q)
    assert q.inner == d.C


# The RFC's claims about whole runs


def shares(rate, rtts, seed=1, **settings):
    """Rate per Prague and per CUBIC flow, and the run."""
    net = tc.dumbbell(
        rate, "0.5 ms", 10_000, queue=tc.queues.DualPI2(**settings), access_rate="10 Gbps"
    )
    flows = [
        tc.Flow.linux(name, access_delay=(rtt - 1e-3) / 4)
        for rtt, name in zip(rtts, ("prague", "cubic"), strict=True)
    ]
    run = tc.simulate(tc.Scenario(net, flows, duration=60, seed=seed))
    return run.goodput(after=15).values, run


@pytest.mark.parametrize(
    ("rate", "rtt", "most"),
    [
        *((rate, rtt, 2.2) for rate in ("20 Mbps", "100 Mbps") for rtt in (0.005, 0.01, 0.02)),
        ("20 Mbps", 0.04, 2.2),
        ("100 Mbps", 0.04, 3),  # CUBIC's window is then beyond the region where it is Reno's
    ],
)
def test_rates_balance_and_l_waits_less_than_a_millisecond(rate, rtt, most):
    (prague, cubic), run = shares(rate, (rtt, rtt))
    assert 0.5 < prague / cubic < most
    assert float(np.nanmean(run.data["queue_l_delay"].values)) < 1e-3
    assert run.utilization(after=15) > 0.93
    waiting = run.data["queue_c_delay"].isel(time=slice(150, None)).mean()
    assert 0.008 < float(waiting) < 0.022


def test_without_the_coupling_classic_flows_are_starved():
    (prague, cubic), _ = shares("40 Mbps", (0.01, 0.01), coupling=0)
    assert cubic < 0.2 * prague


def test_unresponsive_traffic_in_c_is_dropped_as_much_as_it_exceeds_the_link():
    """CBR of 12 on 10 Mb/s: p_C exceeds 25 % or not, C waits for its target and L little."""
    net = tc.dumbbell("10 Mbps", "5 ms", 2000, queue=tc.queues.DualPI2())
    case = tc.Scenario(net, [tc.Flow.linux("prague"), tc.CBR("12 Mbps")], duration=20, seed=1)
    a, b = (tc.simulate(case, driver=driver) for driver in ("compiled", "simpy"))
    late = a.data.isel(time=slice(100, None))
    assert float(late["queue_prob"].mean() ** 2) == pytest.approx(1 - 10 / 12, abs=0.05)
    assert float(late["queue_c_delay"].mean()) == pytest.approx(0.015, abs=0.01)
    assert float(late["queue_l_delay"].mean()) < 0.002
    for name in ("queue_prob", "drops", "marks", "delivered"):
        assert a.data[name].identical(b.data[name])
