"""Checks of the fluid model: they refuse unsupported features and warn of inaccurate ones."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError
from tcpcc.models.refusals import (
    FluidWarning,
    refuse_what_needs_packets,
    warn_of_jitter,
    warn_of_tiny_buffers,
    warn_of_unread_headers,
)
from tcpcc.scenario.traffic import CBR, Transport
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

LONG_WAY = 3  # full drop-tail links on a path from which fluid gives a flow too little
OVERSHOOT = 200  # packets of window from which a recovery without SACK loses its overshoot twice

NO_EFFECT = (
    "max_burst", "partial_deflation", "whole_window", "count_delivered",
    "gso_segments", "gso_time", "gso_above", "gradual_marks", "quick_acks",
)  # fmt: skip
"""Settings of `Transport` that the fluid model does not read.

`timestamps` is another one; it is left out because `Transport.ns2` changes it."""


def refuse_workloads(scenario: Scenario) -> None:
    """Refuse workloads.

    Raises:
        ScenarioError: the scenario has a workload.
    """
    if scenario.workloads:
        raise ScenarioError(
            "workloads: the fluid model runs only the flows of a scenario; "
            "scenario.spelled_out() converts every conversation to a flow"
        )


def look(resolved: Resolved) -> None:
    """Warn where the fluid model may be inaccurate, and refuse unsupported features.

    Raises:
        ScenarioError: a feature needs packets (`refusals`), a link's rate changes to 0, or a link's
            jitter changes.
    """
    refuse_what_needs_packets(resolved, "fluid")
    warn_of_jitter(resolved, "fluid")
    warn_of_unread_headers(resolved)
    for change in resolved.changes:
        where = f"change of link {change.spec.link!r} at {change.spec.at:g}"
        if change.spec.rate == 0:
            raise ScenarioError(
                f"{where}: rate = 0: the fluid model needs a positive rate; use the packet model"
            )
        for name in ("jitter", "jitter_share"):
            if (value := getattr(change.spec, name)) is not None:
                raise ScenarioError(
                    f"{where}: {name} = {value:g}: the fluid model does not support changes of"
                    " jitter; use the packet model"
                )
    for what in chain(
        _unread_settings(resolved), _two_ways(resolved), _overshoots(resolved), _long_ways(resolved)
    ):
        warnings.warn(
            f"fluid model: {what}: check with the packet model", FluidWarning, stacklevel=5
        )
    warn_of_tiny_buffers(resolved, "fluid")


def _unread_settings(resolved: Resolved) -> Iterator[str]:
    """Settings of a sender or receiver that the fluid model does not read."""
    plain = Transport()
    for flow in resolved.rows:
        if isinstance(flow.spec, CBR):
            continue
        given = flow.spec.transport
        changed = [n for n in NO_EFFECT if getattr(given, n) != getattr(plain, n)]
        if changed:
            listed = ", ".join(f"{n} = {getattr(given, n)}" for n in changed)
            yield f"flow {flow.name!r}: {listed} has no effect"
            return
    for flow in resolved.rows:
        if not isinstance(flow.spec, CBR) and flow.spec.transport.delayed_ack > 0:
            yield (
                f"flow {flow.name!r}: delayed_ack = {flow.spec.transport.delayed_ack:g}: windows"
                " grow more slowly, but ACKs are not delayed"
            )
            return


def _two_ways(resolved: Resolved) -> Iterator[str]:
    """Links that carry data of some flows and ACKs of others, whose delay a controller reads."""
    data = {i for flow in resolved.flows for i in flow.forward}
    acks = {i for flow in resolved.flows for i in flow.reverse}
    both = [
        link.name
        for i, link in enumerate(resolved.links)
        if i in data & acks and math.isfinite(link.rate)
    ]
    readers = [
        flow.controller.name
        for flow in resolved.rows
        if flow.controller is not None and flow.controller.reads_base_rtt
    ]
    if both and readers:
        listed = ", ".join(repr(name) for name in both[:2]) + (", ..." if both[2:] else "")
        yield (
            f"{listed} carry data of some flows and ACKs of others: ACK compression is missing,"
            f" which controller {readers[0]!r} takes for a queue: it can get half as much again"
        )


def _overshoots(resolved: Resolved) -> Iterator[str]:
    """Drop-tail bottlenecks where a flow may lose a large window in its first slow start, and
    recovers from it without SACK."""
    crossing: Counter[int] = Counter()
    for flow in resolved.flows:
        crossing.update(dict.fromkeys(flow.forward, getattr(flow.spec, "count", 1)))
    for flow in resolved.rows:
        if flow.controller is None or RECOVERIES[flow.recovery].selective:
            continue
        limit = min(flow.forward, key=lambda i: resolved.links[i].rate)
        link, size = resolved.links[limit], 8 * flow.spec.packet_size
        if not _can_drop(resolved, limit) or math.isinf(link.rate):
            continue
        trip = sum(resolved.links[i].delay for i in (*flow.forward, *flow.reverse))
        room = link.buffer if link.buffer_unit == "packets" else 8 * link.buffer / size
        window = (link.rate * trip / size + room) / crossing[limit]
        if window > OVERSHOOT and (getattr(flow.spec, "size", None) or math.inf) > window:
            yield (
                f"flow {flow.name!r}: recovery {flow.recovery!r} without SACK and windows of"
                f" {window:.3g} packets: packets go back N after the overshoot of slow start, fluid"
                " repairs the holes only and can deliver several times as much"
            )
            return


def _long_ways(resolved: Resolved) -> Iterator[str]:
    """A flow over several drop-tail links that others share."""
    crossing = Counter(i for flow in resolved.flows for i in flow.forward)
    for flow in resolved.rows:
        shared = [i for i in flow.forward if crossing[i] > 1 and _can_drop(resolved, i)]
        alone = all(set(shared) <= set(other.forward) for other in resolved.flows)
        if len(shared) >= LONG_WAY and not alone:
            yield (
                f"flow {flow.name!r} crosses {len(shared)} shared drop-tail links: if all are full,"
                " it can get a quarter too little"
            )
            return


def _can_drop(resolved: Resolved, index: int) -> bool:
    link = resolved.links[index]
    return math.isfinite(link.buffer) and link.queue.discipline.on_arrival is None
