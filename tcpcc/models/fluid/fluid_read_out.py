"""The result of a run of the fluid model: the bins of its world as a record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import INTERPRETED
from tcpcc.models.bins import LINK_BIN
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


def columns_by_name(
    world: FluidWorld, names: Iterable[str], cases: Sequence[FluidCase], of: Of
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """Series and facts of the recorded flows and links of the worlds of some scenarios of one kind,
    shape [world, ...] and then as in a record; and the name of the scenario's flow of each row.

    Args:
        world: of the first scenario.
        names: of series of `FlowSeries` and `LinkSeries`, and "time", "capacity", "count",
            "packet_size".
        cases, of: as in `FluidWorld.write_numbers`.
    """
    kept = [world.case.rows[k] for k in world.recorded]
    found = {
        **_binned(world, of), "time": _ends(world),
        "capacity": np.stack([capacities(case.resolved, _ends(world)) for case in cases]),
        "count": np.array([row.spec.count for row in kept]),
        "packet_size": np.array([row.spec.packet_size for row in kept]),
    }  # fmt: skip
    return {name: found[name] for name in names}, [row.owner for row in kept]


def recorded_series(world: FluidWorld) -> Series:
    """The series of the run."""
    n, kept = world.n_bins, world.recorded
    totals = _totals(world)
    found = {name: values[0] for name, values in _binned(world, alone).items()}
    ends = _ends(world)
    on = ~(ends[:, None] > totals["finished"][kept])
    flows = FlowSeries(
        **{name: found[name] for name in ("cwnd", "ssthresh", "rtt", *AMOUNTS)},
        **{name: totals[name][kept] for name in ("timeouts", "loss_events", "finished")},
        controller_states=states_of_flows(world.resolved.rows, kept, world.notes, slice(0, n), on),
    )
    links = LinkSeries(
        **{name: found[name] for name in OF_LINKS},
        marks=found["marks"] if world.hops["ect"].any() else None,
        states=recorded_states(world.resolved.links, world.queues, slice(0, n)),
    )
    return Series(ends, flows, links, items=recorded_items(world), totals=totals)


OF_LINKS = ("queue", "busy", "queue_max", "arrived", "drops", "sent_bits")


def _ends(world: FluidWorld) -> NDArray[np.float64]:
    """Ends of the bins, s."""
    scenario = world.scenario
    return np.minimum(scenario.interval * np.arange(1, world.n_bins + 1), scenario.duration)


def _binned(world: FluidWorld, of: Of) -> dict[str, NDArray[np.float64]]:
    """The series of recorded flows and links, shape [world, time, row or link]."""
    ends, kept, counts = _ends(world), world.recorded, _counts(world)[world.recorded]
    finished = np.full((len(of(world.w)), len(world.case.rows)), math.nan)
    flows = world.resolved.flows
    finished[:, : len(flows)] = of(world.flows)["finished"][:, : len(flows)]
    on = ~(ends[:, None] > finished[:, None, kept])
    bins = of(world.flow_bins)[:, : len(kept)].transpose(0, 2, 1)
    found = {name: np.where(on, bins[name], np.nan) for name in ("cwnd", "ssthresh", "rtt")}
    found |= {name: bins[name] * counts for name in AMOUNTS}
    recorded = [i for i, link in enumerate(world.resolved.links) if link.record]
    widths = np.diff(ends, prepend=0.0)[:, None]
    of_links = of(world.link_bins)
    for name in LINK_BIN.names or ():
        series = np.zeros((len(of_links), world.n_bins, len(recorded)))
        for column, index in enumerate(recorded):
            if index in world.place:
                series[:, :, column] = of_links[name][:, world.place[index]]
        found[name] = series
    found["queue"] = found.pop("waiting") / widths
    found["busy"] /= widths
    return found


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
