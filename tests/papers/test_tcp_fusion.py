"""The Fusion paper beyond its tables: what it claims, over seeds."""

from functools import partial

import numpy as np
import pytest
from accepted import accepted

from experiments.records import may_be_chance
from experiments.seeds import over_seeds
from experiments.tcp_fusion import scenarios as s
from experiments.tcp_fusion import tables as t
from tcpcc.sweeps import sweep

pytestmark = pytest.mark.slow

FRIENDLY = ("Fusion", "ARENO", "CTCP")


cells = partial(accepted, "tcp_fusion")


# Table 1.


@pytest.mark.papers
@pytest.mark.parametrize("variant", s.VARIANTS)
def test_twins_share_evenly_in_the_mean(variant):
    twins = [s.pair(variant, variant, seed) for seed in s.SEEDS]
    rates = [t.mbps(run, s.PAIRS_SETTLED) for run in sweep(twins, progress=False)]
    first, second = np.mean(rates, axis=0)
    assert 0.75 < first / second < 1.33


@pytest.mark.papers
@pytest.mark.parametrize("pair", [("CTCP", "BIC"), ("HSTCP", "BIC"), ("Reno", "CUBIC")])
def test_table_1_has_settled(pair):
    """Its runs' means are those of 330 s within three standard errors."""
    long = [s.laboratory(pair, seed=seed, duration=330.0) for seed in s.SEEDS]
    runs = sweep(long, progress=False)
    late = over_seeds(
        {k: t.mbps(r, s.PAIRS_SETTLED)[0] for k, r in zip(s.SEEDS, runs, strict=True)}
    )
    assert may_be_chance(cells("table_1")[pair], late)


# The rules.


def test_what_a_loss_leaves():
    for ratio in (1.0, 1.2, 1.7, 2.0, 2.5, 4.0):
        assert t.reduction("reno", ratio) == pytest.approx(0.5)
        assert t.reduction("westwood_re", ratio) == pytest.approx(1 / ratio)
        assert t.reduction("fusion", ratio) == pytest.approx(max(1 / ratio, 0.5))
    for congested in (1.5, 2.0):
        for ratio in (1.0, 1.2, 1.4):
            c = (ratio - 1) / (congested - 1)
            assert t.reduction("areno", ratio, congested) == pytest.approx(1 / (1 + c))


# Loss.


@pytest.mark.parametrize("loss", ["1e-3", "1e-2"])
def test_a_kernels_clock_costs_areno_more_than_fusion(loss):
    """A clock of 4 ms tells ARENO of waits that it takes for congestion."""
    exact, found = cells("figure_4"), cells("clock")
    over_areno = exact["Fusion", loss].value / exact["ARENO", loss].value
    ticking = found["Fusion, 4 ms clock", loss].value / found["ARENO, 4 ms clock", loss].value
    assert over_areno < ticking < 2.5


# Simulations.


@pytest.mark.parametrize("reverse", s.TRAFFIC)
@pytest.mark.parametrize("variant", FRIENDLY)
def test_friendly_over_several_bottlenecks(variant, reverse):
    found = cells("figure_13")
    column = f"{variant} {reverse}"
    reno, mine = (
        sum(found[f"{kind}{hops}", column].value for hops in (1, 2, 3))
        for kind in ("Reno", "Variant")
    )
    assert 0.5 < mine / reno < 2
