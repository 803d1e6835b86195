"""Our senders beside those of a running Linux kernel, in the cases of `experiments.kernel`: against
what was recorded, and, where `TCPCC_KERNEL` is set, against the kernel that runs here."""

import os

import numpy as np
import pytest

from experiments.kernel import compare, hosts, record
from experiments.kernel.cases import CASES, DURATION
from experiments.kernel.path import Link, missing

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


def spread(runs, flow, what):
    """The smallest and the largest of the runs' means."""
    values = [run[flow].means()[what] for run in runs]
    return min(values), max(values)


@pytest.mark.parametrize("name", LOSING)
def test_a_loss_based_sender_alone_is_the_kernels(both, name):
    kernel, ours = map(means, both(name))
    assert ours["window"] == pytest.approx(kernel["window"], rel=0.025)
    assert ours["rtt"] == pytest.approx(kernel["rtt"], rel=0.025)
    assert ours["goodput"] == pytest.approx(kernel["goodput"], rel=0.015)
    one = 10 / (DURATION - compare.SETTLED)
    assert ours["episodes"] == pytest.approx(kernel["episodes"], abs=1.01 * one)


def test_reno_loses_two_packets_at_a_time_as_the_kernel(both):
    """With single segments each time; with pieces of two now and then one."""
    per_episode = {}
    for name in ("reno, small buffer, single segments", "reno, small buffer"):
        for side, found in zip(("kernel", "ours"), map(means, both(name)), strict=True):
            per_episode[name, side] = found["losses"] / found["episodes"]
    assert list(per_episode.values()) == pytest.approx([2, 2, 2, 2], abs=0.15)


def test_the_first_losses_come_when_the_kernels_do(both):
    """Slow start overruns a large buffer by as many packets, at the same time."""
    (kernel,), (ours,) = (runs[0] for runs in both("reno, large buffer"))
    first = [one.drops[one.drops < 0.5] for one in (kernel, ours)]
    assert len(first[1]) == pytest.approx(len(first[0]), rel=0.05)
    assert first[1][0] == pytest.approx(first[0][0], abs=0.01)


@pytest.mark.parametrize("name", ["bbr, small buffer", "bbr, large buffer"])
def test_bbr_alone_is_the_kernels(both, name):
    kernel, ours = map(means, both(name))
    assert ours["window"] == pytest.approx(kernel["window"], rel=0.1)
    assert ours["rtt"] == pytest.approx(kernel["rtt"], rel=0.05)
    assert ours["goodput"] == pytest.approx(kernel["goodput"], rel=0.01)
    assert ours["losses"] == kernel["losses"] == 0


@pytest.mark.parametrize("name", BESIDE)
def test_what_two_senders_get_is_what_the_kernels_get(both, name):
    """How two share is not the same twice: the kernel's mean lies in the range of ours."""
    kernel, ours = both(name)
    for flow in (0, 1):
        low, high = spread(ours, flow, "goodput")
        assert low - 0.2 < means(kernel, flow)["goodput"] < high + 0.2
    total = [sum(means(runs, flow)["goodput"] for flow in (0, 1)) for runs in (kernel, ours)]
    assert total[1] == pytest.approx(total[0], rel=0.015)


@pytest.mark.parametrize("name", ["reno, small buffer", "cubic, small buffer"])
def test_a_sender_without_linux_habits_is_told_from_it(both, name):
    """The bounds above find it."""
    kernel = means(both(name)[0])
    other = compare.simulated(CASES[name], whole_window=False, count_delivered=False)[0].means()
    assert other["window"] != pytest.approx(kernel["window"], rel=0.025)


@pytest.fixture(scope="module")
def live():
    """Skips, or makes sure that the kernel's senders can be run here."""
    if not os.environ.get(LIVE):
        pytest.skip(f"the kernel's own senders run with {LIVE}=1 (root, TUN, two minutes)")
    lacks = missing() or next(
        (f"the kernel has no {name}" for name in ("reno", "cubic", "bbr")
         if name not in hosts.available()), None,
    )  # fmt: skip
    if lacks:
        pytest.skip(f"the kernel's own senders: {lacks}")


@pytest.mark.parametrize("name", LIVE_CASES)
def test_the_kernel_that_runs_here(live, name):
    """As with what was recorded, in a shorter run on a machine that may have other things to do."""
    case = CASES[name]
    run = record.record(case, LIVE_DURATION)
    if not record.is_good(run):
        pytest.skip(f"this machine is too busy: a packet was {run['late_most']:.0f} ms late")
    kernel = [compare.senders(run)]
    ours = [compare.simulated(case, LIVE_DURATION)]
    flows = range(len(case.controls))
    found = [[means(runs, flow, LIVE_SETTLED) for flow in flows] for runs in (kernel, ours)]
    for what, within in (("goodput", 0.03), ("rtt", 0.1), ("window", 0.1)):
        kernels, our = ([one[what] for one in side] for side in found)
        if len(case.controls) == 1:
            assert our[0] == pytest.approx(kernels[0], rel=within), what
        elif what == "goodput":
            assert sum(our) == pytest.approx(sum(kernels), rel=within)


def test_a_link_sends_in_order_and_drops_what_is_too_much():
    """Packets of 1 ms each, 10 ms of delay, room for two, that being sent among them."""
    link = Link(rate=8000e3, delay=0.01, buffer=2)
    assert link.take(0.0, 1000) == pytest.approx(0.011)
    assert link.take(0.0, 1000) == pytest.approx(0.012)
    assert link.take(0.0005, 1000) is None
    assert link.take(0.0011, 1000) == pytest.approx(0.013)


def test_missing_says_nothing_or_one_line():
    lacks = missing()
    assert lacks is None or "\n" not in lacks
