"""What a run records: the variables of its `xarray.Dataset`, and how an engine's arrays become one.

Series are kept in bins: `time` is the END of each bin, and the first bin starts at 0. Engines put
their plain arrays into a `Series`, and `dataset` makes the record of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr

    from tcpcc.definition import State
    from tcpcc.scenario import Link, Scenario
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
    "dropped": (("time", "flow"), "packets", "data packets dropped in the network in the bin"),
    "acks_dropped": (("time", "flow"), "packets", "ACKs dropped in the network in the bin"),
    "queue": (("time", "link"), "packets", "packets waiting, mean over the bin"),
    "queue_max": (("time", "link"), "packets", "packets waiting, largest in the bin"),
    "busy": (("time", "link"), "1", "share of the bin in which the link was sending"),
    "arrived": (("time", "link"), "packets", "packets that arrived at the link in the bin"),
    "drops": (("time", "link"), "packets", "packets that the link dropped in the bin"),
    "sent_bits": (("time", "link"), "bit", "sent on the link in the bin"),
    "capacity": (("time", "link"), "bit", "most that the link could have sent in the bin"),
    "controller": (("flow",), "", "congestion controller, or cbr"),
    "group": (("flow",), "", "connection that the flow is a path of; by default its name"),
    "count": (("flow",), "1", "flows that the row stands for: its rates and packets are sums"),
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
links whose discipline has none (RED: ``queue_avg``). For each name in a flow's `record` it has
``state_<variable>`` with dims (time, flow): its value at the bin's end, NaN for other flows. If the
values have names, the attributes `flag_values` and `flag_meanings` list them (the CF conventions).
"""

TOTALS: dict[str, tuple[str, str]] = {
    "sent": ("packets", "sent in the whole run, retransmissions included"),
    "retransmitted": ("packets", "sent again in the whole run"),
    "delivered": ("packets", "reached the receiver; if not recorded: acknowledged by the end"),
    "timeouts": ("1", VARIABLES["timeouts"][2]),
    "loss_events": ("1", VARIABLES["loss_events"][2]),
    "finished": ("s", VARIABLES["finished"][2]),
}
"""Name -> unit, meaning, of what a record has of every row of the scenario, recorded or not, where
some flow has ``record=False``: ``each_sent`` and so on, dims (each), with ``each_start`` (s),
``each_controller``, ``each_packet_size`` (byte) and ``each_count``. The dimension flow then has the
others only."""

MARKS = (("time", "link"), "packets", "packets that the link marked in the bin (ECN)")
"""Dimensions, unit, meaning of ``marks``, of a record with ECN."""

ITEMS: dict[str, tuple[str, str]] = {
    "item_flow": ("", "row of the item's connection in the dimension flow"),
    "item_conversation": (
        "",
        "number of its conversation, in the order of their beginnings; -1: of a flow's writes",
    ),
    "item_number": ("", "its number in its connection"),
    "item_size": ("packets", "size"),
    "item_start": ("s", "when it was handed over to the connection"),
    "item_finished": ("s", "when all of it had been acknowledged"),
}
"""Name -> unit, meaning, of what is recorded of each item of a workload and of a flow's `writes`;
dims (item)."""

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
    "sack_low": ("", "of an ACK: first packet of the block that it tells of (SACK)"),
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


AMOUNTS = ("sent", "retransmitted", "delivered", "dropped", "acks_dropped")
"""Packets and ACKs that a flow's series count in each bin."""


@dataclass(frozen=True)
class FlowSeries:
    """What an engine recorded of flows: arrays of shape [time, row]; those from `timeouts` to
    `base_rtt` have shape [row].

    `VARIABLES` gives meanings and units; NaN where there is no value.
    """

    cwnd: NDArray[Any]
    ssthresh: NDArray[Any]
    rtt: NDArray[Any]
    sent: NDArray[Any]
    retransmitted: NDArray[Any]
    delivered: NDArray[Any]
    dropped: NDArray[Any]
    acks_dropped: NDArray[Any]
    timeouts: NDArray[Any]
    loss_events: NDArray[Any]
    finished: NDArray[Any]
    base_rtt: NDArray[Any] | None = None
    """Default: `base_rtts` of the scenario."""
    controller_states: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """What flows record of their controllers' states, by the variable's name."""


@dataclass(frozen=True)
class LinkSeries:
    """What an engine recorded of links: arrays of shape [time, recorded link].

    `VARIABLES` gives meanings and units.
    """

    queue: NDArray[Any]
    queue_max: NDArray[Any]
    busy: NDArray[Any]
    arrived: NDArray[Any]
    drops: NDArray[Any]
    sent_bits: NDArray[Any]
    marks: NDArray[Any] | None = None
    """Of a model that marks packets."""
    states: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """What the queue disciplines record, by the state variable's name."""


@dataclass(frozen=True)
class Series:
    """What an engine recorded of a run, or of a part of one.

    Attributes:
        time: ends of the bins, shape [time], s.
        flows: series of all rows of the scenario, or with `totals` of the recorded rows only.
        links: series of the links that have `record` set.
        begin: when the first bin starts, s; of a part of a record the end of the part before.
        items: of workloads and of flows with `writes`: what `ITEMS` names, shape [item].
        totals: what `TOTALS` names of every row, recorded or not. Default: the sums of `flows`.
    """

    time: NDArray[Any]
    flows: FlowSeries
    links: LinkSeries
    begin: float = 0.0
    items: Mapping[str, NDArray[Any]] | None = None
    totals: Mapping[str, NDArray[Any]] | None = None


_Variable = tuple[tuple[str, ...], NDArray[Any], dict[str, str]]
"""Dimensions, values, attributes, as xarray takes them."""


def _recorded_meaning(owners: Mapping[str, State]) -> tuple[str, str]:
    """Unit and meaning of a state variable that several definitions may have under one name.

    Args:
        owners: the variable by the name of the definition.
    """
    meanings: dict[tuple[str, str], str] = {}
    for owner, variable in owners.items():
        meanings.setdefault((variable.unit, variable.doc), owner)
    if len(meanings) == 1:
        return next(iter(meanings))
    texts = [f"{owner}: {doc} ({unit or '1'})" for (unit, doc), owner in meanings.items()]
    units = {unit for unit, _ in meanings}
    return units.pop() if len(units) == 1 else "", "; ".join(texts)


def dataset(
    scenario: Scenario,
    resolved: Resolved,
    series: Series,
    *,
    model: str,
    driver: str,
    cpu_seconds: float = math.nan,
) -> xr.Dataset:
    """Put an engine's arrays together as a record; `VARIABLES` says what each holds.

    Args:
        scenario, resolved: what was run; names, sizes and the rest are read from these.
        series: what the engine recorded.
        model, driver: which engine ran it.
        cpu_seconds: processor time that the run took.

    Raises:
        ValueError: an array has the wrong shape.
    """
    import xarray as xr

    from tcpcc import __version__

    everyone = resolved.rows
    rows = [everyone[k] for k in resolved.recorded]
    links = [link for link in resolved.links if link.record]
    flows, totals = _recorded(series, resolved)
    ends = np.asarray(series.time, dtype=float)
    values: dict[str, Any] = {
        **vars(flows),
        **vars(series.links),
        **_facts_of_flows(rows),
        **_facts_of_links(links),
        "capacity": capacities(resolved, ends, series.begin),
        "crosses": _crosses(resolved, rows),
    }
    if flows.base_rtt is None:
        values["base_rtt"] = base_rtts(resolved)[list(resolved.recorded)]
    table = dict(VARIABLES)
    if series.links.marks is not None:
        table["marks"] = MARKS
    for name, states in series.links.states.items():
        variable = f"queue_{name}"
        while variable in table:
            variable += "_state"
        used = (link.queue.discipline for link in links)
        of_name = {x.name: x.state[name] for x in used if name in x.record}
        table[variable] = (("time", "link"), *_recorded_meaning(of_name))
        values[variable] = states
    of_states = {name: _owners(name, rows) for name in flows.controller_states}
    for name, states in flows.controller_states.items():
        variable = f"state_{name}"
        table[variable] = (("time", "flow"), *_recorded_meaning(of_states[name]))
        values[variable] = states
    sizes = {"time": len(ends), "flow": len(rows), "link": len(links)}
    variables = {name: _variable(name, *table[name], values[name], sizes) for name in table}
    for name, owners in of_states.items():
        variables[f"state_{name}"][2].update(_flags(owners))
    for name, column in (series.items or {}).items():
        unit, long_name = ITEMS[name]
        variables[name] = _variable(name, ("item",), unit, long_name, column)
    if totals is not None:
        variables |= _totals(everyone, totals)
    return xr.Dataset(
        variables,
        coords=_coordinates(
            ends.tobytes(), tuple(row.name for row in rows), tuple(link.name for link in links)
        ),
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


@lru_cache(maxsize=8)
def _coordinates(ends: bytes, flows: tuple[str, ...], links: tuple[str, ...]) -> xr.Coordinates:
    """Coordinates of a record; runs that have the same share their indexes.

    Args:
        ends: the ends of the bins, s, as the bytes of an array.
        flows, links: names.
    """
    import xarray as xr

    coords = {
        "time": ("time", np.frombuffer(ends), {"long_name": "end of the bin", "units": "s"}),
        "flow": np.array(flows, dtype=str),
        "link": np.array(links, dtype=str),
    }
    return xr.Dataset(coords=coords).coords


def _owners(name: str, rows: Sequence[ResolvedFlow]) -> dict[str, State]:
    """The variable by the controllers of the flows that record it."""
    return {
        row.algorithm.name: row.algorithm.state[name]
        for row in rows
        if row.is_tcp and name in row.recorded_states
    }


def _flags(owners: Mapping[str, State]) -> dict[str, Any]:
    """Attributes with the names of a variable's values, if all owners have the same."""
    names = {variable.names for variable in owners.values()}
    if len(names) > 1 or not (common := names.pop()):
        return {}
    meanings = " ".join(name.replace(" ", "_") for name in common)
    return {"flag_values": np.arange(len(common)), "flag_meanings": meanings}


def sums(flows: FlowSeries) -> dict[str, NDArray[Any]]:
    """What `TOTALS` names, from the series of all rows."""
    totals: dict[str, NDArray[Any]] = {  # summed in the order in which `Run.totals` sums
        name: np.sum(np.ascontiguousarray(getattr(flows, name)), axis=0)
        for name in ("sent", "retransmitted", "delivered")
    }
    return totals | {name: getattr(flows, name) for name in ("timeouts", "loss_events", "finished")}


def _recorded(
    series: Series, resolved: Resolved
) -> tuple[FlowSeries, Mapping[str, NDArray[Any]] | None]:
    """Series of the recorded rows; totals of all rows, or None if all are recorded."""
    if len(resolved.recorded) == len(resolved.rows):
        return series.flows, None
    if series.totals is not None:
        return series.flows, series.totals
    chosen = {
        name: np.take(array, resolved.recorded, -1)
        for name, array in vars(series.flows).items()
        if array is not None and name != "controller_states"
    }
    states = {
        name: np.take(array, resolved.recorded, -1)
        for name, array in series.flows.controller_states.items()
    }
    return FlowSeries(**chosen, controller_states=states), sums(series.flows)


def _variable(
    name: str,
    dims: tuple[str, ...],
    unit: str,
    long_name: str,
    values: ArrayLike,
    sizes: Mapping[str, int] | None = None,
) -> _Variable:
    """A variable of the record; with the sizes of its dimensions its shape is checked.

    Raises:
        ValueError: the array has the wrong shape.
    """
    array = np.ascontiguousarray(values)  # no view of an engine's memory
    if sizes is not None and array.shape != (shape := tuple(sizes[dim] for dim in dims)):
        raise ValueError(f"{name} has shape {array.shape}: must be {shape}, dims {dims}")
    return dims, array, {"long_name": long_name} | ({"units": unit} if unit else {})


def _facts_of_flows(rows: Sequence[ResolvedFlow]) -> dict[str, ArrayLike]:
    """What a record says of each flow that the scenario already says."""
    flows = [row.spec for row in rows]
    return {
        "controller": np.array([r.controller.name if r.controller else "cbr" for r in rows], str),
        "group": np.array([row.spec.group or row.name for row in rows], str),
        "count": [f.count for f in flows],
        "start": [f.start for f in flows],
        "stop": [math.nan if f.stop is None else f.stop for f in flows],
        "packet_size": [float(f.packet_size) for f in flows],
        "payload": [float(f.packet_size - getattr(f, "header", 0)) for f in flows],
    }


def _facts_of_links(links: Sequence[Link]) -> dict[str, ArrayLike]:
    """What a record says of each link that the scenario already says."""
    return {
        "rate": [float(link.rate) for link in links],
        "delay": [float(link.delay) for link in links],
        "buffer": [float(link.buffer) for link in links],
        "buffer_unit": np.array([link.buffer_unit for link in links], dtype=str),
    }


def _crosses(resolved: Resolved, rows: Sequence[ResolvedFlow]) -> NDArray[np.bool_]:
    """Whether each row's data use each recorded link, shape [flow, link]."""
    recorded = [k for k, link in enumerate(resolved.links) if link.record]
    column = np.full(len(resolved.links), -1)
    column[recorded] = np.arange(len(recorded))
    crosses = np.zeros((len(rows), len(recorded)), dtype=bool)
    for of_row, row in zip(crosses, rows, strict=True):
        columns = column[list(row.forward)]
        of_row[columns[columns >= 0]] = True
    return crosses


def _totals(
    everyone: Sequence[ResolvedFlow], totals: Mapping[str, NDArray[Any]]
) -> dict[str, _Variable]:
    """The variables of `TOTALS`."""
    dims = ("each",)
    variables = {
        f"each_{name}": _variable(name, dims, *TOTALS[name], np.asarray(totals[name], dtype=float))
        for name in TOTALS
    }
    facts = _facts_of_flows(everyone)
    for name in ("start", "packet_size", "controller", "count"):
        _, unit, long_name = VARIABLES[name]
        variables[f"each_{name}"] = _variable(name, dims, unit, long_name, facts[name])
    variables["each"] = dims, np.array([f.name for f in everyone], dtype=str), {}
    return variables


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
        if flow.is_tcp:
            out = [resolved.links[k] for k in flow.forward]
            back = [resolved.links[k] for k in flow.reverse]
            size, ack_size = flow.spec.packet_size, flow.spec.ack_size
            result[i] = sum(link.delay + 8 * size / link.rate for link in out)
            result[i] += sum(link.delay + 8 * ack_size / link.rate for link in back)
    return result


def capacities(
    resolved: Resolved, ends: NDArray[np.float64], begin: float = 0.0
) -> NDArray[np.float64]:
    """Bits that each recorded link could send in each bin, shape [time, recorded link]; the first
    bin starts at `begin`.

    The scenario's changes of a rate are followed; a change inside a bin counts from its moment.
    """
    edges = np.concatenate([[begin], ends])
    recorded = [k for k, link in enumerate(resolved.links) if link.record]
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
