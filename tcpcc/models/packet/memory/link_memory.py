"""The memory of links: their records, their stages of jitter, the states of their disciplines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.engine.streams import seed_stream
from tcpcc.models.packet import packet_records as r
from tcpcc.models.queue_memory import INNER, QueueMemory

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.scenario.network import Link


def lay_out_link(world: PacketWorld, i: int) -> None:
    """Write the settings of link `i` and of its stage of jitter into their rows."""
    link = world.resolved.links[i]
    if i in world.paths.stages:
        _lay_out_stage(world, world.paths.stages[i], link)
    row = world.links[world.paths.row_of[i]]
    row["ident"], row["rate"], row["delay"] = i, link.rate, link.delay
    row["capacity"], row["in_bytes"] = link.buffer, link.buffer_unit == "bytes"
    row["loss"] = link.loss
    row["busy_until"] = row["size"] = -1.0
    row["recorded"] = bool(link.record)
    is_fluid = i in world.fluid_links
    # seeding takes time, and there may be many links
    if link.loss > 0 or link.variable or is_fluid:
        seed_stream(row, world.scenario.seed, f"link {link.name}: random loss")
    discipline = link.queue.discipline
    row["scheduled"] = discipline.is_scheduled
    row["tracked"] = not row["scheduled"] and bool(
        link.record
        or link.variable
        or link.loss > 0
        or math.isfinite(link.buffer)
        or discipline.on_arrival is not None
    )
    if is_fluid:
        row["tracked"] = r.IN_FLUID
    row["margin"] = margin = world.paths.margin[world.paths.row_of[i]]
    if row["tracked"]:
        room = r.FIRST_RING * 2 ** math.ceil(math.log2(margin / r.MARGIN))
        world.rings.place(world.links, "queue", i, np.zeros(room, r.QUEUED))
    if link.record:
        place = world.recorded.index(i)
        row["bins"] = address(world.link_bins) + place * world.link_bins.strides[0]
    row["release_at"] = math.inf
    if row["scheduled"]:
        world.inner[i] = np.zeros(discipline.inner, INNER)
        row["inner"], row["n_inner"] = address(world.inner[i]), discipline.inner
    if discipline.decides_by_packet:
        world.queues[i] = QueueMemory(
            link, discipline.on_arrival, world.scenario.seed, world.n_bins, world.scratch
        )
        world.queues[i].fill(row)
        world.headers.layout.fill_link(row, link.name, discipline)


def _lay_out_stage(world: PacketWorld, i: int, link: Link) -> None:
    """Write the stage after a link, where packets have random delays or wait for aggregation."""
    row = world.links[i]
    row["ident"], row["rate"], row["tracked"] = i, math.inf, r.ELSEWHERE
    row["jitter"], row["share"] = link.jitter, link.jitter_share
    row["reorders"], row["period"] = link.reordering, link.aggregation
    seed_stream(row, world.scenario.seed, f"link {link.name}: jitter")
