"""Evidence for causes: the thesis. See test_causes.py."""

import numpy as np
import pytest

import tcpcc as tc
from experiments.red_fairness import scenarios as s
from experiments.red_fairness import tables as t

pytestmark = pytest.mark.papers


def test_4v1r_hangs_on_the_smallest_timeout():
    """It is the same in ns-2 (test_mixed_against_ns2.py)."""
    column = s.mixed("table_4_1", "4V1R", "drop-tail")
    run = tc.simulate(column)
    drops = run.data["drops"].isel(link=0)
    assert float(drops.sel(time=slice(None, 2)).sum()) == 84
    assert float(drops.sum()) < 90
    longer = [flow.replace(transport=flow.transport.replace(min_rto=2.5)) for flow in column.flows]
    then = t.rates(tc.simulate(column.replace(flows=longer)))
    assert np.round(then).tolist() == [80, 80, 78, 78, 1135]
    assert t.rates(run)[:4] == pytest.approx(4 * [75], abs=1)
