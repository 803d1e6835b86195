"""Evidence for causes: the Vegas paper. See test_causes.py."""

from functools import cache

import numpy as np
import pytest

import tcpcc as tc
from experiments.tcp_vegas import scenarios as s
from experiments.tcp_vegas import tables as t

pytestmark = pytest.mark.papers

MODELS = ("packet", "fluid")


@cache
def alone(group, name, model):
    """The runs of `settings` or `predecessors` over the phases of the clock."""
    found = s.settings_runs() if group == "settings" else s.predecessor_runs()
    key = (s.RENO, name) if group == "settings" else (name,)
    return [tc.simulate(one, model=model) for k, one in found.items() if k[:-1] == key]


def drops(run):
    return float(run.data["drops"].sum())


RENO_LIKE = [("settings", name) for name in s.RENO_SETTINGS]
RENO_LIKE += [("predecessors", name) for name in s.PREDECESSORS if name != s.VEGAS]


# Table III.


@cache
def pairs(small, large, model):
    """By (buffer, draw, delay), two draws of the twelve."""
    return {
        (buffer, draw, delay): tc.simulate(s.pair(small, large, buffer, delay, draw), model=model)
        for buffer in s.PAIR_BUFFERS
        for draw in (1, 2)
        for delay in s.PAIR_DELAYS
    }


def test_one_run_of_twelve_decides_what_reno_has_inside_reno():
    single = 20, 0.5  # buffers and delay

    def is_single(key):
        return (key[0], key[2]) == single

    packet, fluid = (pairs(s.RENO, s.RENO, model) for model in MODELS)
    for runs in (packet, fluid):
        assert [int(run.timeouts()[0]) for key, run in runs.items() if is_single(key)] == [0, 0]
        assert sum(run.timeouts()[0] == 0 for run in runs.values()) == 2
    rest = np.mean([t.throughput(run) for key, run in packet.items() if not is_single(key)])
    alone = np.mean([t.throughput(run) for key, run in packet.items() if is_single(key)])
    inside_vegas = pairs(s.RENO, s.VEGAS, "packet").values()
    assert rest < np.mean([t.throughput(run) for run in inside_vegas]) < 0.7 * alone
