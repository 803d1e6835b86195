"""Runs side by side in a table: one row per measure, one column per run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError
from tcpcc.results.flow_rows import controllers
from tcpcc.results.metrics import mean_of_known
from tcpcc.results.run import Run

if TYPE_CHECKING:
    import pandas as pd


def side_by_side(
    runs: Mapping[str, Run],
    after: float = 0.0,
    before: float | None = None,
    link: str | None = None,
) -> pd.DataFrame:
    """Measures of runs over a time window, as a table.

    Rows: goodput of all flows with a controller, and of each controller if there are several;
    Jain's index of the active flows; loss; mean RTT; utilization and queue of one link.

    Args:
        runs: the runs, by the name of their column.
        after, before: time window, s. Default: the whole run.
        link: the link. Default: the busiest link of each run; a row then names it if some run has
            several links.

    Raises:
        ScenarioError: no run, a window without bins, or a link that is not recorded.
    """
    import pandas as pd

    if not runs:
        raise ScenarioError("runs = {}: must be at least one run")
    every = dict.fromkeys(kind for run in runs.values() for kind in controllers(run).values())
    kinds = [kind for kind in every if kind != "cbr"]
    columns = {
        name: _of_flows(run, kinds, after, before) | _of_link(run, link, after, before)
        for name, run in runs.items()
    }
    table = pd.DataFrame(columns, dtype=object)
    several = link is None and any(len(run.links) > 1 for run in runs.values())
    return (table if several else table.drop(index="link")).rename_axis("measure")


def _of_flows(run: Run, kinds: list[str], after: float, before: float | None) -> dict[str, Any]:
    controller = run.data["controller"].values.astype(str)
    goodput = run.goodput(after, before).values / 1e6
    row: dict[str, Any] = {"goodput (Mb/s)": float(goodput[controller != "cbr"].sum())}
    if len(kinds) > 1:
        for kind in kinds:
            of_kind = controller == kind
            row[f"goodput of {kind} (Mb/s)"] = (
                float(goodput[of_kind].sum()) if any(of_kind) else None
            )
    flows = run.summary(after, before)
    sent = float(flows["sent"].sum())
    dropped = float((flows["loss_percent"].fillna(0) / 100 * flows["sent"]).sum())
    return row | {
        "Jain's index": run.jain_index(after, before) if run.active(after, before) else math.nan,
        "loss (%)": 100 * dropped / sent if sent else math.nan,
        "mean RTT (ms)": float(
            mean_of_known(flows["rtt_mean_ms"].to_numpy(float), weights=run.data["count"].values)
        ),
    }


def _of_link(run: Run, link: str | None, after: float, before: float | None) -> dict[str, Any]:
    if not run.links:
        return dict.fromkeys(("link", "utilization", "mean queue (packets)"), math.nan)
    name = run.busiest_link(after, before) if link is None else link
    return {
        "link": name,
        "utilization": run.utilization(name, after, before),
        "mean queue (packets)": run.queue_mean(after, before, name),
    }
