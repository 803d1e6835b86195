"""The first packets are lost: what was sent twice gives no RTT sample."""

import math
import random

import numpy as np
import pytest
from by_hand import rules_of

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.slow_start import SLOW_STARTS, composed

PAIRS = [
    (name, start) for name in CONTROLLERS.names() for start in SLOW_STARTS
    if start == "standard" or CONTROLLERS.find(name).window == "shared"
]  # fmt: skip


def unmeasured(c, rule, now, window, base, rng):
    """A sample without an RTT; at the end of a round its duration counts as the smallest RTT."""
    a = c.example()[2]
    for name, value in vars(a).items():
        setattr(a, name, value * 0.0 if isinstance(value, np.ndarray) else 0.0)
    a.now, a.packet_size, a.hops = now, 1000.0, 1.0
    a.base_rtt = a.max_rtt = a.round_rtt = a.round_min_rtt = a.round_time = base
    a.window = max(window, 1.0)
    a.inflight, a.pipe = (float(rng.choice([1, a.window // 1])) for _ in range(2))
    a.phase, a.round_packets = float(rng.choice([0, 0, 1, 2])), float(rng.choice([0, 1, 10]))
    if rule in ("on_ack", "on_round"):
        a.acked = a.delivered = 1.0
    elif rule != "on_timer":
        a.transmits = a.lost = 1.0
    return a


@pytest.mark.parametrize(("name", "start"), PAIRS)
def test_any_sequence_of_events_without_an_rtt(name, start):
    c = composed(CONTROLLERS.find(name), SLOW_STARTS[start])
    rules = {n: rule for n, rule in c.rules.items() if rule is not None}
    first = [n for n in ("on_start", "on_open") if n in rules]
    often = [n for n in rules if n not in first] + ["on_ack"] * 8 + ["on_round"] * 2
    for seed in range(20):
        rng = random.Random(seed)
        _, s, p, _ = rules_of(c, cwnd=10.0)
        now, base = 3.0, 0.0
        for event in (*first, *rng.choices(often, k=25)):
            if event not in rules:
                continue
            now += rng.choice([0.0, 1e-4, 1e-3, 0.1, 1.0])
            if event == "on_round":
                base = base or now
            rules[event](s, p, unmeasured(c, event, now, s.cwnd, base, rng))
            assert 0 < s.cwnd < math.inf, event
            assert not math.isnan(s.ssthresh), event


def test_hystart_needs_an_rtt_sample():
    """ACKs that come close together do not end slow start before anything is measured."""
    c, s, p, _ = rules_of("cubic", "hystart", cwnd=20.0)
    rng = random.Random(1)
    c.on_round(s, p, unmeasured(c, "on_round", 3.0, s.cwnd, 3.0, rng))
    for k in range(1, 11):
        c.on_ack(s, p, unmeasured(c, "on_ack", 3.0 + k / 1e3, s.cwnd, 3.0, rng))
    assert s.ssthresh == math.inf


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_path_that_loses_two_fifths(seed):
    net = tc.dumbbell("10 Mbps", "20 ms", 30, loss=0.4)
    flows = [tc.Flow("cubic", slow_start="hystart")]
    run = tc.simulate(tc.Scenario(net, flows, duration=8, seed=seed))
    assert float(run.data.sent.sum()) > 0
