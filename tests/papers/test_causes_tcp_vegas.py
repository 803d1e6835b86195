"""Evidence for causes: the Vegas paper. See test_causes.py."""

from functools import cache

import numpy as np
import pytest

import tcpcc as tc
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
