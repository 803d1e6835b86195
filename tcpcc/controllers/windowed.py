"""Sliding-window maximum and minimum over seconds or rounds, for use in rules.

Source: K. Nichols' windowed filter, as in Linux lib/win_minmax.c. It keeps the best value, the best
value after it and the best value after that one, so that an expired value has a successor. The
result is exact, or that of a window shorter by at most a quarter.

A filter is two state variables of three numbers each::

    state={**windowed("bw", "packets/s", "delivery rate", 0.0), ...}

    update_max(s.bw_at, s.bw_best, window, now, value)   # returns s.bw_best[0]

The initial value must be worse than any sample: 0 for a maximum, infinity for a minimum.
"""

from tcpcc.definition import State


def windowed(name, unit, doc, worst):
    """State of a filter: ``name_at`` and ``name_best``."""
    return {
        f"{name}_at": State(0.0, "s or rounds", f"{doc}: times of the best values", size=3),
        f"{name}_best": State(worst, unit, f"{doc}: the best values", size=3),
    }


def restart(at, best, now, value):
    """Discard all values except `value`."""
    for i in range(3):
        at[i] = now
        best[i] = value


def shift(at, best, now, value):
    """Drop the best value, which is too old; its successors move up."""
    at[0], best[0] = at[1], best[1]
    at[1], best[1] = at[2], best[2]
    at[2], best[2] = now, value


def age(at, best, window, now, value):
    gone = now - at[0]
    if gone > window:
        shift(at, best, now, value)
        if now - at[0] > window:
            shift(at, best, now, value)
    elif at[1] == at[0] and gone > window / 4:
        at[1], best[1] = now, value
        at[2], best[2] = now, value
    elif at[2] == at[1] and gone > window / 2:
        at[2], best[2] = now, value
    return best[0]


def update_max(at, best, window, now, value):
    """Add `value`; returns the largest value of the last `window`."""
    if value >= best[0] or now - at[2] > window:
        restart(at, best, now, value)
        return value
    if value >= best[1]:
        at[1], best[1] = now, value
        at[2], best[2] = now, value
    elif value >= best[2]:
        at[2], best[2] = now, value
    return age(at, best, window, now, value)


def update_min(at, best, window, now, value):
    """Add `value`; returns the smallest value of the last `window`."""
    if value <= best[0] or now - at[2] > window:
        restart(at, best, now, value)
        return value
    if value <= best[1]:
        at[1], best[1] = now, value
        at[2], best[2] = now, value
    elif value <= best[2]:
        at[2], best[2] = now, value
    return age(at, best, window, now, value)
