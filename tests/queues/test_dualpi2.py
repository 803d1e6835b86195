"""DualPI2: PI2, coupling, the native ramp, overload, the two schedulers; RFC 9332's claims."""

import numpy as np
import pytest
from by_hand import Queue
from drivers import both_drivers
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.queues import dualpi2 as d


def begin(prob=0.0, *, sample=None, **params):
    """A queue with 100 kB waiting, 50 packets in both queues, at 1 s."""
    known = {
        "now": 1.0, "queue": 100.0, "queue_bytes": 1e5, "size": 1500.0, "inner_bytes": 5e4,
        "waiting": np.array([50.0, 50.0]), "head_at": np.array([0.98, 0.999]),
    }  # fmt: skip
    return Queue("dualpi2", params=params, sample=known | (sample or {}), prob=prob)


def test_p_integrates_the_delay_of_the_longer_waiting_head():
    end = begin(0.1)
    end.s.delay = 0.018
    wake = end.call("on_interval").wake
    assert end.s.prob == pytest.approx(0.1 + 0.16 * (0.02 - 0.015) + 3.2 * (0.02 - 0.018))
    assert wake == pytest.approx(1.016)
    end.call("on_interval", head_at=np.array([0.99, 0.9]))
    assert end.s.delay == pytest.approx(0.1)


def rate(what, prob, inner, n=20000, *, ect=1.0, sojourn=0.0):
    """Share of packets that are dropped or marked when they leave queue `inner`."""
    end = begin(prob, sample={"inner": float(inner), "ect": ect, "sojourn": sojourn})
    hits = sum(getattr(end.call("on_departure", drop=0.0, mark=0.0), what) != 0 for _ in range(n))
    return hits / n


@pytest.mark.parametrize("prob", [0.05, 0.2, 0.4])
def test_the_signals_are_the_square_and_k_times_p(prob):
    near = 4 * (prob / 20000) ** 0.5
    assert rate("drop", prob, d.C, ect=0.0) == pytest.approx(prob**2, abs=near)
    assert rate("mark", prob, d.C) == pytest.approx(prob**2, abs=near)
    assert rate("mark", prob, d.L) == pytest.approx(2 * prob, abs=near)


@pytest.mark.parametrize(
    ("prob", "waiting", "classic", "l4s"),
    [(0.2, 1e5, 0.04, 0.4), (0.6, 1e5, 0.36, 1), (0.2, 3000, 0.04, 0.4), (0.2, 2999, 0, 0)],
)
def test_on_fluid_has_the_signals_of_packets(prob, waiting, classic, l4s):
    q = begin(prob).call("on_fluid", queue_bytes=waiting)
    assert (q.prob, q.prob_l4s) == pytest.approx((classic, l4s))
    assert q.marks == (2 * prob <= 1)


@pytest.mark.parametrize(("waiting", "signals"), [(3000, True), (2999, False)])
def test_packets_have_a_signal_from_two_packets_on(waiting, signals):
    sample = {"inner": float(d.C), "queue_bytes": waiting}
    assert (begin(1.0, sample=sample).call("on_departure").drop != 0) == signals


@pytest.mark.parametrize(
    ("prob", "sojourn", "share"),
    [(0, 0.8e-3, 0), (0, 0.9e-3, 0.25), (0, 1.1e-3, 0.75), (0, 1.2e-3, 1), (0.4, 0.9e-3, 0.8)],
)
def test_the_native_ramp_of_l(prob, sojourn, share):
    """The larger of both probabilities marks L."""
    assert rate("mark", prob, d.L, sojourn=sojourn) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize(
    ("what", "prob", "inner", "share"),
    [("drop", 0.6, d.L, 0.36), ("mark", 0.6, d.L, 0.64), ("drop", 0.6, d.C, 0.36),
     ("mark", 0.6, d.C, 0), ("drop", 0.5, d.L, 0)],
)  # fmt: skip
def test_overload_drops_in_l_too_and_ends_marks_in_c(what, prob, inner, share):
    assert rate(what, prob, inner) == pytest.approx(share, abs=0.02 if share else 0)


@pytest.mark.parametrize(("ecn", "queue"), [(0, d.C), (2, d.C), (1, d.L), (3, d.L)])
def test_ect_1_and_ce_join_l(ecn, queue):
    assert begin().call("on_arrival", ecn=float(ecn)).inner == queue


@pytest.mark.parametrize("weight", [0.1, 0.5])
def test_while_both_wait_c_has_its_weight(weight):
    end = begin(classic_weight=weight)
    served = []
    for _ in range(1000):
        served.append(end.call("on_select").inner)
        end.call("on_departure")
        end.q.mark = 0.0
    assert served.count(d.C) == pytest.approx(1000 * weight, abs=2)
    end.q.waiting[d.L] = 0
    assert end.call("on_select").inner == d.C


def test_the_time_shifted_fifo_compares_waiting_times():
    end = begin(shift=0.03)  # heads have waited 20 and 1 ms
    assert end.call("on_select").inner == d.L
    end.q.head_at[d.C] = 0.968
    assert end.call("on_select").inner == d.C


# The RFC's claims about whole runs


def shares(rate, rtts, seed=1, **settings):
    """Rate per Prague and per CUBIC flow, and the run."""
    link = {"rate": rate, "delay": "0.5 ms", "buffer": 10_000, "access_rate": "10 Gbps"}
    flows = [
        tc.Flow.linux(name, access_delay=(rtt - 1e-3) / 4)
        for rtt, name in zip(rtts, ("prague", "cubic"), strict=True)
    ]
    queue = tc.queues.DualPI2(**settings)
    run = tc.simulate(on_a_link(*flows, queue=queue, duration=60, seed=seed, **link))
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
    link = {"delay": "5 ms", "buffer": 2000, "queue": tc.queues.DualPI2()}
    flows = tc.Flow.linux("prague"), tc.CBR("12 Mbps")
    late = both_drivers(on_a_link(*flows, duration=20, seed=1, **link)).data
    late = late.isel(time=slice(100, None))
    assert float(late["queue_prob"].mean() ** 2) == pytest.approx(1 - 10 / 12, abs=0.05)
    assert float(late["queue_c_delay"].mean()) == pytest.approx(0.015, abs=0.01)
    assert float(late["queue_l_delay"].mean()) < 0.002
