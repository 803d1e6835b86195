"""Evidence for causes: the Vegas paper. See test_causes.py."""

from functools import cache

import numpy as np
import pytest

import tcpcc as tc
from experiments import expected_numbers
from experiments.tcp_vegas import scenarios as s
from experiments.tcp_vegas import tables as t

pytestmark = pytest.mark.papers

# Table III.


@cache
def pairs(small, large):
    """By (buffer, draw, delay), two draws of the twelve."""
    return {
        (buffer, draw, delay): tc.simulate(s.pair(small, large, buffer, delay, draw))
        for buffer in s.PAIR_BUFFERS
        for draw in (1, 2)
        for delay in s.PAIR_DELAYS
    }


def test_one_run_of_twelve_decides_what_reno_has_inside_reno():
    single = 20, 0.5  # buffers and delay

    def is_single(key):
        return (key[0], key[2]) == single

    runs = pairs(s.RENO, s.RENO)
    assert [int(run.timeouts()[0]) for key, run in runs.items() if is_single(key)] == [0, 0]
    assert sum(run.timeouts()[0] == 0 for run in runs.values()) == 2
    rest = np.mean([t.throughput(run) for key, run in runs.items() if not is_single(key)])
    alone = np.mean([t.throughput(run) for key, run in runs.items() if is_single(key)])
    inside_vegas = pairs(s.RENO, s.VEGAS).values()
    assert rest < np.mean([t.throughput(run) for run in inside_vegas]) < 0.7 * alone


# Table IV.


def times_to_timeout(tick):
    """From the sending of a segment until the timeout that sends it again, s; 20 transfers."""
    times = []
    for run in range(1, 21):
        scenario = s.with_traffic(s.RENO, run, transport={"tick": tick})
        transfer = scenario.resolve().flows[0].name
        sent, is_timeout = {}, False
        trace = tc.simulate(scenario, trace=transfer).trace(transfer)
        for event, time, seq in zip(trace["event"], trace["time"], trace["seq"], strict=True):
            if event == "retransmit" and is_timeout:
                times.append(time - sent[seq])
            is_timeout = event == "timeout"
            if event in ("send", "retransmit"):
                sent[seq] = time
    return times


def test_renos_timeouts_are_longer_than_the_papers():
    """Section III-A: 1100 ms on average; Table IV: Vegas has 1.53 times Reno's throughput."""
    assert np.mean(times_to_timeout(0.5)) == pytest.approx(2.2, abs=0.1)
    assert np.mean(times_to_timeout(0.25)) == pytest.approx(1.4, abs=0.1)
    printed = expected_numbers.numbers("tcp_vegas", "packet")
    ratio = {name: printed["clock", "throughput ratio", name].value for name in s.CLOCKS}
    assert ratio["500 ms, load 9"] > 1.75
    assert ratio["250 ms, load 9"] == pytest.approx(1.53, abs=0.12)  # two standard errors
    for row, published, width in (
        ("throughput Reno", 58.3, 0.1), ("throughput Vegas", 89.4, 0.1),
        ("retransmissions Reno", 55.4, 0.1), ("retransmissions Vegas", 27.1, 0.25),
        ("coarse timeouts Reno", 5.6, 0.1),
    ):  # fmt: skip
        ours = printed["clock", row, "250 ms, load 9"].value
        assert ours == pytest.approx(published, rel=width), row
