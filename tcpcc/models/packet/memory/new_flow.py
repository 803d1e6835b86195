"""Flows that are added to a world while it runs.

A flow added before its start time gives bit for bit the same results as a flow that the scenario
had from the beginning. The arrays become longer, and the records that point into them get the new
addresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import address, blank, longer
from tcpcc.errors import ScenarioError, refuse
from tcpcc.models.conversation_items import lay_out_writes
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.link_memory import lay_out_link
from tcpcc.models.recorded_fields import FLOW_BIN, blank_bins
from tcpcc.scenario.traffic import Flow

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld


def add_flow(world: PacketWorld, flow: Flow, now: float) -> str:
    """Add a flow and return its name. It begins at its `start`, or now if `start` has passed.

    Raises:
        ScenarioError: the world was made without `growing`, it has workloads, the flow has a count
            or jitter, or the scenario with this flow is invalid.
    """
    if not isinstance(flow, Flow):
        raise refuse("flow", flow, "a Flow(...)")
    if not world.growing:
        raise ScenarioError("add: make the simulation with growing=True to add flows to it")
    if world.scenario.workloads:
        raise ScenarioError("add: a scenario with workloads takes no more flows")
    if flow.count > 1 or flow.jitter:
        raise ScenarioError(
            f"add: count = {flow.count}, jitter = {flow.jitter:g}: add one by one, without jitter"
        )
    begin = max(flow.start, now)
    scenario = world.scenario.replace(flows=(*world.scenario.flows, flow.replace(start=begin)))
    links = len(world.resolved.links)
    world.resolved, world.scenario = scenario.resolve(), scenario
    number = len(world.resolved.flows) - 1
    _add_rows(world)
    _add_links(world, links)
    world.trace.choose(world.resolved)
    row = world.flows[number : number + 1]
    world.headers.use(world.resolved.flows[number])
    _show_new_fields(world)
    world.paths.fill(row, number, world.resolved.flows[number])
    flows, taken = world.resolved.flows[number:], len(world.items)
    items = lay_out_writes(flows, world.flows[number:], syn=True, taken=taken)
    world.items = np.concatenate([world.items, items])
    world.w["items"] = address(world.items)
    world.senders.lay_out(number, world.resolved.flows[number])
    world.schedule.add_flow(number)
    return world.resolved.flows[number].name


def _show_new_fields(world: PacketWorld) -> None:
    """Let the disciplines see header fields that no flow has sent so far."""
    for i, link in enumerate(world.resolved.links):
        if i in world.queues and link.queue.discipline.header:
            row = world.links[world.paths.row_of[i]]
            world.headers.layout.fill_link(row, link.name, link.queue.discipline)


def _add_rows(world: PacketWorld) -> None:
    """Add one row for a flow to each array and to the recorded bins."""
    w = world.w[0]
    world.add_rows(1, "flows", "tcp", "cbr")
    number = len(world.flows) - 1
    w["n_flows"], w["n_rows"] = number + 1, number + 1
    world.kept = list(world.resolved.recorded)
    world.bin_row = np.append(world.bin_row, len(world.flow_bins))
    bins = blank_bins((1, world.n_bins), FLOW_BIN)
    world.flow_bins = np.concatenate([world.flow_bins, bins])
    world.flows["bins"] = [world.bins_of(i) for i in range(number + 1)]


def _add_links(world: PacketWorld, first: int) -> None:
    """Add rows and lanes for the flow's own links, which are numbered from `first` on."""
    paths = world.paths
    room = len(world.links)
    for i in range(first, len(world.resolved.links)):
        paths.row_of.append(room)
        room += 1
        if world.resolved.links[i].has_stage:
            paths.stages[i] = room
            room += 1
    more, lanes = room - len(world.links), len(paths.lanes)
    world.links = longer(world.links, more)
    paths.lanes = longer(paths.lanes, more)
    paths.lane_of = np.append(paths.lane_of, np.arange(lanes, lanes + more))
    paths.joint_of = np.append(paths.joint_of, np.full(more, -1))
    for lane in range(lanes, lanes + more):
        world.rings.place(paths.lanes, "flight", lane, blank(r.FIRST_RING, r.PACKET))
    paths.point_at_lanes()
    w = world.w[0]
    w["links"], w["lanes"] = address(world.links), address(paths.lanes)
    paths.lay_out_hops()
    for i in range(first, len(world.resolved.links)):
        lay_out_link(world, i)
    w["hops"] = address(paths.hops)
