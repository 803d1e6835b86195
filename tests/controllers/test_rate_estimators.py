"""The rate estimators: against ACKs made by hand, and against known rates in both models."""

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from every_model import EVERY_MODEL, PACKETS_AND_TRAINS, simulate_in
from hypothesis import given
from hypothesis import strategies as st

import tcpcc as tc
from tcpcc.controllers import rate_estimators
from tcpcc.controllers.controller import Controller, Param, State
from tcpcc.controllers.rate_estimators import STEPS, follow, low_pass

NAMES = ("be", "re", "abse", "plus", "rce")
RTT = 0.1


def parts(name):
    """Of an estimator: its function, parameters and state."""
    update = getattr(rate_estimators, f"update_{name}")
    return update, *(getattr(rate_estimators, f"{name.upper()}_{x}") for x in ("PARAMS", "STATE"))


class Estimator:
    """An estimator outside of any controller, fed with ACKs."""

    def __init__(self, name, *, cwnd=100.0, **p):
        self.name = name
        self.update, params, state = parts(name)
        self.s = SimpleNamespace(cwnd=cwnd, **{n: v.initial for n, v in state.items()})
        self.p = SimpleNamespace(**({n: v.default for n, v in params.items()} | p))

    def ack(self, now, delivered=1.0, rtt=RTT):
        sample = SimpleNamespace(now=now, delivered=delivered, srtt=rtt, base_rtt=RTT)
        self.update(self.s, self.p, sample)
        return self.value

    def steady(self, rate, start, seconds, pieces=1):
        """ACKs at a constant rate, each of them in `pieces`; returns when the next one is due."""
        for k in range(round(rate * seconds)):
            for _ in range(pieces):
                self.ack(start + k / rate, 1 / pieces)
        return start + round(rate * seconds) / rate

    @property
    def value(self):
        return getattr(self.s, self.name)


# The filter


def test_the_filter_is_the_papers():
    """Casetti 2001: a gap of tau/10 gives the weights 19/21 and 2/21; a virtual sample of 0 after
    tau/m takes the estimate down by (2m - 1) / (2m + 1)."""
    assert low_pass(21.0, 0.0, 0.0, 0.05, 0.5) == pytest.approx(19)
    assert low_pass(0.0, 42.0, 0.0, 0.05, 0.5) == pytest.approx(2)
    shrink = (2 * STEPS - 1) / (2 * STEPS + 1)
    assert low_pass(1.0, 0.0, 0.0, 0.5 / STEPS, 0.5) == pytest.approx(shrink)


@given(st.integers(1, 50), st.floats(1e-3, 10), st.floats(0, 1e4), st.floats(0, 1e4))
def test_a_long_gap_is_many_short_ones(count, tau, estimate, sample):
    step = expected = tau / STEPS
    expected = estimate
    for _ in range(count):
        expected = low_pass(expected, sample, sample, step, tau)
    found = follow(estimate, sample, sample, count * step * (1 - 1e-12), tau)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(*(st.floats(0, 1e4),) * 3, st.floats(1e-6, 1e3), st.floats(1e-2, 10))
def test_the_filter_never_leaves_what_it_is_fed_with(estimate, sample, last, gap, tau):
    """It is stable for gaps of any length; the bare formula is not beyond 2 tau."""
    found = follow(estimate, sample, last, gap, tau)
    lowest, highest = min(estimate, sample, last), max(estimate, sample, last)
    assert lowest - 1e-6 <= found <= highest + 1e-6


# ACKs made by hand


@pytest.mark.parametrize("pieces", [1, 4])
@pytest.mark.parametrize("start", [0.0, 1234.5])
@pytest.mark.parametrize("rate", [30.0, 800.0])
@pytest.mark.parametrize("name", NAMES)
def test_a_constant_rate_is_found(name, rate, start, pieces):
    """Whenever the flow begins, and in whatever parts the ACKs come."""
    e = Estimator(name)
    e.steady(rate, start, 15, pieces)
    assert e.value == pytest.approx(rate, rel=1e-3)


def bunched(e, window=20, spacing=1e-3, rounds=150):
    """The whole window's ACKs in a bunch, once per round-trip time."""
    for k in range(rounds):
        for j in range(window):
            e.ack(k * RTT + j * spacing)
    return e.value


@pytest.mark.parametrize("name", ["re", "plus"])
def test_bunched_acks_do_not_mislead_an_estimate_per_round_trip(name):
    """Up to the one packet by which an interval that ends with an ACK may be off."""
    assert bunched(Estimator(name)) == pytest.approx(20 / RTT, rel=1 / 20)


def test_bunched_acks_mislead_the_bandwidth_estimate():
    """Of the gap between bunches, G = RTT - 19 ms, the trapezoid makes G / 2 times the rate within
    a bunch, 1000 a second: per round trip G/2 (1000 + 1/G), 18 ms at 1000 and 1 ms of
    (1000 + 1/G) / 2."""
    gap = RTT - 0.019
    expected = (0.018 * 1000 + (gap + 0.001) / 2 * (1000 + 1 / gap)) / RTT
    e = Estimator("be", tau=5.0)  # long beside a round trip, so that the mean is what is left
    assert bunched(e, rounds=600) == pytest.approx(expected, rel=0.02)
    assert expected > 2.9 * 20 / RTT


def test_bunched_acks_tell_the_capacity():
    """Wasted is the gap between bunches but for a mean gap: C = 20 / (19 ms + RTT / 20)."""
    assert bunched(Estimator("rce")) == pytest.approx(20 / (0.019 + RTT / 20), rel=0.02)


def test_the_capacity_of_a_link_used_half_of_the_time():
    """100 packets at 1000 a second, then nothing for as long: the rate is 500, C almost 1000."""
    e = Estimator("rce")
    for k in range(30):
        e.steady(1000, k * 0.2, 0.1)
    assert e.value == pytest.approx(100 / (0.099 + 0.002), rel=0.01)


def test_capacity_slots_can_be_smoothed():
    e = Estimator("rce", rce_gain=0.25)
    for acked, expected in ((800.0, 800.0), (400.0, 700.0), (700.0, 700.0)):
        e.s.rce_acked = acked
        rate_estimators.end_slot(e.s, e.p, 1.0)
        assert e.value == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_recovery_seen_only_by_its_last_ack_changes_nothing(name):
    """No ACK is shown for a round trip, then one for all of it: the rate was what it is."""
    e = Estimator(name)
    now = e.steady(800.0, 0.0, 10)
    before = e.value
    e.ack(now + RTT, 800 * RTT + 1)
    lowest = highest = e.value
    for k in range(2000):
        value = e.ack(now + RTT + (k + 1) / 800)
        lowest, highest = min(lowest, value), max(highest, value)
    assert lowest == pytest.approx(before, rel=0.01)
    assert highest == pytest.approx(before, rel=0.01)


def test_an_idle_sender_is_forgotten():
    """After a second without ACKs, two time constants, BE is down to about a tenth, in four steps
    of 3/5, the first of which still counts the sample before."""
    e = Estimator("be")
    now = e.steady(800.0, 0.0, 10)
    e.ack(now + 1)
    e.ack(now + 1 + 1 / 800)
    first = 800 * 3 / 5 + 2 / 5 * 800 / 2
    assert e.value == pytest.approx(first * (3 / 5) ** 3, rel=0.02)


def test_virtual_samples_of_zero_while_no_ack_comes():
    e = Estimator("be")
    now = e.steady(800.0, 0.0, 10) - 1 / 800
    rate_estimators.silence_be(e.s, e.p, SimpleNamespace(now=now + 0.2))
    assert e.value == pytest.approx(800)  # less than tau/m: not yet
    rate_estimators.silence_be(e.s, e.p, SimpleNamespace(now=now + 0.5))
    after = (800 * 3 / 5 + 2 / 5 * 800 / 2) * 3 / 5
    assert e.value == pytest.approx(after, rel=1e-3)
    rate_estimators.silence_be(e.s, e.p, SimpleNamespace(now=now + 1.0))  # goes on from there
    assert e.value == pytest.approx(after * (3 / 5) ** 2, rel=1e-3)


def test_silence_before_the_first_ack_is_nothing():
    e = Estimator("be")
    rate_estimators.silence_be(e.s, e.p, SimpleNamespace(now=5.0))
    assert e.value == 0
    assert e.s.be_time < 0


@pytest.mark.parametrize(
    ("cwnd", "estimate", "interval"),
    [(100.0, 0.0, RTT), (100.0, 500.0, RTT / 2), (100.0, 1000.0, 0.001), (100.0, 2000.0, 0.001)],
)
def test_adaptive_samples_are_the_longer_the_less_of_the_window_gets_through(
    cwnd, estimate, interval
):
    """(1): V = 1000 a second; an ACK a millisecond."""
    e = Estimator("abse", cwnd=cwnd)
    e.s.abse, e.s.abse_since, e.s.abse_time = estimate, 0.0, 0.0
    k = 0
    while e.s.abse_since == 0:
        k += 1
        e.ack(k / 1000)
    assert e.s.abse_since == pytest.approx(interval, abs=1.1e-3)


def test_the_adaptive_filter_is_slower_the_more_the_samples_differ():
    """(2): tau between RTT, without jitter, and (1 + n) RTT."""
    calm, jumpy = Estimator("abse"), Estimator("abse")
    for e, (jitter, most) in ((calm, (0.0, 100.0)), (jumpy, (100.0, 100.0))):
        e.s.abse_jitter, e.s.abse_most = jitter, most
        e.p.abse_u = 1.0  # jitter stays
        e.s.abse_since, e.s.abse_time, e.s.abse_acked = 0.0, 0.01, 10.0
        rate_estimators.sample_abse(e.s, e.p, 0.01, RTT)
    assert calm.value == pytest.approx(low_pass(0.0, 1000.0, 0.0, 0.01, RTT))
    assert jumpy.value == pytest.approx(low_pass(0.0, 1000.0, 0.0, 0.01, 11 * RTT))


def test_westwood_plus_filters_twice():
    """The first sample fills both filters. Each further one moves the first by 1/8, and that the
    second one by 1/8 of what is left: n samples go 1 - (7/8)^n (1 + n/8) of the way."""
    e = Estimator("plus")
    e.s.plus_since = e.s.plus_time = 0.0
    for n in range(6):
        now = (n + 1) * RTT
        e.ack(now, 80.0 if n else 10.0, rtt=0.9 * RTT)
        e.ack(now + 1e-9, 0.0, rtt=0.9 * RTT)  # tells that the sample is complete
        expected = 100 + 700 * (1 - (7 / 8) ** n * (1 + n / 8))
        assert e.value == pytest.approx(expected, rel=1e-6)


def test_westwood_plus_takes_no_samples_shorter_than_its_parameter():
    e = Estimator("plus", shortest=0.05)
    e.ack(0.0, rtt=0.001)
    for k in range(1, 60):
        e.ack(k * 1e-3, rtt=0.001)
    assert e.s.plus_since == pytest.approx(0.05)


# In the models


@cache
def probe(name):
    """A controller with a window that stays, which records its estimate + 2 as ssthresh."""
    update, params, state = parts(name)
    scope = {"update": update}
    exec(
        "def on_ack(s, p, a):\n"
        "    update(s, p, a)\n"
        "    s.cwnd = p.window\n"
        f"    s.ssthresh = s.{name} + 2\n",
        scope,
    )
    return Controller(
        "probe", "", on_ack=scope["on_ack"], on_loss=stay, on_timeout=stay, state=state,
        params={**params, "window": Param(1, "packets", "of all times", 1)}, recovery="sack",
    )  # fmt: skip


def stay(s, p, a):
    pass


def estimate(name, model, window, *others, after=10):
    """Mean estimate, and the true rate, of a flow over 1000 packets/s, base RTT 93 ms."""
    net = tc.dumbbell("8 Mbps", "46 ms", 1000)
    flow = tc.Flow(probe(name), window=window, transport=tc.Transport.ns2())
    run = simulate_in(model, tc.Scenario(net, [flow, *others], duration=20))
    values = run.data["ssthresh"].sel(time=slice(after, None)).isel(flow=0) - 2
    return float(values.mean()), float(run.throughput(after=after)[0]) / 8000


@pytest.mark.parametrize("name", NAMES)
@EVERY_MODEL
def test_the_rate_of_a_full_link(model, name):
    found, rate = estimate(name, model, 300)
    assert rate == pytest.approx(1000, rel=1e-3)
    assert found == pytest.approx(1000, rel=0.03 if name == "plus" else 2e-3)


@pytest.mark.parametrize("name", NAMES)
@EVERY_MODEL
def test_the_rate_that_cross_traffic_leaves(model, name):
    """What "residual" means: half of the link, to which evenly spaced packets bring it down.
    Westwood+ has had some 60 samples, and nearly forgotten the first."""
    found, rate = estimate(name, model, 100, tc.CBR("4 Mbps"))
    assert rate == pytest.approx(500, rel=1e-3)
    assert found == pytest.approx(500, rel=1e-2 if name == "plus" else 2e-3)


@PACKETS_AND_TRAINS
def test_a_window_that_travels_in_a_bunch(model):
    """RE is W / RTT; BE is above by half and more, and RCE nearer to the capacity."""
    found = {name: estimate(name, model, 20)[0] for name in NAMES}
    assert found["re"] == pytest.approx(215, rel=0.03)
    assert found["plus"] == pytest.approx(215, rel=0.04)
    assert 1.5 * 215 < found["be"] < 1000
    assert found["be"] < found["rce"] < 1000


def test_ack_compression():
    """Traffic on the way back that comes and goes holds up ACKs and lets them go together."""
    gusts = [(k / 5, k / 5 + 0.05) for k in range(5, 100)]
    back = tc.CBR("12 Mbps", source="right", target="left", on=gusts)
    found = {}
    for name in NAMES:
        found[name], rate = estimate(name, "packet", 60, back)
        assert rate == pytest.approx(599, rel=0.01)
    assert found["re"] == pytest.approx(599, rel=0.01)
    assert found["plus"] == pytest.approx(599, rel=0.01)
    assert found["abse"] == pytest.approx(599, rel=0.05)
    assert found["be"] > 1.01 * found["re"]
    assert 0.8 * 1000 < found["rce"] < 1000  # the link's rate, which is what it is to tell


def tell_delivered(s, p, a):
    s.total += a.delivered
    s.ssthresh = s.total + 2
    s.cwnd = min(s.cwnd + a.acked, 40.0)


def cut(s, p, a):
    s.cwnd = 20.0


@pytest.mark.parametrize("loss", [0.0, 0.01])
@pytest.mark.parametrize("recovery", ["sack", "newreno", "newreno-steady", "tahoe", "vegas"])
@EVERY_MODEL
def test_controllers_see_all_delivered_packets(model, recovery, loss):
    """In recovery too, but for what is delivered since the last ACK that they saw. (In packets the
    sequence number counts, so what a timeout sends again is no matter.)"""
    teller = Controller(
        "teller", "", on_ack=tell_delivered, on_loss=cut, on_timeout=cut, recovery=recovery,
        state={"total": State(0, "packets", "delivered so far")},
    )  # fmt: skip
    net = tc.dumbbell("10 Mbps", "20 ms", 20, loss=loss)
    run = simulate_in(model, tc.Scenario(net, [tc.Flow(teller)], duration=30))
    told = float(run.data["ssthresh"].isel(flow=0, time=-1)) - 2
    delivered = float(run.data["delivered"].sum())
    assert delivered > 1000
    assert abs(told - delivered) < 100
    assert math.isfinite(told)


def test_every_parameter_and_variable_has_one_owner():
    """Estimators can be merged; what two of them share (`tau`) is the same thing."""
    assert rate_estimators.BE_PARAMS["tau"] is rate_estimators.RE_PARAMS["tau"]
    everything = [variable for name in NAMES for variable in parts(name)[2]]
    assert len(everything) == len(set(everything))
    assert np.all([name in parts(name)[2] for name in NAMES])
