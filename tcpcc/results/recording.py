"""What a run records: the variables of its `xarray.Dataset`, and how an engine's arrays become one.

Series are kept in bins: `time` is the END of each bin, and the first bin starts at 0. Engines hand
their plain arrays to `dataset`, the only place where a record is put together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr

    from tcpcc.queues.discipline import Discipline
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

FORMAT = "tcpcc-run-1"

#: Means over time by name: of flows, and of links.
Means = tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]

VARIABLES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "cwnd": (("time", "flow"), "packets", "congestion window at the bin's end"),
    "ssthresh": (("time", "flow"), "packets", "slow-start threshold at the bin's end"),
    "rtt": (("time", "flow"), "s", "last round-trip time sample"),
    "sent": (("time", "flow"), "packets", "sent in the bin, retransmissions included"),
    "retransmitted": (("time", "flow"), "packets", "sent again in the bin"),
    "delivered": (("time", "flow"), "packets", "reached the receiver for the first time"),
    "dropped": (("time", "flow"), "packets", "dropped in the network in the bin"),
    "queue": (("time", "link"), "packets", "packets waiting, mean over the bin"),
    "queue_max": (("time", "link"), "packets", "packets waiting, largest in the bin"),
    "busy": (("time", "link"), "1", "share of the bin in which the link was sending"),
    "arrived": (("time", "link"), "packets", "packets that arrived at the link in the bin"),
    "drops": (("time", "link"), "packets", "packets that the link dropped in the bin"),
    "sent_bits": (("time", "link"), "bit", "sent on the link in the bin"),
    "capacity": (("time", "link"), "bit", "most that the link could have sent in the bin"),
    "controller": (("flow",), "", "congestion controller, or cbr"),
    "start": (("flow",), "s", "start of the flow"),
    "stop": (("flow",), "s", "no new data after this"),
    "packet_size": (("flow",), "byte", "size of a packet on the wire"),
    "payload": (("flow",), "byte", "data in a packet"),
    "base_rtt": (("flow",), "s", "round-trip time with empty queues"),
    "timeouts": (("flow",), "1", "retransmission timeouts"),
    "loss_events": (("flow",), "1", "losses that the sender reacted to, one per window"),
    "finished": (("flow",), "s", "time when all data had been acknowledged"),
    "rate": (("link",), "bit/s", "rate of the link at the start"),
    "delay": (("link",), "s", "one-way propagation delay of the link at the start"),
    "buffer": (("link",), "", "room for waiting packets, in buffer_unit"),
    "buffer_unit": (("link",), "", "packets or bytes"),
    "crosses": (("flow", "link"), "1", "whether the flow's data use the link"),
}
"""Name -> dimensions, unit, meaning, for every variable of a record.

A scenario's workloads have a row each (or one for each kind of conversation) in the dimension
flow, after the flows: their sums, and no windows. A record with workloads also has `ITEMS`.

Besides these a record has, for each state variable that a queue discipline of a recorded link
records, ``queue_<variable>`` with dims (time, link): its value after the last arrival, NaN for
links whose discipline has none (RED: ``queue_avg``).
"""

TOTALS: dict[str, tuple[str, str]] = {
    "sent": ("packets", "sent in the whole run, retransmissions included"),
    "retransmitted": ("packets", "sent again in the whole run"),
    "delivered": ("packets", "packet model: acknowledged by the end; fluid: reached the receiver"),
    "timeouts": ("1", VARIABLES["timeouts"][2]),
    "loss_events": ("1", VARIABLES["loss_events"][2]),
    "finished": ("s", VARIABLES["finished"][2]),
}
"""Name -> unit, meaning, of what a record has of every row of the scenario, recorded or not, where
some flow has ``record=False``: ``each_sent`` and so on, dims (each), with ``each_start`` (s),
``each_controller`` and ``each_packet_size`` (byte). The dimension flow then has the others only."""

MARKS = (("time", "link"), "packets", "packets that the link marked in the bin (ECN)")
"""Dimensions, unit, meaning of ``marks``, of a record with ECN."""

ITEMS: dict[str, tuple[str, str]] = {
    "item_flow": ("", "row of the item's conversation in the dimension flow"),
    "item_conversation": ("", "number of its conversation, in the order of their beginnings"),
    "item_number": ("", "its number in its conversation"),
    "item_size": ("packets", "size"),
    "item_start": ("s", "when it was handed over to the connection"),
    "item_finished": ("s", "when all of it had been acknowledged"),
}
"""Name -> unit, meaning, of what is recorded of each item of a workload; dims (item)."""

EVENTS = ("send", "retransmit", "ack", "dupack", "loss", "timeout", "deliver", "drop")
"""What `event` in a trace counts: 0 is "send", 1 "retransmit", ...

`seq` is the packet's number, for "ack" and "dupack" the next one that the receiver wants. `value`
is the window after the event (packets) for "send", "retransmit", "loss" and "timeout", the
round-trip time (s, NaN if none) for "ack" and "dupack", the link's index in
`scenario.resolve().links` for "drop", and means nothing for "deliver".
"""

EVENT_DTYPE = np.dtype(
    [("time", "f8"), ("flow", "i4"), ("event", "i4"), ("seq", "i8"), ("value", "f8")]
)
"""What every event of a trace has (`trace=True`)."""

TRACED: dict[str, tuple[str, str]] = {
    "cwnd": ("packets", "congestion window after the event"),
    "ssthresh": ("packets", "slow-start threshold"),
    "in_transit": ("packets", "sent and not yet acknowledged"),
    "trigger": ("", "of an ACK: number of the packet that caused it"),
    "sack_low": (
        "",
        "of an ACK: first packet of the block that it tells of (SACK)",
    ),
    "sack_high": (
        "",
        "of an ACK: the packet after that block; sack_low where there is none; of a D-SACK the"
        " packet that came twice, the one after it being sack_low",
    ),
}
"""Name -> unit, meaning, of what else a trace has of events at a sender; NaN for other events.

After these come the state variables that the traced controllers name in `record`, by their names
there; NaN for flows whose controller does not name them.
"""


def _recorded_meaning(name: str, disciplines: Sequence[Discipline]) -> tuple[str, str]:
    """Unit and meaning of a state variable that several disciplines may record under one name."""
    found: dict[tuple[str, str], str] = {}
    for one in disciplines:
        if name in one.record:
            found.setdefault((one.state[name].unit, one.state[name].doc), one.name)
    if len(found) == 1:
        return next(iter(found))
    told = [f"{owner}: {doc} ({unit or '1'})" for (unit, doc), owner in found.items()]
    units = {unit for unit, _ in found}
    return units.pop() if len(units) == 1 else "", "; ".join(told)


def dataset(
    scenario: Scenario,
    resolved: Resolved,
    *,
    model: str,
    driver: str,
    time: ArrayLike,
    cwnd: ArrayLike,
    ssthresh: ArrayLike,
    rtt: ArrayLike,
    sent: ArrayLike,
    retransmitted: ArrayLike,
    delivered: ArrayLike,
    dropped: ArrayLike,
    queue: ArrayLike,
    queue_max: ArrayLike,
    busy: ArrayLike,
    arrived: ArrayLike,
    drops: ArrayLike,
    sent_bits: ArrayLike,
    timeouts: ArrayLike,
    loss_events: ArrayLike,
    finished: ArrayLike,
    base_rtt: ArrayLike | None = None,
    capacity: ArrayLike | None = None,
    recorded: Sequence[int] | None = None,
    marks: ArrayLike | None = None,
    queue_states: Mapping[str, ArrayLike] | None = None,
    items: Mapping[str, ArrayLike] | None = None,
    totals: Mapping[str, ArrayLike] | None = None,
    begin: float = 0.0,
    cpu_seconds: float = math.nan,
) -> xr.Dataset:
    """Put an engine's arrays together as a record; `VARIABLES` says what each holds.

    Args:
        scenario, resolved: what was run; names, sizes and the rest are read from these.
        model, driver: which engine ran it.
        time: ends of the bins, shape [time], s.
        begin: s, when the first bin starts; of a part of a record the end of the part before.
        cwnd, ssthresh, rtt: shape [time, flow]; NaN where there is no value.
        sent, retransmitted, delivered, dropped: shape [time, flow], packets.
        queue, queue_max, busy, arrived, drops, sent_bits: shape [time, recorded link].
        timeouts, loss_events, finished: shape [flow].
        base_rtt: shape [flow], s. Default: `base_rtts(resolved)`.
        capacity: shape [time, recorded link], bit; give it when something but the scenario's own
            changes set a link's rate. Default: `capacities(resolved, recorded, time, begin)`.
        recorded: indices into `resolved.links`. Default: those with `record` set.
        marks: of a model that marks packets, shape [time, recorded link].
        queue_states: what the queue disciplines record, by the state variable's name, shape
            [time, recorded link].
        items: of a model that runs workloads: what `ITEMS` names, shape [item].
        totals: of a model that keeps series of ``resolved.recorded`` only (arrays with a dimension
            flow have these alone then): what `TOTALS` names of each row. Default: the sums of the
            series, of which those of ``resolved.recorded`` are kept.
        cpu_seconds: processor time that the run took.

    Raises:
        ValueError: an array has the wrong shape, or a queue's state variable the name of another.
    """
    import xarray as xr

    from tcpcc import __version__

    if recorded is None:
        recorded = [i for i, link in enumerate(resolved.links) if link.record]
    indices = [int(i) for i in recorded]
    links = [resolved.links[i] for i in indices]
    everyone, kept = resolved.rows, list(resolved.recorded)
    rows = [everyone[k] for k in kept]
    flows = [f.spec for f in rows]
    crosses = np.zeros((len(flows), len(links)), dtype=bool)
    for row, flow in zip(crosses, rows, strict=True):
        row[:] = np.isin(indices, flow.forward)
    ends = np.asarray(time, dtype=float)
    values: dict[str, Any] = {
        "cwnd": cwnd,
        "ssthresh": ssthresh,
        "rtt": rtt,
        "sent": sent,
        "retransmitted": retransmitted,
        "delivered": delivered,
        "dropped": dropped,
        "queue": queue,
        "queue_max": queue_max,
        "busy": busy,
        "arrived": arrived,
        "drops": drops,
        "sent_bits": sent_bits,
        "capacity": capacities(resolved, indices, ends, begin) if capacity is None else capacity,
        "controller": np.array(
            [f.controller.name if f.controller else "cbr" for f in rows], dtype=str
        ),
        "start": [f.start for f in flows],
        "stop": [math.nan if f.stop is None else f.stop for f in flows],
        "packet_size": [float(f.packet_size) for f in flows],
        "payload": [float(f.packet_size - getattr(f, "header", 0)) for f in flows],
        "base_rtt": base_rtts(resolved)[kept] if base_rtt is None else base_rtt,
        "timeouts": timeouts,
        "loss_events": loss_events,
        "finished": finished,
        "rate": [float(link.rate) for link in links],
        "delay": [float(link.delay) for link in links],
        "buffer": [float(link.buffer) for link in links],
        "buffer_unit": np.array([link.buffer_unit for link in links], dtype=str),
        "crosses": crosses,
    }
    sizes = {"time": len(ends), "flow": len(flows), "link": len(links)}
    if len(kept) < len(everyone) and totals is None:
        totals = {
            name: np.sum(np.ascontiguousarray(values[name]), axis=0)
            for name in ("sent", "retransmitted", "delivered")
        }
        totals |= {k: values[k] for k in ("timeouts", "loss_events", "finished")}
        for name, (dims, _, _) in VARIABLES.items():
            axis = dims.index("flow") if "flow" in dims else None
            if axis is not None and np.shape(values[name])[axis] == len(everyone):
                values[name] = np.take(values[name], kept, axis)
    table = dict(VARIABLES)
    if marks is not None:
        table["marks"] = MARKS
        values["marks"] = marks
    for name, series in (queue_states or {}).items():
        unit, meaning = _recorded_meaning(name, [link.queue.discipline for link in links])
        if f"queue_{name}" in table:
            raise ValueError(f"queue_{name} is a variable of every record: record another name")
        table[f"queue_{name}"] = (("time", "link"), unit, meaning)
        values[f"queue_{name}"] = series
    variables = {}
    for name, (dims, units, long_name) in table.items():
        array = np.ascontiguousarray(values[name])  # no view of an engine's memory
        shape = tuple(sizes[dim] for dim in dims)
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}: must be {shape}, dims {dims}")
        attrs = {"long_name": long_name} | ({"units": units} if units else {})
        variables[name] = (dims, array, attrs)
    for name, column in (items or {}).items():
        unit, long_name = ITEMS[name]
        attrs = {"long_name": long_name} | ({"units": unit} if unit else {})
        variables[name] = (("item",), np.ascontiguousarray(column), attrs)
    if len(kept) < len(everyone):
        variables |= _totals(everyone, totals or {})
    return xr.Dataset(
        variables,
        coords={
            "time": ("time", ends, {"long_name": "end of the bin", "units": "s"}),
            "flow": np.array([f.name for f in rows], dtype=str),
            "link": np.array([link.name for link in links], dtype=str),
        },
        attrs={
            "format": FORMAT,
            "model": model,
            "driver": driver,
            "scenario": scenario.to_toml(),
            "digest": scenario.digest,
            "seed": scenario.seed,
            "duration": float(scenario.duration),
            "interval": float(scenario.interval),
            "version": __version__,
            "cpu_seconds": float(cpu_seconds),
        },
    )


def _totals(
    everyone: Sequence[ResolvedFlow], totals: Mapping[str, ArrayLike]
) -> dict[str, tuple[tuple[str], Any, dict[str, str]]]:
    """The variables of `TOTALS`."""
    made: dict[str, tuple[tuple[str], Any, dict[str, str]]] = {}
    for name, (unit, long_name) in TOTALS.items():
        array = np.ascontiguousarray(totals[name], dtype=float)
        made[f"each_{name}"] = ("each",), array, {"long_name": long_name, "units": unit}
    columns: dict[str, tuple[Any, str]] = {
        "start": ([f.spec.start for f in everyone], "s"),
        "packet_size": ([float(f.spec.packet_size) for f in everyone], "byte"),
        "controller": (
            np.array([f.controller.name if f.controller else "cbr" for f in everyone], dtype=str),
            "",
        ),
    }
    for name, (values, unit) in columns.items():
        attrs = {"long_name": VARIABLES[name][2]} | ({"units": unit} if unit else {})
        made[f"each_{name}"] = ("each",), np.asarray(values), attrs
    made["each"] = ("each",), np.array([f.name for f in everyone], dtype=str), {}
    return made


ROUNDING = 1e-6
"""Of an interval: by so much a bin's end may miss the round number that a user writes."""


def bins_within(
    ends: NDArray[np.float64], interval: float, after: float, before: float = math.inf
) -> tuple[int, int]:
    """The first of the bins, `interval` s long, whose end lies in (after, before], and the first
    one after them."""
    limits = np.array([after, before]) + ROUNDING * interval
    first, stop = np.searchsorted(ends, limits, side="right")
    return int(first), int(stop)


def late_bins(ends: NDArray[np.float64], interval: float, after: float) -> tuple[int, float]:
    """The first of the bins, `interval` s long, that ends later than `after`, and when it begins.

    Raises:
        ScenarioError: none does.
    """
    first, stop = bins_within(ends, interval, after)
    if first == stop:
        raise ScenarioError(f"after = {after:g}: no bin ends later; the last ends at {ends[-1]:g}")
    return first, float(ends[first - 1]) if first else 0.0


def base_rtts(resolved: Resolved) -> NDArray[np.float64]:
    """Round-trip time of each flow with empty queues, s, shape [flow]; NaN for CBR.

    Propagation both ways, one packet's transmission on each link out, one ACK's on each back.
    """
    result = np.full(len(resolved.rows), math.nan)
    for i, flow in enumerate(resolved.rows):
        if flow.controller is not None:
            out = [resolved.links[k] for k in flow.forward]
            back = [resolved.links[k] for k in flow.reverse]
            size, ack_size = flow.spec.packet_size, getattr(flow.spec, "ack_size", 0)
            result[i] = sum(link.delay + 8 * size / link.rate for link in out)
            result[i] += sum(link.delay + 8 * ack_size / link.rate for link in back)
    return result


def capacities(
    resolved: Resolved, recorded: Sequence[int], ends: NDArray[np.float64], begin: float = 0.0
) -> NDArray[np.float64]:
    """Bits that each recorded link could send in each bin, shape [time, recorded link]; the first
    bin starts at `begin`.

    The scenario's changes of a rate are followed; a change inside a bin counts from its moment.
    """
    edges = np.concatenate([[begin], ends])
    result = np.empty((len(ends), len(recorded)))
    for column, index in enumerate(recorded):
        steps = [(0.0, resolved.links[index].rate)]
        for change in resolved.changes:
            if change.link == index and change.spec.rate is not None:
                steps.append((change.spec.at, change.spec.rate))
        bits = np.zeros(len(ends))
        for (since, rate), (end, _) in zip(steps, [*steps[1:], (math.inf, 0.0)], strict=True):
            inside = np.diff(np.clip(edges, since, end))
            bits[inside > 0] += inside[inside > 0] * rate
        result[:, column] = bits
    return result
