"""Flow completion times, and the ideal times to compare them with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import positive
from tcpcc.results.flow_rows import rows_of
from tcpcc.results.recording import base_rtts

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.results.run import Run
    from tcpcc.scenario.resolve import Resolved

QUANTILES = (0.5, 0.95, 0.99)


def table(run: Run) -> pd.DataFrame:
    """One row for each flow with a size and each item of a connection; see `Run.fct`."""
    import pandas as pd

    resolved, places = rows_of(run)
    place, totals = np.array(places), run.totals()
    sizes = np.array([_size(resolved, k) for k in places])
    sized = np.arange(len(places)).repeat(np.where(sizes > 0, totals["count"], 0))
    recorded = np.flatnonzero(np.isin(place, resolved.recorded))
    whole = pd.DataFrame(
        {
            "row": sized,
            "conversation": 0,
            "item": 0,
            "size": sizes[sized],
            "start_s": totals["start_s"].to_numpy()[sized],
            "finished_s": totals["finished_s"].to_numpy()[sized],
        }
    )
    parts = [whole]
    if "item" in run.data.dims:
        names = ("flow", "conversation", "number", "size", "start", "finished")
        items = pd.DataFrame({n: run.data[f"item_{n}"].values for n in names})
        items["flow"] = recorded[items["flow"].to_numpy()]
        items["conversation"] = items["conversation"].clip(lower=0)  # a flow is one
        items = items[items["size"] < math.inf]
        counts = totals["count"].to_numpy(dtype=int)[items["flow"].to_numpy()]
        items = items.loc[items.index.repeat(counts)]
        parts.append(items.set_axis(list(whole.columns), axis="columns"))
    rows = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    row = rows["row"].to_numpy(dtype=int)
    flow = place[row]
    handshake, packet = _ideals(resolved)
    ideal = base_rtts(resolved)[flow] + packet[flow] * (rows["size"].to_numpy() - 1)
    ideal += np.where(rows["item"].to_numpy() == 0, handshake[flow], 0.0)
    fct = rows["finished_s"] - rows["start_s"]
    return pd.DataFrame(
        {
            "flow": totals.index.to_numpy(dtype=object)[row],
            "conversation": rows["conversation"],
            "item": rows["item"],
            "size": rows["size"],
            "start_s": rows["start_s"],
            "fct_s": fct,
            "ideal_s": ideal,
            "slowdown": fct / ideal,
        }
    )


def summary(times: pd.DataFrame, sizes: Sequence[float] | None = None) -> pd.DataFrame:
    """Counts, means and quantiles of `table`'s rows; see `Run.fct_summary`."""
    import pandas as pd

    keys = ["flow"]
    if sizes is not None:
        edges = [0.0, *(positive("sizes", x, "packets") for x in sizes), math.inf]
        times = times.assign(size=pd.cut(times["size"], edges))
        keys.append("size")
    groups = times.groupby(keys, observed=True)
    columns = {"count": groups["size"].size(), "finished": groups["fct_s"].count()}
    for name, column, unit in (("fct", "fct_s", "_s"), ("slowdown", "slowdown", "")):
        columns[f"{name}_mean{unit}"] = groups[column].mean()
        for q in QUANTILES:
            columns[f"{name}_p{round(100 * q)}{unit}"] = groups[column].quantile(q)
    return pd.DataFrame(columns)


def _size(resolved: Resolved, place: int) -> float:
    """Size of a flow, packets; 0 if it is endless, CBR or a workload."""
    size = resolved.rows[place].spec.size
    return float(size) if place < len(resolved.flows) and size is not None else 0.0


def _ideals(resolved: Resolved) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each row: time of the handshake, and of a packet on the slowest link, s."""
    handshake, packet = np.zeros(len(resolved.rows)), np.zeros(len(resolved.rows))
    for k, flow in enumerate(resolved.rows):
        if not flow.is_tcp:
            continue
        spec = flow.tcp
        packet[k] = max(8 * spec.packet_size / resolved.links[i].rate for i in flow.forward)
        if spec.transport.handshake:
            links = [resolved.links[i] for i in (*flow.forward, *flow.reverse)]
            trip = sum(link.delay + 8 * spec.ack_size / link.rate for link in links)
            handshake[k] = max(trip - (spec.writes[0][0] if spec.writes else 0.0), 0.0)
    return handshake, packet
