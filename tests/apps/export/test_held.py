"""Every controller's rules in C compute the bits that they compute in Python."""

import math
import random

import held as h
import numpy as np
import pytest
from held import InBPF, InC, differences, exportable, needs_cc

from tcpcc.apps.export import exportable as table
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.controller import Controller, nothing
from tcpcc.definition import State
from tcpcc.engine.streams import seed_stream
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.slow_start.start_up import composed

EVERYONE = list(CONTROLLERS.values())
STARTS = [SLOW_STARTS[name] for name in SLOW_STARTS if name not in ("standard", "quick_start")]


def held(controllers, target, calls):
    for one in controllers:
        wrong, answered = differences(one, target, calls)
        assert not wrong, f"{len(wrong)} calls differ; {wrong[0]}"
        for name, count in answered.items():
            assert 2 * count >= calls / len(answered), f"{one.name}, {name}: {count} answers"


def divides(s, p, a):
    s.below, s.above = -3.0 // s.ssthresh, 3.0 // s.ssthresh
    s.rest = -3.0 % s.ssthresh


@needs_cc
@pytest.mark.parametrize("target", [InC, InBPF])
def test_floor_division_by_infinity_is_pythons(tmp_path, target):
    """The threshold is infinite at the start: -3 // inf is -1."""
    names = ("below", "above", "rest")
    state = {name: State(0.0, "", "") for name in names}
    one = Controller("divides", "", divides, nothing, nothing, state=state)
    rows = np.zeros(1, one.state_dtype)
    rows["cwnd"], rows["ssthresh"] = 10.0, math.inf
    room = np.zeros(4096)
    made = target(tmp_path, [one])
    made.rule(one, "on_ack")(rows.ctypes.data, room.ctypes.data, room.ctypes.data)
    assert [rows[name].item() for name in names] == [-1.0, 0.0, math.inf]


def named(s, p, a):
    M_PI, f64_add, larger, u64, turns = 3.0, 2.0, 0.5, s.linux, 0  # noqa: N806
    while turns < 4:
        turns += 1
        s.linux += u64 * f64_add
    s.cwnd = max(M_PI * larger, abs(s.double) % 7.0) + turns


@needs_cc
@pytest.mark.parametrize("target", [InC, InBPF])
def test_names_that_mean_something_else_in_c_are_changed(tmp_path, target):
    state = {name: State(0.0, "", "") for name in ("linux", "double", "HAS_ON_ACK")}
    one = Controller("named", "", named, nothing, nothing, state=state)
    held([one], target(tmp_path, [one]), 100)


@needs_cc
@pytest.mark.parametrize("target", [InC, InBPF])
@pytest.mark.parametrize("calls", [60, pytest.param(20_000, marks=pytest.mark.long)])
def test_all_controllers_have_pythons_bits(target, calls, tmp_path):
    those = exportable(EVERYONE, target)
    held(those, target(tmp_path, those), calls)


@needs_cc
@pytest.mark.parametrize("start", STARTS, ids=lambda s: s.name)
@pytest.mark.parametrize("name", ["vegas", "cubic"])
def test_slow_start_rules_have_pythons_bits(start, name, tmp_path):
    one = composed(CONTROLLERS[name], start)
    held([one], InC(tmp_path, [one]), 500)


def test_only_xcp_and_coupled_controllers_are_not_exportable_to_c():
    found = table().set_index("controller")["c"]
    coupled = [one.name for one in EVERYONE if one.coupled]
    assert list(found[found != "yes"].index) == [*coupled, "xcp"]
    assert "line" in found["xcp"]
    assert "ack.xcp_change (a header field" in found["xcp"]


def test_what_linux_cannot_have_is_named():
    found = table().set_index("controller")["bpf"]
    refused = found[(found != "yes") & ~found.index.isin([x.name for x in EVERYONE if x.coupled])]
    assert list(refused.index) == ["bbr2", "bbr3", "ledbat", "lp", "swift", "vivace", "xcp"]
    for name, text in {
        "bbr2": "a.lost",
        "bbr3": "a.lost",
        "ledbat": "a.owd",
        "swift": "a.hops",
        "vivace": "stamps",
        "xcp": "header",
    }.items():
        assert text in refused[name]


@needs_cc
def test_a_stream_of_random_numbers_is_the_simulators(tmp_path):
    """CDG backs off at random: a thousand rounds in a row, each with the state that the last one
    left, end in the same state of the generator."""
    cdg = CONTROLLERS["cdg"]
    target = InC(tmp_path, [cdg])
    state = np.zeros(1, cdg.state_dtype)
    state[0] = tuple(cdg.initial_state)
    seed_stream(state[0], 7, "cdg")
    params = h.parameters(cdg, np.random.default_rng(1), 1, False)
    sample = h.samples(np.random.default_rng(2), 1, target.sample_dtype(cdg))
    s, p = h.plain(state[0]), h.plain(params[0])
    a = h.plain(h.samples(np.random.default_rng(3), 1, h.sample_dtype)[0])
    draw, drawn = random.Random(1), set()
    for _ in range(1000):
        rtt = draw.uniform(0.1, 0.2)
        for name in ("on_ack", "on_round"):
            for field in sample.dtype.names:
                value = rtt if field == "rtt" else 1.0 if field == "acked" else 0.0
                sample[0][field] = value
                setattr(a, field, value)
            target.rule(cdg, name)(*(x.ctypes.data for x in (state, params, sample)))
            cdg.rules[name](s, p, a)
        drawn.add(s.mrg5)
        mine = [[getattr(s, name) for name in state.dtype.names]]
        assert not h.differing(state, mine).any()
    assert len(drawn) > 100
    assert math.isfinite(s.cwnd)
