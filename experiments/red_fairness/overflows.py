"""Who loses at each overflow of a buffer."""

from __future__ import annotations

from collections import Counter

import numpy as np

import tcpcc as tc

QUIET = 0.5
"""s without a drop after which the next drop belongs to another overflow."""


def drops_by_overflow(run: tc.Run, after: float = 5.0) -> Counter[tuple[int, ...]]:
    """Numbers of dropped packets of the flows in each overflow, counted.

    Args:
        run: a run with bins that are shorter than `QUIET`.
        after: overflows that begin before this time are left out, s; default: without slow start.
    """
    times = run.data["time"].values
    dropped = np.nan_to_num(run.data["dropped"].values)
    found: list[np.ndarray] = []
    last = -np.inf
    for k in np.flatnonzero(dropped.sum(axis=1) > 0):
        if times[k] - last > QUIET:
            begins_late = times[k] > after
            found += [np.zeros(dropped.shape[1])] if begins_late else []
        if found:
            found[-1] += dropped[k]
        last = times[k]
    return Counter(tuple(int(n) for n in np.round(each)) for each in found)
