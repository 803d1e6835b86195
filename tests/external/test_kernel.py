"""Our senders beside those of a running Linux kernel, in the cases of `experiments.kernel`: against
what was recorded, and, where `TCPCC_KERNEL` is set, against the kernel that runs here."""

import os

import numpy as np
import pytest

import tcpcc as tc
from experiments.kernel import compare, hosts, record
from experiments.kernel.cases import CASES, DURATION, scenario
from experiments.kernel.path import missing
from tcpcc.scenario.host_presets import LINUX as SENDERS

ALONE = [name for name, case in CASES.items() if len(case.controls) == 1]
BESIDE = [name for name in CASES if name not in ALONE]

#: Measured at most: Reno 0.015, 0.015, 0.005, CUBIC 0.04, 0.035, 0.001, BBR 0.06, 0.035, 0.001.
WITHIN = {
    "reno": {"window": 0.02, "rtt": 0.02, "goodput": 0.01},
    "cubic": {"window": 0.045, "rtt": 0.04, "goodput": 0.01},
    "bbr": {"window": 0.08, "rtt": 0.045, "goodput": 0.01},
}

#: Mb/s of 10, for the means over runs. With 60 starts these are 0.05, 0.28, 0.07, 0.55 and 0.17
#: apart; one run's standard deviation is 0.16, 0.04, 0.16, 0.09 and 0.39 with the kernel, 0.34,
#: 0.08, 0.20, 0.46 and 0.52 with us, so that 20 starts may be 0.1 off. The spread does not explain
#: what Reno with the long round trip gets too much: not traced, and no setting of the transport
#: brings it there (one segment a piece: 0.26 apart).
BESIDE_WITHIN = {
    "cubic beside reno": 0.3,
    "cubic beside bbr, small buffer": 0.4,
    "cubic beside bbr, large buffer": 0.25,
    "reno, 40 beside 100 ms": 0.7,
    "cubic, 40 beside 100 ms": 0.5,
}

TWO_RHYTHMS = ("cubic, 100 ms",)
"""Fast convergence takes losses for those of a shrinking share, or does not, as a window is a
packet below the one before or not: the kernel was recorded in both rhythms."""

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


def differing(kernel, ours, control):
    """What of two senders' means differs by more than `WITHIN`."""
    return [
        what
        for what, within in WITHIN[control].items()
        if ours[what] != pytest.approx(kernel[what], rel=within)
    ]


@pytest.mark.parametrize("name", ALONE)
def test_a_sender_alone_is_the_kernels(both, name):
    kernel, ours = map(means, both(name))
    assert differing(kernel, ours, CASES[name].controls[0]) == []
    if name not in TWO_RHYTHMS:
        one = 10 / (DURATION - compare.SETTLED)  # a loss episode more or less
        assert ours["episodes"] == pytest.approx(kernel["episodes"], abs=1.1 * one)


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


@pytest.mark.parametrize("name", BESIDE)
def test_what_two_senders_get_is_what_the_kernels_get(both, name):
    """How two share is not the same twice, with the kernel (three
    runs) nor with us (20 starts)."""
    kernel, ours = both(name)
    found = [[means(runs, flow)["goodput"] for flow in (0, 1)] for runs in (kernel, ours)]
    assert found[1] == pytest.approx(found[0], abs=BESIDE_WITHIN[name])
    assert sum(found[1]) == pytest.approx(sum(found[0]), rel=0.01)


def test_slow_start_ends_by_the_train_of_acks_as_the_kernels(monkeypatch):
    """At 38 or, where one ACK is late, 58 packets: its receiver acknowledges each packet at first.
    With an ACK for two, 2.4 ms apart, there is no train of gaps of 2 ms: CUBIC goes on to 90, and
    BBR, which begins then, takes the delay for the path's and 0.6 Mb/s more from it."""

    def end(**changes):
        run = tc.simulate(scenario(CASES["cubic, large buffer"], 0.6, **changes))
        return float(run.data["ssthresh"].min())

    (kernel,) = compare.kernel("cubic, large buffer")[0]
    (beside, _) = compare.kernel("cubic beside bbr, large buffer")[0]
    ends = [one.cwnd[one.time < 0.21][-1] for one in (kernel, beside)]
    assert ends == pytest.approx([58, 39], abs=1)
    assert end() == pytest.approx(39, abs=1)
    for_two = SENDERS["cubic"] | {"slow_start": tc.SlowStart("hystart", hystart_ack_delta=0.001)}
    monkeypatch.setitem(SENDERS, "cubic", for_two)
    assert end(quick_acks=16) > 80


def test_a_sender_without_linux_habits_differs_from_the_kernels(both):
    """The bounds above find it, and it loses one packet at a time."""
    kernel = means(both("reno, small buffer")[0])
    case = CASES["reno, small buffer"]
    other = compare.simulated(case, whole_window=False, count_delivered=False, gso_segments=1)
    found = other[0].means()
    assert differing(kernel, found, "reno") == ["window", "goodput"]
    assert found["losses"] / found["episodes"] < 1.6


#: Senders that are wrong on purpose: settings of the flow and of its transport that are changed.
#: With three pieces of six segments instead of two, BBR's window has three times as much beyond
#: two BDP.
WRONG = [
    ("cubic, small buffer", {"beta": 0.8}, {}),
    ("cubic, large buffer", {"slow_start": "standard", "early_growth": 0, "beta": 0.5}, {}),
    ("bbr, small buffer", {"cwnd_gain": 1.5}, {}),
    ("bbr, large buffer", {"cwnd_gain": 2.5}, {}),
    ("bbr, large buffer", {}, {"gso_segments": 6}),
]


@pytest.mark.parametrize(("name", "wrong", "transport"), WRONG)
def test_a_wrong_senders_window_differs_from_the_kernels(both, monkeypatch, name, wrong, transport):
    case = CASES[name]
    (control,) = case.controls
    kernel = means(both(name)[0])
    monkeypatch.setitem(SENDERS, control, SENDERS[control] | wrong)
    ours = compare.simulated(case, **transport)[0].means()
    assert "window" in differing(kernel, ours, control)


def test_shares_with_a_wrong_bbr_are_not_the_kernels(both, monkeypatch):
    name = "cubic beside bbr, large buffer"
    kernel = [means(both(name)[0], flow)["goodput"] for flow in (0, 1)]
    monkeypatch.setitem(SENDERS, "bbr", SENDERS["bbr"] | {"cwnd_gain": 3})
    ours = [means([compare.simulated(CASES[name])], flow)["goodput"] for flow in (0, 1)]
    assert ours != pytest.approx(kernel, abs=BESIDE_WITHIN[name])


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
    for flow, control in enumerate(case.controls):
        found = (means(runs, flow, LIVE_SETTLED) for runs in (kernel, ours))
        if len(case.controls) == 1:
            assert differing(*found, control) == []
    total = [sum(one.means(LIVE_SETTLED)["goodput"] for one in runs[0]) for runs in (kernel, ours)]
    assert total[1] == pytest.approx(total[0], rel=0.02)


def test_missing_says_nothing_or_one_line():
    lacks = missing()
    assert lacks is None or "\n" not in lacks
