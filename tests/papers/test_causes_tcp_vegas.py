"""Evidence for causes: the Vegas paper. See test_causes.py."""

from functools import cache

import numpy as np
import pytest

import tcpcc as tc
from experiments.tcp_vegas import scenarios as s
from experiments.tcp_vegas import tables as t

pytestmark = pytest.mark.papers

MODELS = ("packet", "fluid")
ONE_CUT = "one cut for a window's losses"


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


@pytest.mark.parametrize(("group", "name"), RENO_LIKE)
def test_after_a_timeout_packets_send_again_what_was_not_lost(group, name):
    packet, fluid = (alone(group, name, model) for model in MODELS)
    assert np.mean([drops(run) for run in fluid]) == pytest.approx(
        np.mean([drops(run) for run in packet]), abs=3.5
    )
    assert all(run.retransmissions()[0] > 1.7 * drops(run) for run in packet)
    assert all(run.retransmissions()[0] == pytest.approx(drops(run)) for run in fluid)
    assert all(run.timeouts()[0] >= 1 for run in (*packet, *fluid))


def test_a_fourteenth_loss_costs_fluid_a_second_timeout():
    packet, fluid = (alone("settings", ONE_CUT, model) for model in MODELS)
    lost = [round(drops(run)) for run in fluid]
    assert sum(each == 14 for each in lost) > 5
    assert [int(run.timeouts()[0]) for run in fluid] == [1 + (each == 14) for each in lost]
    assert {(round(drops(run)), int(run.timeouts()[0])) for run in packet} == {(13, 1)}


@pytest.mark.parametrize("name", ["KB of 1024 bytes", "packets of 1434 bytes with the header"])
def test_fluid_does_not_overshoot_by_less_than_a_packet(name):
    path = 1e3 * s.RATE * 1.024 * 2 * s.DELAY / s.PACKET + 2  # and one on either host's wire
    assert 0 < path - 16 * (1 - 0.0195) < 1
    scenario = s.settings_runs()["Vegas", name, 0]
    packet, fluid = (tc.simulate(scenario, model=model) for model in MODELS)
    assert drops(packet) > 5
    assert drops(fluid) == 0


def test_after_its_timeout_fluids_reno_is_ahead():
    """Of the window, and so of the queue, from its repair to the fifth second."""
    window, queue = (
        {
            model: np.mean([take(run).sel(time=slice(3.5, 5)).values for run in runs], axis=0)
            for model in MODELS
            if (runs := alone("predecessors", s.RENO, model))
        }
        for take in (
            lambda run: run.data["cwnd"].isel(flow=0),
            lambda run: run.data["queue"].isel(link=0),
        )
    )
    assert (window["fluid"] > 1.1 * window["packet"]).all()
    assert queue["fluid"].mean() > 1.5 * queue["packet"].mean()


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


@pytest.mark.parametrize(
    ("pair", "k"),
    [((s.RENO, s.RENO), 0), ((s.RENO, s.RENO), 1), ((s.RENO, s.VEGAS), 0), ((s.VEGAS, s.RENO), 1)],
)
def test_reno_inside_drops_alike_and_sends_more_again_in_packets(pair, k):
    packet, fluid = (pairs(*pair, model).values() for model in MODELS)
    lost = [np.mean([drops(run) for run in runs]) for runs in (packet, fluid)]
    again = [np.mean([run.retransmissions()[k] for run in runs]) for runs in (packet, fluid)]
    assert lost[1] == pytest.approx(lost[0], rel=0.1)
    assert again[0] > 1.5 * again[1]


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
    reno, vegas = (
        np.mean([t.throughput(run) for run in pairs(s.RENO, large, "fluid").values()])
        for large in s.BOTH
    )
    assert vegas > reno
