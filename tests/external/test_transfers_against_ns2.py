"""The Vegas paper's transfers beside ns-2's Reno and Vegas: its network, a window of 50 KB, a timer
of 500 ms ticks.

Our side has the rules of ns-2 here, not the paper's: a threshold in whole packets and one cut for
a window's losses (`reno`), Vegas' mean RTT of a round and ns-2's loss recovery, no handshake of
Vegas. Everything is then equal in all cases: drops, retransmissions, Reno's timeouts, when each
transfer ends. Left out are transfers that begin at the very same time, where the order of two
events at once decides. ns-2 counts timeouts of a Vegas that has nothing more to send, so Vegas' are
not compared.
"""

from collections import defaultdict
from itertools import product

import ns2_runs
import pytest

import tcpcc as tc
from experiments.tcp_vegas import scenarios as s

pytestmark = ns2_runs.needs_ns2

WINDOW = int(s.SEND_BUFFER / s.PAYLOAD)
DURATION = 60


def packets(size):
    """Of so many KB."""
    return -(-size * s.KB // (s.PACKET - s.HEADER))


LARGE = packets(s.MB)
SMALL = packets(300)
FIRST_INITIAL_RTO = 6.0
"""ns-2's, s."""
POLL = 0.001001
"""How often the script looks whether a transfer has ended, s."""


def in_ns2(transfers, buffer, tick=s.TICK):
    words = " ".join(",".join(map(str, one)) for one in transfers)
    path = [8 * s.KB * s.RATE / 1e6, 1e3 * s.DELAY, buffer, WINDOW, tick, DURATION]
    found = defaultdict(dict)
    for name, flow, value in ns2_runs.run("transfers.tcl", words, *path)[0]:
        found[name][flow] = float(value)
    return {name: [of[flow] for flow in sorted(of)] for name, of in found.items()}


def in_ours(transfers, buffer, tick=s.TICK):
    flows = []
    for kind, size, start in transfers:
        vegas = kind == "Vegas"
        sender = tc.Transport.ns2(
            initial_window=1, rwnd=WINDOW, handshake=not vegas, delay_growth=vegas, tick=tick,
            min_rto=2 * tick, initial_rto=FIRST_INITIAL_RTO,
        )  # fmt: skip
        flow = tc.Flow(
            kind.lower(), size=size, start=start, packet_size=s.PACKET, transport=sender,
            params={} if vegas else {"integer_ssthresh": 1},
            recovery="vegas-ns2" if vegas else "reno",
        )  # fmt: skip
        flows.append(flow)
    run = tc.simulate(tc.Scenario(s.network(buffer), flows, duration=DURATION))
    return {
        "finished": run.data["finished"].values.tolist(),
        "drops": [float(run.data["drops"].sum())],
        "timeouts": run.timeouts().values.tolist(),
        "retransmitted": run.retransmissions().values.tolist(),
    }


def compare(transfers, buffer, tick=s.TICK):
    ours, theirs = in_ours(transfers, buffer, tick), in_ns2(transfers, buffer, tick)
    assert ours["drops"] == theirs["drops"]
    assert ours["retransmitted"] == theirs["retransmitted"]
    for kind, mine, other in zip(
        (kind for kind, *_ in transfers), ours["timeouts"], theirs["timeouts"], strict=True
    ):
        assert kind == "Vegas" or mine == other
    assert ours["finished"] == pytest.approx(theirs["finished"], abs=POLL)


@pytest.mark.parametrize("buffer", s.BUFFERS)
@pytest.mark.parametrize("kind", ["Reno", "Vegas"])
def test_one_megabyte_alone(kind, buffer):
    compare([(kind, LARGE, 0)], buffer)


@pytest.mark.parametrize("kind", ["Reno", "Vegas"])
def test_the_same_with_ns2s_own_tick(kind):
    compare([(kind, LARGE, 0)], 10, tick=0.01)


CASES = list(product(("Reno", "Vegas"), ("Reno", "Vegas"), s.PAIR_BUFFERS, s.PAIR_DELAYS[1:]))


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c)))
def test_300_kb_inside_1_mb(case):
    small, large, buffer, delay = case
    compare([(small, SMALL, delay), (large, LARGE, 0)], buffer)
