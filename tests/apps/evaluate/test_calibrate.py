"""The path behind a trace: recordings of Linux, whose path is known, and our own runs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tcpcc as tc
from experiments.kernel.cases import CASES, PACKET, WIDE

RECORDED = Path(__file__).parents[3] / "experiments" / "data" / "kernel.json.gz"
# Single flows of Reno and CUBIC that fill a drop-tail buffer.
FILLING = {
    name: case
    for name, case in {**CASES, **WIDE}.items()
    if case.controls in (("reno",), ("cubic",))
    and case.mark is None and case.loss == 0 and not case.writes and case.buffer > 3
}  # fmt: skip


@pytest.fixture(scope="module")
def recordings():
    return json.loads(gzip.decompress(RECORDED.read_bytes()))["runs"]


def table(flow):
    return pd.DataFrame(
        {
            "time": np.cumsum(flow["time"]) / 1e3,
            "rtt": np.array(flow["rtt"]) * 1e-4,
            "delivered": np.cumsum(flow["delivered"]),
        }
    )


@pytest.mark.parametrize("name", FILLING)
def test_the_path_of_a_recording_of_linux(name, recordings):
    case = FILLING[name]
    runs = recordings[name]
    run = runs[0] if isinstance(runs, list) else runs
    path = tc.calibrate(table(run["flows"][0]), packet_size=PACKET)
    rtt = 2 * case.delay + (case.extra[0] if case.extra else 0)
    assert path.rate == pytest.approx(case.rate, rel=0.03)
    assert path.base_rtt == pytest.approx(rtt, rel=0.03)
    # CUBIC at 0.3 BDP of 20 ms: slow start overshoots within one entry of the recording.
    if name != "cubic, 50 Mb/s, 20 ms, 0.3 BDP":
        assert path.buffer == pytest.approx(case.buffer, rel=0.1)
    assert path.cross < 0.05 * case.rate
    assert not path.policer


def run_of(*flows, duration=40, **settings):
    net = tc.dumbbell(**{"rate": "10 Mbps", "delay": "20 ms", "buffer": 60, **settings})
    return tc.simulate(tc.Scenario(net, flows, duration=duration))


def test_cross_traffic():
    run = run_of(tc.Flow("reno", name="mine"), tc.CBR("4 Mbps", on=[(10, None)], packet_size=1000))
    path = tc.calibrate(run, "mine")
    assert path.rate == pytest.approx(10e6, rel=0.05)
    assert path.cross == pytest.approx(3e6, rel=0.2)  # 4 Mb/s in three quarters of the time


@pytest.mark.parametrize("controller", ["reno", "cubic", "bbr"])
def test_a_policer(controller):
    run = run_of(
        tc.Flow(controller), rate="50 Mbps", queue=tc.queues.Policer(rate=5e6, burst=200_000)
    )
    path = tc.calibrate(run)
    assert path.policer
    assert path.rate == pytest.approx(5e6, rel=0.1)


@pytest.mark.parametrize("loss", [0.005, 0.03])
def test_random_loss_is_no_policer(loss):
    assert not tc.calibrate(run_of(tc.Flow("reno"), rate="50 Mbps", loss=loss)).policer


def test_a_path_that_is_never_full_says_so():
    run = run_of(tc.Flow("reno", transport={"rwnd": 10}))
    path = tc.calibrate(run)
    assert np.isnan(path.buffer)
    assert path.busy == 0
    with pytest.raises(tc.TcpccError, match="never filled"):
        path.network  # noqa: B018


def test_the_estimate_simulates_as_the_trace_did():
    whole = run_of(tc.Flow("reno"))
    again = tc.simulate(tc.calibrate(whole).scenario("reno", 40))
    ours, theirs = (
        float(run.data["cwnd"].sel(time=slice(10.0, None)).mean()) for run in (again, whole)
    )
    assert ours == pytest.approx(theirs, rel=0.05)


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (lambda: pd.DataFrame({"time": [0, 1], "rtt": [0.1, 0.1]}), "has no 'delivered'"),
        (lambda: pd.DataFrame({"time": [0, 1], "rtt": [0.1, 0.1], "delivered": [0, 1]}), "20 RTTs"),
        (lambda: pd.DataFrame({"time": [0, 1], "rtt": [0.0, 0.0], "delivered": [0, 1]}), "no RTT"),
        (lambda: run_of(tc.Flow("reno", size=10)), "never sent for"),
    ],
)
def test_a_trace_that_cannot_be_used_is_named(trace, words):
    with pytest.raises(tc.TcpccError, match=words):
        tc.calibrate(trace())


@pytest.fixture(scope="module")
def acks():
    """Every ACK of a CUBIC flow over 10 Mb/s, 40 ms and 40 packets."""
    net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=40)
    run = tc.simulate(tc.Scenario(net, tc.Flow("cubic"), duration=16), trace=True)
    trace = run.trace()
    acks = trace[trace["event"].isin(["ack", "dupack"])].dropna(subset=["value"])
    return pd.DataFrame(
        {"time": acks["time"], "rtt": acks["value"], "delivered": acks["seq"].cummax()}
    )


@pytest.mark.parametrize("interval", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("stalls", [0, 1, 3])
@pytest.mark.parametrize("length", [0.15, 0.44])
def test_a_stall_of_the_sender_is_no_queue(acks, interval, stalls, length):
    """ACKs that arrive during a stall are read at its end, and their RTTs are larger by as much."""
    table = acks.copy()
    for begin in np.linspace(3.3, 14.7, stalls):
        waits = (table["time"] >= begin) & (table["time"] < begin + length)
        late = begin + length - table["time"][waits]
        table.loc[waits, "rtt"] += late
        table.loc[waits, "time"] += late
    if interval:
        table = table.groupby(np.ceil(table["time"] / interval) * interval).last()
        table["time"] = table.index
        table.index.name = None
    path = tc.calibrate(table, packet_size=1000)
    assert path.rate == pytest.approx(10e6, rel=0.05)
    assert path.buffer == pytest.approx(40, rel=0.1)
    assert path.cross < 0.05 * path.rate
