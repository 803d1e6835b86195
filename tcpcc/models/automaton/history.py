"""The history: cumulative curves in a ring of rows, one row per time step.

Row `k` is at ``k & mask``. Steps differ in length, so a time is found by moving a cursor forward.
The times of one cursor never decrease, so the amortized cost of a look-up is constant.
"""

from tcpcc.engine.jit import compiled, number_at
from tcpcc.models.automaton.fluid_records import PER_STEP, TIME

NEAR = 1e-9  # steps; a time this close to a row is at the row
EDGE = 0.25  # largest ratio of the slopes on both sides that counts as the edge of a burst


@compiled
def row_address(w, row):
    return w.history + (row & w.mask) * w.columns * 8


@compiled
def cell(w, row, column):
    return number_at(row_address(w, row), column)


@compiled
def find(w, newest, cursor, time):
    """The last row at or before `time`, from row `cursor` on, that precedes row `newest`."""
    while cursor + 1 < newest and cell(w, cursor + 1, TIME).value <= time:
        cursor += 1
    return cursor


@compiled
def locate(w, newest, time):
    """As :func:`find`, by bisection, for times that are rarely looked up."""
    low = max(w.k - w.mask, 0)
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
    """The position of `time` between `row` (0) and the next row (1)."""
    part = (time - cell(w, row, TIME).value) * cell(w, row + 1, PER_STEP).value
    if part < NEAR:
        return 0.0
    return part if part < 1 - NEAR else 1.0


@compiled
def between(w, column, row, part):
    """A curve at the fraction `part` between `row` and the next one, by linear interpolation."""
    value = cell(w, row, column).value
    return value + part * (cell(w, row + 1, column).value - value)


@compiled
def crossing(w, column, newest, cursor, value):
    """The row, and the fraction to the next one, where a curve reaches `value`."""
    while cursor + 1 < newest and cell(w, cursor + 1, column).value < value:
        cursor += 1
    low = cell(w, cursor, column).value
    rise = cell(w, cursor + 1, column).value - low
    part = (value - low) / rise if rise > 0 else 1.0
    return cursor, min(max(part, 0.0), 1.0)


@compiled
def turn(w, newest, row, part, place):
    """Set `place` to the fraction `part` between `row` and the next one: its rows and weights."""
    place.cursor = row
    place.part = part
    place.row1 = row_address(w, row)
    place.row2 = row_address(w, row + 1)
    place.four = 0
    if part <= 0 or part >= 1 or row < 1 or row + 2 > newest:
        return
    place.row0 = row_address(w, row - 1)
    place.row3 = row_address(w, row + 2)
    per_step = number_at(place.row2, PER_STEP).value
    before = number_at(place.row1, PER_STEP).value
    after = number_at(place.row3, PER_STEP).value
    least = min(before, per_step, after)
    most = max(before, per_step, after)
    if most > 4 * least:
        return
    place.four = 1
    b = 1 - part
    if most - least < NEAR * most:  # the usual case, without divisions
        both = part * b / 6
        place.w0 = -both * (1 + b)
        place.w1 = 3 * both * (1 + b) + b * (1 + b) / 2
        place.w2 = 3 * both * (1 + part) + part * (1 + part) / 2
        place.w3 = -both * (1 + part)
        place.onward = part
        place.back = b
        return
    before = per_step / before  # lengths of the neighboring steps, in units of this one
    after = per_step / after
    a = part + before  # distances to the four rows: a, part, b, c
    c = b + after
    place.w0 = -part * b * c / (before * (before + 1) * (before + 1 + after))
    place.w1 = a * b * c / (before * (1 + after))
    place.w2 = a * part * c / ((before + 1) * after)
    place.w3 = -a * part * b / ((before + 1 + after) * (1 + after) * after)
    place.onward = part / before
    place.back = b / after


@compiled
def may_have_risen(place, column):
    """Whether a curve that never falls could be higher at a place than a step before."""
    return number_at(place.earlier, column).value != number_at(place.row2, column).value


@compiled
def curve(place, column, low, high):
    """A curve at a place, between its values `low` and `high` at the neighboring rows.

    Linear interpolation would smear bursts more and more with each round trip, as an upwind scheme
    does. With four rows available, a cubic goes through them. If one side is much flatter than the
    other, the edge of a burst lies between: the lines of both sides are extended until they meet.
    """
    if place.four == 0:
        return low + place.part * (high - low)
    first = number_at(place.row0, column).value
    last = number_at(place.row3, column).value
    before = low - first
    after = last - high
    if before < EDGE * after and before <= high - low <= after:
        value = max(low + before * place.onward, high - after * place.back)
    elif after < EDGE * before and after <= high - low <= before:
        value = min(low + before * place.onward, high - after * place.back)
    else:
        value = place.w0 * first + place.w1 * low + place.w2 * high + place.w3 * last
    return min(max(value, low), high)
