"""Where models are inaccurate, or a scenario is: warnings before a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpcc.errors import ModelWarning, ScenarioWarning, warn

if TYPE_CHECKING:
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

SMALL_WINDOW = 4  # packets
SMALL_WINDOW_BESIDE_DELAY = 8  # packets, of a controller that reads the delay


def warn_of_unread_headers(resolved: Resolved) -> None:
    """Warn of a flow with a header field that no queue on its path reads, such as XCP's."""
    for flow in resolved.rows:
        controller = flow.controller
        if controller is None or not controller.header:
            continue
        read = {n for i in flow.forward for n in resolved.links[i].queue.discipline.header}
        if unread := [name for name in controller.header if name not in read]:
            warn(
                f"flow {flow.name!r}: no queue on its path reads the header fields"
                f" {', '.join(unread)} of controller {controller.name!r}: it gets no answer from a"
                " router",
                ScenarioWarning,
            )
            return


def warn_of_two_ways(resolved: Resolved, what: str) -> None:
    """Warn of links that carry data of some flows and ACKs of others, whose delay a controller
    reads; `what` begins the message."""
    data = {i for flow in resolved.flows for i in flow.forward}
    acks = {i for flow in resolved.flows for i in flow.reverse}
    both = [
        link.name
        for i, link in enumerate(resolved.links)
        if i in data & acks and math.isfinite(link.rate)
    ]
    readers = [name for flow in resolved.rows if (name := delay_reader(flow))]
    if both and readers:
        listed = ", ".join(repr(name) for name in both[:2]) + (", ..." if both[2:] else "")
        warn(
            f"{what}: {listed} carry data of some flows and ACKs of others: ACK compression is"
            f" weaker than in packets, and controller {readers[0]!r} takes it for a queue: it can"
            " get half as much again: check packet by packet",
            ModelWarning,
        )


def warn_of_small_windows(resolved: Resolved, what: str) -> None:
    """Warn of controllers that read the delay where windows are of a few packets; `what` begins the
    message."""
    for i, link in enumerate(resolved.links):
        flows = [flow for flow in resolved.flows if i in flow.forward]
        readers = [name for flow in flows if (name := delay_reader(flow))]
        if not readers or not math.isfinite(link.rate * link.buffer):
            continue
        window = mean_window(resolved, link, flows)
        if sum(flow.spec.count for flow in flows) > 1 and window < SMALL_WINDOW:
            warn(
                f"{what}: link {link.name!r}: windows of at most {window:.2g} packets, whose single"
                f" packets controller {readers[0]!r} sees as changes of delay: the loss rate can"
                " be half of theirs: check packet by packet",
                ModelWarning,
            )
            return


def warn_of_crowds(resolved: Resolved, model: str) -> None:
    """Warn of the first link on which fewer senders than flows are over a tenth off packets."""
    for i, link in enumerate(resolved.links):
        flows = [flow for flow in resolved.flows if i in flow.forward]
        if max((flow.spec.count for flow in flows), default=1) == 1 or not math.isfinite(
            link.rate * link.buffer
        ):
            continue
        number = sum(flow.spec.count for flow in flows)
        window = mean_window(resolved, link, flows)
        lasts = 8 * flows[0].spec.packet_size / link.rate
        thresholds = dict(link.queue.discipline.check(dict(link.queue.params)))
        which = f"{number} flows"
        small = SMALL_WINDOW_BESIDE_DELAY if any(map(delay_reader, flows)) else SMALL_WINDOW
        if window < small:
            which += f" with windows of at most {window:.2g} packets"
            off = (
                "the loss rate can be half as high again, with controllers that read the delay"
                " several times as high, and foreground flows can get a quarter too much: check"
                " with the packet model and fewer flows"
            )
        elif max(flow.spec.count for flow in flows) > thresholds.get("min_thresh", math.inf):
            off = (
                "one packet is more than min_thresh: the loss rate can be a quarter too high and"
                " the throughput of the first 20 s a fifth: give more senders"
            )
        elif link.queue.name == "droptail" and any(
            flow.spec.count > 1 and flow.spec.processing < lasts for flow in flows
        ):
            off = (
                "equal packets lose in phase, those of fewer senders do not: the loss rate and"
                " the mean queue can be a third higher or lower than in packets, the throughput a"
                f" tenth: give all flows processing = {2 * lasts:.2g} to compare the models"
            )
        else:
            continue
        warn(
            f"{model} model: link {link.name!r}: {which}, simulated by fewer senders: {off}",
            ModelWarning,
        )
        return


def delay_reader(flow: ResolvedFlow) -> str:
    """The name of a flow's controller if it compares the delay with its base, else ""."""
    controller = flow.controller
    return controller.name if controller is not None and controller.reads_base_rtt else ""


def mean_window(resolved: Resolved, link: Link, flows: list[ResolvedFlow]) -> float:
    """The largest mean window of flows that share a link and its buffer, packets."""
    number = sum(flow.spec.count for flow in flows)
    size = 8 * flows[0].spec.packet_size
    trips = [
        flow.spec.count * sum(resolved.links[k].delay for k in (*flow.forward, *flow.reverse))
        for flow in flows
    ]
    room = link.buffer if link.buffer_unit == "packets" else 8 * link.buffer / size
    return (link.rate * sum(trips) / number / size + room) / number
