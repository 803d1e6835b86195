"""The result of a run of the fluid model: the bins of its world as a record."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import INTERPRETED
from tcpcc.models.conversation_items import recorded_items
from tcpcc.models.memory_copies import Of, alone
from tcpcc.models.notes import states_of_flows
from tcpcc.models.queue_memory import recorded_states
from tcpcc.results import Run
from tcpcc.results.recording import (
    AMOUNTS,
    FlowSeries,
    LinkSeries,
    Series,
    capacities,
    dataset,
)
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.models.fluid.fluid_case import FluidCase
    from tcpcc.models.fluid.fluid_world import FluidWorld


Columns = Callable[[str], NDArray[np.float64]]


def recorded_run(world: FluidWorld, cpu_seconds: float) -> Run:
    record = dataset(
        world.scenario,
        world.resolved,
        recorded_series(world),
        model="fluid",
        driver="compiled" + (", interpreted" if INTERPRETED else ""),
        cpu_seconds=cpu_seconds,
    )
    return Run(record, scenario=world.scenario)


def columns_by_name(
    world: FluidWorld, cases: Sequence[FluidCase], of: Of
) -> tuple[Columns, list[str]]:
    """Series and facts of the recorded flows and links of the worlds of some scenarios of one kind,
    shape [world, ...] and then as in a record; and the name of the scenario's flow of each row.

    Args:
        world: of the first scenario.
        cases, of: as in `FluidWorld.write_numbers`.

    Returns:
        a function of the name of a series of `FlowSeries` and `LinkSeries`, or "time", "capacity",
        "count", "packet_size"; and the names.
    """
    rows = [world.case.rows[k] for k in world.recorded]
    ends = _ends(world)
    capacity = capacities(world.resolved, ends)[None]
    if not world.resolved.changes:
        rates = [[link.rate for link in x.resolved.links if link.record] for x in cases]
        capacity = np.diff(ends, prepend=0.0)[:, None] * np.array(rates)[:, None]
    facts = {
        "time": ends,
        "capacity": capacity,
        "count": np.array([row.spec.count for row in rows]),
        "packet_size": np.array([row.spec.packet_size for row in rows]),
    }
    binned = _binned(world, of)

    def columns(name: str) -> NDArray[np.float64]:
        return facts[name] if name in facts else binned(name)

    return columns, [row.owner for row in rows]


def recorded_series(world: FluidWorld) -> Series:
    n, rows = world.n_bins, world.recorded
    totals = _totals(world)
    marks = ["marks"] if world.hops["ect"].any() else []
    binned = _binned(world, alone)
    series = {name: binned(name)[0] for name in (*WINDOWS, *AMOUNTS, *OF_LINKS, *marks)}
    ends = _ends(world)
    on = ~(ends[:, None] > totals["finished"][rows])
    flows = FlowSeries(
        **{name: series[name] for name in (*WINDOWS, *AMOUNTS)},
        **{name: totals[name][rows] for name in ("timeouts", "loss_events", "finished")},
        controller_states=states_of_flows(world.resolved.rows, rows, world.notes, slice(0, n), on),
    )
    links = LinkSeries(
        **{name: series[name] for name in OF_LINKS},
        marks=series.get("marks"),
        states=recorded_states(world.resolved.links, world.queues, slice(0, n)),
    )
    return Series(ends, flows, links, items=recorded_items(world), totals=totals)


WINDOWS = ("cwnd", "ssthresh", "rtt")
OF_LINKS = ("queue", "busy", "queue_max", "arrived", "drops", "sent_bits")


def _ends(world: FluidWorld) -> NDArray[np.float64]:
    """Ends of the bins, s."""
    scenario = world.scenario
    return np.minimum(scenario.interval * np.arange(1, world.n_bins + 1), scenario.duration)


def _binned(world: FluidWorld, of: Of) -> Columns:
    """Series of recorded flows and links by name, shape [world, time, row or link]."""
    ends, rows, counts = _ends(world), world.recorded, _counts(world)[world.recorded]
    widths = np.diff(ends, prepend=0.0)[:, None]
    flows = of(world.flow_bins)[:, : len(rows)]
    recorded = [i for i, link in enumerate(world.resolved.links) if link.record]
    n = len(world.resolved.flows)
    finished = np.full((len(flows), len(world.case.rows)), math.nan)
    finished[:, :n] = of(world.flows)["finished"][:, :n]
    finished = finished[:, rows, None]

    def binned(name: str) -> NDArray[np.float64]:
        if name in AMOUNTS:
            return (flows[name] * counts[:, None]).transpose(0, 2, 1)
        if name in WINDOWS:
            values = np.where(ends > finished, np.nan, flows[name]).transpose(2, 0, 1)
            if len(rows) > 1:  # rows side by side in memory, so that sums over time are fast
                values = values.copy()
            return values.swapaxes(0, 1)
        series = of(world.link_bins)["waiting" if name == "queue" else name]
        values = np.zeros((len(series), world.n_bins, len(recorded)))
        for column, index in enumerate(recorded):
            if index in world.place:
                values[:, :, column] = series[:, world.place[index]]
        if name in ("queue", "busy"):
            values /= widths
        return values

    return binned


def _counts(world: FluidWorld) -> np.ndarray:
    """Number of flows that each row of the scenario stands for."""
    return np.array([row.spec.count for row in world.resolved.rows], float)


def _totals(world: FluidWorld) -> dict[str, np.ndarray]:
    """The totals of each row of the scenario, by `recording.TOTALS`."""
    rows, n = world.resolved.rows, len(world.resolved.flows)
    counts = _counts(world)
    totals = {}
    for name in ("timeouts", "loss_events"):
        totals[name] = np.zeros(len(rows))
        totals[name][:n] = world.flows[name][:n] * counts[:n]
        if world.conversations is not None:
            totals[name][n:] = world.conversations.counters(name)
    totals["finished"] = np.full(len(rows), math.nan)
    totals["finished"][:n] = world.flows["finished"][:n]
    for name in ("sent", "retransmitted", "delivered"):
        totals[name] = np.zeros(len(rows))
        totals[name][world.recorded] = world.flow_bins[name][: len(world.recorded)].sum(axis=1)
        for i in set(range(n)) - set(world.recorded):
            of_receiver = name == "delivered" and isinstance(rows[i].spec, CBR)
            totals[name][i] = world.flows["reached" if of_receiver else name][i]
        totals[name] *= counts
    return totals
