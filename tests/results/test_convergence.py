"""Measures of convergence on constructed curves, and on the records of every model."""

import math

import numpy as np
import pytest
from every_model import simulate_in
from hypothesis import given
from hypothesis import strategies as st

import tcpcc as tc
from tcpcc.errors import ScenarioError
from tcpcc.results import convergence as c

STEP = 0.05
TIMES = STEP * np.arange(1, 4001)  # ends of bins, 200 s


def amounts(*rates):
    """What flows with these rates (functions of time, or numbers) deliver in each bin."""
    middles = TIMES - STEP / 2
    return STEP * np.stack(
        [np.broadcast_to(r(middles) if callable(r) else r, TIMES.shape) for r in rates], axis=1
    )


def saw(period, phase=0.0):
    """A sawtooth from 2/3 to 4/3."""
    return lambda t: 2 / 3 + 2 / 3 * ((t / period + phase) % 1)


# The cycle and the window


@given(period=st.integers(20, 400), rtt=st.floats(0.01, 0.2))
def test_the_cycle_of_a_regular_sawtooth_is_its_period(period, rtt):
    dropped = np.arange(4000) % period == 3
    assert c.cycle(TIMES, dropped, rtt) == pytest.approx(period * STEP)


def test_drops_within_a_round_trip_are_one_loss_event():
    dropped = np.isin(np.arange(4000) % 400, (3, 4, 6))
    assert c.cycle(TIMES, dropped, 0.2) == pytest.approx(20)
    assert c.cycle(TIMES, dropped, 0.01) < 20


def test_the_losses_of_slow_start_hardly_count():
    dropped = np.isin(np.arange(4000), (10, 20, 30, 40, 1000, 2000, 3000))
    assert c.cycle(TIMES, dropped, 0.05) == pytest.approx(50, rel=0.03)


@pytest.mark.parametrize("losses", [(), (7,), (7, 8)])
def test_fewer_than_two_loss_events_are_no_cycle(losses):
    assert math.isnan(c.cycle(TIMES, np.isin(np.arange(4000), losses), 0.1))


def test_the_window_is_ten_cycles_or_a_fifth_of_the_time_and_at_least_two_cycles():
    assert c.averaging_time([3, 1, math.nan], [0.1, 0.1, 0.1], 200) == 30
    assert c.averaging_time([3, 1], [0.1, 0.1], 100) == 20
    assert c.averaging_time([30, 1], [0.1, 0.1], 100) == 60
    assert c.averaging_time([30], [0.1], 100, cycles=1) == 30
    with pytest.raises(ScenarioError, match="cycles = 0"):
        c.averaging_time([1], [0.1], 100, cycles=0)


def test_the_window_is_at_least_ten_round_trips():
    assert c.averaging_time([math.nan], [0.3], 100) == pytest.approx(3)
    assert c.averaging_time([0.2, math.nan], [0.1, 0.4], 100) == pytest.approx(4)


@given(event=st.floats(0, 50), width=st.floats(0.01, 20))
def test_windows_take_parts_of_bins(event, width):
    """The mean of t over a window is its middle."""
    starts, rates = c.sliding_means(TIMES, amounts(lambda t: t), event, 200, width)
    assert starts[0] == event
    assert starts[-1] + width <= 200
    assert rates[:, 0] == pytest.approx(starts + width / 2, abs=STEP)


# Fairness


@given(rate=st.floats(0.03, 0.5), event=st.floats(0, 20), width=st.floats(0.05, 1))
def test_an_exponential_gap_is_delta_fair_when_it_has_fallen_to_delta(rate, event, width):
    gap = lambda t: np.where(t < event, 1.0, np.exp(-rate * (t - event)))  # noqa: E731
    both = amounts(lambda t: 1 + gap(t), lambda t: 1 - gap(t))
    found = c.delta_fair_time(TIMES, both, event, width, delta=0.1)
    assert found == pytest.approx(math.log(10) / rate, abs=width / 2 + 2 * STEP)
    exact = math.log(1 / math.sqrt(1 / 0.95 - 1)) / rate  # J = 1 / (1 + gap^2)
    assert c.fair_time(TIMES, both, event, width) == pytest.approx(exact, abs=width / 2 + 2 * STEP)


@given(period=st.floats(2, 15), phase=st.floats(0, 1), jump=st.floats(20, 60))
def test_sawtooths_that_become_fair_at_once_do_so_within_half_a_window(period, phase, jump):
    """Each alone swings by a factor of two, out of step: only its mean over cycles is fair."""
    first = lambda t: np.where(t < jump, 3, 1) * saw(period)(t)  # noqa: E731
    both = amounts(first, saw(period, phase))
    for found in (
        c.fair_time(TIMES, both, 0, 2 * period),
        c.delta_fair_time(TIMES, both, 0, 2 * period),
    ):
        assert found == pytest.approx(jump, abs=period + 2 * STEP)


def test_without_averaging_over_cycles_no_sawtooth_is_ever_fair():
    both = amounts(saw(10), saw(10, 0.5))
    assert c.fair_time(TIMES, both, 0, 20, level=0.97) == 0
    assert math.isnan(c.fair_time(TIMES, both, 0, 0.5, level=0.97))


def test_noise_does_not_hide_convergence():
    noise = np.random.default_rng(1).uniform(0.5, 1.5, (4000, 2))
    both = amounts(lambda t: np.where(t < 50, 1.9, 1), lambda t: np.where(t < 50, 0.1, 1)) * noise
    assert c.fair_time(TIMES, both, 0, 5) == pytest.approx(50, abs=2.5)
    assert c.delta_fair_time(TIMES, both, 0, 5) == pytest.approx(50, abs=2.5)


def test_delta_fair_is_the_first_time_and_fair_is_for_good():
    away = lambda t: np.where((t > 40) & (t < 60), 1.0, np.where(t > 120, 1, 3))  # noqa: E731
    both = amounts(away, 1)
    assert c.delta_fair_time(TIMES, both, 0, 2) == pytest.approx(40, abs=1.1)
    assert c.fair_time(TIMES, both, 0, 2) == pytest.approx(120, abs=1.1)


def test_three_flows_are_delta_fair_when_the_last_one_is():
    late = [lambda t, at=at: np.where(t < at, 0.2, 1) for at in (0, 30, 70)]
    assert c.delta_fair_time(TIMES, amounts(*late), 0, 1) == pytest.approx(70, abs=0.6)


@pytest.mark.parametrize("measure", [c.delta_fair_time, c.fair_time])
def test_unfair_for_ever_silent_or_too_short_is_not_a_number(measure):
    assert math.isnan(measure(TIMES, amounts(3, 1), 0, 5))
    assert math.isnan(measure(TIMES, amounts(0, 0), 0, 5))
    assert math.isnan(measure(TIMES, amounts(1, 1), 150, 30))
    assert measure(TIMES, amounts(1, 1), 150, 25) == 0


def test_fair_at_the_very_end_only_is_not_for_good():
    both = amounts(lambda t: np.where(t < 190, 3, 1), 1)
    assert math.isnan(c.fair_time(TIMES, both, 0, 2))


# Settling


@given(rate=st.floats(0.05, 0.5), width=st.floats(0.05, 1), down=st.booleans())
def test_an_exponential_settles_when_a_tenth_is_left(rate, width, down):
    one = amounts(lambda t: 1 + (1 if down else -1) * np.exp(-rate * t))
    found = c.settling_time(TIMES, one, 0, width)
    assert found == pytest.approx(math.log(10) / rate, abs=width / 2 + 0.1)


def test_a_sawtooth_settles_with_its_mean():
    one = amounts(lambda t: np.where(t < 80, t / 80, 1) * saw(6)(t))
    assert c.settling_time(TIMES, one, 0, 12) == pytest.approx(72, abs=6)
    assert math.isnan(c.settling_time(TIMES, one, 0, 1))


def test_what_still_climbs_or_is_silent_does_not_settle():
    assert math.isnan(c.settling_time(TIMES, amounts(lambda t: np.exp(t / 40)), 0, 2))
    assert math.isnan(c.settling_time(TIMES, amounts(0), 0, 2))


def test_only_the_time_between_event_and_end_counts():
    one = amounts(lambda t: np.where(t < 50, 9, np.where(t < 150, 1, 5)))
    assert c.settling_time(TIMES, one, 50, 2, end=150) == 0
    assert c.settling_time(TIMES, one, 0, 2, end=140) == pytest.approx(50, abs=1.1)
    with pytest.raises(ScenarioError, match=r"event = 300 .. 400 s: there are no bins"):
        c.settling_time(TIMES, one, 300, 2, end=400)


# Records


@pytest.fixture(scope="module", params=["packet", "trains", "fluid"])
def run(request):
    """A Reno flow, joined at 30 s by one that leaves at 130 s."""
    net = tc.dumbbell("10 Mbps", "40 ms", 67)
    joins = tc.Flow("reno", start=30, stop=130, packet_size=1500, name="joins")
    stays = tc.Flow("reno", packet_size=1500, name="stays")
    scenario = tc.Scenario(net, [stays, joins], duration=200, interval=0.1, seed=2)
    return simulate_in(request.param, scenario)


def test_a_run_averages_over_its_cycles(run):
    """Alone the window climbs from 67 to 134 by one a round trip, of 80 to 160 ms."""
    rounds = 67
    of = {k: run.averaging_time(140, flows="stays", cycles=k) for k in (1, 2)}
    assert of[1] == pytest.approx(rounds * 0.12, rel=0.1)
    assert of[2] == pytest.approx(2 * of[1])
    assert run.averaging_time(140, flows="stays") == of[2]


def test_every_model_converges_and_the_flow_that_stays_takes_all(run):
    assert run.fair_time(30, before=130) <= 20
    assert run.delta_fair_time(30, before=130) <= 30
    assert run.settling_time("stays", 130, cycles=1) <= 10
    assert run.settling_time("joins", before=130, band=0.3) <= 20
    assert math.isnan(run.fair_time(30, before=130, level=1))


def test_a_run_measures_what_the_functions_measure(run):
    data = run.data.sel(flow=["stays", "joins"])
    width = run.averaging_time(30, 130)
    bits = data["delivered"].values * 12000
    args = data["time"].values, bits, 30.0, width
    end = float(data["time"].sel(time=130, method="nearest"))
    assert run.fair_time(30, before=130) == c.fair_time(*args, end=end)
    assert run.delta_fair_time(30, before=130) == c.delta_fair_time(*args, end=end)


def test_a_run_names_what_is_wrong(run):
    with pytest.raises(ScenarioError, match="unknown flow 'reno'"):
        run.settling_time("reno")
    with pytest.raises(ScenarioError, match="contains no bin"):
        run.fair_time(300)
    with pytest.raises(ScenarioError, match="no flow is active"):
        run.fair_time(30, flows=[])
