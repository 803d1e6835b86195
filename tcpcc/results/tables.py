"""Tables of a run: totals of flows, states of controllers, events and delays of connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcpcc.errors import ScenarioError
from tcpcc.results.flow_rows import recorded_rows
from tcpcc.results.recording import EVENTS, TOTALS

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.results.run import Run, Selection


def totals(run: Run) -> pd.DataFrame:
    """One row for each flow, recorded or not; see `Run.totals`."""
    import pandas as pd

    data = run.data
    prefix, dim = ("each_", "each") if "each" in data.dims else ("", "flow")
    names = ("controller", "count", "start", "packet_size", *TOTALS)
    values = {name: data[f"{prefix}{name}"].values for name in names}
    for name in TOTALS:
        total = values[name].sum(axis=0) if values[name].ndim > 1 else values[name]
        values[name] = total.astype(float)
    rate = values["delivered"] * values["packet_size"] * 8e-6 / run.duration
    return pd.DataFrame(
        {
            "controller": values["controller"],
            "count": values["count"],
            "start_s": values["start"],
            "sent": values["sent"],
            "retransmitted": values["retransmitted"],
            "delivered": values["delivered"],
            "throughput_mbps": rate,
            "loss_events": values["loss_events"],
            "timeouts": values["timeouts"],
            "finished_s": values["finished"],
        },
        index=pd.Index([str(name) for name in data[dim].values], name="flow"),
    )


def states(run: Run, flow: str) -> pd.DataFrame:
    """One row per bin with the recorded variables of a flow's controller; see `Run.states`."""
    import pandas as pd

    of_flow = run.data.sel(flow=run.recorded_flow(flow))
    row = recorded_rows(run)[run.flows.index(flow)]
    if not row.recorded_states:
        raise ScenarioError(
            f"flow {flow!r} has no recorded states: name some, Flow(record=(...)); see"
            " tcpcc.controllers()"
        )
    table = pd.DataFrame(index=pd.Index(run.data["time"].values, name="time"))
    for name in row.recorded_states:
        values = of_flow[f"state_{name}"].values
        if labels := row.algorithm.state[name].names:
            codes = np.where(np.isnan(values), -1, values).astype(int)
            table[name] = pd.Categorical.from_codes(codes, pd.Index(labels))
        else:
            table[name] = values
    return table


def trace(run: Run, flows: Selection) -> pd.DataFrame:
    """One row for each event of the selected connections; see `Run.trace`."""
    import pandas as pd

    selected = run.connections(flows)
    assert run.events is not None
    numbers, place = np.unique(run.events["flow"], return_inverse=True)
    names = [run.connection(int(number)) for number in numbers]
    table = pd.DataFrame({name: run.events[name] for name in run.events.dtype.names or ()})
    table["flow"] = pd.Categorical(np.array(names)[place], names)
    table["event"] = pd.Categorical.from_codes(run.events["event"], pd.Index(EVENTS))
    if len(selected) == len(numbers):
        return table
    return table[np.isin(run.events["flow"], selected)].reset_index(drop=True)


def delays(trace: pd.DataFrame) -> pd.DataFrame:
    """One row for each packet that arrived; see `Run.delays`."""
    packet = ["flow", "seq"]
    events = trace[["time", "flow", "event", "seq"]]
    sends = events[events["event"].isin(["send", "retransmit"])]
    arrivals = events[events["event"] == "deliver"].drop_duplicates(packet)
    arrivals = arrivals.drop(columns="event").rename(columns={"time": "delivered"})
    first = sends.drop_duplicates(packet).rename(columns={"time": "sent"})
    packets = arrivals.merge(first[[*packet, "sent"]], on=packet, how="left")
    every = packets[[*packet, "delivered"]].merge(sends[[*packet, "time"]], on=packet)
    before = every[every["time"] <= every["delivered"]]
    counts = before.groupby(packet, observed=True).size().rename("transmissions")
    packets = packets.merge(counts.reset_index(), on=packet, how="left")
    packets["delay"] = packets["delivered"] - packets["sent"]
    return packets[[*packet, "sent", "delivered", "delay", "transmissions"]]
