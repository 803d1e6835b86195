"""Random scenarios, random calls of rules, random bytes where files are read:
`python tests/fuzz.py SCENARIOS [SEED]`.

Each scenario is drawn over all controllers, queues, recoveries, topologies, workloads and changes
of links, outages among them. Nothing may crash or break an invariant: packets are conserved,
numbers are not negative, a queue stays within its buffer, both drivers and a streamed run give the
same bits. For each scenario a controller's rules are called a hundred times, in any order with any
sample that could be: its window stays a positive number. What a file reader is given must be
answered with a value or one line.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
import warnings
from pathlib import Path

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.queues import QUEUES
from tcpcc.transport.recovery import RECOVERIES

CALLS = 100  # of a controller's rules for each scenario
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
        chance = {"jitter": draw.uniform(0, 0.05), "reordering": draw.random() < 0.5}
        return tc.dumbbell(**settings, queue=queue, **(chance if draw.random() < 0.3 else {}))
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
        processing=draw.choice([0, draw.uniform(0, 0.01)]),
        record=draw.random() < 0.8,
    )


def change(draw: random.Random, links: list[str]) -> tc.Change:
    """One or more of a link's fields at some time; a rate of 0 now and then."""
    values = {
        "rate": draw.choice([0, draw.uniform(1e5, FASTEST)]),
        "delay": draw.uniform(1e-3, 0.1),
        "buffer": draw.randint(1, 100),
        "loss": draw.choice([0, draw.uniform(0, 0.1)]),
        "jitter": draw.choice([0, draw.uniform(0, 0.05)]),
    }
    chosen = draw.sample(list(values), draw.randint(1, 3))
    return tc.Change(
        draw.uniform(0, 3), draw.choice(links), **{name: values[name] for name in chosen}
    )


def scenario(draw: random.Random) -> tc.Scenario:
    workloads = [tc.web("reno", rate=draw.uniform(0.1, 5))] if draw.random() < 0.2 else []
    net = network(draw)
    links = [link.name for link in net.links if math.isfinite(link.buffer)]  # not those of ACKs
    changes = [change(draw, links) for _ in range(draw.randint(1, 5))]
    return tc.Scenario(
        net,
        [flow(draw) for _ in range(draw.randint(1, 6))],
        duration=draw.uniform(3, 8),
        seed=draw.randrange(1000),
        workloads=workloads,
        changes=changes if draw.random() < 0.3 else (),
    )


def check(one: tc.Scenario, both: bool, folder: Path) -> None:
    """Run it, with `both` drivers and streamed; AssertionError for an invariant that is broken."""
    run = tc.simulate(one)
    everyone = run.totals()
    assert (everyone["sent"] >= everyone["delivered"]).all(), "more has arrived than was sent"
    totals = run.data[["sent", "delivered", "dropped"]].sum("time")
    left = totals["sent"] - totals["delivered"] - totals["dropped"]
    assert bool((left >= 0).all()), "more has arrived or was dropped than was sent"
    for name in ("sent", "delivered", "dropped", "queue", "arrived", "drops", "cwnd", "rtt"):
        assert not bool((run.data[name] < 0).any()), f"{name} is negative"
    for link in run.links:
        rooms = [c.buffer for c in one.changes if c.link == link and c.buffer is not None]
        buffer = max([*rooms, *(x.buffer for x in one.resolve().links if x.name == link)])
        assert run.queue_max(link=link) <= buffer, f"the queue of {link} is beyond its buffer"
    if both:
        streamed = tc.simulate(one, stream=folder / "stream.nc")
        assert run.identical(streamed), "the streamed run differs"
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


def check_rules(draw: random.Random, calls: int) -> None:
    """Call the rules of a controller so often, with samples such as a sender may give."""
    controller = CONTROLLERS[draw.choice(CONTROLLERS.names())]
    s, p, a = controller.example()
    s.cwnd, s.ssthresh = draw.uniform(1, 100), draw.choice([math.inf, draw.uniform(2, 100)])
    base = draw.uniform(1e-3, 0.5)
    a.now, a.base_rtt, a.max_rtt = 0.0, base * draw.uniform(1, 2), base
    rules = {name: rule for name, rule in controller.rules.items() if rule is not None}
    for _ in range(calls):
        name = draw.choices(list(rules), [20 if n == "on_ack" else 1 for n in rules])
        rule = name[0]
        at_loss = rule in ("on_loss", "on_timeout")
        a.now += draw.expovariate(1 / base)
        a.rtt = 0.0 if at_loss or draw.random() < 0.1 else base * draw.uniform(1, 5)
        if a.rtt > 0:
            a.base_rtt, a.max_rtt = min(a.base_rtt, a.rtt), max(a.max_rtt, a.rtt)
        for field in ("srtt", "round_rtt", "round_min_rtt", "round_time", "rate_interval"):
            setattr(a, field, draw.uniform(a.base_rtt, max(a.max_rtt, a.base_rtt)))
        a.acked, a.delivered = (0.0, 0.0) if at_loss else (1.0, float(draw.randint(1, 3)))
        a.window = max(s.cwnd, 1.0)
        a.inflight = a.round_packets = a.pipe = a.lost_inflight = max(a.window // 1, 1.0)
        a.total_delivered += a.delivered
        a.rate_delivered = float(draw.randint(1, 10))
        a.delivery_rate = a.rate_delivered / a.rate_interval
        a.transmits = 1.0 if at_loss else 0.0
        a.limited, a.app_limited = float(draw.random() < 0.1), float(draw.random() < 0.1)
        a.owd = a.rtt / 2
        rules[rule](s, p, a)
        window = f"{controller.name}, {rule}: cwnd = {s.cwnd}, ssthresh = {s.ssthresh}"
        assert 0 < s.cwnd < math.inf, window
        assert s.ssthresh > 0, window


def fuzz(count: int, seed: int) -> None:
    """Draw and check so many scenarios. A failure tells its seed, and ends it when all are done."""
    warnings.simplefilter("ignore")
    failed: list[Exception] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + count):
            draw = random.Random(number)
            told = ""
            try:
                check_rules(draw, CALLS)
                one = scenario(draw)
                told = one.to_toml()
                check(one, number % 10 == 0, Path(folder))
                check_files(one, draw, Path(folder))
            except Exception as error:
                if not told and isinstance(error, tc.ScenarioError) and "\n" not in str(error):
                    continue  # such as a controller that needs another recovery
                error.add_note(f"fuzz seed {number}:\n{told}")
                failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {count} failed", failed)


if __name__ == "__main__":
    how_many, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    fuzz(how_many, first)
    print(
        f"{how_many} scenarios and {CALLS * how_many} calls of rules from seed {first}: none failed"
    )
