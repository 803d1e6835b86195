"""Equilibria compared with closed forms and with long packet runs."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tcpcc as tc
from tcpcc.controllers.hstcp import PARAMS as HSTCP
from tcpcc.controllers.hstcp import decrease, increase


def response(controller, p, rtt=0.1, **params):
    """The window for a given loss rate, without a queue."""
    net = tc.dumbbell("1 Tbps", rtt / 2, 1e9, loss=p)
    found = tc.analysis.equilibrium(tc.Scenario(net, [tc.Flow(controller, **params)], duration=1))
    assert bool(found.still[0])
    return float(found.cwnd[0])


def on_a_link(*flows, buffer=200, **link):
    net = tc.dumbbell("10 Mbps", "50 ms", buffer, **link)
    return tc.analysis.equilibrium(tc.Scenario(net, flows, duration=1))


RESPONSES = {  # loss rates, and the window
    "reno": ([1e-2, 1e-3, 1e-4, 1e-5], lambda p: math.sqrt(2 * (1 - p) / p)),  # Westwood, eq. 4
    "scalable": ([1e-3, 1e-4, 1e-5], lambda p: 0.08 * (1 - p) / p),
    "compound": ([1e-4, 1e-5, 1e-6], lambda p: (0.25 / p) ** 0.8),  # alpha W^k per round trip
}


@pytest.mark.parametrize(("name", "p"), [(n, p) for n in RESPONSES for p in RESPONSES[n][0]])
def test_increase_balances_decrease(name, p):
    """Growth in the time of a packet, such as (1 - p) / W of Reno, against p times the decrease."""
    exact = 1e-3 if name == "compound" else 1e-6
    assert response(name, p) == pytest.approx(RESPONSES[name][1](p), rel=exact)


@pytest.mark.parametrize("p", [1e-4, 1e-5, 1e-6])
def test_hstcp_has_the_response_of_rfc_3649(p):
    """(1 - p) a(W) / W = p b(W) W, with RFC 3649's a and b at this window."""

    class P:
        pass

    for name, param in HSTCP.items():
        setattr(P, name, param.default)
    w = response("hstcp", p)
    balance = increase(P, w) * (1 - p) / (decrease(P, w) * w * w)
    assert balance == pytest.approx(p, rel=1e-5)
    # the RFC's own 0.12 / p^0.835 is for one loss in 1/p packets: a (2 - b) / 2b, in the mean a / b
    assert w / (0.12 / p**0.835) == pytest.approx((2 / (2 - decrease(P, w))) ** 0.835, rel=0.03)


@pytest.mark.parametrize(("p", "rtt"), [(1e-5, 0.1), (1e-6, 0.1), (1e-6, 0.2)])
def test_cubic_is_within_an_eighth_of_its_periodic_form(p, rtt):
    """1.054 (R/p)^0.75 for one loss in 1/p packets. The smooth limit has W_max = W, an epoch of age
    T = 1/loss rate, and a window that follows the curve within a round trip: C (T + R - K)^3 =
    0.3 W R / T. It is up to an eighth below the periodic form."""
    w = response("cubic", p, rtt)
    assert w / (1.0538 * (rtt / p) ** 0.75) == pytest.approx(0.95, abs=0.08)
    k = (0.3 * w / 0.4) ** (1 / 3)
    age = rtt / (p * w)
    assert 0.4 * (age + rtt - k) ** 3 == pytest.approx(0.3 * w * rtt / age, rel=0.02)


def test_cubic_is_too_fast_in_the_reno_friendly_region():
    """A documented limit. In one part of a cycle alpha is 0.53, in the other 1. In the smooth limit
    W_est has reached W_prior, so alpha is 1, and W is sqrt(1/0.3p) instead of Reno's 1.22
    sqrt(1/p)."""
    assert response("cubic", 1e-3) == pytest.approx(math.sqrt(1 / 0.3e-3), rel=0.01)


def test_vegas_with_one_threshold_keeps_alpha_packets():
    """Weighted proportional fairness: x_i = C alpha_i / sum alpha, at any delays."""
    flows = [
        tc.Flow("vegas", alpha=2, beta=2, integer_delta=False),
        tc.Flow("vegas", alpha=6, beta=6, integer_delta=False, access_delay=0.03),
    ]
    found = on_a_link(*flows)
    assert float(found.queue[0]) == pytest.approx(8, rel=0.01)
    assert found.rate.values / 1250 == pytest.approx([0.25, 0.75], rel=0.01)


def test_vegas_with_a_band_enters_it_from_below():
    """alpha packets per flow, and the effect of an increase in progress."""
    found = on_a_link(tc.Flow("vegas", count=4, alpha=2, beta=4, integer_delta=False))
    assert 8 <= float(found.queue[0]) < 8.5


def test_fast_keeps_alpha_packets_of_each_flow():
    flows = [tc.Flow("fast", count=3, alpha=10), tc.Flow("fast", alpha=20, access_delay=0.02)]
    found = on_a_link(*flows)
    assert float(found.queue[0]) == pytest.approx(50, rel=1e-4)
    assert found.rate.values / 1250 == pytest.approx([0.2, 0.4], rel=1e-4)


def test_fast_over_several_links_is_proportionally_fair():
    """Low, Peterson, Wang: the rate of each flow is alpha over the sum of its queueing delays."""
    net = tc.parking_lot(2, "10 Mbps", "20 ms", 1000)
    flows = [
        tc.Flow("fast", alpha=10),
        tc.Flow("fast", alpha=20, source="r0", target="r1"),
        tc.Flow("fast", alpha=30, source="r1", target="r2"),
    ]
    found = tc.analysis.equilibrium(tc.Scenario(net, flows, duration=1))
    q1, q2 = found.delay.values[:2]
    expected = [10 / (q1 + q2), 20 / q1, 30 / q2]
    assert found.rate.values == pytest.approx(expected, rel=1e-3)
    assert found.utilization.values[:2] == pytest.approx([1, 1], rel=1e-6)


@pytest.mark.parametrize("loss", [0.002, 0.01])
def test_westwood(loss):
    """Westwood paper, eq. 5: x = sqrt((1 - p)/p) / sqrt(R q), with R and q of the equilibrium.

    The bandwidth estimate counts acknowledged packets, (1 - p) x.
    """
    delay = 0.05
    cbr = tc.CBR("9 Mbps")
    queue = {"buffer": 60}
    flows = [tc.Flow("westwood", count=2), tc.Flow("reno", count=2), cbr]
    net = tc.dumbbell("10 Mbps", delay, **queue, loss=loss)
    found = tc.analysis.equilibrium(tc.Scenario(net, flows, duration=1))
    p, rtt = float(found.lost[0]), float(found.rtt[0])
    base = 2 * delay + 8 * 1040 / 10e6
    share = 1 - (1 - p) * base / rtt  # of the window that a loss takes
    assert float(found.rate[0]) == pytest.approx(math.sqrt((1 - p) / (p * share)) / rtt, rel=0.02)


def test_red_operating_point():
    """Hollot et al.: W = R C / N, p = 2 / W^2 with marking, and the queue at which RED marks this
    share."""
    queue = tc.queues.RED(min_thresh=50, max_thresh=250, max_p=0.05, wait=False, ecn=True)
    net = tc.dumbbell("10 Mbps", "50 ms", 500, queue=queue)
    case = tc.Scenario(net, [tc.Flow("reno", count=20, transport={"ecn": "classic"})], duration=1)
    found = tc.analysis.equilibrium(case)
    p, w, q = float(found.lost[0]), float(found.cwnd[0]), float(found.queue[0])
    assert w == pytest.approx(float(found.rtt[0]) * 1250 / 20, rel=1e-6)
    assert w == pytest.approx(math.sqrt(2 / p), rel=1e-6)
    # a drop in every 1 .. 1/p_b arrivals, evenly: in the mean 2 p_b of them
    assert p == pytest.approx(2 * 0.05 * (q - 50) / 200, rel=0.01)


def test_a_full_buffer_drops_the_excess_arrivals():
    found = on_a_link(tc.Flow("reno", count=20), buffer=50)
    assert float(found.queue[0]) == pytest.approx(50)
    p = float(found.lost[0])
    assert 20 * float(found.rate[0]) * (1 - p) == pytest.approx(1250, rel=1e-6)
    assert float(on_a_link(tc.CBR("20 Mbps"), tc.Flow("reno")).loss[0]) > 0.5


@pytest.mark.parametrize("seed", [1, 2])
def test_rates_over_a_parking_lot_agree_with_packets(seed):
    """Reno over two hops against Reno and CUBIC over one hop each, under RED: rates within 12 %.

    Rates are off because the window is 8 % above that of random losses.
    """
    net = tc.parking_lot(
        2, "10 Mbps", "20 ms", 60, queue=tc.queues.RED(min_thresh=5, max_thresh=50)
    )
    flows = [
        tc.Flow("reno", count=2),
        tc.Flow("reno", count=3, source="r0", target="r1", jitter=1),
        tc.Flow("cubic", count=3, source="r1", target="r2", jitter=1),
    ]
    case = tc.Scenario(net, flows, duration=150, seed=seed)
    found = tc.analysis.equilibrium(case)
    run = tc.simulate(case)
    rates = run.throughput(after=30).values / 8000
    measured = np.array([rates[:2].mean(), rates[2:5].mean(), rates[5:].mean()])
    expected = found.rate.values * (1 - found.lost.values)
    assert expected == pytest.approx(measured, rel=0.12)


def switching(s, p, ack):
    """Growth by a packet in each RTT up to 10 ms of queueing delay, and shrinking above."""
    share = -1.0 if ack.srtt - ack.base_rtt > 0.01 else 1.0
    s.cwnd = max(s.cwnd + share * ack.acked / s.cwnd, 2.0)


def linear(s, p, ack):
    """Growth in proportion to the distance from 10 ms of queueing delay."""
    share = 1.0 - (ack.srtt - ack.base_rtt) / 0.01
    s.cwnd = max(s.cwnd + share * ack.acked / s.cwnd, 2.0)


def two_flows(rule, rate="10 Mbps"):
    mine = tc.Controller("mine", "", on_ack=rule)
    return tc.Scenario(tc.dumbbell(rate, "20 ms", 100), [tc.Flow(mine, count=2)], duration=30)


@pytest.mark.parametrize("rate", ["1 Mbps", "10 Mbps", "40 Mbps"])
def test_a_rule_that_switches_at_a_delay_has_no_equilibrium(rate):
    """Just below 10 ms the window has no bound, just above it is two packets."""
    case = two_flows(switching, rate)
    with pytest.raises(
        tc.errors.NoEquilibriumError, match=r"^link 'bottleneck': no queue at"
    ) as error:
        tc.analysis.equilibrium(case)
    assert "\n" not in str(error.value)
    with pytest.raises(tc.errors.NoEquilibriumError):
        tc.analysis.stability(case)


def test_a_rule_that_is_linear_in_the_delay_has_an_equilibrium_but_does_not_come_to_rest():
    """Its drift is zero at one delay, at any window, so the window follows from the link's rate.
    There the right-hand side ends, too."""
    case = two_flows(linear)
    found = tc.analysis.equilibrium(case)
    f = tc.analysis.right_hand_side(case)
    begin = np.where(np.isfinite(f.y0), f.y0, 1e9)  # ssthresh before a loss, which never comes
    end = solve_ivp(f, (0, 60), begin, method="LSODA", rtol=1e-6).y[:, -1]
    assert float(found.utilization[0]) == pytest.approx(1, abs=1e-3)
    assert float(found.queue[0]) == pytest.approx(end[-1] / 8000, rel=0.01)
    assert float(found.cwnd[0]) == pytest.approx(end[f.names.index("mine1.cwnd")], rel=0.01)
    assert not found.still[0]


def test_a_full_link_carries_its_rate_within_a_jump_of_whole_packets():
    """With whole packets the load of Vegas is a step function of the queue, with steps of 1 %."""
    flow = {"controller": "vegas", "count": 4, "alpha": 2, "beta": 2}
    whole, real = (on_a_link(tc.Flow(**flow, integer_delta=k)) for k in (True, False))
    assert float(whole.utilization[0]) == pytest.approx(1, abs=0.02)
    assert not whole.still.any()
    assert float(real.utilization[0]) == pytest.approx(1, abs=1e-3)
