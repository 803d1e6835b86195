"""DCTCP beside ns-3: alpha over CoDel with a threshold of a millisecond, 50 Mb/s, about 10 ms.

ns-3's example tcp-validation asks for an alpha between 0.06 and 0.085. Its device keeps a queue of
its own behind CoDel, whose length byte queue limits adapt (DynamicQueueLimits): CoDel hands packets
on in clumps, so that of a window that is one packet too large only one in seven waits too long,
where a queue by itself marks all. Without them ns-3's alpha is about twice as large, and ours.

``ns3/alpha.json`` has ns-3.37's mean alpha from 2 to 8 s for some round-trip times in us, as
``ns3/dctcp.cc`` prints it: as in the example (``limits``), and without limits and with a receiver
that acknowledges what it should (``plain``; its head says what ns-3's does). Alpha hangs on what
fraction of a packet the path holds beyond a whole number, so there are eight, over two packets.
"""

import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tcpcc as tc

HERE = Path(__file__).parent / "ns3"
THEIRS = json.loads((HERE / "alpha.json").read_text())
FIRST, LAST = 2, 8  # s
MODULES = ["core", "network", "internet", "applications", "point-to-point", "traffic-control"]


def ours(rtt, **settings):
    """Mean alpha; a frame of 1502 bytes carries 1448, an ACK takes 54."""
    net = tc.dumbbell(
        "50 Mbps", rtt / 2 * 1e-6, 1000, queue=tc.queues.CoDel(ecn=True, ce_threshold=1e-3),
        access_rate="1 Gbps", access_delay="1 us",
    )  # fmt: skip
    transport = {
        "ecn": "accurate", "delayed_ack": 0.2, "initial_window": 10, "abc_limit": math.inf,
        "count_delivered": True, "gradual_marks": True,
    }  # fmt: skip
    flow = tc.Flow("dctcp", packet_size=1502, ack_size=54, transport=transport | settings)
    trace = tc.simulate(tc.Scenario(net, [flow], duration=LAST), trace=True).trace("dctcp1")
    alpha = trace[trace["time"].between(FIRST, LAST)]["alpha"].dropna()
    return alpha[alpha.diff() != 0].mean()  # one of each window


def test_ns_3s_example_has_what_it_asks_for_only_with_byte_queue_limits():
    assert 0.06 < THEIRS["limits"]["10000"] < 0.085
    for rtt in THEIRS["plain"]:
        assert THEIRS["plain"][rtt] > 1.6 * THEIRS["limits"][rtt]


@pytest.mark.parametrize("rtt", THEIRS["plain"])
def test_alpha_is_ns_3s_without_its_byte_queue_limits(rtt):
    assert ours(int(rtt)) == pytest.approx(THEIRS["plain"][rtt], rel=0.1)


@pytest.mark.parametrize("other", [{"gradual_marks": False}, {"abc_limit": 1}])
def test_alpha_is_another_where_the_sender_is(other):
    """A window that falls at once, or an ACK of two packets that counts for one."""
    assert ours(10000, **other) < 0.87 * THEIRS["plain"]["10000"]


def has_ns3():
    if shutil.which("g++") is None or shutil.which("pkg-config") is None:
        return False
    asked = ["pkg-config", "--exists", *(f"ns3-{name}" for name in MODULES)]
    return subprocess.run(asked, check=False).returncode == 0


needs_ns3 = pytest.mark.skipif(not has_ns3(), reason="ns-3 is not installed")


def compiled(source, program):
    libraries = [f"-lns3-{name}" for name in MODULES]
    subprocess.run(["g++", "-std=c++17", source, "-o", program, *libraries], check=True)
    return program


@needs_ns3
def test_what_is_recorded_is_what_ns_3_does(tmp_path):
    program = compiled(HERE / "dctcp.cc", tmp_path / "dctcp")
    for kind, words in {"limits": "1 0", "plain": "0 1"}.items():
        done = subprocess.run(
            [program, "10000", *words.split(), str(LAST)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        time, alpha = np.array([line.split() for line in done.stdout.splitlines()], dtype=float).T
        assert alpha[time > FIRST].mean() == pytest.approx(THEIRS[kind]["10000"], abs=1e-4)
