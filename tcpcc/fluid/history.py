"""The past: cumulative curves in a ring of rows, one row per time step.

Row `k` is at ``k & mask``. Steps differ in length, so that a moment is found by walking a cursor
forward; moments that one place looks up never go back, hence the cost of a look-up is constant.
"""

from tcpcc.fluid.records import PER_STEP, TIME
from tcpcc.jit import accessor, compiled, record_dtype

import os
EDGE = float(os.environ.get('EDGE','.25'))
number_at = accessor(record_dtype({"value": float}))


@compiled
def row_address(w, row):
    return w.history + (row & w.mask) * w.columns * 8


@compiled
def cell(w, row, column):
    return number_at(row_address(w, row), column)


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
    """Turn `place` to `part` of the way from `row` to the next one: rows and their weights.

    A cubic through four rows, or where their distances differ much, a line through two. Lines alone
    would smear what comes back round trip after round trip, as an upwind scheme does.
    """
    place.cursor = row
    place.row1 = row_address(w, row)
    place.row2 = row_address(w, row + 1)
    place.w0 = 0.0
    place.w1 = 1 - part
    place.w2 = part
    place.w3 = 0.0
    if part <= 0 or part >= 1 or row < 1 or row + 2 > newest:
        return
    place.row0 = row_address(w, row - 1)
    place.row3 = row_address(w, row + 2)
    per_step = number_at(place.row2, PER_STEP).value
    before = number_at(place.row1, PER_STEP).value
    after = number_at(place.row3, PER_STEP).value
    if abs(before - per_step) + abs(after - per_step) < 1e-6 * per_step:
        b = 1 - part
        both = part * b / 6
        place.w0 = -both * (1 + b)
        place.c1 = b * (1 + part) * (1 + b) / 2
        place.c2 = part * (1 + part) * (1 + b) / 2
        place.w3 = -both * (1 + part)
        place.w4 = part
        place.w5 = b
        place.w1 = b
        place.w2 = part
    elif max(before, per_step, after) < 4 * min(before, per_step, after):
        before = per_step / before
        after = per_step / after
        a = part + before  # distances to the four rows, in steps: a, part, b, c
        b = 1 - part
        c = b + after
        place.w0 = -part * b * c / (before * (before + 1) * (before + 1 + after))
        place.c1 = a * b * c / (before * (1 + after))
        place.c2 = a * part * c / ((before + 1) * after)
        place.w3 = -a * part * b / ((before + 1 + after) * (1 + after) * after)
        place.w4 = part / before
        place.w5 = b / after
        place.w1 = b
        place.w2 = part


@compiled
def curve(place, column):
    """A curve at the place that was weighed, within its values at the rows beside it."""
    low = number_at(place.row1, column).value
    high = number_at(place.row2, column).value
    value = place.w1 * low + place.w2 * high
    if place.w0 == 0:
        return value
    x0 = number_at(place.row0, column).value
    x3 = number_at(place.row3, column).value
    up0 = (low - x0) * place.w4
    up3 = (x3 - high) * place.w5
    r0 = (low - x0)
    r3 = (x3 - high)
    if min(r0, r3) < EDGE * max(r0, r3) and min(r0,r3) <= high - low <= max(r0, r3):
        left = low + up0
        right = high - up3
        value = max(left, right) if r0 < r3 else min(left, right)
    else:
        value = place.c1 * low + place.c2 * high + place.w0 * x0 + place.w3 * x3
    return min(max(value, low), high)
