"""Sums that a model keeps for each flow and each recorded link, one per recording interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import accessor, record_dtype

if TYPE_CHECKING:
    from tcpcc.engine.scratch import Scratch

FLOW_BIN = record_dtype(
    {
        "cwnd": float, "ssthresh": float, "rtt": float, "sent": float, "retransmitted": float,
        "delivered": float, "dropped": float, "acks_dropped": float,
    }
)  # fmt: skip
LINK_BIN = record_dtype(
    {
        "waiting": float, "queue_max": float, "busy": float, "sent_bits": float,
        "arrived": float, "drops": float, "marks": float,
    }
)  # fmt: skip

PART = 2**25  # bytes of bins held in memory at a time when a record is assembled from disk

flow_bin_at = accessor(FLOW_BIN)
link_bin_at = accessor(LINK_BIN)


def blank_bins(
    shape: tuple[int, int], dtype: np.dtype, scratch: Scratch | None = None
) -> np.ndarray[Any, Any]:
    """Empty bins: sums are 0, windows and RTTs NaN. With `scratch` they are kept on disk."""
    windows = [name for name in ("cwnd", "ssthresh", "rtt") if name in (dtype.names or ())]
    bins = np.zeros(shape if scratch is None else (), dtype)
    for name in windows:
        bins[name] = np.nan
    return bins if scratch is None else scratch.array(shape, bins)
