"""The past: which orders arrive at a stage of a route now, read from the senders' curves."""

from tcpcc.engine.jit import compiled, index_at, number_at
from tcpcc.models.coast.coast_records import pipe_at, stage_at

TIME = 0  # column of the time; links and flows follow


@compiled
def row_at(w, row):
    return w.history + (row & w.mask) * w.columns * 8


@compiled
def cell(w, row, column):
    return number_at(row_at(w, row), column).value


@compiled
def invert(w, column, newest, cursor, value):
    """The row from which a rising column reaches `value` on its way to the next row, and the share
    of that way."""
    row = cursor
    while row + 2 <= newest and cell(w, row + 1, column) <= value:
        row += 1
    low = cell(w, row, column)
    rise = cell(w, row + 1, column) - low
    share = (value - low) / rise if rise > 0 else 1.0
    return row, min(max(share, 0.0), 1.0)


@compiled
def trace(w, route, stage, time, newest):
    """Find when the bits that reach `stage` at `time` were sent: ``stage.row``, ``.share``,
    ``.sent_at``."""
    stage.row0 = stage.row
    stage.share0 = stage.share
    x = time - stage.before
    row = 0
    share = 0.0
    for i in range(max(stage.place, 1) - 1, -1, -1):
        column = TIME  # no queue on the way
        at = stage_at(w.stages, route.first_stage + i)
        if stage.place > 0:
            column = pipe_at(w.links, at.link).column
        cursor = index_at(stage.cursors, i)
        row, share = invert(w, column, newest, max(cursor.at, w.k - w.mask + 1, 0), x)
        cursor.at = row
        low = cell(w, row, TIME)
        x = low + share * (cell(w, row + 1, TIME) - low)
        stage.sent_at = x
        x -= at.before
    stage.row = row
    stage.share = share
    if stage.traced < w.k - 1:  # nothing has coasted of late
        stage.row0 = row
        stage.share0 = share
    stage.traced = w.k


@compiled
def read(w, stage, column):
    """A column where :func:`trace` has left the stage."""
    low = cell(w, stage.row, column)
    return low + stage.share * (cell(w, stage.row + 1, column) - low)


@compiled
def leaves(w, link, slot, time):
    """When the bits that arrive at `link` at `time`, of the flow of `slot`, begin to leave."""
    cursor = max(slot.cursor, w.k - w.mask + 1, 0)
    row, share = invert(w, TIME, w.k, cursor, time)
    slot.cursor = row
    low = cell(w, row, link.column)
    return low + share * (cell(w, row + 1, link.column) - low)
