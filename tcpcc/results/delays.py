"""Packet delays from a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_PACKET = ["flow", "seq"]


def table(trace: pd.DataFrame) -> pd.DataFrame:
    """One row for each packet that arrived; see `Run.delays`."""
    events = trace[["time", "flow", "event", "seq"]]
    sends = events[events["event"].isin(["send", "retransmit"])]
    arrivals = events[events["event"] == "deliver"].drop_duplicates(_PACKET)
    arrivals = arrivals.drop(columns="event").rename(columns={"time": "delivered"})
    first = sends.drop_duplicates(_PACKET).rename(columns={"time": "sent"})
    packets = arrivals.merge(first[[*_PACKET, "sent"]], on=_PACKET, how="left")
    every = packets[[*_PACKET, "delivered"]].merge(sends[[*_PACKET, "time"]], on=_PACKET)
    before = every[every["time"] <= every["delivered"]]
    counts = before.groupby(_PACKET, observed=True).size().rename("transmissions")
    packets = packets.merge(counts.reset_index(), on=_PACKET, how="left")
    packets["delay"] = packets["delivered"] - packets["sent"]
    return packets[[*_PACKET, "sent", "delivered", "delay", "transmissions"]]
