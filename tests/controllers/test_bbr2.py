"""BBR, version 2: where its rules differ from version 3's, and beside CUBIC."""

import pytest
from bbr_sender import BDP, Sender
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.bbr3 import CRUISE, DOWN, DRAIN, STARTUP, UP

BBR2 = CONTROLLERS.find("bbr2")


def sender(mode, **state):
    one = Sender(mode, BBR2, **state)
    vars(one.p).update(BBR2.check({}))
    return one


def test_constants_are_those_of_the_module():
    known = BBR2.params
    assert known["startup_gain"].default == known["startup_cwnd_gain"].default == 2.885
    assert known["drain_gain"].default == pytest.approx(1 / 2.885)
    assert known["down_gain"].default == 0.75
    assert known["up_cwnd_gain"].default == 2
    assert known["full_losses"].default == 8
    assert known["extra_time"].default == 0.1
    assert tc.Flow.linux("bbr2").controller == "bbr2"


@pytest.mark.parametrize(("reports", "mode"), [(6, STARTUP), (8, DRAIN)])
def test_losses_end_startup_with_a_bdp_as_the_bound(reports, mode):
    one = sender(STARTUP, inflight_latest=3.0 * BDP)
    for _ in range(reports):
        one.s.losses = 1.0
        one.ack(lost=10, inflight=2 * BDP, phase=1)
    one.ack(lost=10, inflight=2 * BDP, phase=1, round_ends=True)
    assert one.s.mode == mode
    if mode == DRAIN:
        assert one.s.inflight_longterm == BDP


def test_drain_lasts_until_the_queue_is_gone():
    one = sender(DRAIN, drain_round=0.0)
    for _ in range(5):
        one.ack(pipe=1.5 * BDP, round_ends=True)
    assert one.s.mode == DRAIN
    one.ack(pipe=BDP)
    assert one.s.mode == CRUISE


@pytest.mark.parametrize(
    ("after", "pipe", "mode"),
    [(0.05, 1.5 * BDP, UP), (0.2, 1.2 * BDP, UP), (0.2, 1.3 * BDP, DOWN)],
)
def test_up_ends_after_a_round_trip_with_a_quarter_of_a_bdp_queued(after, pipe, mode):
    one = sender(UP)
    one.ack(after=after, pipe=pipe)
    assert one.s.mode == mode


def test_up_is_cautious_after_a_probe_that_lost_too_much():
    one = sender(UP, probed_too_high=1.0, inflight_longterm=110.0)
    one.ack(pipe=110)
    assert (one.s.mode, one.s.precautionary, one.s.probed_too_high) == (DOWN, 1, 0)


def share(name, buffer, loss=0.0, rival="cubic"):
    """Of 10 Mb/s with an RTT of 40 ms; `buffer` in packets."""
    rivals = [tc.Flow(rival, slow_start="standard")] if rival else []
    run = tc.simulate(on_a_link(name, *rivals, buffer=buffer, loss=loss, duration=120, seed=1))
    return float(run.throughput(after=10)[0]) / 10e6


def test_beside_cubic_it_takes_less_than_version_1():
    """In half a BDP of buffer."""
    assert share("bbr", 20) > 0.65
    assert share("bbr2", 20) < 0.6


def test_it_keeps_most_of_its_rate_at_one_per_cent_loss():
    assert share("bbr2", 40, loss=0.01, rival=None) > 0.75
    assert share("cubic", 40, loss=0.01, rival=None) < 0.5
