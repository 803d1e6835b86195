"""The thesis beyond its tables: claims over seeds, means beside ns-2, what RED gains by."""

import numpy as np
import pytest
from scipy import stats

import tcpcc as tc
from experiments.red_fairness import against_ns2, claims, studies, tables
from experiments.red_fairness import scenarios as s
from tcpcc.sweeps import sweep

pytestmark = pytest.mark.slow

SETTINGS = sorted(s.RED_SETTINGS)


@pytest.fixture(scope="module", params=SETTINGS)
def found(request):
    return claims.by_seed(request.param)


# Claims of the thesis. ns-2 decides which of them a simulator can be held to: these hold in every
# seed of its two settings.

ROBUST = [
    pair for pair in claims.fairness_pairs() if pair[2] not in ("RED 1V9R", "R3")
]  # these overlap in ns-2


@pytest.mark.papers
@pytest.mark.parametrize(("table", "plain", "red"), ROBUST)
def test_red_gives_vegas_more_in_every_seed(found, table, plain, red):
    assert claims.ratios(found[table, red]).min() > claims.ratios(found[table, plain]).max()


@pytest.mark.papers
def test_more_reno_flows_lose_more_in_every_seed(found):
    assert claims.more_reno_more_drops(found)


@pytest.mark.papers
def test_one_vegas_among_nine_reno_gains_too_little_for_one_run_to_show_it(found):
    """The printed gain is 5 %; from seed to seed the ratio varies by a fifth."""
    ratios = claims.ratios(found["table_4_2", "RED 1V9R"])
    assert ratios.std(ddof=1) / ratios.mean() > 0.1


@pytest.mark.papers
def test_underestimating_helps_on_average_but_not_in_every_seed(found):
    means, in_order = claims.strict_order(found)
    assert means[0] < means[2] < means[4]
    assert in_order < 0.5


@pytest.mark.papers
@pytest.mark.parametrize("mix", ["V vs V", "5V"])
def test_red_leaves_vegas_among_its_like_as_it_is(found, mix):
    table = next(name for name, columns in s.TABLES.items() if mix in columns.mixes)
    plain = tables.of_mix(tc.simulate(s.mixed(table, mix, "drop-tail")))
    for with_red in found[table, f"RED {mix}"].values():
        assert with_red == plain
    assert plain["Drop"] == 0


# Means over seeds beside ns-2's.


@pytest.fixture(scope="module", params=SETTINGS)
def agreement(request):
    return against_ns2.agreement(request.param)


@pytest.mark.papers
@pytest.mark.parametrize("row", ["Fairness", "Total", "Drop", "Arrive", "Vegas", "Reno"])
def test_means_are_those_of_ns2(agreement, row):
    """The squared differences, in standard errors, add up to no more than those of two samples of
    one distribution do in 999 of 1000 cases; no single one is beyond 3.5."""
    of_row = agreement[(agreement["row"] == row) & (agreement["sd"] > 1e-9)]
    z = of_row["z"].to_numpy()
    assert len(z) >= 12
    assert stats.chi2.sf((z**2).sum(), len(z)) > 1e-3
    assert np.abs(z).max() < 3.5


@pytest.mark.papers
def test_published_values_lie_in_the_range_over_seeds_where_they_do_in_ns2s(agreement):
    """Of setting B, which fits the thesis; with A many do not lie in ns-2's range either."""
    if agreement.attrs["setting"] == "B":
        assert not (agreement["ns2_covers"] & ~agreement["ours_cover"]).any()
    else:
        assert agreement["ours_cover"].mean() > 0.75 * agreement["ns2_covers"].mean()


@pytest.mark.papers
def test_what_never_varies_in_ns2_is_the_same_here(agreement):
    constant = agreement[agreement["ns2_sd"] == 0]
    assert len(constant) >= 8
    assert (constant["ours"] - constant["ns2"]).abs().max() < 0.01


def test_standard_errors():
    deviations = 20**0.5 * 3, len(s.SEEDS) ** 0.5 * 4
    assert against_ns2.standard_errors(10.0, *deviations) == pytest.approx(2.0)
    assert against_ns2.standard_errors(0.0, 0.0, 0.0) == 0
    assert against_ns2.standard_errors(1.0, 0.0, 0.0) == np.inf


# Laws.


def test_a_vegas_flow_keeps_a_few_packets_whatever_reno_keeps():
    """x_V = b / mean queueing delay with b of about alpha to beta = 1 to 3 packets."""
    runs = {
        (buffer, 0): tc.simulate(studies.pair(buffer=buffer)) for buffer in (15, 20, 40, 60, 100)
    }
    values = studies.cause_values(runs)
    b = np.array([value for (row, _), value in values.items() if row[0] == "b"])
    delays = [
        value
        for (row, _), value in studies.cause_values(runs).items()
        if row.startswith("queueing")
    ]
    assert max(delays) > 5 * min(delays)
    assert ((b > 1) & (b < 4.5)).all()


@pytest.mark.papers
def test_without_ns2s_recovery_red_gains_nothing_among_as_many_reno_flows():
    """5 Vegas and 5 Reno flows: drop-tail 0.29, RED 0.47 with ns-2's Vegas and 0.29 with Vegas'."""
    mean = {}
    for recovery in ("vegas-ns2", "vegas"):
        runs = sweep(
            [s.mixed("table_4_2", "5V5R", "RED", seed, recovery=recovery) for seed in s.SEEDS]
        )
        mean[recovery] = np.mean([tables.of_mix(run)["Fairness"] for run in runs])
    plain = tables.of_mix(tc.simulate(s.mixed("table_4_2", "5V5R", "drop-tail")))["Fairness"]
    assert mean["vegas"] == pytest.approx(plain, rel=0.1)
    assert mean["vegas-ns2"] > 1.4 * plain


def test_vegas_with_larger_thresholds_comes_to_equal_reno():
    """Lai and Yao: alpha grows with the buffer, beta = alpha + 2."""
    ratio = [
        studies.of_pair(tc.simulate(studies.pair(alpha=alpha, beta=alpha + 2)))["ratio"]
        for alpha in studies.ALPHAS
    ]
    assert (np.diff(ratio) > 0).all()
    assert ratio[0] < 0.35
    assert ratio[-1] > 1


# Counting.


@pytest.mark.parametrize("kinds", ["V", "R"])
def test_sred_counts_flows_of_a_kind(kinds):
    for n in (2, 4, 10):
        share = studies.estimate(tc.simulate(studies.crowd(n, kinds, 1)))
        assert share == pytest.approx(1, abs=0.1)


def test_sred_counts_unlike_flows_too_low_but_within_a_fifth():
    for n in (2, 10, 24):
        share = studies.estimate(tc.simulate(studies.crowd(n, "VR", 1)))
        assert 0.78 < share < 1


def test_highest_sequence_counts_from_zero():
    run = tc.simulate(s.mixed("table_3_1", "V vs R", "drop-tail"))
    sent = (run.data["sent"] - run.data["retransmitted"]).sum("time")
    assert (tables.highest_sequence(run).isel(time=-1) == sent - 1).all()
    whole = tables.rates(run)
    parts = [tables.rates(run, a, a + 25) for a in (0, 25, 50, 75)]
    assert np.mean(parts, axis=0) == pytest.approx(whole)
