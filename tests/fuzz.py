"""Random scenarios, random calls of rules, random bytes where files are read:
`python tests/fuzz.py SCENARIOS [SEED]`.

Each scenario is drawn over all controllers, queues, recoveries, senders, topologies, workloads,
applications, and changes of links and receive windows, outages among them. Nothing may crash or
break an invariant in any model: packets are conserved, numbers are not negative, a queue stays
within its buffer, both drivers and a streamed run give the same bits. A model may refuse a scenario
in one line. For each scenario a controller's rules are called a hundred times, in any order with
any sample that could be: its window stays a positive number. What a file reader is given must be
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
OTHERS = (
    {"trains": 16}, {"model": "fluid"}, {"model": "hybrid"}, {"model": "hybrid", "steps": 20},
)  # fmt: skip
"""Options of `tc.simulate` for the models beside packets one by one."""


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
    controller = draw.choice(CONTROLLERS.names())
    states = CONTROLLERS[controller].numbers
    amount = {"size": draw.choice([None, draw.randint(1, 1000)])}
    if draw.random() < 0.3:
        times = sorted(draw.uniform(0, 3) for _ in range(draw.randint(1, 4)))
        amount = {"writes": [(time, draw.randint(1, 200)) for time in times]}
    record = draw.random() < 0.8
    return tc.Flow(
        controller,
        start=draw.uniform(0, 2),
        **amount,
        recovery=draw.choice(RECOVERIES.names()),
        packet_size=draw.randint(100, 1500),
        transport=sender(draw),
        processing=draw.choice([0, draw.uniform(0, 0.01)]),
        background=draw.random() < 0.3,
        record=draw.sample(states, 1) if states and record and draw.random() < 0.3 else record,
    )


def sender(draw: random.Random) -> tc.Transport:
    """A preset, with other settings now and then."""
    make = draw.choice([tc.Transport, tc.Transport, tc.Transport.linux, tc.Transport.ns2])
    settings = {
        "initial_window": draw.randint(1, 20),
        "ecn": draw.choice(["off", "classic", "accurate", "l4s"]),
        "delayed_ack": draw.choice([0, draw.uniform(0.01, 0.2)]),
        "rwnd": draw.choice([math.inf, draw.randint(1, 100)]),
        "idle_restart": draw.random() < 0.5,
        "min_rto": draw.uniform(0.01, 1),
    }
    chosen = draw.sample(list(settings), draw.randint(0, 3))
    return make(**{name: settings[name] for name in chosen})


def change(draw: random.Random, links: list[str], flows: list[str]) -> tc.Change:
    """One or more of a link's fields, a rate of 0 now and then; or a receive window."""
    if flows and draw.random() < 0.2:
        return tc.Change(draw.uniform(0, 3), flow=draw.choice(flows), rwnd=draw.randint(1, 200))
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
    workloads = [tc.workloads.web("reno", rate=draw.uniform(0.1, 5))] if draw.random() < 0.2 else []
    net = network(draw)
    links = [link.name for link in net.links if math.isfinite(link.buffer)]  # not those of ACKs
    flows = [flow(draw) for _ in range(draw.randint(1, 6))]
    flows = [one.replace(name=f"f{k}") for k, one in enumerate(flows)]
    names = [one.name for one in flows if isinstance(one, tc.Flow)]
    changes = [change(draw, links, names) for _ in range(draw.randint(1, 5))]
    return tc.Scenario(
        net,
        flows,
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
    for options in OTHERS:
        complaint = ""
        try:
            other = tc.simulate(one, **options)
        except tc.ScenarioError as error:
            complaint = str(error)
        except Exception as error:
            error.add_note(str(options))
            raise
        assert "\n" not in complaint, f"{options}: more than a line: {complaint}"
        if complaint:
            continue
        everyone = other.totals()
        most = everyone["sent"] * (1 + 1e-9) + 1e-6
        assert (everyone["delivered"] <= most).all(), f"{options}: more has arrived than was sent"
        for name in ("sent", "delivered", "dropped", "queue", "arrived", "drops", "cwnd", "rtt"):
            assert not bool((other.data[name] < -1e-6).any()), f"{options}: {name} is negative"
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
