"""The settings of flows and links, written into their records."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tcpcc.scenario.traffic import CBR
from tcpcc.transport import flow_record as t
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import ResolvedFlow

_SMALLEST_TICK = 1e-9  # s; stands for a tick of 0, which means no rounding


def fill_link(row: Any, link: Link) -> None:
    row["rate"], row["loss"], row["size"] = link.rate, link.loss, 1.0
    row["in_bytes"] = link.buffer_unit == "bytes"
    row["limit"] = room(link, link.buffer)


def room(link: Link, buffer: float) -> float:
    """The size of a link's buffer; a number of packets is rounded up."""
    return buffer if link.buffer_unit == "bytes" or math.isinf(buffer) else math.ceil(buffer)


def fill_flow(row: Any, flow: ResolvedFlow, rates: list[float]) -> None:
    """Fill a flow's record; `rates` are those of the links on its path, bit/s."""
    row["finished"], row["limit"] = math.nan, math.inf
    if isinstance(flow.spec, CBR):
        row["kind"] = t.CBR
        return
    spec, settings, recovery = flow.spec, flow.spec.transport, RECOVERIES[flow.recovery]
    row["kind"] = t.TCP
    for name in (
        "initial_window", "handshake", "delay_growth", "rwnd", "window_validation",
        "dupack_threshold",
        "initial_rto", "min_rto", "max_rto", "coarse_timer", "backoff_limit", "syn_rtt",
        "rto_margin",
    ):  # fmt: skip
        row[name] = getattr(settings, name)
    row["tick"] = settings.tick or _SMALLEST_TICK
    row["clock_phase"] = settings.clock_phase
    per_ack = settings.ack_every if settings.delayed_ack > 0 else 1
    row["counted"] = min(settings.abc_limit / per_ack, 1.0)
    if spec.size is not None:
        row["limit"] = spec.size
    row["limited_transmit"] = settings.limited_transmit
    if recovery.limited_transmit is not None:
        row["limited_transmit"] = recovery.limited_transmit
    row["impatient"], row["careful"] = recovery.impatient, recovery.careful
    row["fine"] = recovery.fine_timer
    row["blind"] = recovery.careful and not recovery.selective and not recovery.fine_timer
    row["stale_rounds"] = recovery.stale_rounds
    row["newest_only"] = recovery.newest_only
    row["keeps_inflation"] = recovery.keeps_inflation
    row["proportional"] = recovery.proportional
    row["selective"], row["repeats"] = recovery.selective, recovery.repeats
    row["holes_per_round"] = recovery.holes_per_round
    row["holes_at_most"] = recovery.holes_at_most
    row["spacing"] = 8 * spec.packet_size / min(rates)
    row["syn_size"] = spec.ack_size
    row["syn_shorter"] = sum(8 * (spec.packet_size - spec.ack_size) / rate for rate in rates)
