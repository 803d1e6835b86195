"""Metrics against definitions written another way, closed forms and properties."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tcpcc import metrics
from tcpcc.errors import ScenarioError

# Jain's index


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30).filter(any))
@example([7, 7, 0, 0, 0])
def test_jain_agrees_with_exact_arithmetic(x):
    """(sum x)^2 / (n sum x^2): if k of n share equally and the rest get nothing, k / n."""
    exact = Fraction(sum(x)) ** 2 / (len(x) * sum(Fraction(v) ** 2 for v in x))
    assert metrics.jain_index(x) == pytest.approx(float(exact), rel=1e-12)


def test_jain_of_extreme_rates_neither_overflows_nor_vanishes():
    assert metrics.jain_index([1e300, 1e300]) == 1
    assert metrics.jain_index([1e-300, 1e-300]) == 1


def test_jain_of_unequal_fair_shares():
    assert metrics.jain_index([10, 20, 40], fair=[1, 2, 4]) == pytest.approx(1)


def test_jain_of_nothing():
    assert math.isnan(metrics.jain_index([0, 0]))
    with pytest.raises(ScenarioError, match=r"x = \[\]: must contain"):
        metrics.jain_index([])
    with pytest.raises(ScenarioError, match="-1: must not be negative"):
        metrics.jain_index([1, -1])


# Quotients


def test_published_fairness_and_ratio():
    """Table 4.1 of the RED thesis: 4 Vegas flows against 1 Reno flow, kbit/s."""
    assert metrics.throughput_ratio([80, 81, 79, 79], [1131]) == pytest.approx(0.0705, abs=5e-5)
    assert math.isnan(metrics.throughput_ratio([1], [0]))


def test_utilization():
    assert metrics.utilization(bits=30e6, rate=10e6, seconds=4) == 0.75
    assert math.isnan(metrics.utilization(1e6, math.inf, 1))
    with pytest.raises(ScenarioError, match="seconds = 0"):
        metrics.utilization(1, 1, 0)


def test_loss_rate():
    assert metrics.loss_rate(3, 300) == 0.01
    assert math.isnan(metrics.loss_rate(0, 0))


def test_min_max_ratio():
    assert metrics.min_max_ratio([4, 2, 8]) == 0.25
    assert math.isnan(metrics.min_max_ratio([0, 0]))


def test_tradeoff():
    friendliness, gain = metrics.tradeoff([10, 10], [8], 0.8, 0.9)
    assert (friendliness, gain) == (pytest.approx(0.8), pytest.approx(1.125))


# Convergence time


@given(
    slope=st.floats(0.5, 20),
    final=st.floats(50, 500),
    step=st.floats(0.01, 0.2),
    event=st.floats(0, 30),
    band=st.floats(0.5, 5),
)
def test_convergence_of_a_ramp(slope, final, step, event, band):
    """A window that climbs linearly to W is in the band at (W - band) / slope, within a sample."""
    exact = (final - band) / slope
    time = event + step * np.arange(int(exact * 1.5 / step) + 200)
    found = metrics.convergence_time(
        time, np.minimum(slope * (time - event), final), event, band=band
    )
    assert exact - 1e-6 <= found <= exact + step + 1e-6


@given(
    rate=st.floats(0.2, 3), size=st.floats(20, 1000), down=st.booleans(), step=st.floats(0.01, 0.1)
)
def test_convergence_of_an_exponential(rate, size, down, step):
    """A gap of size e^(-rate t) is down to the band after ln(size / band) / rate."""
    exact = math.log(size / 1.5) / rate
    time = np.arange(0, exact + 40 / rate, step)
    gap = size * np.exp(-rate * time)
    found = metrics.convergence_time(time, 5000 + gap if down else 5000 - gap, 0.0)
    assert exact - 0.02 / rate <= found <= exact + step + 0.02 / rate


def test_convergence_counts_the_last_time_out_of_the_band():
    time = np.arange(100.0)
    window = np.full(100, 20.0)
    window[:10], window[40] = 5, 30
    assert metrics.convergence_time(time, window, event=0) == 41


def test_convergence_ignores_a_hunt_within_the_band_and_a_stray_final_sample():
    time = np.arange(200.0)
    window = 40 + np.where(np.arange(200) % 2, 1.0, -0.4)
    window[:20] = 3
    assert metrics.convergence_time(time, window, event=0) == 20


def test_convergence_never():
    time = np.arange(400.0)
    saw = 20 + time % 37
    assert math.isnan(metrics.convergence_time(time, saw, event=0))
    gone = np.where(time < 300, 20.0, np.nan)
    assert math.isnan(metrics.convergence_time(time, gone, event=0))
    assert metrics.convergence_time(time, gone, event=0, end=299) == 0


def test_convergence_counts_what_is_missing_at_first_as_not_settled():
    time = np.arange(100.0)
    assert metrics.convergence_time(time, np.where(time < 30, np.nan, 10), event=10) == 20


def test_convergence_looks_at_its_window_only():
    time = np.arange(300.0)
    window = np.where(time < 50, 1.0, np.where(time < 200, 30.0, 90.0))
    assert metrics.convergence_time(time, window, event=10, end=190) == 40
    with pytest.raises(ScenarioError, match="event = 400 s: there are no samples"):
        metrics.convergence_time(time, window, event=400)


def test_convergence_in_base_rtts():
    assert metrics.in_base_rtts(59, 0.1) == pytest.approx(590)
    with pytest.raises(ScenarioError, match="base_rtt = nan"):
        metrics.in_base_rtts(59, math.nan)


# Statistics


samples = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)


@given(samples, st.data())
def test_weights_are_repetitions(x, data):
    """A sample that stands for k seconds counts as k samples of one second."""
    width = data.draw(st.lists(st.integers(1, 5), min_size=len(x), max_size=len(x)))
    weighted = metrics.queue_stats(x, width)
    repeated = np.repeat(x, width)
    assert weighted.mean == pytest.approx(np.mean(repeated))
    assert weighted.sd == pytest.approx(np.std(repeated), abs=1e-6)
    assert weighted.max == np.max(repeated)
    for q, found in ((0.5, weighted.median), (0.95, weighted.p95)):
        assert found == np.quantile(repeated, q, method="inverted_cdf")


@given(samples, st.floats(0, 1))
def test_quantile_is_not_exceeded_for_its_share_of_the_time(x, q):
    found = metrics.quantile(x, q)
    assert found in x
    assert np.mean(np.array(x) <= found) >= q - 1e-9
    assert np.mean(np.array(x) < found) <= q + 1e-9


def test_queue_stats_take_the_peak_from_where_it_is_kept():
    assert metrics.queue_stats([1, 2], peak=[7, 3]).max == 7


def test_coefficient_of_variation():
    assert metrics.coefficient_of_variation([5, 5, 5]) == 0
    assert metrics.coefficient_of_variation([0, 2]) == 1
    assert metrics.coefficient_of_variation([0, 3], width=[2, 1]) == pytest.approx(math.sqrt(2))


def test_mean_ci_against_the_printed_table():
    """Student's t for 9 degrees of freedom and 95 % is 2.262 in every textbook, for 90 % 1.833."""
    x = np.arange(10.0)
    found = metrics.mean_ci(x)
    assert found.mean == 4.5
    assert found.n == 10
    error = np.std(x, ddof=1) / math.sqrt(10)
    assert found.half_width == pytest.approx(2.262 * error, rel=1e-3)
    assert metrics.mean_ci(x, level=0.9).half_width == pytest.approx(1.833 * error, rel=1e-3)


def test_mean_ci_of_one_run_has_no_width():
    found = metrics.mean_ci([4.0, math.nan])
    assert found.mean == 4
    assert found.n == 1
    assert math.isnan(found.half_width)


# Max-min fairness


@st.composite
def networks(draw):
    links, flows = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    capacity = draw(st.lists(st.integers(1, 100), min_size=links, max_size=links))
    row = st.lists(st.booleans(), min_size=links, max_size=links).filter(any)
    return capacity, np.array(draw(st.lists(row, min_size=flows, max_size=flows)))


@given(networks())
def test_max_min_gives_every_flow_a_bottleneck(network):
    """The characterisation: each flow crosses a full link on which nobody has more. So its smallest
    rate is the largest that there is."""
    capacity, crosses = network
    found = metrics.max_min_allocation(capacity, crosses)
    load = found @ crosses
    assert (load <= np.array(capacity) * (1 + 1e-9)).all()
    for rate, links in zip(found, crosses, strict=True):
        assert any(
            load[k] >= capacity[k] * (1 - 1e-9) and rate >= found[crosses[:, k]].max() * (1 - 1e-9)
            for k in np.flatnonzero(links)
        )


def test_max_min_of_demands_and_of_flows_that_nothing_limits():
    crosses = [[1], [1], [1], [0]]
    found = metrics.max_min_allocation([9.0], crosses, demand=[1.0, math.inf, math.inf, math.inf])
    assert found.tolist() == [1, 4, 4, math.inf]
    assert metrics.max_min_allocation([math.inf], [[1]]).tolist() == [math.inf]


def test_a_mean_of_known_values_ignores_nan_and_warns_of_nothing():
    values = np.array([[1.0, math.nan, 4.0], [3.0, math.nan, math.nan]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(metrics.mean_of_known(values), [2, math.nan, 4])
        np.testing.assert_array_equal(metrics.mean_of_known(values, axis=1), [2.5, 3])
        assert metrics.mean_of_known(np.empty((0, 2))).shape == (2,)
