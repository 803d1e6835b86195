"""The largest and the smallest value of the last so-many seconds or rounds, for rules.

Source: K. Nichols' windowed filter, as in Linux' lib/win_minmax.c: the best value, the best after
it and the best after that, so that one that grows old has a successor. The answer is exact, or that
of a window at most a quarter shorter.

A filter is two state variables of three numbers each::

    state={**windowed("bw", "packets/s", "delivery rate", 0.0), ...}

    update_max(s.bw_at, s.bw_best, window, now, value)   # returns s.bw_best[0]

Its state begins with a value that any other beats: 0 for a largest, infinity for a smallest one.
"""

from tcpcc.definition import State


def windowed(name, unit, doc, worst):
    """State of a filter: ``name_at`` and ``name_best``."""
    return {
        f"{name}_at": State(0.0, "s or rounds", f"{doc}: when the best values came", size=3),
        f"{name}_best": State(worst, unit, f"{doc}: the best values", size=3),
    }


def restart(at, best, now, value):
    """Forget all but `value`."""
    for i in range(3):
        at[i] = now
        best[i] = value


def shift(at, best, now, value):
    """The best is too old: its successors move up."""
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
    """Take in `value`; returns the largest of the last `window`."""
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
    """Take in `value`; returns the smallest of the last `window`."""
    if value <= best[0] or now - at[2] > window:
        restart(at, best, now, value)
        return value
    if value <= best[1]:
        at[1], best[1] = now, value
        at[2], best[2] = now, value
    elif value <= best[2]:
        at[2], best[2] = now, value
    return age(at, best, window, now, value)
