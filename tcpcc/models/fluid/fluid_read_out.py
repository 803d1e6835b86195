"""The result of a run of the fluid model: the bins of its world as a record."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import INTERPRETED
from tcpcc.models.bins import LINK_BIN
from tcpcc.models.conversation_items import recorded_items
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
    from tcpcc.models.fluid.fluid_world import FluidWorld


def recorded_run(world: FluidWorld, cpu_seconds: float) -> Run:
    """The recorded run."""
    record = dataset(
        world.scenario,
        world.resolved,
        recorded_series(world),
        model="fluid",
        driver="compiled" + (", interpreted" if INTERPRETED else ""),
        cpu_seconds=cpu_seconds,
    )
    return Run(record, scenario=world.scenario)


def series_by_name(
    world: FluidWorld, names: Iterable[str]
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """Series and facts of the recorded flows and links, shaped as in a record, and the name of the
    scenario's flow of each row."""
    series = recorded_series(world)
    kept = [world.resolved.rows[k] for k in world.recorded]
    found = {
        **vars(series.flows), **vars(series.links), "time": series.time,
        "capacity": capacities(world.resolved, series.time),
        "count": np.array([row.spec.count for row in kept]),
        "packet_size": np.array([row.spec.packet_size for row in kept]),
    }  # fmt: skip
    return {name: found[name] for name in names}, [row.owner for row in kept]


def recorded_series(world: FluidWorld) -> Series:
    """The series of the run."""
    n, scenario, kept = world.n_bins, world.scenario, world.recorded
    ends = np.minimum(scenario.interval * np.arange(1, n + 1), scenario.duration)
    widths = np.diff(ends, prepend=0.0)[:, None]
    totals = _totals(world)
    bins = world.flow_bins[: len(kept)].T
    on = ~(ends[:, None] > totals["finished"][kept])
    flows = FlowSeries(
        **{name: np.where(on, bins[name], np.nan) for name in ("cwnd", "ssthresh", "rtt")},
        **{name: bins[name] * _counts(world)[kept] for name in AMOUNTS},
        **{name: totals[name][kept] for name in ("timeouts", "loss_events", "finished")},
        controller_states=states_of_flows(world.resolved.rows, kept, world.notes, slice(0, n), on),
    )
    recorded = [i for i, link in enumerate(world.resolved.links) if link.record]
    found = {name: np.zeros((n, len(recorded))) for name in LINK_BIN.names or ()}
    for column, index in enumerate(recorded):
        if index in world.place:
            for name, series in found.items():
                series[:, column] = world.link_bins[name][world.place[index]]
    links = LinkSeries(
        queue=found["waiting"] / widths,
        busy=found["busy"] / widths,
        **{name: found[name] for name in ("queue_max", "arrived", "drops", "sent_bits")},
        marks=found["marks"] if world.hops["ect"].any() else None,
        states=recorded_states(world.resolved.links, world.queues, slice(0, n)),
    )
    return Series(ends, flows, links, items=recorded_items(world), totals=totals)


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
