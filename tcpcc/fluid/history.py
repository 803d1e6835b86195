"""The past: cumulative curves in a ring of rows, one row per time step.

Row `k` is at ``k & mask``. Steps differ in length, so that a moment is found by walking a cursor
forward; moments that one place looks up never go back, hence the cost of a look-up is constant.
Between rows the curves are straight.
"""

from tcpcc.fluid.records import PER_STEP, TIME
from tcpcc.jit import compiled


@compiled
def find(history, newest, cursor, time):
    """The last row at or before `time`, from row `cursor` on, such that a row follows it."""
    mask = history.shape[0] - 1
    while cursor + 1 < newest and history[(cursor + 1) & mask, TIME] <= time:
        cursor += 1
    return cursor


@compiled
def fraction(history, row, time):
    """How far `time` lies on the way from `row` to the next one, in [0, 1]."""
    mask = history.shape[0] - 1
    part = (time - history[row & mask, TIME]) * history[(row + 1) & mask, PER_STEP]
    return min(max(part, 0.0), 1.0)


@compiled
def between(history, column, row, part):
    """The value of a curve `part` of the way from `row` to the next one."""
    mask = history.shape[0] - 1
    value = history[row & mask, column]
    return value + part * (history[(row + 1) & mask, column] - value)


@compiled
def crossing(history, column, newest, cursor, value):
    """Row and part of the way at which a curve, from row `cursor` on, comes to `value`."""
    mask = history.shape[0] - 1
    while cursor + 1 < newest and history[(cursor + 1) & mask, column] < value:
        cursor += 1
    low = history[cursor & mask, column]
    rise = history[(cursor + 1) & mask, column] - low
    part = (value - low) / rise if rise > 0 else 1.0
    return cursor, min(max(part, 0.0), 1.0)


@compiled
def locate(history, newest, time):
    """The row at or before `time`, by bisection; for moments looked up once in a while."""
    mask = history.shape[0] - 1
    low = max(newest - history.shape[0] + 1, 0)
    high = newest
    while high - low > 1:
        middle = (low + high) // 2
        if history[middle & mask, TIME] <= time:
            low = middle
        else:
            high = middle
    return low
