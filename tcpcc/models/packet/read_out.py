"""The result of a run of the packet model: the bins of its world as a record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import INTERPRETED
from tcpcc.errors import ScenarioError
from tcpcc.models.conversation_items import recorded_items
from tcpcc.models.notes import states_of_flows
from tcpcc.models.queue_memory import recorded_states
from tcpcc.models.recorded_fields import FLOW_BIN, PART
from tcpcc.results import Run, netcdf
from tcpcc.results.recording import AMOUNTS, FlowSeries, LinkSeries, Series, dataset

if TYPE_CHECKING:
    import xarray as xr

    from tcpcc.models.packet.memory.packet_world import PacketWorld


def result(world: PacketWorld, driver: str, cpu_seconds: float, until: float = math.inf) -> Run:
    """The record of the run, or of the bins that end by `until`.

    Raises:
        ScenarioError: no bin has ended by `until`.
    """
    by_hand = [c for c in world.schedule.by_hand if c.spec.at < world.scenario.duration]
    changes = sorted([*world.resolved.changes, *by_hand], key=lambda c: c.spec.at)
    resolved = replace(world.resolved, changes=tuple(changes))
    scenario = world.scenario
    if by_hand:
        scenario = scenario.replace(changes=[change.spec for change in changes])

    def record(series: Series) -> xr.Dataset:
        data = dataset(
            scenario,
            resolved,
            series,
            model=world.model,
            driver=driver + (", interpreted" if INTERPRETED else ""),
            cpu_seconds=cpu_seconds,
        )
        data.attrs |= {"duration": end, **world.settings}
        return data

    edges = _edges(world, until)
    end = float(edges[-1])
    if world.stream is None:
        data = record(world.joined(_series(world, edges)))
        return Run(data, world.trace.events(end), scenario)
    netcdf.save_parts(world.stream, map(record, _series_in_parts(world, edges)))
    return Run(*netcdf.read(world.stream, lazy=True))


def _edges(world: PacketWorld, until: float) -> np.ndarray:
    """Complete the bins that end by `until`; returns their ends."""
    world.entry("flush")(until)
    interval = world.scenario.interval
    edges = np.minimum(interval * np.arange(1, world.n_bins + 1), world.scenario.duration)
    edges = edges[: np.searchsorted(edges, until + 1e-9 * interval, side="right")]
    if not len(edges):
        raise ScenarioError(
            f"result at t = {until:g} s: the first bin of the record ends at {interval:g} s"
        )
    return edges


def _series_in_parts(world: PacketWorld, edges: np.ndarray) -> Iterator[Series]:
    """The series of each part of the record."""
    totals = _totals(world, len(edges))
    for bins in _parts(world, len(edges)):
        yield _series(world, edges, bins, totals)


def _parts(world: PacketWorld, n_bins: int) -> Iterator[slice]:
    """One slice of the first `n_bins` bins, or several that fit in memory if they are on disk."""
    width = n_bins
    if world.scratch is not None:
        row = (len(world.flow_bins) + len(world.link_bins)) * FLOW_BIN.itemsize
        width = max(PART // max(row, 1), 1)
    for begin in range(0, n_bins, width):
        yield slice(begin, min(begin + width, n_bins))
        world.release()


def _series(
    world: PacketWorld,
    edges: np.ndarray,
    bins: slice | None = None,
    totals: dict[str, np.ndarray] | None = None,
) -> Series:
    """The series of the slice `bins`; all bins end at `edges`."""
    bins = bins or slice(0, len(edges))
    totals = totals or _totals(world, len(edges))
    flow_bins, link_bins = _flow_bins(world, bins), world.link_bins[:, bins].T
    ends = edges[bins]
    before = float(edges[bins.start - 1]) if bins.start else 0.0
    widths = np.diff(ends, prepend=before)[:, None]
    active = ~(ends[:, None] > totals["finished"][world.kept])
    flows = FlowSeries(
        **{name: np.where(active, flow_bins[name], np.nan) for name in ("cwnd", "ssthresh", "rtt")},
        **{name: flow_bins[name] for name in AMOUNTS},
        **{name: totals[name][world.kept] for name in ("timeouts", "loss_events", "finished")},
        controller_states=states_of_flows(
            world.resolved.rows, world.kept, world.notes, bins, active
        ),
    )
    links = LinkSeries(
        queue=link_bins["waiting"] / widths,
        busy=link_bins["busy"] / widths,
        **{name: link_bins[name] for name in ("queue_max", "arrived", "drops", "sent_bits")},
        marks=link_bins["marks"] if world.headers.used else None,
        states=recorded_states(world.resolved.links, world.queues, bins),
    )
    return Series(
        ends,
        flows,
        links,
        begin=before,
        items=recorded_items(world),
        totals=totals if len(world.kept) < len(world.resolved.rows) else None,
    )


def _flow_bins(world: PacketWorld, bins: slice) -> np.ndarray:
    """A slice of the bins of the recorded rows, shape [time, row]; sums over the row's flows."""
    columns = world.bin_row[world.kept]
    as_they_are = np.array_equal(columns, np.arange(len(columns)))
    some = world.flow_bins[:, bins]
    binned = (some[: len(columns)] if as_they_are else some[columns]).T
    counts = _counts(world)[world.kept]
    if (counts > 1).any():
        binned = binned.copy()
        for name in AMOUNTS:
            binned[name] *= counts
    return binned


def _counts(world: PacketWorld) -> np.ndarray:
    """Number of flows that each row of the scenario stands for."""
    return np.array([row.spec.count for row in world.resolved.rows])


def _totals(world: PacketWorld, n_bins: int) -> dict[str, np.ndarray]:
    """The totals of each row of the scenario, by `recording.TOTALS`."""
    n = len(world.resolved.flows)
    totals = {name: _counter(world, name) for name in ("timeouts", "loss_events")}
    finished = np.full(len(world.resolved.rows), math.nan)
    finished[:n] = world.tcp["finished"][:n]
    if len(world.kept) == len(finished):
        return totals | {"finished": finished}
    totals |= {name: np.zeros(len(finished)) for name in ("sent", "retransmitted", "delivered")}
    for bins in _parts(world, n_bins):
        for name in ("sent", "retransmitted", "delivered"):
            totals[name][world.kept] += _flow_bins(world, bins)[name].sum(axis=0)
    silent = np.setdiff1d(np.arange(n), world.kept)
    tcp = world.tcp[silent]
    counts = _counts(world)[silent]
    totals["sent"][silent] = tcp["sent"] * counts
    totals["retransmitted"][silent] = tcp["retransmitted"] * counts
    shaken = world.flows["handshake"][silent]
    totals["delivered"][silent] = np.maximum(tcp["high_ack"] + 1 - shaken, 0) * counts
    return totals | {"finished": finished}


def _counter(world: PacketWorld, name: str) -> np.ndarray:
    """A counter of every row: summed over the row's flows, or over the conversations of a kind."""
    n = len(world.resolved.flows)
    counters = world.tcp[name][:n] * _counts(world)[:n]
    if world.conversations is None:
        return counters
    return np.concatenate([counters, world.conversations.counters(name)])
