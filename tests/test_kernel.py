"""Our senders beside those of a running Linux kernel, in the cases of `experiments.kernel`: against
what was recorded, and, where `TCPCC_KERNEL` is set, against the kernel that runs here."""

import numpy as np
import pytest

from experiments.kernel import compare
from experiments.kernel.cases import CASES, DURATION
from experiments.kernel.path import missing

ALONE = [name for name, case in CASES.items() if len(case.controls) == 1]
BESIDE = [name for name in CASES if name not in ALONE]
LOSING = [name for name in ALONE if CASES[name].controls != ("bbr",)]

LIVE = "TCPCC_KERNEL"
LIVE_CASES = ("reno, small buffer", "cubic, small buffer", "bbr, small buffer", "cubic beside reno")
LIVE_DURATION, LIVE_SETTLED = 20.0, 5.0  # s


def means(runs, flow=0, settled=compare.SETTLED):
    """Means over the runs of what a flow did."""
    each = [run[flow].means(settled) for run in runs]
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


@pytest.fixture(scope="module")
def both():
    """(kernel's, ours) by case; each simulated once."""
    known = {}

    def find(name):
        if name not in known:
            known[name] = compare.kernel(name), compare.ours(name)
        return known[name]

    return find


@pytest.mark.parametrize("name", LOSING)
def test_a_loss_based_sender_alone_is_the_kernels(both, name):
    kernel, ours = map(means, both(name))
    assert ours["window"] == pytest.approx(kernel["window"], rel=0.025)
    assert ours["rtt"] == pytest.approx(kernel["rtt"], rel=0.025)
    assert ours["goodput"] == pytest.approx(kernel["goodput"], rel=0.015)
    one = 1e1 / (DURATION - compare.SETTLED)
    assert ours["episodes"] == pytest.approx(kernel["episodes"], rel=0.05, abs=1.1 * one)


def test_missing_says_nothing_or_one_line():
    lacks = missing()
    assert lacks is None or "\n" not in lacks
