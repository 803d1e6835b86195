"""The cost of a run of the packet model.

The slowest link of each path bounds the number of packets.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from tcpcc.errors import unknown
from tcpcc.models.estimates import (
    PER_ITEM,
    PER_SENDER,
    Estimate,
    Options,
    record_memory,
    sender_counts,
    workloads,
)
from tcpcc.models.layout import in_single_packets
from tcpcc.scenario.traffic import CBR, Flow

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow, Senders

PER_PACKET = {"compiled": 2e-7, "simpy": 2.5e-6}  # CPU s, measured with `tcpcc bench`
PER_PACKET_OF_TRAIN, PER_TRAIN = 1e-8, 4e-7  # CPU s
PER_OUTSTANDING = 250  # bytes of a packet in a window, on a link and in a queue; half-full rings
LEAST = 4  # packets that a flow has outstanding, however many flows there are
PER_EVENT = 160  # bytes of a packet's events in a trace
PER_TRANSFER = 2e-5  # CPU s of a workload's item, without its packets


def cost(
    scenario: Scenario,
    resolved: Resolved,
    options: Options,
    limits: Senders | None = None,
    model: str = "packet",
) -> Estimate:
    """Estimate a run of the packet model, packet by packet or in trains.

    In trains, links that change, that have a scheduler or ECN cost as much as packet by packet.

    Args:
        limits: senders of a flow with a count. Default: those of `options`.
        model: name in the estimate.

    Raises:
        ScenarioError: an unknown driver.
    """
    limits = limits or options.limits()
    if options.driver not in PER_PACKET:
        raise unknown("driver", options.driver, PER_PACKET)
    sent, outstanding = packets_sent(scenario, resolved, limits)
    items, carried = workloads(scenario, resolved)
    packets, flows = sent + carried, sum(sender_counts(resolved, limits))
    seconds = PER_PACKET[options.driver] * packets
    if options.trains > 0 and not in_single_packets(resolved, options.trains, scenario.duration):
        length = max(outstanding / max(flows, 1) / options.trains, 1)
        seconds = PER_PACKET_OF_TRAIN * packets + PER_TRAIN * (sent / length + carried)
    seconds += PER_TRANSFER * items + PER_SENDER * flows
    memory = record_memory(scenario, resolved, options, limits)
    memory += PER_OUTSTANDING * outstanding + PER_ITEM * items
    if options.trace and options.trains == 0:
        memory += PER_EVENT * packets
    return Estimate(model, packets, 0.0, seconds, memory)


def packets_sent(scenario: Scenario, resolved: Resolved, senders: Senders) -> tuple[float, float]:
    """Data packets sent in the whole run, and the largest number of outstanding packets.

    Of a flow with a count, those of at most so many `senders`. Flows share a link in proportion to
    the packets that each could send alone.
    """
    rates = [link.rate for link in resolved.links]
    for change in resolved.changes:
        if change.spec.rate is not None:
            rates[change.link] = max(rates[change.link], change.spec.rate)
    sent = 0.0
    # By slowest link: its capacity, packets that all flows could send, packets that the counted
    # flows could send; the sum of their windows, the largest, and the sum of the smallest windows.
    room: dict[int, float] = {}
    through: dict[int, float] = defaultdict(float)
    counted: dict[int, float] = defaultdict(float)
    together: dict[int, list[float]] = {}
    for flow, n_senders in zip(resolved.flows, sender_counts(resolved, senders), strict=True):
        spec = flow.spec
        narrow = min(flow.forward, key=lambda i: rates[i])
        per_second = rates[narrow] / (8 * spec.packet_size)
        if isinstance(spec, CBR):
            ends = (min(end or math.inf, scenario.duration) for _, end in spec.on)
            on = sum(end - begin for (begin, _), end in zip(spec.on, ends, strict=True))
            sent += on * spec.rate / (8 * spec.packet_size)
            continue
        active = min(spec.stop or math.inf, scenario.duration) - spec.start
        most, window = _one_flow(flow, spec, resolved, per_second, active)
        windows = together.setdefault(narrow, [0.0, 0.0, 0.0])
        windows[0] += window * n_senders
        windows[1] = max(windows[1], window)
        windows[2] += min(window, max(spec.transport.initial_window, LEAST)) * n_senders
        if math.isfinite(per_second):
            room[narrow] = per_second * scenario.duration
            through[narrow] += most * spec.count
            counted[narrow] += most * n_senders
        else:
            sent += most * n_senders
    share = {link: counted[link] / most if most > 0 else 0.0 for link, most in through.items()}
    sent += sum(min(most, room[link]) * share[link] for link, most in through.items())
    # Flows that share a link's buffer fill it once; each has a few more packets outstanding.
    outstanding = sum(
        min(total, largest * share.get(link, 1.0) + least)
        for link, (total, largest, least) in together.items()
    )
    return sent, outstanding


def _one_flow(
    flow: ResolvedFlow, spec: Flow, resolved: Resolved, per_second: float, active: float
) -> tuple[float, float]:
    """Packets that a flow with a controller sends in `active` s, and its largest window."""
    forward = [resolved.links[i] for i in flow.forward]
    rtt = sum(resolved.links[i].delay for i in (*flow.forward, *flow.reverse))
    rtt = max(rtt, 1 / per_second, 1e-9)
    size = spec.total
    offered = [c.spec.rwnd for c in resolved.changes if c.spec.flow == flow.name and c.spec.rwnd]
    first, rwnd = spec.transport.initial_window, max(spec.transport.rwnd, *offered, 1.0)
    buffers = sum(
        link.buffer / (spec.packet_size if link.buffer_unit == "bytes" else 1)
        for link in forward
        if math.isfinite(link.buffer)
    )
    window = 2 * (per_second * rtt + buffers)
    delivered = math.prod(1 - link.loss for link in forward)
    if delivered < 1:  # random losses bound the window
        window = min(window, 4 / math.sqrt(1 - delivered) + 0.2 / (1 - delivered))
    doublings = active / rtt
    grown = first * 2**doublings if doublings < 1000 else math.inf
    window = min(max(window, first), grown, rwnd, size)
    burst = min(first, rwnd, size)  # sent at once, at any link rate
    most = max(min(per_second * active, window * active / rtt, grown, size), burst)
    return most, min(window, most)


def is_short_run(scenario: Scenario, seconds: float) -> bool:
    """Whether a run certainly needs little memory and less than `seconds` of CPU time.

    The check is fast: it finds no routes.
    """
    if scenario.workloads or scenario.duration / scenario.interval > 10_000:
        return False
    if sum(flow.count for flow in scenario.flows) > 1000:
        return False
    bits = sum(link.rate for link in scenario.net.links)
    bits += sum((c.rate or 0.0) for c in scenario.changes)
    packets = 0.0
    for flow in scenario.flows:
        if isinstance(flow, CBR):
            packets += flow.rate * scenario.duration / (8 * flow.packet_size)
        elif flow.transport.initial_window > 10_000:
            return False
    smallest = min(flow.packet_size for flow in scenario.flows)
    packets += bits * scenario.duration / (8 * smallest)
    return packets < seconds / PER_PACKET["compiled"]
