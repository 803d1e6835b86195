"""Exported controllers in a running Linux, recorded, beside the same controllers simulated."""

import os

import numpy as np
import pytest

from experiments.kernel import compare, exported, record
from experiments.kernel.cases import Case
from experiments.kernel.exported import DURATION, EXPORTED, KERNELS
from experiments.kernel.path import missing
from tcpcc.apps.export import loader
from tcpcc.controllers import CONTROLLERS

WINDOW, GOODPUT = 0.10, 0.05  # relative differences allowed
FASTEST = 5000  # ns of CPU per ACK allowed for Vegas and CUBIC

#: Chance decides their windows in the kernel and here (docs/guides/kernel.md).
APART = ("card", "vegas_plus")
SENDERS = [(name, True) for name in KERNELS] + [
    (name, False) for name in EXPORTED if name not in APART
]


def apart(name, kernels, other=None):
    """Relative differences of the mean window and of the goodput: Linux beside ours."""
    theirs = exported.kernel(name, kernels).means()
    ours = exported.ours(other or name, kernels).means()
    return [abs(theirs[what] / ours[what] - 1) for what in ("window", "goodput")]


@pytest.mark.parametrize(("name", "kernels"), SENDERS)
def test_window_and_goodput_are_those_of_the_simulation(name, kernels):
    window, goodput = apart(name, kernels)
    assert window < WINDOW
    assert goodput < GOODPUT


@pytest.mark.parametrize("name", EXPORTED)
def test_the_exported_controller_never_stalls(name):
    """Packets are delivered in every half second of the recording."""
    sender = exported.kernel(name)
    assert sender.time[-1] > DURATION - 0.5
    late = sender.time > 1
    arrivals = sender.time[late][1:][sender.delivered[late][1:] > sender.delivered[late][:-1]]
    assert np.diff(arrivals).max() < 0.5


def test_another_controller_is_found():
    """The bound on the window tells controllers apart."""
    assert apart("vegas", False, "reno")[0] > WINDOW
    assert apart("reno", False, "cubic")[0] > WINDOW


@pytest.mark.parametrize("name", ["vegas", "cubic", "cubic_2008"])
def test_an_ack_costs_less_than_five_microseconds(name):
    assert 0 < exported.recorded()["exported"][name]["cost"] < FASTEST


@pytest.mark.parametrize(("name", "exact"), [("card", 29.4), ("vegas_a", 38.0)])
def test_microseconds_of_noise_decide_who_compares_successive_rtts(name, exact):
    """Without noise the window is far from Linux', with it near."""
    theirs = exported.kernel(name).means()["window"]
    noisy, quiet = (exported.ours(name, noise=noise).means()["window"] for noise in (10e-6, 0.0))
    assert quiet == pytest.approx(exact, abs=0.1)
    assert abs(theirs - noisy) < 0.1 * abs(theirs - quiet)


def test_every_controller_is_recorded_or_refused():
    table = exported.every_controller()
    assert len(table) == len(CONTROLLERS)
    recorded = table["ns_per_ack"].notna()
    assert recorded.equals(table["bpf"] == "yes")
    assert recorded.sum() >= 30


@pytest.fixture
def live():
    """Skips, or makes sure that this machine can run exported controllers."""
    if not os.environ.get("TCPCC_KERNEL"):
        pytest.skip("exported controllers run in this kernel with TCPCC_KERNEL=1 (root, a minute)")
    lacks = missing() or loader.missing()
    if lacks:
        pytest.skip(f"exported controllers in this kernel: {lacks}")


@pytest.mark.parametrize("name", ["reno", "vegas", "cubic_2008"])
def test_the_kernel_that_runs_here(live, name):
    with loader.loaded(name, name=f"tc_live_{os.getpid()}", **EXPORTED[name]) as control:
        run = record.record(Case((control,), exported.BUFFER), 15.0)
    if not record.is_good(run):
        pytest.skip(f"this machine is too busy: a packet was {run['late_most']:.0f} ms late")
    (theirs,) = compare.senders(run)
    ours = exported.ours(name, duration=15.0).means(5.0)
    found = theirs.means(5.0)
    assert found["window"] == pytest.approx(ours["window"], rel=WINDOW)
    assert found["goodput"] == pytest.approx(ours["goodput"], rel=GOODPUT)
