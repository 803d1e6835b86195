"""The memory of a trace: the traced connections and the recorded events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.errors import ScenarioError, unknown
from tcpcc.models.packet import packet_records as r
from tcpcc.results.recording import EVENT_DTYPE, TRACED

if TYPE_CHECKING:
    from tcpcc.results.run import Selection
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

FIRST_ROOM = 4096  # events of a new trace


class TraceMemory:
    """The recorded events of the traced connections.

    Args:
        w: the world's record.
        resolved: the scenario.
        chosen: True for all, False for none, or one or several names of rows, controllers or
            workloads.
    """

    def __init__(self, w: np.ndarray, resolved: Resolved, chosen: bool | Selection) -> None:
        self.w = w
        self._asked = chosen
        self.choose(resolved)
        self.columns = list(TRACED)
        for k in sorted(self._rows):
            controller = resolved.rows[k].controller
            for name in controller.record if controller is not None else ():
                if name not in self.columns:
                    self.columns.append(name)
        room = FIRST_ROOM if self._rows else 0
        self._entries = np.zeros(room, r.TRACE)
        self._values = np.zeros((room, len(self.columns)))
        self._owned: list[np.ndarray] = []
        self._tell()

    def choose(self, resolved: Resolved) -> None:
        """Find the traced rows and their numbers in the record."""
        self._rows = _chosen(resolved, self._asked)
        self._numbers = np.full(len(resolved.rows), -1)
        self._numbers[list(resolved.recorded)] = np.arange(len(resolved.recorded))

    def mark(self, row: Any, noted: Any, k: int, flow: ResolvedFlow) -> None:
        """Write whether row `k`, of a flow or a kind, is traced; into its FLOW_NOTES which state
        variables are."""
        if k not in self._rows:
            return
        row["traced"] = 1
        if flow.controller is None:
            return
        fields: Any = flow.controller.state_dtype.fields
        variables = [
            (fields[n][1] // 8, self.columns.index(n))
            for n in flow.controller.record
            if n in self.columns
        ]
        self._owned.append(np.array(variables, r.TRACED))
        noted["in_trace"], noted["n_in_trace"] = address(self._owned[-1]), len(variables)

    def grow(self) -> None:
        """Double the memory if it is nearly full."""
        if len(self._entries) and self.w["trace_count"][0] + 4 * r.MARGIN > len(self._entries):
            self._entries = np.concatenate([self._entries, np.zeros_like(self._entries)])
            self._values = np.concatenate([self._values, np.zeros_like(self._values)])
            self._tell()

    def _tell(self) -> None:
        w = self.w[0]
        w["trace"], w["trace_room"] = address(self._entries), len(self._entries)
        w["trace_values"], w["trace_columns"] = address(self._values), len(self.columns)

    def events(self, duration: float) -> np.ndarray | None:
        """The events up to `duration`, in order of time; None if nothing is traced."""
        if not self._rows:
            return None
        count = int(self.w["trace_count"][0])
        dtype = [*EVENT_DTYPE.descr, *((name, "f8") for name in self.columns)]
        events = np.zeros(count, np.dtype(dtype))
        for name in EVENT_DTYPE.names or ():
            events[name] = self._entries[name][:count]
        rows, series = len(self._numbers), int(self._numbers.max(initial=-1)) + 1
        if series < rows:  # the record has recorded rows only
            ident = events["flow"]
            own = ident < rows
            events["flow"] = np.where(own, self._numbers[np.minimum(ident, rows - 1)], ident)
            events["flow"][~own] -= rows - series
        for k, name in enumerate(self.columns):
            events[name] = self._values[:count, k]
        # events at links are written early (see transit.py): sort them in, before their effects
        at_sender = events["event"] < r.DELIVER
        events = events[np.lexsort((at_sender, events["flow"], events["time"]))]
        return events[events["time"] <= duration]


def _chosen(resolved: Resolved, chosen: bool | Selection) -> set[int]:
    rows = resolved.rows
    recorded = set(resolved.recorded)
    if chosen is None or isinstance(chosen, bool | np.bool_):
        return recorded if chosen else set()
    names: dict[str, set[int]] = {}
    for k, row in enumerate(rows):
        for name in {row.name, row.controller.name if row.controller else "cbr"}:
            names.setdefault(name, set()).add(k)
    first = len(resolved.flows)
    for load in resolved.workloads:
        names.setdefault(load.name, set()).update(range(first, first + len(load.kinds)))
        first += len(load.kinds)
    traced: set[int] = set()
    for name in [chosen] if isinstance(chosen, str) else chosen:
        if not isinstance(name, str):
            raise ScenarioError(f"trace = {chosen!r}: must be True, False, or names of flows")
        if name not in names:
            raise unknown("flow in trace", name, names)
        if not names[name] & recorded:
            raise ScenarioError(f"trace = {name!r}: record = False: set record = True to trace it")
        traced |= names[name] & recorded
    return traced
