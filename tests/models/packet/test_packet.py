"""The packet model: packets are conserved, both drivers agree to the bit, and a network behaves
like an independent packet-by-packet simulation of it."""

import json
import math
from collections import Counter
from itertools import product
from pathlib import Path

import conservation
import numpy as np
import pytest
import simpy
from drivers import both_drivers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from new_process import printed
from traced import events

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.errors import ScenarioError
from tcpcc.models.packet import packet_records as records
from tcpcc.models.packet.handlers import run_events
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.queues import QUEUES
from tcpcc.queues.discipline import QueueSpec
from tcpcc.transport.recovery import RECOVERIES

# Topologies, each with flows that meet: the controller in question twice, Reno and a CBR source


def dumbbell(controller, queue):
    net = tc.dumbbell("2 Mbps", "10 ms", 15, queue=queue)
    return net, [
        tc.Flow(controller),
        tc.Flow(controller, start=0.3, packet_size=600, header=40),
        tc.Flow("reno", start=0.2, stop=2.5),
    ]


def access(controller, queue):
    net = tc.dumbbell("2 Mbps", "10 ms", 15, queue=queue, access_rate="8 Mbps", access_delay=0.001)
    return net, [
        tc.Flow(controller),
        tc.Flow(controller, start=0.3, access_delay=0.02),
        tc.Flow("reno", start=0.2, size=150),
        tc.CBR("300 kbps", on=[(0.1, 0.4), (0.5, None)]),
    ]


def chain(controller, queue):
    net = tc.chain(3, ["3 Mbps", "2 Mbps", "2 Mbps"], "5 ms", [20, 15, "12 kB"], queue=queue)
    return net, [
        tc.Flow(controller),
        tc.Flow(controller, start=0.3, source="r1"),
        tc.Flow("reno", start=0.1, recovery="newreno-steady"),
        tc.CBR("0.2 Mbps"),
    ]


def parking_lot(controller, queue):
    net = tc.parking_lot(3, "2 Mbps", "5 ms", 15, queue=queue, access_rate="20 Mbps")
    cross = [
        tc.Flow("reno", source=f"r{k}", target=f"r{k + 1}", start=0.1 * k, recovery="sack")
        for k in range(3)
    ]
    back = tc.Flow(controller, source="r3", target="r1", start=0.25)
    noise = tc.CBR("300 kbps", source="r1", target="r3", on=[(0.5, 1.5)])
    return net, [tc.Flow(controller), *cross, back, noise]


TOPOLOGIES = {f.__name__: f for f in (dumbbell, access, chain, parking_lot)}


def scenario(topology, controller="newreno", queue="droptail", *, seed=1, duration=3.0, **more):
    net, flows = TOPOLOGIES[topology](controller, QueueSpec(queue))
    return tc.Scenario(net, flows, duration=duration, seed=seed, **{"interval": 0.1} | more)


VARIANTS = {
    "delayed ACKs": (
        tc.dumbbell("2 Mbps", "10 ms", 12, access_rate="10 Mbps", access_delay=0.001),
        [
            tc.Flow("newreno", transport=tc.Transport(delayed_ack=0.1)),
            tc.Flow("vegas", transport=tc.Transport(delayed_ack=0.04, ack_every=3, abc_limit=2)),
        ],
        (),
    ),
    "random loss": (
        tc.dumbbell("4 Mbps", "10 ms", 30, loss=0.02),
        [tc.Flow("reno", recovery=name) for name in ("tahoe", "reno", "newreno", "sack")],
        (),
    ),
    "lost ACKs": (
        tc.dumbbell("2 Mbps", "10 ms", 20, reverse_buffer=4),
        [
            tc.Flow("newreno"),
            tc.Flow("reno", recovery="sack"),
            tc.CBR("2.1 Mbps", source="right", target="left"),
        ],
        (),
    ),
    "changes": (
        tc.dumbbell("2 Mbps", "10 ms", 20, queue=tc.queues.RED(min_thresh=3, max_thresh=9)),
        [tc.Flow("newreno"), tc.Flow("vegas"), tc.CBR("0.3 Mbps", on=[(0, 1), (1, 2)])],
        (
            tc.Change(0.5, "bottleneck", rate="1 Mbps"),
            tc.Change(1, "bottleneck", delay="30 ms", buffer=8),
            tc.Change(1, "bottleneck<", rate="100 kbps"),
            tc.Change(1.5, "bottleneck", queue={"max_p": 0.5, "min_thresh": 1}, loss=0.01),
            tc.Change(2, "bottleneck", rate="8 Mbps", delay="1 ms"),
        ),
    ),
    "odd transports": (
        tc.dumbbell("2 Mbps", "10 ms", "15 kB", access_rate="5 Mbps"),
        [
            tc.Flow("newreno", transport=tc.Transport(handshake=False, initial_window=90)),
            tc.Flow("vegas", transport=tc.Transport(rwnd=6, timestamps=True, tick=0)),
            tc.Flow("reno", transport=tc.Transport(max_burst=3, initial_window=10, tick=0.5)),
            tc.Flow("reno", recovery="newreno-steady", transport={"partial_deflation": False}),
        ],
        (),
    ),
}


def variant(name, duration=3.0, seed=1):
    net, flows, changes = VARIANTS[name]
    changes = [change for change in changes if change.at < duration]
    return tc.Scenario(net, flows, duration=duration, seed=seed, changes=changes, interval=0.1)


# The two drivers


IN_TURN = [
    (CONTROLLERS.names()[k % len(CONTROLLERS.names())], queue, topology, 1 + k % 2)
    for k, (queue, topology) in enumerate(product(QUEUES.names(), TOPOLOGIES))
]
"""Each queue in each topology, with controllers and seeds in turn."""


@pytest.mark.parametrize(("controller", "queue", "topology", "seed"), IN_TURN)
def test_drivers_agree_to_the_bit(controller, queue, topology, seed):
    """Every fourth controller has the default slow start, which is compiled with each anew."""
    assert {case[0] for case in IN_TURN} == set(CONTROLLERS.names())
    case = scenario(topology, controller, queue, seed=seed, duration=2.0)
    if CONTROLLERS.names().index(controller) % 4:
        flows = [
            f.replace(slow_start="standard") if isinstance(f, tc.Flow) else f for f in case.flows
        ]
        case = case.replace(flows=flows)
    run = both_drivers(case)
    assert len(run.events) > 500
    assert len(events(run, "drop")) > 0


@pytest.mark.parametrize("seed", [1, 7])
@pytest.mark.parametrize("name", VARIANTS)
def test_drivers_agree_to_the_bit_in_special_scenarios(name, seed):
    run = both_drivers(variant(name, seed=seed))
    assert len(events(run, "drop")) > 0


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_drivers_agree_to_the_bit_for_every_recovery(recovery):
    net = tc.dumbbell("2 Mbps", "10 ms", 12, loss=0.01)
    flows = [tc.Flow(c, recovery=recovery, start=0.2 * k) for k, c in enumerate(["reno", "vegas"])]
    both_drivers(tc.Scenario(net, flows, duration=5))


INTERPRETED = [
    ("dumbbell", "newreno", "droptail"),
    ("access", "tahoe", "red"),
    ("chain", "vegas", "red"),
    ("parking_lot", "quick_vegas", "droptail"),
    ("access", "reno", "connection_red"),
    ("chain", "newreno", "sred"),
    *((name,) for name in VARIANTS),
    ("random loss", "fluid"),
]


def fingerprint(name, *more):
    """The trace and the series of a short run, in a form that JSON stores without loss."""
    if name in VARIANTS:
        model = more[0] if more else "packet"
        run = tc.simulate(variant(name, duration=1.5), model, trace=model == "packet" or None)
    else:
        run = tc.simulate(scenario(name, *more, duration=0.7), trace=True)
    series = [run.data[name].values for name in ("cwnd", "queue", "busy", "dropped")]
    return [each.tobytes().hex() for each in (*series, run.events) if each is not None]


@pytest.mark.long
def test_interpreted_runs_agree_with_compiled_ones_to_the_bit():
    """`NUMBA_DISABLE_JIT=1`, Numba's own switch, makes all functions plain Python."""
    code = (
        "import json, sys; sys.path[:0] = sys.argv[1:]; import test_packet as t; "
        "from tcpcc.engine.jit import INTERPRETED; assert INTERPRETED; "
        "print(json.dumps([t.fingerprint(*case) for case in t.INTERPRETED]))"
    )
    here = Path(__file__).parent
    plain = printed(code, here, here.parents[1] / "helpers", env={"NUMBA_DISABLE_JIT": "1"})
    for case, expected in zip(INTERPRETED, json.loads(plain), strict=True):
        assert fingerprint(*case) == expected, case


# Determinism and streams


def test_the_seed_changes_only_random_numbers():
    lossy = [variant("random loss", seed=seed) for seed in (1, 2)]
    first, second = (tc.simulate(case, trace=True) for case in lossy)
    assert first.events.tobytes() != second.events.tobytes()
    plain = [scenario("dumbbell", seed=seed) for seed in (1, 2)]
    first, second = (tc.simulate(case, trace=True) for case in plain)
    assert first.events.tobytes() == second.events.tobytes()


def lanes(*flows):
    """Two separate pairs of nodes, both with loss and RED."""
    links = [
        tc.Link(
            src, dst, rate="4 Mbps", delay="10 ms", buffer=30, loss=0.01,
            queue=tc.queues.RED(min_thresh=3, max_thresh=9),
        )
        for src, dst in [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
    ]  # fmt: skip
    return tc.Scenario(tc.Network(links), flows, duration=10, interval=0.1)


def test_random_numbers_of_a_link_do_not_depend_on_other_links():
    """Random streams belong to links by name."""
    here = tc.Flow("newreno", source="a", target="b", name="here")
    there = tc.Flow("newreno", source="c", target="d", name="there", start=0.123)
    alone = tc.simulate(lanes(here), trace=True)
    for flows in ((here, there), (there, here)):
        together = tc.simulate(lanes(*flows), trace=True)
        for field in ("time", "event", "seq"):
            kinds = ("send", "retransmit", "ack", "drop")
            mine = events(together, *kinds, flow="here")[field]
            assert mine.tobytes() == events(alone, *kinds, flow="here")[field].tobytes()


def test_random_loss_has_its_probability():
    """Of 30,000 packets on an empty path a share of p is lost, within three standard errors."""
    net = tc.dumbbell("10 Mbps", "1 ms", 1000, loss=0.03)
    run = tc.simulate(tc.Scenario(net, [tc.CBR("4 Mbps")], duration=60), trace=True)
    n, lost = len(events(run, "send")), len(events(run, "drop"))
    assert n == pytest.approx(30000, abs=1)
    assert abs(lost - 0.03 * n) < 3 * math.sqrt(0.03 * 0.97 * n)


# Conservation


EVERYWHERE = [*product(TOPOLOGIES, ["newreno"], QUEUES.names()), *((name,) for name in VARIANTS)]


@pytest.mark.parametrize("case", EVERYWHERE, ids=", ".join)
def test_packets_are_conserved_at_any_time(case):
    """Also the numbers that sender and receiver of a flow keep agree."""
    world = PacketWorld(variant(*case) if len(case) == 1 else scenario(*case))
    for until in np.linspace(0.01, 3, 40):
        while run_events(world.address, until):
            world.grow()
        conservation.check_packets(world)
        tcp = world.tcp[(world.flows["kind"] == 0) & (world.tcp["sent"] > 0)]
        assert (tcp["sent"] - tcp["retransmitted"] == tcp["max_seq"] + 1).all()
        assert (tcp["expected"] - 1 <= tcp["highest"]).all()
        assert (tcp["highest"] <= tcp["max_seq"]).all()
        assert (tcp["high_ack"] <= tcp["expected"] - 1).all()
        assert (tcp["high_ack"] < tcp["next_seq"]).all()
        assert (tcp["next_seq"] <= tcp["max_seq"] + 1).all()
    assert world.links["dropped"].sum() > 0


def waiting(sent, link, until):
    """How many 1000-byte packets of a flow would still be queued at `link` at time `until` if the
    flow had the link alone."""
    times, each = np.sort(sent["time"]), 8000 / link.rate
    steps = each * np.arange(1, len(times) + 1)
    left = steps + np.maximum.accumulate(times - steps + each)
    return int((left > until).sum())


@settings(max_examples=12)
@given(
    st.sampled_from(list(TOPOLOGIES)),
    st.sampled_from(CONTROLLERS.names()),
    st.sampled_from(QUEUES.names()),
    st.floats(0.6, 3),
)
@example("parking_lot", "hybla", "adaptive_red", 3.0)
def test_record_and_trace_account_for_all_packets_at_any_end(topology, controller, queue, duration):
    """From the record and the trace alone: packets that are neither delivered nor dropped fit into
    the path, and no packet arrives that was not sent."""
    case = scenario(topology, controller, queue, duration=duration, interval=duration / 10)
    run = tc.simulate(case, trace=True)
    assert (np.diff(run.events["time"]) >= 0).all()
    assert 0 <= run.events["time"].min() <= run.events["time"].max() <= duration
    total = run.data[["sent", "delivered", "dropped", "acks_dropped"]].sum("time")
    resolved = case.resolve()
    for i, flow in enumerate(resolved.flows):
        name = flow.name
        sent = events(run, "send", "retransmit", flow=name)
        delivered = events(run, "deliver", flow=name)
        drops = events(run, "drop", flow=name)
        data_drops = drops[np.isin(drops["value"], flow.forward)]
        assert total["sent"].values[i] == len(sent)
        assert total["dropped"].values[i] == len(data_drops)
        assert total["acks_dropped"].values[i] == len(drops) - len(data_drops)
        syn = flow.controller is not None and len(delivered) > 0
        assert total["delivered"].values[i] == len(delivered) - syn
        assert len(set(delivered["seq"])) == len(delivered)
        left = Counter(sent["seq"])
        left.subtract(delivered["seq"])
        left.subtract(data_drops["seq"])
        assert min(left.values(), default=0) >= 0
        room = sum(
            (link.buffer if math.isfinite(link.buffer) else 1000 + waiting(sent, link, duration))
            + link.rate * link.delay / 4000
            for link in (resolved.links[k] for k in flow.forward)
        )
        duplicates = int(np.sum([n for seq, n in left.items() if seq in delivered["seq"]]))
        assert sum(left.values()) - duplicates <= room
    for link in run.links:
        shares = run.data.sel(link=link)
        gone = float(shares["arrived"].sum() - shares["drops"].sum())
        assert float(shares["sent_bits"].sum()) / 8 <= gone * 1000 + 1e-6


# An independent simulation of one link


def fifo(sends, rate, delay, buffer, size):
    """Lindley's recursion for a drop-tail queue of `buffer` packets, including the packet being
    sent: delivery time (NaN if dropped) and waiting time of each packet."""
    free, starts, out, waits = -math.inf, [], [], []
    for time in sends:
        starts = [start for start in starts if start >= time]
        if len(starts) + (free >= time) >= buffer:
            out.append(math.nan)
            waits.append(math.nan)
            continue
        start = max(time, free)
        if start > time:
            starts.append(start)
        free = start + 8 * size / rate
        out.append(free + delay)
        waits.append(start - time)
    return np.array(out), np.array(waits)


@pytest.fixture(scope="module")
def single_link():
    """Two flows without a handshake and a CBR source on one link, all of 1000-byte packets."""
    transport = tc.Transport(handshake=False)
    flows = [
        tc.Flow("newreno", transport=transport),
        tc.Flow("vegas", start=0.5, transport=transport),
        tc.CBR("0.5 Mbps", on=[(2, 4), (6, 8)]),
    ]
    net = tc.dumbbell("2 Mbps", "10 ms", 12)
    return tc.simulate(tc.Scenario(net, flows, duration=10, interval=0.1), trace=True)


def test_deliveries_and_drops_are_those_of_an_independent_fifo(single_link):
    sends = events(single_link, "send", "retransmit")
    out, _ = fifo(sends["time"], 2e6, 0.01, 12, 1000)
    dropped = np.isnan(out)
    drops = events(single_link, "drop")
    assert dropped.sum() > 20
    assert list(zip(drops["flow"], drops["seq"], strict=True)) == list(
        zip(sends["flow"][dropped], sends["seq"][dropped], strict=True)
    )
    first = {}
    for flow, seq, time in zip(
        sends["flow"][~dropped], sends["seq"][~dropped], out[~dropped], strict=True
    ):
        first.setdefault((flow, seq), time)
    delivered = events(single_link, "deliver")
    expected = [first[int(flow), int(seq)] for flow, seq in delivered[["flow", "seq"]]]
    assert delivered["time"] == pytest.approx(np.array(expected), rel=1e-12)


def test_the_recorded_queue_is_the_sum_of_the_waiting_times(single_link):
    """Little's law: the integral of the queue is the total waiting time of the packets."""
    sends = events(single_link, "send", "retransmit")
    out, waits = fifo(sends["time"], 2e6, 0.01, 12, 1000)
    taken = ~np.isnan(out)
    begin, end = sends["time"][taken], sends["time"][taken] + waits[taken]
    for k, ends in enumerate(single_link.data["time"].values):
        inside = np.clip(end, ends - 0.1, ends) - np.clip(begin, ends - 0.1, ends)
        assert single_link.data["queue"].values[k, 0] == pytest.approx(
            inside.sum() / 0.1, rel=1e-9, abs=1e-9
        )
    sending = np.minimum(end + 0.004, 10) - np.minimum(end, 10)
    assert single_link.data["busy"].sum() * 0.1 == pytest.approx(sending.sum())
    assert single_link.data["sent_bits"].sum() == pytest.approx(sending.sum() * 2e6)
    assert single_link.data["arrived"].sum() == len(sends)
    assert single_link.data["drops"].sum() == (~taken).sum()
    assert single_link.queue_max() == 11


def test_the_last_bin_ends_with_the_run(single_link):
    """The last bin is shorter and counts no event after the end."""
    case = single_link.scenario.replace(interval=3)
    run = tc.simulate(case)
    assert list(run.data["time"].values) == [3, 6, 9, 10]
    for name in ("queue", "busy", "sent_bits", "arrived", "drops", "delivered", "sent"):
        fine, coarse = single_link.data[name].values, run.data[name].values
        sums = np.add.reduceat(fine, [0, 30, 60, 90])
        if name in ("queue", "busy"):
            sums /= np.array([30, 30, 30, 10])[:, None]
        assert coarse == pytest.approx(sums), name
    assert run.data["busy"].max() <= 1 + 1e-12


# Times


def test_a_receiver_has_one_timer_for_delayed_acks():
    """The event list holds at most one timer entry for the delayed ACKs of a receiver, and they are
    sent on time."""
    delay = 0.1
    flow = tc.Flow("newreno", size=201, transport=tc.Transport(delayed_ack=delay))
    sc = tc.Scenario(tc.dumbbell("10 Mbps", "20 ms", 500), [flow], duration=20)
    world = PacketWorld(sc)
    timers = []
    for k in range(1, 2001):
        while run_events(world.address, k * 0.01):
            world.grow()
        kinds = world.schedule.heap["kind"][: world.w["heap_size"][0]]
        timers.append(np.count_nonzero(kinds == records.ACK_TIMER))
    assert max(timers) == 1
    run = tc.simulate(sc, trace=True)
    last = events(run, "deliver")[-1]["time"]
    last_ack = events(run, "ack")[-1]["time"]
    back = run.data["base_rtt"].item() / 2
    assert last_ack - last == pytest.approx(delay + back, abs=2e-3)


@pytest.mark.parametrize("topology", ["dumbbell", "access", "chain"])
def test_rtt_of_an_empty_path_is_propagation_plus_transmission(topology):
    nets = {
        "dumbbell": tc.dumbbell("2 Mbps", "10 ms", 15),
        "access": tc.dumbbell("2 Mbps", "10 ms", 15, access_rate="8 Mbps", access_delay=0.001),
        "chain": tc.chain(3, ["3 Mbps", "2 Mbps", "1 Mbps"], "5 ms", 20),
    }
    expected = {
        "dumbbell": 0.02 + (8000 + 320) / 2e6,
        "access": 0.024 + (8000 + 320) / 2e6 + 2 * (8000 + 320) / 8e6,
        "chain": 0.03 + sum((8000 + 320) / rate for rate in (3e6, 2e6, 1e6)),
    }
    flow = tc.Flow("reno", size=1, transport=tc.Transport(handshake=False))
    run = tc.simulate(tc.Scenario(nets[topology], [flow], duration=1), trace=True)
    (ack,) = events(run, "ack")
    assert ack["value"] == pytest.approx(expected[topology], rel=1e-14)
    assert ack["value"] == pytest.approx(run.data["base_rtt"].item(), rel=1e-14)
    assert run.data["finished"].item() == ack["time"]


def test_no_rtt_is_below_the_base_rtt():
    run = tc.simulate(scenario("parking_lot"), trace=True)
    for flow, base in zip(run.flows[:-1], run.data["base_rtt"].values[:-1], strict=True):
        _, *times = events(run, "ack", flow=flow)["value"]  # the SYN is shorter
        assert np.nanmin(times) >= base * (1 - 1e-12)


def test_flows_start_and_stop_at_the_given_times():
    run = tc.simulate(scenario("dumbbell", duration=5), trace=True)
    sent = events(run, "send", flow="reno3")["time"]
    assert sent[0] == 0.2
    assert sent[-1] <= 2.5
    assert math.isfinite(run.data["finished"].sel(flow="reno3").item())


@pytest.mark.parametrize(
    "on", [[(0, 1), (1, 2)], [(0, 0.5), (0.503, 1), (1.001, 2)], [(0.25, None)]]
)
def test_a_cbr_source_keeps_its_rate_while_it_is_on(on):
    """Also if it is switched off and on again before its next packet is due."""
    net = tc.dumbbell("10 Mbps", "10 ms", 50)
    run = tc.simulate(tc.Scenario(net, [tc.CBR("1 Mbps", on=on)], duration=3), trace=True)
    times = events(run, "send")["time"]
    expected = [
        begin + 0.008 * k
        for begin, end in on
        for k in range(math.ceil(((3 if end is None else end) - begin) / 0.008 - 1e-6))
    ]
    assert times == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize(("near", "dropped"), [(2.0**-10, 0), (2.0**-5, 0.5)])
def test_of_simultaneous_events_the_older_comes_first(near, dropped):
    """Packets arrive one transmission time apart at a link with room for one. If they left before
    that transmission began, they arrive before it ends, and every second one is dropped; if they
    left later, they find the link free. (Powers of 2, so that times are equal to the bit.)"""
    net = tc.dumbbell(2.0**20, 0.01, 1)
    source = tc.CBR(2.0**20, packet_size=1024, access_delay=near)
    run = tc.simulate(tc.Scenario(net, [source], duration=4))
    assert run.drop_rate(after=1) == pytest.approx(dropped, abs=0.01)


def test_of_simultaneous_packets_the_one_on_its_last_hop_longer_goes_first():
    """Also if the other one was forwarded ahead of time over a link of its own."""
    links = [
        tc.Link("a", "x", rate=math.inf, delay=4 / 64),
        tc.Link("x", "m", rate=math.inf, delay=1 / 64),  # begins at 4/64
        tc.Link("b", "m", rate=math.inf, delay=3 / 64),  # begins at 2/64
        tc.Link("m", "z", rate=2.0**20, delay=0.01, buffer=5),
    ]
    once = {"rate": 1000, "packet_size": 1024}
    flows = [
        tc.CBR(**once, path=["a", "x", "m", "z"]),
        tc.CBR(**once, path=["b", "m", "z"], on=[(2 / 64, None)]),
    ]
    run = tc.simulate(tc.Scenario(tc.Network(links), flows, duration=1), trace=True)
    assert events(run, "deliver")["flow"].tolist() == [1, 0]


# Changes


def test_a_shorter_delay_keeps_the_packet_order():
    net = tc.dumbbell("1 Mbps", "100 ms", 50)
    flow = tc.Flow("reno", size=20, transport=tc.Transport(handshake=False, initial_window=20))
    change = tc.Change(0.05, "bottleneck", delay="1 ms")
    run = tc.simulate(tc.Scenario(net, [flow], duration=1, changes=[change]), trace=True)
    delivered = events(run, "deliver")
    assert list(delivered["seq"]) == list(range(20))
    assert (np.diff(delivered["time"]) >= 0).all()


def test_a_smaller_buffer_drops_arrivals_not_queued_packets():
    net = tc.dumbbell("1 Mbps", "10 ms", 40)
    run = tc.simulate(
        tc.Scenario(
            net,
            [tc.CBR("2 Mbps")],
            duration=1,
            interval=0.05,
            changes=[tc.Change(0.2, "bottleneck", buffer=5)],
        )
    )
    assert run.data["drops"].sel(time=0.2, method="nearest") == 0
    assert run.data["queue_max"].values[-1] <= 4
    assert run.data["queue_max"].max() > 20


# Short cuts


@pytest.mark.parametrize("queue", QUEUES.names())
@pytest.mark.parametrize("topology", ["dumbbell", "chain", "parking_lot"])
def test_forwarding_without_events_changes_no_bit(topology, queue):
    """If only one link feeds the next, packets between them need no event. Links that a process may
    change have all events; no process changes them here, so the run must be the same."""
    case = scenario(topology, "newreno", queue)
    links = [link.replace(variable=True) for link in case.net.links]
    slow = tc.simulate(case.replace(net=case.net.replace(links=links)), trace=True)
    fast = tc.simulate(case, trace=True)
    assert fast.events.tobytes() == slow.events.tobytes()


# Growth


@pytest.mark.parametrize("driver", ["compiled", "simpy"])
def test_growing_rings_change_no_bit(driver, monkeypatch):
    """A window of thousands of packets in flight, queued and outstanding: the same run as with
    rings that are large enough from the beginning."""
    net = tc.dumbbell("100 Mbps", "100 ms", 4000, access_rate="400 Mbps", access_delay="1 ms")
    flows = [
        tc.Flow("newreno", transport=tc.Transport(initial_window=3000)),
        tc.Flow("reno", recovery="sack", start=0.05),
    ]
    case = tc.Scenario(net, flows, duration=2.5)
    small = tc.simulate(case, driver=driver, trace=True)
    assert small.data["cwnd"].max() > 4000
    assert small.queue_max() > 3000
    monkeypatch.setattr(records, "FIRST_RING", 2**15)
    large = tc.simulate(case, trace=True)
    assert small.events.tobytes() == large.events.tobytes()
    assert small.identical(large)


def test_three_hundred_flows_that_start_at_once():
    """Each flow has its own access links. Many are locked out: their timers expire together when
    the queue is full."""
    net = tc.dumbbell("30 Mbps", "10 ms", 300, access_rate="10 Mbps", access_delay="1 ms")
    case = tc.Scenario(net, [tc.Flow("newreno") for _ in range(300)], duration=2)
    run = both_drivers(case)
    assert (run.data["delivered"].sum("time") > 0).sum() > 200
    assert run.utilization(after=1) > 0.95


# A user's own SimPy environment


def variable_dumbbell(**more):
    there = tc.Link("a", "b", rate="1 Mbps", delay="10 ms", buffer=20, variable=True, **more)
    back = tc.Link("b", "a", rate="1 Mbps", delay="10 ms")
    return tc.Network([there, back], default_path=("a", "b"))


def user_scenario(duration=10.0, **more):
    flows = [tc.Flow("vegas"), tc.CBR("0.3 Mbps", on=[(7.5, None)], name="noise")]
    return tc.Scenario(variable_dumbbell(**more), flows, duration=duration, interval=0.1)


def test_a_process_watches_and_changes_the_network():
    env = simpy.Environment(initial_time=100.0)
    sim = tc.PacketSimulation(user_scenario(), env, trace=True)
    seen = []

    def experiment():
        yield env.timeout(3.0005)
        sim.set_link("a>b", rate="2 Mbps")
        yield env.timeout(2)
        sim.start("noise")
        yield env.timeout(1)
        sim.stop("noise")

    def watch():
        while True:
            yield env.timeout(0.0101)
            seen.append((sim.now, sim.cwnd("vegas1"), sim.queue_length("a>b")))
            # the model has handled the events up to now, and no others
            assert sim.world.w["now"][0] <= sim.now + 1e-9
            assert sim.world.schedule.heap["time"][0] >= sim.now - 1e-9

    env.process(experiment())
    env.process(watch())
    run = sim.run()
    assert env.now == pytest.approx(110)
    assert run.throughput(after=1, before=3).values == pytest.approx([1e6, 0], rel=0.02)
    assert run.throughput(after=4, before=5).values == pytest.approx([2e6, 0], rel=0.02)
    noise = events(run, "send", flow="noise")["time"]
    during = noise[noise < 7.5]
    assert during[0] == pytest.approx(5.0005)
    assert during[-1] <= 6.0005
    assert len(during) == pytest.approx(0.3e6 / 8000, abs=1)
    assert run.utilization(after=5) == pytest.approx(1, abs=0.02)
    times, windows, queues = np.array(seen).T
    assert len(times) == math.floor(10 / 0.0101)
    recorded = run.data["queue"].values[:, 0]
    assert queues.mean() == pytest.approx(recorded.mean(), abs=0.5)
    assert windows[-1] == pytest.approx(run.data["cwnd"].values[-1, 0], abs=1)
    assert sim.acknowledged("vegas1") == run.events["seq"][run.events["event"] == 2].max()


def test_changes_by_a_process_equal_scheduled_changes():
    """The same changes, scheduled or made by a process, give the same packets."""
    moments = {
        1.0003: {"rate": "2 Mbps"}, 2.0007: {"delay": "20 ms"}, 3.0001: {"buffer": 5},
        4.0009: {"loss": 0.05}, 5.0002: {"rate": "0.5 Mbps", "delay": "5 ms"},
    }  # fmt: skip
    case = user_scenario()
    scheduled = case.replace(changes=[tc.Change(at, "a>b", **x) for at, x in moments.items()])
    env = simpy.Environment()
    sim = tc.PacketSimulation(case, env, trace=True)

    def experiment():
        for at, what in moments.items():
            yield env.timeout(at - env.now)
            sim.set_link("a>b", **what)

    env.process(experiment())
    by_hand, by_plan = sim.run(), tc.simulate(scheduled, trace=True)
    assert by_hand.events.tobytes() == by_plan.events.tobytes()
    again = tc.simulate(by_hand.scenario, trace=True)  # the record replays the same network
    assert again.events.tobytes() == by_plan.events.tobytes()
    assert by_hand.data["capacity"].values == pytest.approx(by_plan.data["capacity"].values)


def test_a_change_by_a_process_keeps_scheduled_changes():
    red = tc.queues.RED(min_thresh=2, max_thresh=6)
    changes = [tc.Change(5, "a>b", queue={"max_p": 0.9, "min_thresh": 1, "max_thresh": 3})]
    env = simpy.Environment()
    sim = tc.PacketSimulation(user_scenario(queue=red).replace(changes=changes), env, trace=True)
    env.run(until=1)
    for _ in range(10):
        sim.set_link("a>b", rate="1 Mbps")
    by_hand = sim.run()
    planned = tc.simulate(user_scenario(queue=red).replace(changes=changes), trace=True)
    assert by_hand.events.tobytes() == planned.events.tobytes()


def test_a_partial_result_can_be_read_before_the_end():
    env = simpy.Environment()
    sim = tc.PacketSimulation(user_scenario(), env)
    env.run(until=4)
    part = sim.result()
    assert part.throughput(after=1, before=4).values[0] == pytest.approx(1e6, rel=0.02)
    assert part.data["cwnd"].sel(time=slice(4.2, None)).isnull().all()
    whole = sim.run()
    assert whole.identical(tc.simulate(user_scenario()))


def test_two_simulations_share_an_environment():
    env = simpy.Environment()
    sims = [tc.PacketSimulation(user_scenario(seed), env, trace=True) for seed in (8.0, 10.0)]
    env.run(until=11)
    for sim, duration in zip(sims, (8.0, 10.0), strict=True):
        alone = tc.simulate(user_scenario(duration), trace=True)
        assert sim.result().events.tobytes() == alone.events.tobytes()


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda sim: sim.set_link("b>a", rate=1e6), "link 'b>a' does not change: make it with var"),
        (lambda sim: sim.set_link("a>c", rate=1e6), "unknown link 'a>c': did you mean 'a>b'"),
        (lambda sim: sim.set_link("a>b", rate=-1), r"rate = -1: must be a non-negative"),
        (lambda sim: sim.set_link("a>b"), "changes nothing"),
        (lambda sim: sim.start("vegas1"), "flow 'vegas1': only a CBR source can be switched on"),
        (lambda sim: sim.stop("vegas"), "unknown flow 'vegas': did you mean 'vegas1'"),
        (lambda sim: sim.cwnd("noise2"), "unknown flow 'noise2': did you mean 'noise'"),
    ],
)
def test_mistakes_of_a_process_are_reported_in_one_line(act, says):
    sim = tc.PacketSimulation(user_scenario())
    with pytest.raises(ScenarioError, match=says) as error:
        act(sim)
    assert "\n" not in str(error.value)


def test_the_size_of_a_ring_changes_nothing(monkeypatch):
    """A ring that is full when a duplicate ACK allows one packet more loses no packet."""
    flow = tc.Flow("newreno", packet_size=100, transport={"handshake": False})
    cases = [
        tc.Scenario(tc.dumbbell("10 Mbps", "10 ms", buffer), [flow], duration=0.3)
        for buffer in range(2, 60)
    ]
    runs = [tc.simulate(case).data for case in cases]
    monkeypatch.setattr("tcpcc.models.packet.memory.packet_world.PacketWorld.first_ring", 4096)
    for case, run in zip(cases, runs, strict=True):
        assert np.array_equal(run["sent"], tc.simulate(case).data["sent"])
