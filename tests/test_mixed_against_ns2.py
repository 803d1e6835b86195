"""Vegas and Reno flows together beside ns-2, packet by packet: the thesis' Tables 3.1 to 4.2.

With RED as well: the queue's stream of random numbers is put where ns-2's only one stands when the
flows start, the senders' clocks are those that ns-2 has drawn from it before, and every drop of
100 s falls on the same packet at the same time.
"""

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import tcpcc as tc
from experiments.red_fairness import scenarios as s
from experiments.red_fairness.tables import highest_sequence
from tcpcc.engine.streams import STREAM_FIELDS, uniform
from tcpcc.models import queue_memory
from tcpcc.results.recording import EVENTS

pytestmark = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")

SCRIPT = Path(__file__).parent / "ns2" / "mixed.tcl"
COLUMNS = [(table, mix) for table, columns in s.TABLES.items() for mix in columns.mixes]
FIELDS = [name for name, _ in STREAM_FIELDS]
Q_WEIGHT = {"A": -1, "B": 0.002}
LINTERM = {"A": 10, "B": 15}


class Stream:
    """ns-2's random numbers: MRG32k3a from a state of ones (its seed 1)."""

    def __init__(self):
        self.state = SimpleNamespace(**dict.fromkeys(FIELDS, 1))

    def draw(self):
        return uniform(self.state)

    def phases(self, kinds):
        """Each agent draws its clock's phase when it is made (Vegas twice) and when it is reset."""
        for kind in kinds:
            for _ in range(2 if kind == "V" else 1):
                self.draw()
        return [s.TICK * self.draw() for _ in kinds]

    def hand_over(self, record, seed, name):
        """In place of ``seed_stream``."""
        for field in FIELDS:
            record[field] = getattr(self.state, field)


def in_ns2(table, mix, folder, setting=None):
    """(arrivals, highest sequence numbers, timeouts, drops as (time in us, flow, seq))."""
    t = s.TABLES[table]
    access = (10, 0.4) if t.small else (50, 1)
    words = [t.mixes[mix], t.rate / 1e6, 40, t.buffer, *access, 100, folder / "trace"]
    if setting is not None:
        words += [*t.thresholds, LINTERM[setting], Q_WEIGHT[setting]]
    done = subprocess.run(
        ["ns", str(SCRIPT), *map(str, words)], capture_output=True, text=True, check=True
    )
    found = {}
    for line in done.stdout.splitlines():
        name, _, value = line.split()
        found.setdefault(name, []).append(int(value))
    drops = []
    for line in (folder / "trace").read_text().splitlines():
        event, time, *_, flow, _, _, seq, _ = line.split()
        if event == "d":
            drops.append((round(float(time) * 1e6), int(flow), int(seq)))
    return found["arrivals"][0], found["last"], found["timeouts"], drops


def in_ours(scenario):
    run = tc.simulate(scenario, trace=True)
    events = run.events[run.events["event"] == EVENTS.index("drop")]
    drops = [(float(e["time"]), int(e["flow"]), int(e["seq"])) for e in events]
    return (
        int(run.data["arrived"].isel(link=0).sum()),
        highest_sequence(run).isel(time=-1).astype(int).values.tolist(),
        run.data["timeouts"].astype(int).values.tolist(),
        [(round(time * 1e6), flow, seq) for time, flow, seq in drops],
    )


def same_drops(ours, theirs):
    """The same packets, at times that differ by the six digits of ns-2's trace at most."""
    assert [drop[1:] for drop in ours] == [drop[1:] for drop in theirs]
    assert all(abs(a[0] - b[0]) <= 10 for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(("table", "mix"), COLUMNS)
def test_drop_tail_is_equal_to_the_packet(table, mix, tmp_path):
    *ours, dropped = in_ours(s.mixed(table, mix, "drop-tail"))
    *theirs, there = in_ns2(table, mix, tmp_path)
    assert ours == theirs
    same_drops(dropped, there)


@pytest.mark.parametrize("setting", s.RED_SETTINGS)
@pytest.mark.parametrize(("table", "mix"), COLUMNS)
def test_red_is_equal_to_the_packet(table, mix, setting, tmp_path, monkeypatch):
    scenario = s.mixed(table, mix, "RED", setting=setting)
    stream = Stream()
    flows = [
        flow.replace(transport=flow.transport.replace(clock_phase=phase))
        for flow, phase in zip(
            scenario.flows, stream.phases(s.TABLES[table].mixes[mix]), strict=True
        )
    ]
    monkeypatch.setattr(queue_memory, "seed_stream", stream.hand_over)
    *ours, dropped = in_ours(scenario.replace(flows=flows))
    *theirs, there = in_ns2(table, mix, tmp_path, setting)
    assert ours == theirs
    same_drops(dropped, there)
