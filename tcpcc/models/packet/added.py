"""Flows that are added to a world while it runs.

What the world has is laid out as if the scenario had had the flow from the start; a flow that is
added before its time gives the same bits as one that was there. Arrays are made anew, longer, and
what points into them is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank, longer
from tcpcc.errors import ScenarioError, refuse
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.packet_world import uses_headers
from tcpcc.scenario.traffic import Flow

if TYPE_CHECKING:
    from tcpcc.models.packet.packet_world import World


def add_flow(world: World, flow: Flow, now: float) -> int:
    """Add a flow, which begins at its `start`, or now if that is past; returns its number.

    Raises:
        ScenarioError: the world was not made for it, has workloads, or what a scenario with the
            flow would be refused for.
    """
    if not isinstance(flow, Flow):
        raise refuse("flow", flow, "a Flow(...)")
    if not world.growing:
        raise ScenarioError("add: make the simulation with growing=True to add flows to it")
    if world.scenario.workloads:
        raise ScenarioError("add: a scenario with workloads takes no more flows")
    if flow.count > 1 or flow.jitter:
        raise ScenarioError(f"add: count = {flow.count}, jitter = {flow.jitter:g}: add one by one")
    begin = max(flow.start, now)
    scenario = world.scenario.replace(flows=(*world.scenario.flows, flow.replace(start=begin)))
    links = len(world.resolved.links)
    world.resolved, world.scenario = scenario.resolve(), scenario
    number = len(world.resolved.flows) - 1
    _add_rows(world)
    _add_links(world, links)
    world.trace.choose(world.resolved)
    row = world.flows[number : number + 1]
    world.lay_out_path(row, number, world.resolved.flows[number])
    world.lay_out_flow(number, world.resolved.flows[number])
    if len(world.headers) == 1 and uses_headers(world.resolved.flows[number]):
        world.lay_out_headers()
    world.schedule_flow(number)
    return number


def _add_rows(world: World) -> None:
    """One more row for a flow in each of the arrays, and in what is recorded."""
    w = world.w[0]
    for name in ("flows", "tcp", "cbr"):
        array = getattr(world, name)
        setattr(world, name, longer(array, 1))
        w[name] = address(getattr(world, name))
    world.tcp["address"] = w["tcp"] + world.tcp.itemsize * np.arange(len(world.tcp))
    number = len(world.flows) - 1
    w["n_flows"], w["n_rows"] = number + 1, number + 1
    world.kept = list(world.resolved.recorded)
    bins: Any = np.zeros((1, world.n_bins), world.flow_bins.dtype)
    for name in ("cwnd", "ssthresh", "rtt"):
        bins[name] = np.nan
    world.bin_row = np.append(world.bin_row, len(world.flow_bins))
    world.flow_bins = np.concatenate([world.flow_bins, bins])
    world.flows["bins"] = [world.bins_of(i) for i in range(number + 1)]


def _add_links(world: World, first: int) -> None:
    """Rows and lanes for the links from number `first` on, which are the flow's own."""
    room = len(world.links)
    for i in range(first, len(world.resolved.links)):
        world.row_of.append(room)
        room += 1
        if world.resolved.links[i].has_stage:
            world.stages[i] = room
            room += 1
    before, lanes = len(world.links), len(world.lanes)
    more = room - before
    world.links = longer(world.links, more)
    world.lanes = longer(world.lanes, more)
    world.lane_of = np.append(world.lane_of, np.arange(lanes, lanes + more))
    world.joint_of = np.append(world.joint_of, np.full(more, -1))
    for lane in range(lanes, lanes + more):
        world.place_ring(world.lanes, "flight", lane, blank(r.FIRST_RING, r.PACKET))
    world.point_at_lanes()
    w = world.w[0]
    w["links"], w["lanes"] = address(world.links), address(world.lanes)
    for i in range(first, len(world.resolved.links)):
        world.lay_out_link(i)
    world.lay_out_hops()
    w["hops"] = address(world.hops)
