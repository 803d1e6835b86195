"""Series of state variables: of a queue discipline, or of a flow's controller.

A record with the fields :data:`NOTE_FIELDS` and `state` can note variables of that state once per
recording interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, compiled, index_at, number_at

if TYPE_CHECKING:
    from tcpcc.engine.scratch import Scratch
    from tcpcc.scenario.resolve import ResolvedFlow

#: The number of noted variables; addresses of their places in the state, and of their values.
NOTE_FIELDS: dict[str, type] = {"n_noted": int, "noted": int, "notes": int}


@compiled
def note_state(owner, state, b):
    """Note the variables of `state` that `owner` records in bin `b`; -1: note nothing."""
    if b >= 0:
        for i in range(owner.n_noted):
            value = number_at(state, index_at(owner.noted, i).at).value
            number_at(owner.notes, b * owner.n_noted + i).value = value


class Notes:
    """The arrays that :data:`NOTE_FIELDS` point to; they must live as long as the record.

    Args:
        names: the noted variables; real numbers of the state.
        dtype: the state's record type.
        n_bins: number of recording bins.
        scratch: if given, the values are kept on disk.
    """

    def __init__(
        self,
        names: Sequence[str],
        dtype: np.dtype,
        n_bins: int,
        scratch: Scratch | None = None,
    ) -> None:
        self.names = tuple(names)
        fields: Any = dtype.fields
        self._places = np.array([fields[name][1] // 8 for name in self.names], np.int64)
        shape, blank = (n_bins, len(self.names)), np.array(np.nan)
        self._values = np.full(shape, blank) if scratch is None else scratch.array(shape, blank)

    def fill(self, row: Any) -> None:
        """Write the addresses into the owner's record."""
        row["n_noted"] = len(self.names)
        row["noted"], row["notes"] = address(self._places), address(self._values)

    def series(self, name: str, bins: slice) -> np.ndarray:
        """A noted variable at the end of each bin; NaN before the first note.

        A bin without a note has the value of the previous bin. The value is written into the bin,
        so a series can be read in consecutive parts without looking back further than one bin.
        """
        values = self._values[max(bins.start - 1, 0) : bins.stop, self.names.index(name)]
        newest = np.maximum.accumulate(np.where(np.isnan(values), 0, np.arange(len(values))))
        values[:] = values[newest]
        return values[len(values) - (bins.stop - bins.start) :]


def joined_notes(
    recorded: Sequence[Sequence[str]], notes: Mapping[int, Notes], bins: slice
) -> dict[str, np.ndarray]:
    """The noted variables by name, shape [time, column]; NaN where a column has none.

    Args:
        recorded: names of the variables of each column.
        notes: the notes by column.
        bins: the recording bins to return.
    """
    shape = (bins.stop - bins.start, len(recorded))
    series = {name: np.full(shape, np.nan) for names in recorded for name in names}
    for column, of_column in notes.items():
        for name in of_column.names:
            series[name][:, column] = of_column.series(name, bins)
    return series


def states_of_flows(
    rows: Sequence[ResolvedFlow],
    recorded: Sequence[int],
    notes: Mapping[int, Notes],
    bins: slice,
    active: np.ndarray,
) -> dict[str, np.ndarray]:
    """The recorded variables of the controllers' states, by name; shape [time, row].

    Args:
        rows: the rows of the scenario.
        recorded: indices of those that are recorded.
        notes: the notes by row.
        bins: the recording bins to return.
        active: whether each of these has not finished by the end of each bin, shape [time, row].
    """
    of_column = {k: notes[row] for k, row in enumerate(recorded) if row in notes}
    noted = joined_notes([rows[row].recorded_states for row in recorded], of_column, bins)
    return {name: np.where(active, values, np.nan) for name, values in noted.items()}
