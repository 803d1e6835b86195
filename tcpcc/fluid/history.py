"""The past: cumulative curves in a ring of rows, one row per time step.

Row `k` is at ``k & mask``. Steps differ in length, so that a moment is found by walking a cursor
forward; moments that one place looks up never go back, hence the cost of a look-up is constant.
"""

from tcpcc.fluid.records import PER_STEP, TIME
from tcpcc.jit import accessor, compiled, record_dtype

number_at = accessor(record_dtype({"value": float}))


@compiled
def cell(w, row, column):
    return number_at(w.history, (row & w.mask) * w.columns + column)


@compiled
def find(w, newest, cursor, time):
    """The last row at or before `time`, from row `cursor` on, such that a row follows it."""
    while cursor + 1 < newest and cell(w, cursor + 1, TIME).value <= time:
        cursor += 1
    return cursor


@compiled
def locate(w, newest, time):
    """The same without a cursor, for moments that are looked up once in a while."""
    low = max(newest - w.mask, 0)
    high = newest
    while high - low > 1:
        middle = (low + high) // 2
        if cell(w, middle, TIME).value <= time:
            low = middle
        else:
            high = middle
    return low


@compiled
def fraction(w, row, time):
    """How far `time` lies on the way from `row` to the next one, in [0, 1]."""
    part = (time - cell(w, row, TIME).value) * cell(w, row + 1, PER_STEP).value
    return min(max(part, 0.0), 1.0)


@compiled
def between(w, column, row, part):
    """A curve `part` of the way from `row` to the next one, on a straight line."""
    value = cell(w, row, column).value
    return value + part * (cell(w, row + 1, column).value - value)


@compiled
def crossing(w, column, newest, cursor, value):
    """Row and part of the way at which a curve, from row `cursor` on, comes to `value`."""
    while cursor + 1 < newest and cell(w, cursor + 1, column).value < value:
        cursor += 1
    low = cell(w, cursor, column).value
    rise = cell(w, cursor + 1, column).value - low
    part = (value - low) / rise if rise > 0 else 1.0
    return cursor, min(max(part, 0.0), 1.0)


@compiled
def weigh(w, newest, row, part, place):
    """Note in `place` the weights of four rows for values `part` of the way to the row after `row`.

    A cubic through four rows, or where their distances differ much, a line through two. Lines alone
    would smear what comes back round trip after round trip, as an upwind scheme does.
    """
    place.cursor = row
    place.w0 = 0.0
    place.w1 = 1 - part
    place.w2 = part
    place.w3 = 0.0
    if part <= 0 or part >= 1 or row < 1 or row + 2 > newest:
        return
    per_step = cell(w, row + 1, PER_STEP).value
    before = per_step / cell(w, row, PER_STEP).value
    after = per_step / cell(w, row + 2, PER_STEP).value
    if before > 4 or before < 0.25 or after > 4 or after < 0.25:
        return
    a = part + before  # distances to the four rows, in steps: a, part, b, c
    b = 1 - part
    c = b + after
    place.w0 = -part * b * c / (before * (before + 1) * (before + 1 + after))
    place.w1 = a * b * c / (before * (1 + after))
    place.w2 = a * part * c / ((before + 1) * after)
    place.w3 = -a * part * b / ((before + 1 + after) * (1 + after) * after)


@compiled
def curve(w, column, place):
    """A curve at the place that was weighed, within its values at the rows beside it."""
    row = place.cursor
    low = cell(w, row, column).value
    high = cell(w, row + 1, column).value
    value = place.w1 * low + place.w2 * high
    if place.w0 == 0:
        return value
    value += place.w0 * cell(w, row - 1, column).value
    value += place.w3 * cell(w, row + 2, column).value
    return min(max(value, low), high)
