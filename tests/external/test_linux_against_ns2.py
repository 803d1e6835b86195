"""High-speed controllers beside ns-2's ports of Linux' own (``Agent/TCP/Linux``): the sawtooth of a
single flow.

The ports' windows are whole numbers, an increment takes an ACK more, and their SACK recovery is
Linux', so runs are not equal to the packet; windows at losses, what a loss leaves and the time
between losses are.
"""

import ns2_runs
import numpy as np
import pytest
from sampled import some

import tcpcc as tc

pytestmark = ns2_runs.needs_ns2

RATE, DELAY, BUFFER, DURATION = 50, 19, 83, 80  # Mb/s, ms, packets, s
STEP = 0.02  # s, of the recordings
ROUND = 0.1  # s, longer than any round trip
SETTLED = 10  # s

#: Our controller and its parameters by the port's name.
PORTS = {
    "reno": ("reno", {}),
    "highspeed": ("hstcp", {"table": 1}),
    "scalable": ("scalable", {"ai_limit": 50}),
    "compound": ("compound", {}),
    "westwood": ("westwood_plus", {}),
    "cubic": ("cubic_2005", {"fixed": 1, "ack_ratio": 31 / 16}),
    "bic": ("bic", {"ack_ratio": 31 / 16}),
    "htcp": ("htcp", {"integer": 1}),
    "hybla": ("hybla", {}),
    "illinois": ("illinois", {}),
    "veno": ("veno", {}),
    "yeah": ("yeah", {}),
}
PERIODIC = ("reno", "highspeed", "scalable", "compound", "westwood")
"""Without fast convergence, which depends on whether two windows are equal to the packet."""


def sender(controller, params):
    """Our flow with the ports' loss recovery."""
    return tc.Flow(
        controller,
        packet_size=1500,
        params=dict(params),
        recovery="sack-prr-6937",
        transport=tc.Transport.ns2(),
    )


def path(**more):
    access = {"access_rate": 1e9, "access_delay": 0.5e-3}
    return tc.dumbbell(RATE * 1e6, DELAY / 1e3, BUFFER, **access, **more)


def in_ns2(*words):
    """Columns of what a port records; Compound's prints lines of its own."""
    lines, _ = ns2_runs.run("linux.tcl", *words)
    records = [x for x in lines if len(x) == 4 and all(w.replace(".", "").isdigit() for w in x)]
    return np.array(records, dtype=float).T


class Trace:
    """A flow's recordings, and its sawtooth once it has settled.

    Attributes: `high`, windows at losses; `kept`, shares of these two tenths of a second later;
    `between`, times between losses, s; `later`, packets sent in the second half of the run.
    """

    def __init__(self, time, cwnd, sent, again):
        self.time, self.cwnd = time, cwnd
        bursts = np.flatnonzero(np.diff(again) > 0)
        first = bursts[np.diff(time[bursts], prepend=-1.0) > ROUND]
        first = first[(time[first] > SETTLED) & (time[first] < DURATION - 5 * ROUND)]
        back = round(ROUND / STEP)
        self.high = np.array([cwnd[i - back : i + 2].max() for i in first])
        self.kept = np.array([cwnd[i + 2 * back] for i in first]) / self.high
        self.between = np.diff(time[first])
        middle, end = np.interp([DURATION / 2, DURATION - ROUND], time, sent - again)
        self.later = end - middle


FIRST = ("reno", "cubic", "bic", "htcp", "compound")
"""Ports that `make test` has; `make long` has the others."""


@pytest.fixture(scope="module", params=some(PORTS, FIRST))
def traces(request):
    """The port's name, its trace, ours."""
    theirs = Trace(*in_ns2(request.param, RATE, DELAY, BUFFER, DURATION))
    flow = sender(*PORTS[request.param])
    case = tc.Scenario(path(), [flow], duration=DURATION, interval=STEP)
    data = tc.simulate(case).data.isel(flow=0)
    counts = (data[each].values.cumsum() for each in ("sent", "retransmitted"))
    return request.param, theirs, Trace(data["time"].values, data["cwnd"].values, *counts)


def test_windows_at_losses(traces):
    _, theirs, ours = traces
    assert len(ours.high) > 5
    assert ours.high.mean() == pytest.approx(theirs.high.mean(), rel=0.01)


def test_what_a_loss_leaves(traces):
    """In a round trip more or less Compound grows by 3 %."""
    _, theirs, ours = traces
    assert ours.kept.mean() == pytest.approx(theirs.kept.mean(), abs=0.03)


def test_time_between_losses(traces):
    port, theirs, ours = traces
    if port in PERIODIC:
        assert ours.between.mean() == pytest.approx(theirs.between.mean(), rel=0.05)


def test_packets_sent(traces):
    """At each loss the port's window falls below its target for a moment; Scalable has most."""
    port, theirs, ours = traces
    assert ours.later == pytest.approx(theirs.later, rel=0.04 if port == "scalable" else 0.02)


def test_reno_follows_the_port_from_the_start(traces):
    """Through slow start's overshoot, in which 171 of 421 packets are lost, and for 20 s on."""
    port, theirs, ours = traces
    if port == "reno":
        times = np.arange(1.0, 20.0, STEP)
        windows = (np.interp(times, each.time, each.cwnd) for each in (ours, theirs))
        off = np.abs(np.divide(*windows) - 1)
        assert np.mean(off < 0.02) > 0.9
