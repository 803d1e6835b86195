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
def weigh(history, newest, row, part, place):
    """Weights of four rows for the value `part` of the way from `row` to the next one.

    A cubic through four rows, or where their distances differ much, a line through two. The line
    alone would smear what returns round trip after round trip, as an upwind scheme does.
    """
    place.w0 = 0.0
    place.w1 = 1 - part
    place.w2 = part
    place.w3 = 0.0
    if part <= 0 or part >= 1 or row < 1 or row + 2 > newest:
        return
    mask = history.shape[0] - 1
    per_step = history[(row + 1) & mask, PER_STEP]
    before = per_step / history[row & mask, PER_STEP]
    after = per_step / history[(row + 2) & mask, PER_STEP]
    if before > 4 or before < 0.25 or after > 4 or after < 0.25:
        return
    a = part + before  # distances to the four rows, in steps
    b = 1 - part
    c = b + after
    place.w0 = -part * b * c / (before * (before + 1) * (before + 1 + after))
    place.w1 = a * b * c / (before * (1 + after))
    place.w2 = a * part * c / ((before + 1) * after)
    place.w3 = -a * part * b / ((before + 1 + after) * (1 + after) * after)


@compiled
def curve(history, column, place):
    """The value of a curve at the place that was weighed, within that of the rows beside it."""
    mask = history.shape[0] - 1
    row = place.cursor
    low = history[row & mask, column]
    high = history[(row + 1) & mask, column]
    value = place.w1 * low + place.w2 * high
    if place.w0 != 0:
        value += place.w0 * history[(row - 1) & mask, column]
        value += place.w3 * history[(row + 2) & mask, column]
        return min(max(value, low), high)
    return value


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
