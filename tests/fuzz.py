"""Random scenarios, and random bytes where files are read: `python tests/fuzz.py SECONDS [SEED]`.

Each scenario is drawn over all controllers, queues, recoveries, topologies and workloads. Nothing
may crash or break an invariant: packets are conserved, numbers are not negative, a queue stays
within its buffer, both drivers give the same bits. What a file reader is given must be answered
with a value or one line.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.queues import QUEUES
from tcpcc.transport.recovery import RECOVERIES

FASTEST = 20e6  # bit/s, so that a scenario takes a fraction of a second


def network(draw: random.Random) -> tc.Network:
    settings = {
        "rate": draw.uniform(1e5, FASTEST),
        "delay": draw.uniform(1e-3, 0.1),
        "buffer": draw.randint(1, 100),
    }
    queue = draw.choice(QUEUES.names())
    kind = draw.randrange(3)
    if kind == 0:
        return tc.dumbbell(**settings, queue=queue)
    make, fewest = (tc.chain, 1) if kind == 1 else (tc.parking_lot, 2)
    return make(draw.randint(fewest, 3), **settings, queue=queue)


def flow(draw: random.Random) -> tc.Flow | tc.CBR:
    if draw.random() < 0.1:
        return tc.CBR(draw.uniform(1e4, 1e7), packet_size=draw.randint(40, 1500))
    return tc.Flow(
        draw.choice(CONTROLLERS.names()),
        start=draw.uniform(0, 2),
        size=draw.choice([None, draw.randint(1, 1000)]),
        recovery=draw.choice(RECOVERIES.names()),
        packet_size=draw.randint(100, 1500),
        transport={"initial_window": draw.randint(1, 20)},
    )


def scenario(draw: random.Random) -> tc.Scenario:
    workloads = [tc.web("reno", rate=draw.uniform(0.1, 5))] if draw.random() < 0.2 else []
    return tc.Scenario(
        network(draw),
        [flow(draw) for _ in range(draw.randint(1, 6))],
        duration=draw.uniform(3, 8),
        seed=draw.randrange(1000),
        workloads=workloads,
    )


def check(one: tc.Scenario, both: bool) -> None:
    """Run it; raises AssertionError for an invariant that is broken."""
    run = tc.simulate(one)
    totals = run.data[["sent", "delivered", "dropped"]].sum("time")
    left = totals["sent"] - totals["delivered"] - totals["dropped"]
    assert float(left.min()) >= 0, "more has arrived or was dropped than was sent"
    for name in ("sent", "delivered", "dropped", "queue", "arrived", "drops", "cwnd", "rtt"):
        assert not bool((run.data[name] < 0).any()), f"{name} is negative"
    for link in run.links:
        buffer = next(x.buffer for x in one.resolve().links if x.name == link)
        assert run.queue_max(link=link) <= buffer, f"the queue of {link} is beyond its buffer"
    if both:
        assert run.identical(tc.simulate(one, driver="simpy")), "the drivers differ"


def damaged(draw: random.Random, whole: bytes) -> bytes:
    content = bytearray(whole)
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(content))
        if draw.random() < 0.5:
            content[at] = draw.randrange(256)
        else:
            del content[at : at + draw.randint(1, 20)]
    return bytes(content)


def check_files(one: tc.Scenario, draw: random.Random, folder: Path) -> None:
    """Damaged TOML and NetCDF give what they say, or one line."""
    toml, saved = folder / "x.toml", folder / "x.nc"
    toml.write_bytes(damaged(draw, one.to_toml().encode()))
    tc.simulate(tc.Scenario(one.net, [tc.Flow("reno")], duration=1)).save(saved)
    saved.write_bytes(damaged(draw, saved.read_bytes()))
    for read, file in ((tc.Scenario.load, toml), (tc.Run.load, saved)):
        complaint = ""
        try:
            read(file)
        except tc.TcpccError as error:
            complaint = str(error)
        assert "\n" not in complaint, f"{file.name}: more than a line: {complaint}"


def fuzz(seconds: float, seed: int) -> int:
    """Draw and check for so long; how many scenarios there were. A failure tells its seed."""
    end = time.monotonic() + seconds
    count = 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            draw = random.Random(seed + count)
            count += 1
            try:
                one = scenario(draw)
            except tc.ScenarioError as error:  # such as a controller that needs another recovery
                if "\n" in str(error):
                    raise
                continue
            try:
                check(one, both=count % 10 == 0)
                check_files(one, draw, Path(folder))
            except Exception as error:
                error.add_note(f"fuzz seed {seed + count - 1}:\n{one.to_toml()}")
                raise
    return count


if __name__ == "__main__":
    span, first = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(f"{fuzz(span, first)} scenarios from seed {first}, none failed")
