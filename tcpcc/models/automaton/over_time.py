"""Means over time of a finished world, computed without the series of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import address
from tcpcc.results.metrics import mean_of_known
from tcpcc.results.recording import Means, capacities, late_bins

if TYPE_CHECKING:
    from tcpcc.models.automaton.fluid_world import FluidWorld


def means(world: FluidWorld, after: float) -> Means:
    """The means that :func:`tcpcc.batch` returns, for each recorded flow and each recorded link.

    They are taken over the bins that end later than `after`, s.

    Raises:
        ScenarioError: no bin ends later.
    """
    from tcpcc.models.automaton.kernel import finish

    finish(address(world.w))
    ends = world.bin_ends()
    first, begin = late_bins(ends, world.scenario.interval, after)
    seconds = ends[-1] - begin
    shown = [world.resolved.flows[k] for k in world.shown]
    sizes = np.array([flow.spec.packet_size for flow in shown], float)
    bins, counts = _columns(world.flow_bins), world.counts[world.shown]
    finished = world.flows["finished"][world.shown]
    total = {}
    for name in ("sent", "delivered", "dropped"):
        total[name] = bins[name].max(axis=0) * counts
        if first:
            total[name] -= bins[name][:first].max(axis=0) * counts
    late = _columns(np.ascontiguousarray(world.link_bins.T[first:]))
    widths = np.diff(ends[first:], prepend=begin)
    queue = late["waiting"] / widths[:, None]
    capacity = capacities(world.resolved, ends[first:], begin).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        flows = {
            **{name: _mean(bins[name], ends, finished, first) for name in ("cwnd", "rtt")},
            "throughput": total["delivered"] * sizes * 8 / seconds,
            "loss": total["dropped"] / total["sent"],
        }
        links = {
            "queue": queue.mean(axis=0),
            "queue_min": queue.min(axis=0),
            "queue_max": late["queue_max"].max(axis=0),
            "utilization": late["sent_bits"].sum(axis=0) / capacity,
            "drop_rate": late["drops"].sum(axis=0) / late["arrived"].sum(axis=0),
        }
    return flows, links


def _columns(bins: NDArray[np.void]) -> dict[str, NDArray[np.float64]]:
    """The fields of bins by name, arrays of shape [bin, column]; all are copied at once."""
    assert bins.dtype.names is not None
    numbers = bins.view(np.float64).reshape(*bins.shape, -1)
    return dict(
        zip(bins.dtype.names, np.ascontiguousarray(np.moveaxis(numbers, 2, 0)), strict=True)
    )


def _mean(
    series: NDArray[np.float64],
    ends: NDArray[np.float64],
    finished: NDArray[np.float64],
    first: int,
) -> NDArray[np.float64]:
    """Mean of each column over the late bins before its flow finished; NaN if there are none."""
    over = ends[first:, None] > finished
    return mean_of_known(np.where(over, np.nan, series[first:]))
