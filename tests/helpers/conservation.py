"""Conservation, checked at the end of each simulated run of the tests (`conftest.conservation`).

For each flow sent = arrived + dropped + in flight, data and ACKs together, counted one by one, in
the packet model, with trains too, and in the hybrid. At each link arrived = dropped + sent + held
in the record, and no link sends more than its rate allows.
"""

import dataclasses
import math

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.models.trains import train_records as trains
from tcpcc.models.trains.train_world import TrainWorld
from tcpcc.results.recording import capacities


def in_trains(world):
    """Packets and ACKs on their way, by flow."""
    packets = np.zeros(len(world.flows), np.int64)
    for line in (*world.lines, *world.acks):
        place = line["head"]
        while place:
            packets[world.trains[place]["flow"]] += world.trains[place]["count"]
            place = world.trains[place]["after"]
    return packets


def check_packets(world):
    """Exact for all flows together; one by one where no packet waits in the pool."""
    tcp, flows, cbr = world.tcp, world.flows, world.cbr
    in_lanes = np.zeros(len(flows), np.int64)
    for i, lane in enumerate(world.paths.lanes):
        if lane["flight_tail"] > lane["flight_head"]:
            ring = world.rings.arrays["flight", i]
            places = np.arange(lane["flight_head"], lane["flight_tail"]) % len(ring)
            in_lanes += np.bincount(ring["flow"][places], minlength=len(flows))
    if isinstance(world, TrainWorld):
        in_lanes += in_trains(world)
    made = tcp["sent"] + flows["acks_sent"]
    gone = tcp["arrived"] + flows["inbound"] + flows["dropped"] + tcp["outbox_count"]
    made[: len(cbr)] += cbr["sent"]
    gone[: len(cbr)] += cbr["arrived"]
    rest = made - gone - in_lanes
    in_pool = len(world.pool.packets) - 1 - int(world.w["n_free"][0])
    assert (rest >= 0).all(), f"flows {np.flatnonzero(rest < 0)}: more has arrived than was sent"
    assert rest.sum() == in_pool, (
        f"{rest.sum()} packets are neither delivered, dropped nor on a way"
    )
    assert (tcp["arrived"] == tcp["delivered"] + tcp["duplicates"]).all()
    if world.conversations is None:
        sums = {name: world.flow_bins[name].sum() for name in ("sent", "dropped", "acks_dropped")}
        assert sums["sent"] == tcp["sent"].sum() + cbr["sent"].sum(), "the record of what was sent"
        lost = sums["dropped"] + sums["acks_dropped"]
        assert lost <= flows["dropped"].sum(), "the record of what was dropped"


def check_links(world, until):
    """At each recorded link arrived = dropped + sent + held, in packets and within one packet.

    A link of trains holds a fluid: a packet more for each train that is arriving, and for each
    packet that a packet stands for.
    """
    duration = world.scenario.duration
    if until < duration:  # the bins have transmissions that end later
        return
    ends = np.minimum(world.scenario.interval * np.arange(1, world.n_bins + 1), duration)
    resolved = dataclasses.replace(
        world.resolved, changes=(*world.resolved.changes, *world.schedule.by_hand)
    )
    most = capacities(resolved, ends)
    for column, i in enumerate(world.recorded):
        name = world.resolved.links[i].name
        bins, link = world.link_bins[column], world.links[world.paths.row_of[i]]
        capacity = most[:, column]
        assert (bins["sent_bits"] <= capacity * (1 + 1e-9) + 1e-3).all(), f"{name}: above its rate"
        assert (bins["sent_bits"] >= -1e-3).all(), f"{name}: a negative amount sent"
        assert bins["arrived"].sum() <= link["arrived"], f"{name}: the record of arrivals"
        assert bins["drops"].sum() <= link["dropped"], f"{name}: the record of drops"
        data, small, n_small = sizes_on(world, i)
        if data is None:
            continue
        in_link = bins["arrived"].sum() - bins["drops"].sum() - bins["sent_bits"].sum() / 8 / data
        least, held = held_at(world, i, link, duration, data)
        saved = (1 - small / data) * n_small  # smaller packets count as less than one
        assert least - 1.01 <= in_link <= held + saved + 1.01, (
            f"{name}: {in_link:.3f} packets have arrived and were neither dropped nor sent;"
            f" it holds {least:.3f} to {held:.3f}, and {n_small} small ones passed"
        )


def sizes_on(world, i):
    """Size of data packets on link `i` (None: several), of SYNs, and how many SYNs at most."""
    sizes, small, n_small = set(), math.inf, 0
    for number, flow in enumerate(world.resolved.flows):
        count = flow.spec.count
        if i in flow.forward:
            sizes.add(flow.spec.packet_size)
            if flow.is_tcp and flow.spec.transport.handshake:
                small = min(small, flow.spec.ack_size)
                n_small += count * (1 + int(world.tcp["timeouts"][number]))
        if i in flow.reverse:
            sizes.add(flow.spec.ack_size)
    for load in world.resolved.workloads:
        if i in load.kinds[0].forward or i in load.kinds[0].reverse:
            return None, 0, 0
    return (sizes.pop() if len(sizes) == 1 else None), small if n_small else 0, n_small


def held_at(world, i, link, duration, data):
    """Packets that link `i` holds at the end of the run, at least and at most."""
    if link["scheduled"]:
        held = int(link["stored"] + link["sending"])
        return held - 1, held
    if isinstance(world, TrainWorld):
        pool, lines = world.pools[i], world.lines
        at = world.paths.hops["link"] == address(world.links) + world.links.itemsize * i
        kinds = set(lines["kind"][at])
        if kinds == {trains.SHARED}:
            arriving = lines[at & (lines["arriving"] != 0)]
            part = sum(world.trains[line["head"]]["count"] for line in arriving)
            held = (pool["backlog"] + pool["pending"]) / pool["size"]
            # losses of trains that are on their way
            part = max(part, float(in_trains(world).sum()))
            return held - part - pool["each"], held + part + pool["each"]
        if kinds != {trains.SINGLE}:
            # a lone link counts a train as arrived that begins before the end of the run
            trains_on_way = float(in_trains(world).sum())
            return -trains_on_way, math.inf
    ring = world.rings.arrays.get(("queue", i))
    if ring is None:
        return 0, math.inf
    waiting = np.arange(link["queue_head"], link["queue_tail"]) % len(ring)
    late = ring["leaves"][waiting] > duration
    # packets are handled before they arrive: one that arrives after the end has removed those that
    # began between the end and its arrival
    removed = 0
    if late.all() and link["arrived"] > world.link_bins[world.recorded.index(i)]["arrived"].sum():
        first = ring["leaves"][waiting[0]] if len(waiting) else link["busy_until"]
        removed = max(first - duration, 0) * link["rate"] / (8 * data)
    return 0, np.count_nonzero(late) + removed + 1
