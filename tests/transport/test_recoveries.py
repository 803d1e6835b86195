"""A loss recovery is a definition like the others: listed, registered, called by address."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

import tcpcc as tc
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY, segment_at, window_at
from tcpcc.transport.output import fill
from tcpcc.transport.recovery import classic
from tcpcc.transport.recovery.classic import leave


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        s.duplicates += 1
    if s.duplicates < p.patience:
        fill(f, f.now, f.max_burst)


@pytest.fixture
def own():
    """A recovery that waits for the timer, and stops sending after some duplicate ACKs."""
    params = {"patience": tc.Param(1e9, "ACKs", "duplicates until it falls silent")}
    state = {"duplicates": tc.State(0, "ACKs", "so far", kind=int)}
    return tc.register(
        tc.Recovery("timer-only", "no fast retransmit", on_ack, params=params, state=state)
    )


@pytest.mark.parametrize(
    ("phase", "ack", "after"),
    [(RECOVERY, 5, OPEN), (LOSS, 9, LOSS), (LOSS, 10, OPEN), (OPEN, 5, OPEN)],
)
def test_new_data_end_fast_recovery_and_all_data_that_of_a_timeout(phase, ack, after, monkeypatch):
    monkeypatch.setattr(classic, "new_ack", lambda f, now, ack: None)
    f = SimpleNamespace(phase=phase, recover=10, inflation=3)
    leave(f, 1.0, ack)
    assert (f.phase, f.inflation) == (after, 0)


def run(recovery, driver="compiled"):
    net = tc.dumbbell("2 Mbps", "10 ms", 12)
    case = tc.Scenario(net, [tc.Flow("reno", recovery=recovery)], duration=20)
    return tc.simulate(case, driver=driver, trace=True)


def test_a_users_recovery_runs_in_both_drivers(own):
    """Every loss costs a timeout, while Reno's own recovery repairs the first by duplicate ACKs."""
    timer_only, reno = run("timer-only"), run("reno")
    assert timer_only.data["loss_events"].sum() == 0 < reno.data["loss_events"].sum()
    assert timer_only.data["timeouts"].sum() > reno.data["timeouts"].sum()
    assert timer_only.identical(run("timer-only", "simpy"))


def misspelt_none(s, p, f):
    segment = segment_at(f.segments, f.high_ack & f.segment_mask)
    if segment.transmits > 1 and s.n < 1:
        fill(f, f.now, f.max_burst)


def misspelt_sender(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        f.dupack += 1


def misspelt_segment(s, p, f):
    segment = segment_at(f.segments, f.high_ack & f.segment_mask)
    if segment.transmit > 1:
        fill(f, f.now, f.max_burst)


def misspelt_window(s, p, f):
    if f.ack > window_at(f.state, 0).cwmd:
        leave(f, f.now, f.ack)


def too_few(s, p, f):
    fill(f, f.now)


def misspelt_state(s, p, f):
    helper(s)


def helper(s):
    s.twice += 1


@pytest.mark.parametrize(
    ("rule", "offset", "text"),
    [
        (misspelt_sender, 4, "f.dupack: not in the sender: did you mean 'dupacks'"),
        (misspelt_segment, 2, "segment.transmit: not in the record of segment_at"),
        (misspelt_window, 1, "window_at(f.state, 0).cwmd: not in the record of window_at"),
        (too_few, 1, "fill takes 3 arguments"),
        (misspelt_state, 5, "s.twice: not in the state"),
    ],
)
def test_rules_are_checked_when_a_recovery_is_defined(rule, offset, text):
    """In every branch and helper, like the rules of controllers and queues."""
    with pytest.raises(tc.ScenarioError, match=r"recovery 'x', on_alarm, line") as error:
        tc.Recovery("x", "", misspelt_none, on_alarm=rule, state={"n": tc.State(0, "", "")})
    assert text in str(error.value)
    line = rule.__code__.co_firstlineno + offset
    assert f"line {line} of test_recoveries.py: " in str(error.value)
    assert "\n" not in str(error.value)


def test_a_users_recovery_is_listed(own):
    table = tc.recoveries()
    assert {"timer-only", "sack", "vegas-ns2"} <= set(table["recovery"])
    assert table.loc[table["recovery"] == "timer-only", "parameter"].item() == "patience"


def test_describing_a_scenario_does_not_import_numba():
    code = """
import sys
import tcpcc as tc
net = tc.dumbbell("2 Mbps", "10 ms", 12, queue=tc.queues.RED())
tc.Scenario(net, [tc.Flow("vegas", recovery="sack-prr")], duration=1).resolve()
tc.recoveries(), tc.controllers(), tc.queues(), tc.slow_starts()
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
