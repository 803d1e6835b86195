"""FAST, Compound TCP, ARENO, Fusion and AdaVegas: rules one by one, closed forms, and what their
authors say of them, in both models.

The network is the Fusion paper's (section III-A): 100 Mb/s, 40 ms, packets of 1500 bytes, a buffer
of one BDP.
"""

import math
from functools import cache

import numpy as np
import pytest
from by_hand import Rules
from every_model import BESIDE_PACKETS, EVERY_MODEL, PACKETS_AND_TRAINS, simulate_in
from hypothesis import given
from hypothesis import strategies as st
from on_a_link import on_a_link

import tcpcc as tc

BDP = 333


def flow(controller, **settings):
    sender = {"recovery": "sack", "transport": tc.Transport.ns2()}
    return tc.Flow(controller, packet_size=1500, **sender | settings)


def simulate(model, *flows, buffer=BDP, duration=100, rate=100e6, rtt=0.04, **more):
    """Flows on one link whose base RTT is `rtt`, transmission of 1500 and 40 bytes included."""
    link = {"rate": rate, "delay": (rtt - 8 * 1540 / rate) / 2, "buffer": buffer}
    case = on_a_link(*flows, duration=duration, **({"seed": 1} | link | more))
    return simulate_in(model, case)


class Path(Rules):
    """A controller's rules in congestion avoidance on a path of base RTT 40 ms.

    `queueing` is the time that packets wait.
    """

    def __init__(self, name, cwnd, *, base=0.04, **state):
        super().__init__(name, cwnd=cwnd, **state)
        self.base = self.a.base_rtt = base
        self.see(0.0)

    def see(self, queueing):
        rtt = self.base + queueing
        self.a.rtt = self.a.srtt = self.a.round_rtt = self.a.round_min_rtt = rtt
        self.a.window = self.s.cwnd
        self.a.inflight = self.a.round_packets = float(math.floor(self.s.cwnd))

    def trip(self, queueing=0.0):
        """A round trip: its end, then ACKs of a window; by how much the window changes."""
        before = self.s.cwnd
        self.see(queueing)
        if self.c.on_round:
            self.round()
        part = self.s.cwnd / 200
        for _ in range(200):
            used = {"window": self.s.cwnd, "inflight": float(math.floor(self.s.cwnd))}
            now = self.a.now + self.a.rtt / 200
            self.ack(now=now, acked=part, growing=part, delivered=part, **used)
        return self.s.cwnd - before

    def loss(self, queueing=0.0, **ack):
        """A loss, after an ACK; what is left of the window, as a share of it."""
        self.see(queueing)
        before = self.ack(**ack).cwnd
        return self.lose(window=before).cwnd / before


def mbps(run, after=20.0):
    return run.throughput(after=after).values / 1e6


# FAST


class FastPath(Path):
    """FAST on a pipe of P packets; the RTT of a round is that of the window of the one before."""

    def __init__(self, cwnd, pipe, **params):
        super().__init__("fast", cwnd, params={"max_gain": 1.0, **params}, old_cwnd=cwnd)
        self.pipe = pipe

    def update(self):
        self.s.avg_rtt = self.base * max(1.0, self.s.old_cwnd / self.pipe)
        self.see(self.s.avg_rtt - self.base)
        return self.round().cwnd


@given(
    gamma=st.floats(0.05, 1),
    alpha=st.floats(1, 1000),
    pipe=st.floats(10, 1e4),
    error=st.floats(-0.5, 0.9),
    updates=st.integers(2, 8),
)
def test_fast_shrinks_its_error_by_one_minus_gamma(gamma, alpha, pipe, error, updates):
    """Exactly, from both sides, once the pipe is full, in the rules and with the RTT of one round
    trip ago: W(k+1) - W* = (1 - gamma)(W(k) - W*), W* = P + alpha. (Below W*/2 the cap of 2 W may
    come first.)"""
    path = FastPath(pipe + alpha * (1 + error), pipe, gamma=gamma, alpha=alpha)
    for k in range(1, updates):
        expected = alpha * error * (1 - gamma) ** k
        assert path.update() - pipe - alpha == pytest.approx(expected, abs=1e-8 * (pipe + alpha))


def test_fast_at_most_doubles_and_waits_its_period():
    path = FastPath(10.0, 1000, alpha=500, period=2)
    assert [path.update() for _ in range(4)] == [10, 20, 20, 40]


def test_fast_halves_at_a_loss_and_forgets_the_window_before():
    path = FastPath(100.0, 50, alpha=50)
    assert path.loss(0.04) == 0.5
    assert path.s.old_cwnd == 50


def test_fast_starts_up_until_its_queueing_delay_is_reached():
    path = Path("fast", 10.0, ssthresh=math.inf)
    assert path.trip(0.0) == pytest.approx(10)
    path.trip(0.01)
    assert path.s.ssthresh == 2


@pytest.mark.parametrize("flows", [1, 2, 4])
@EVERY_MODEL
def test_fast_keeps_alpha_packets_queued_per_flow(model, flows):
    """W - P = N alpha, within the packet that rounding a window down takes; several flows take a
    little of each other's slow start for propagation, which adds a percent or three."""
    run = simulate(model, *[flow("fast", alpha=20)] * flows, duration=40)
    assert run.queue_mean(after=25) == pytest.approx(20 * flows, rel=0.04)
    assert run.utilization(after=25) == pytest.approx(1, abs=1e-6 if model == "packet" else 1e-4)


@pytest.mark.parametrize(("flows", "alpha"), [(1, 50), (1, 200), (2, 200)])
@PACKETS_AND_TRAINS
def test_fast_keeps_alpha_packets_to_one(model, flows, alpha):
    """The more packets, the less the one that rounding takes: the whole queue is exact to it."""
    run = simulate(model, *[flow("fast", alpha=alpha)] * flows, buffer=2000, duration=50)
    assert run.queue_mean(after=30) == pytest.approx(flows * alpha, abs=1)


@EVERY_MODEL
def test_fast_shares_in_proportion_to_alpha(model):
    run = simulate(model, flow("fast", alpha=20), flow("fast", alpha=60), duration=60)
    assert mbps(run, 30) == pytest.approx([25, 75], rel=0.05)


@pytest.mark.parametrize(("period", "below"), [(1, 0.04), (2, 0.02)])
@pytest.mark.parametrize("gamma", [0.25, 0.5])
@PACKETS_AND_TRAINS
def test_fast_approaches_by_one_minus_gamma_per_update(model, gamma, period, below):
    """Once round trips are of a full pipe, each update leaves 1 - gamma of the error, less what
    avgRTT keeps of earlier and shorter round trips: the less the more of them between updates."""
    alpha = 800
    each = flow("fast", alpha=alpha, gamma=gamma, period=period)
    run = simulate(model, each, buffer=3000, duration=20, interval=0.002)
    cwnd = run.data["cwnd"].isel(flow=0).values
    windows = cwnd[np.r_[True, np.diff(cwnd) != 0]]
    errors = 100e6 / 12000 * run.data["base_rtt"].item() + alpha - windows
    assert abs(errors[-1]) <= 1
    errors = errors[(errors < alpha / 2) & (errors > 10)]
    assert len(errors) >= 4
    factors = errors[1:] / errors[:-1]
    assert factors.max() <= 1 - gamma
    assert factors.min() >= 1 - gamma - below


# Compound


@given(st.floats(20, 5000), st.floats(0, 0.1))
def test_compound_changes_by_its_law(window, queueing):
    """alpha W^k a round trip while less than gamma packets queue, then 1 - zeta diff; Reno at
    least."""
    path = Path("compound", window, dwnd=window / 2)
    diff = window * queueing / (0.04 + queueing)
    delay = max(0.125 * window**0.75 - 1, 0) if diff < 30 else max(-diff, -window / 2)
    assert path.trip(queueing) == pytest.approx(1 + delay, abs=1 / 20 + 1e-6 * window)


@given(st.floats(8, 5000), st.floats(0, 1), st.floats(0.1, 0.9))
def test_compound_loss_takes_beta_but_leaves_renos_half(window, delay_share, beta):
    path = Path("compound", window, dwnd=window * delay_share, params={"beta": beta})
    left = path.loss(acked=0.0)
    assert left == pytest.approx(max(1 - beta, (1 - delay_share) / 2, 2 / window), rel=1e-9)
    assert path.s.dwnd >= 0


def test_compound_keeps_renos_part_above_two_packets():
    """Losses in a row halve it; without the floor a queue that then takes dwnd away left next to
    no window at all."""
    path = Path("compound", 2000.0, dwnd=1990.0)
    for _ in range(5):
        path.loss()
    assert path.s.cwnd == pytest.approx(2000 / 2**5, rel=0.01)
    path.see(100.0)
    s = path.round(acked=0.0)
    assert (s.cwnd - 2, s.dwnd) == pytest.approx((0, 0), abs=0.02)


@pytest.mark.parametrize("name", ["compound", "fusion", "areno", "fast"])
def test_a_loss_halves_the_receivers_window_where_that_holds(name):
    """cwnd has grown unused to ten times of it."""
    floor = {"reno_cwnd": 1000.0} if name == "fusion" else {}
    path = Path(name, 1000.0, **floor)
    path.see(0.08)
    path.ack(acked=0.0, window=100.0)
    assert path.lose().cwnd == pytest.approx(50)


@pytest.mark.parametrize(
    ("name", "state", "left"),
    [("compound", {"dwnd": 900.0}, 500 + 1), ("fusion", {"reno_cwnd": 50.0}, 1000 - 450)],
)
def test_a_window_that_shrinks_below_the_last_loss_is_not_in_slow_start(name, state, left):
    """At the window that the loss left 40 ms begin to queue: diff is 500 packets, of which
    Compound takes all away and Fusion leaves alpha, 50."""
    path = Path(name, 1000.0, ssthresh=1000.0, **state)
    path.trip(0.04)
    assert path.s.cwnd == pytest.approx(left, rel=0.01)
    assert path.s.cwnd >= path.s.ssthresh
    if name == "fusion":
        assert path.s.reno_cwnd == pytest.approx(51, abs=0.5)


def test_compound_timeout_ends_the_delay_window():
    s = Path("compound", 100.0, dwnd=60.0).time_out()
    assert (s.cwnd, s.ssthresh, s.dwnd) == (1, 50, 0)


def test_compound_loss_every_nth_packet():
    """The rules with a loss each 1/p packets: mean 0.2553 / p^0.8 and peak 0.3504 / p^0.8."""
    p = 1e-5
    path = Path("compound", 3000.0)
    sent, windows, peaks = 0.0, [], []
    while len(peaks) < 30:
        sent += path.s.cwnd
        if len(peaks) >= 10:
            windows.append(path.s.cwnd)
        path.trip()
        if sent >= 1 / p:
            peaks.append(path.s.cwnd)
            path.loss()
            sent -= 1 / p
    assert np.mean(windows) == pytest.approx(0.2553 / p**0.8, rel=0.02)
    assert np.mean(peaks[10:]) == pytest.approx(0.3504 / p**0.8, rel=0.02)


@pytest.mark.parametrize("p", [3e-4, 1e-3])
@EVERY_MODEL
def test_compound_obeys_its_response_function(model, p):
    """Mean window 0.2553 / p^0.8 without queueing, over six seeds, whose spread is stated. The law
    is for losses at equal distances; independent ones, of the same W^k, add 2 % by themselves."""
    rng = np.random.default_rng(1)
    window, packets, rounds = 100.0, 0.0, 0.0
    for gap in rng.exponential(1 / p, 20000):
        peak = (window**1.25 + 1.25 * 0.125 * gap) ** 0.8
        packets, rounds = packets + gap, rounds + (peak**0.25 - window**0.25) / (0.25 * 0.125)
        window = peak / 2
    law = 0.2553 / p**0.8
    assert packets / rounds / law == pytest.approx(1.02, abs=0.02)
    means = []
    for seed in range(6):
        run = simulate(
            model, flow("compound"), loss=p, rate=1e9, rtt=0.1, buffer=1e5, duration=250, seed=seed
        )
        means.append(run.throughput(after=20).item() / 12000 * 0.1)
    assert np.std(means, ddof=1) / math.sqrt(6) < 0.05 * law
    assert np.mean(means) == pytest.approx(law, rel=0.1)


# ARENO


def areno_increase(most, c, steepness=10.0):
    from tcpcc.controllers.areno import increase

    return increase(Rules("areno", params={"steepness": steepness}).p, most, c)


@given(st.floats(0, 1e5), st.floats(0.5, 30))
def test_areno_increase_is_renos_at_congestion_and_on_average(most, steepness):
    """W_inc(1) = 1, and its integral over c from 0 to 1 is 1 (Gauss-Legendre, 40 points)."""
    slack = 1e-11 * (1 + most)
    assert areno_increase(most, 1.0, steepness) == pytest.approx(1, abs=slack)
    x, w = np.polynomial.legendre.leggauss(40)
    values = [areno_increase(most, (1 + c) / 2, steepness) for c in x]
    assert np.dot(w, values) / 2 == pytest.approx(1, abs=slack)


@pytest.mark.parametrize("overlap", [0, 1])
@pytest.mark.parametrize("c", [0.0, 0.2, 0.5, 1.0])
def test_areno_grows_by_its_law(c, overlap):
    """1 + W_inc(c) - overlap packets a round trip while W_probe is positive."""
    state = {"rtt_cong": 0.08, "probe": 100.0, "re": 7500.0, "re_time": -1.0}
    path = Path("areno", 300.0, params={"overlap": overlap}, **state)
    most = 7500 / path.p.m
    assert most == pytest.approx(9)
    expected = 1 + areno_increase(most, c) - overlap
    assert path.trip(0.04 * c) == pytest.approx(expected, rel=0.05, abs=0.02)


@pytest.mark.parametrize("recovery", ["sack", "sack-prr"])
@EVERY_MODEL
def test_areno_uses_a_lossy_path_whose_queue_is_empty(model, recovery):
    """Losses at R = d set RTT_cong to d, and (1) is 0/0: what single packets wait for each other is
    no congestion."""
    link = {"rate": "100 Mbps", "buffer": 333, "access_rate": "1 Gbps", "loss": 1e-3}
    flow = tc.Flow("areno", recovery=recovery, packet_size=1500)
    run = simulate_in(model, on_a_link(flow, duration=40, **link))
    assert run.throughput(after=10).item() > 70e6


def test_areno_base_is_renos():
    """Where W_inc is negative and W_probe is 0, W grows as Reno's."""
    path = Path("areno", 300.0, rtt_cong=0.08, re=75e3)
    assert areno_increase(75e3 / path.p.m, 0.5) < 0
    assert path.trip(0.02) == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("c", [0.0, 0.3, 1.0])
def test_areno_leaves_the_more_the_less_congestion(c):
    path = Path("areno", 300.0, rtt_cong=0.08, probe=100.0, params={"a": 1.0})
    assert path.loss(0.04 * c) == pytest.approx(1 / (1 + c))
    assert path.s.probe == 0


@pytest.mark.parametrize(("rtt", "ssthresh"), [(0.05, math.inf), (0.0, 2.0)])
def test_areno_halves_where_it_cannot_tell(rtt, ssthresh):
    """In slow start, and before any round-trip time was measured."""
    s = Path("areno", 300.0, rtt_cong=0.08, rtt=rtt, ssthresh=ssthresh).lose()
    assert s.cwnd == s.ssthresh == 150


def test_areno_remembers_the_delay_at_losses():
    path = Path("areno", 300.0)
    for queueing, remembered in ((0.04, 0.08), (0.0, 0.85 * 0.08 + 0.15 * 0.04)):
        path.loss(queueing)
        assert path.s.rtt_cong == pytest.approx(remembered)


# Fusion


def test_fusion_in_numbers():
    """At 100 Mb/s W_inc is 8.33 packets a round trip; a queue of 4 ms, alpha, is 33.3 of the flow's
    packets (sections II-C, III)."""
    rate = 100e6 / 12000
    path = Path("fusion", rate * 0.04, be=rate, reno_cwnd=2.0)
    assert path.trip(0.0) == pytest.approx(8.33, rel=0.02)
    assert rate * path.p.d_min == pytest.approx(33.3, abs=0.1)


@given(st.floats(10, 5000), st.floats(0, 0.03), st.floats(0, 1e5))
def test_fusion_is_a_band_of_delay(window, queueing, be):
    """diff < alpha is R - d < 4 ms, diff > 3 alpha is R - d > 12 ms, whatever the window."""
    from tcpcc.controllers.fusion import per_round

    path = Path("fusion", window, be=be, rtt=0.04 + queueing)
    diff = window * queueing / (0.04 + queueing)
    alpha = window * 0.004 / (0.04 + queueing)
    change = per_round(path.s, path.p, path.a)
    if min(abs(diff / alpha - 1), abs(diff / alpha - 3)) < 1e-9:
        return
    if diff < alpha:
        assert change == pytest.approx(be * 1e-3)
    elif diff > 3 * alpha:
        assert change == pytest.approx(alpha - diff)
    else:
        assert change == 0


def test_fusion_is_never_below_reno():
    path = Path("fusion", 100.0, reno_cwnd=100.0)
    assert path.trip(0.02) == pytest.approx(1, rel=0.01)
    assert path.s.cwnd == path.s.reno_cwnd


@pytest.mark.parametrize(
    ("queueing", "ssthresh", "left"),
    [(0.0, 2, 1.0), (0.01, 2, 0.8), (0.04, 2, 0.5), (0.1, 2, 0.5), (0.01, math.inf, 0.5)],
)
def test_fusion_loss_empties_the_queue_but_halves_at_most(queueing, ssthresh, left):
    """max(d/R, 1/2); Reno's window is halved by itself (erratum B1), but in slow start."""
    path = Path("fusion", 300.0, reno_cwnd=100.0, ssthresh=ssthresh)
    assert path.loss(queueing, acked=0.0, growing=0.0) == pytest.approx(left)
    assert path.s.reno_cwnd == (50 if ssthresh == 2 else 150)


@EVERY_MODEL
def test_fusion_keeps_its_queue_in_the_band(model):
    """Between 4 and 12 ms, 33 and 100 packets, but for the few rounds after a loss in which W comes
    back from P, and never above; losses, one in a second, keep Reno's window out of the way."""
    run = simulate(model, flow("fusion"), loss=1e-4, duration=100, interval=0.02)
    queue = run.data["queue"].isel(link=0).sel(time=slice(20, None)).values
    assert np.mean(queue < 33) < 0.2
    assert queue.max() <= 100
    assert 33 <= np.median(queue) <= 33.3 + 2 * 8.33
    assert run.utilization(after=20) > 0.99


def test_fusion_leaves_the_band_s_upper_end_at_once():
    """Half of the link is taken away: the queue passes 12 ms, 100 packets, by far, and is below
    within six round trips though nothing is lost (but before; Reno's window is small)."""
    cross = tc.CBR("40 Mbps", on=[(30, 35)], packet_size=1500)
    lossy = {"rtt": 0.2, "buffer": 1667, "loss": 1e-4}
    data = simulate("packet", flow("fusion"), cross, duration=35, interval=0.05, **lossy).data
    assert data["dropped"].isel(flow=0).sel(time=slice(29.5, 31.2)).sum() == 0
    queue = data["queue"].isel(link=0)
    assert queue.sel(time=slice(20, 30)).max() < 100
    assert queue.sel(time=slice(30, 31)).max() > 400
    assert queue.sel(time=slice(31.2, None)).max() < 100


# The family beside Reno and alone (the Fusion paper, Figures 4 and 5)

FAMILY = ("fusion", "areno", "compound")
NOT_FUSION = ("areno", "compound", "fast", "reno")


@cache
def alone(model, name, loss):
    """Mb/s of a flow alone, mean of three seeds."""
    runs = [simulate(model, flow(name), loss=loss, seed=s) for s in range(3 if loss else 1)]
    return np.mean([mbps(run)[0] for run in runs])


@pytest.mark.long
@EVERY_MODEL
def test_all_use_the_link_up_to_one_loss_in_a_hundred_thousand(model):
    for name in FAMILY:
        assert alone(model, name, 0) > 98
        assert alone(model, name, 1e-5) > 95


@pytest.mark.parametrize("loss", [1e-4, 1e-3])
@EVERY_MODEL
def test_fusion_is_highest_above_and_reno_lowest(model, loss):
    """Figure 4."""
    rates = {name: alone(model, name, loss) for name in (*FAMILY, "reno")}
    assert max(rates, key=rates.__getitem__) == "fusion"
    assert min(rates, key=rates.__getitem__) == "reno"


@pytest.mark.parametrize(
    "name", ["fusion", *(pytest.param(n, marks=pytest.mark.long) for n in NOT_FUSION)]
)
@BESIDE_PACKETS
def test_every_model_agrees_with_packets(model, name):
    """Within 15 %, mean of three seeds, whatever the loss."""
    for loss in (0, 1e-5, 1e-4, 1e-3):
        assert alone(model, name, loss) == pytest.approx(alone("packet", name, loss), rel=0.15)


@pytest.mark.long
@pytest.mark.parametrize("loss", [0, 1e-5])
@pytest.mark.parametrize("name", FAMILY)
@EVERY_MODEL
def test_reno_keeps_its_half(model, name, loss):
    """Within 20 % of one to one (Figure 5): mean of six seeds where losses are random, as they are
    at a full buffer of the fluid model; standard error of the ratio 0.05."""
    runs = [
        simulate(model, flow(name), flow("reno", start=0.5), loss=loss, duration=300, seed=seed)
        for seed in range(6 if loss or model == "fluid" else 1)
    ]
    mine, renos = np.mean([mbps(run, 30) for run in runs], axis=0)
    assert mine / renos == pytest.approx(1, rel=0.2)


@EVERY_MODEL
def test_the_family_takes_what_reno_leaves(model):
    """At a loss in ten thousand Reno alone uses less than half of the link. The others get more
    beside it, and it gets no less than 70 % of what it would beside a Reno."""

    def beside(name):
        runs = [
            simulate(model, flow(name), flow("reno", start=0.5), loss=1e-4, seed=seed)
            for seed in range(4)
        ]
        return np.mean([mbps(run) for run in runs], axis=0)

    reference = beside("reno")[1]
    for name in FAMILY:
        mine, renos = beside(name)
        assert mine > 1.3 * renos
        assert renos > 0.7 * reference


@PACKETS_AND_TRAINS
def test_areno_as_the_ports_are_written_takes_two_thirds(model):
    """With `overlap` = 0 two packets a round trip against Reno's one, in losses both have."""
    run = simulate(model, flow("areno", overlap=0), flow("reno", start=0.5), duration=200)
    assert mbps(run, 30)[0] == pytest.approx(66, abs=4)


@EVERY_MODEL
def test_fast_gets_less_than_its_share_beside_reno(model):
    """Section III-C: "too friendly" at 100 Mb/s."""
    run = simulate(model, flow("fast"), flow("reno", start=0.5), duration=200)
    assert mbps(run, 30)[0] < 20


# AdaVegas


def test_adavegas_increase_grows_with_each_success():
    path = Path("adavegas", 100.0, params={"integer_delta": False})
    assert [path.trip() for _ in range(6)] == pytest.approx([1, 2, 3, 4, 4, 4], rel=0.03)
    path.trip(0.04 * 2 / 100)  # between alpha and beta
    assert path.trip() == pytest.approx(1, rel=0.03)
    path.trip()
    assert path.trip(0.04) == pytest.approx(-1)
    assert path.s.run == 0


def test_adavegas_doubles_a_small_window_after_a_timeout():
    """An increase by W is none of Vegas' slow start, which ends at the timeout's ssthresh."""
    path = Path("adavegas", 4.0, ssthresh=3.0, run=5.0)
    assert [path.trip() for _ in range(3)] == pytest.approx([4, 4, 4], rel=0.03)


@EVERY_MODEL
def test_adavegas_settles_in_vegas_band_and_is_there_sooner(model):
    """By less than its steps promise: more at once queues for a moment and begins them anew."""
    runs = {
        name: simulate(model, tc.Flow(name, packet_size=1500), buffer=1000, duration=60)
        for name in ("vegas", "adavegas")
    }
    for run in runs.values():
        assert 1 - 0.5 <= run.queue_mean(after=40) <= 3 + 0.5
    took = {name: run.convergence_time(f"{name}1", 0, before=60) for name, run in runs.items()}
    assert took["adavegas"] < 0.75 * took["vegas"]
