"""Scenarios as TOML.

A file written by hand::

    duration = "100 s"              # strings with units, or numbers in SI units
    seed = 1                        # optional: interval = 0.1

    [network]                       # a topology and its arguments ...
    topology = "dumbbell"           # dumbbell, chain, parking_lot
    rate = "10 Mbps"
    delay = "20 ms"
    buffer = 50
    queue = { name = "red", min_thresh = 5, max_thresh = 15 }

    [[flow]]
    controller = "vegas"
    params = { alpha = 1, beta = 3 }

    [[flow]]
    controller = "reno"
    start = 1
    writes = [[0, 1500], [20, "2 MB"], [40, inf]]   # time, size; inf: endless
    slow_start = { name = "limited", max_ssthresh = 50 }    # or just its name
    transport = { delayed_ack = 0.2 }

    [[cbr]]
    rate = "5 Mbps"
    on = [[20, 40], [60, inf]]

    [[change]]
    at = 50
    link = "bottleneck"
    rate = "5 Mbps"

    [[change]]
    at = 60
    flow = "reno2"
    rwnd = 20

    [[workload]]
    flow = { controller = "reno" }
    interarrival = { name = "expon", scale = 0.5 }
    conversations = [{ size = { name = "pareto", b = 1.2, scale = 2000 } }, "ftp"]

or, in place of a topology, explicit links::

    [network]
    default_path = ["left", "right"]
    access = { rate = "100 Mbps", delay = "1 ms" }

    [[link]]
    src = "left"
    dst = "right"
    rate = "10 Mbps"
    delay = "20 ms"

The keys of a table are the arguments of `Flow`, `CBR`, `Link`, `Change`, `Workload`,
`Conversation`, `Scenario`. A distribution is a number, a table with its name and parameters, or a
table with values and cumulative; "telnet", "ftp", "nntp", "smtp" are tcplib's. Two keys are
additional. A table `[transport]` holds transport settings for all flows; a flow's own settings
override them. A `[[cbr]]` may have a `position` among all flows, counted from 1; by default it
comes after the flows.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import tomli_w

from tcpcc.errors import ScenarioError, refuse, suggestion, unknown, whole
from tcpcc.queues.discipline import QueueSpec
from tcpcc.scenario import Scenario
from tcpcc.scenario.distributions import Distribution, Empirical
from tcpcc.scenario.frozen import Record, arguments, rates_and_delays
from tcpcc.scenario.network import Access, Change, Link, Network
from tcpcc.scenario.tcplib import CONVERSATIONS
from tcpcc.scenario.topologies import TOPOLOGIES
from tcpcc.scenario.traffic import CBR, Flow, SlowStart
from tcpcc.scenario.units import doubtful
from tcpcc.scenario.workload import Conversation, Workload

_KEYS = (
    "duration", "seed", "interval", "network", "link", "transport", "flow", "cbr", "change",
    "workload",
)  # fmt: skip


def parse(text: str) -> Scenario:
    """The scenario in a TOML text; raises `ScenarioError` if it is invalid."""
    try:
        data = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"not TOML: {error}") from None
    _only("key", data, _KEYS)
    common = _table("transport", data.get("transport", {}))
    settings = {k: data[k] for k in ("duration", "seed", "interval") if k in data}
    return Scenario(
        _network(data),
        _flows(data, common),
        changes=_each("change", data, Change),
        workloads=_each("workload", data, lambda **table: _workload(common, **table)),
        **settings,
    )


def _network(data: Mapping[str, Any]) -> Network:
    table = dict(_table("network", data.get("network", {})))
    topology = table.pop("topology", None)
    if topology is None:
        if not table and "link" not in data:
            raise ScenarioError(
                f"network: set a topology ({', '.join(TOPOLOGIES)}), or give [[link]] tables"
            )
        links = _each("link", data, Link)
        with _within("network"):
            _only("setting of Network", table, ("topology", "access", "default_path"))
            access = table.pop("access", None)
            if access is not None:
                table["access"] = Access(**_table("access", access))
            return Network(**{"links": links, **table})
    if "link" in data:
        raise ScenarioError("network: give a topology or [[link]] tables, not both")
    if not isinstance(topology, str) or topology not in TOPOLOGIES:
        raise unknown("topology", topology, TOPOLOGIES)
    with _within("network"):
        return TOPOLOGIES[topology](**table)


def _flows(data: Mapping[str, Any], common: Mapping[str, Any]) -> list[Flow | CBR]:
    def flow(**table: Any) -> Flow:
        own = _table("transport", table.pop("transport", {}))
        return Flow(**table, transport={**common, **own})

    def placed(position: Any = None, **table: Any) -> tuple[int | None, CBR]:
        _only("setting of CBR", table, (*arguments(CBR), "position"))
        place = None if position is None else whole("position", position, low=1)
        return place, CBR(**table)

    flows: list[Flow | CBR] = _each("flow", data, flow)
    sources = _each("cbr", data, placed)
    for position, cbr in sorted((s for s in sources if s[0] is not None), key=lambda s: s[0]):
        if position > len(flows) + 1:
            raise refuse(
                "cbr: position", position, f"at most {len(flows) + 1}, the next free position"
            )
        flows.insert(position - 1, cbr)
    return flows + [cbr for position, cbr in sources if position is None]


_NAMED = {str(kind.name): kind for kind in CONVERSATIONS}


def _workload(common: Mapping[str, Any], **table: Any) -> Workload:
    flow = dict(_table("flow", table.pop("flow", {})))
    own = _table("transport", flow.pop("transport", {}))
    with _within("flow"):
        table["flow"] = Flow(**flow, transport={**common, **own})
    given = {"conversation": table.pop("conversations", [])}
    kinds = _each("conversation", given, Conversation, _NAMED)
    return Workload(**{**table, "conversations": kinds})


def _each(
    key: str,
    data: Mapping[str, Any],
    make: Callable[..., Any],
    known: Mapping[str, Any] | None = None,
) -> list[Any]:
    """`make` called with each table [[key]]; errors name the table's number, from 1. A string is
    the name of a `known` record."""
    tables = data.get(key, [])
    records = []
    for number, table in enumerate(tables if isinstance(tables, list) else [tables], 1):
        with _within(f"{key} {number}"):
            if known and isinstance(table, str):
                if table not in known:
                    raise unknown(key, table, known)
                records.append(known[table])
            else:
                records.append(make(**_table(key, table)))
    return records


def _only(kind: str, table: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Refuse a key that is not known; of several, one that is spelt like a known key."""
    wrong = [key for key in table if key not in allowed]
    if wrong:
        raise unknown(kind, max(wrong, key=lambda key: bool(suggestion(key, allowed))), allowed)


def _table(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise refuse(key, value, "a table")
    return value


@contextmanager
def _within(where: str) -> Iterator[None]:
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(f"{where}: {error}") from None


def dump(scenario: Scenario) -> str:
    """The scenario as TOML with explicit links; `parse` returns an equal scenario."""
    top = _plain(scenario)
    net, flows, changes = top.pop("net"), top.pop("flows", []), top.pop("changes", [])
    workloads = top.pop("workloads", [])
    links = net.pop("links")
    is_cbr = [isinstance(flow, CBR) for flow in scenario.flows]
    if is_cbr != sorted(is_cbr):  # a CBR comes before a flow: write the position of every CBR
        for position, flow in enumerate(flows, 1):
            if is_cbr[position - 1]:
                flow["position"] = position
    tables = [
        _lines(top),
        *(["[network]\n" + _lines(net)] if net else []),
        *("[[link]]\n" + _lines(link) for link in links),
        *("[[flow]]\n" + _lines(f) for f, cbr in zip(flows, is_cbr, strict=True) if not cbr),
        *("[[cbr]]\n" + _lines(f) for f, cbr in zip(flows, is_cbr, strict=True) if cbr),
        *("[[change]]\n" + _lines(change) for change in changes),
        *("[[workload]]\n" + _lines(workload) for workload in workloads),
    ]
    return "\n".join(tables)


def _plain(value: Any) -> Any:
    """The arguments of the value, as dicts, lists, strings and numbers."""
    if isinstance(value, SlowStart):
        params = value.rule.plain(value.params) if value.params else {}
        return {"name": value.name, **params} if params else value.name
    if isinstance(value, Distribution):
        return {"name": value.name, **dict(value.params)}
    if isinstance(value, Empirical) and len(value.values) == 1 and value.interpolated:
        return value.values[0]  # a constant
    if isinstance(value, Conversation) and value in CONVERSATIONS:
        return value.name
    if isinstance(value, Record):
        settings = value.given()
        odd = doubtful(*rates_and_delays(type(value), settings))
        table = {k: _plain(v) for k, v in settings.items()}
        table |= {k: f"{number!r} {unit}" for k, (number, unit, _) in odd.items()}
        for pairs in ("params", "queue"):  # of a Flow, of a Change
            if isinstance(getattr(value, pairs, None), tuple) and pairs in table:
                table[pairs] = dict(table[pairs])
        if isinstance(value, Flow) and value.params:
            table["params"] = value.definition.plain(value.params)
        return table
    if isinstance(value, QueueSpec):
        params = value.discipline.plain(value.params)
        return {"name": value.name, **params} if params else value.name
    if isinstance(value, tuple):
        return [_plain(member) for member in value]
    return math.inf if value is None else value  # None: a CBR or a write without an end


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(k)} = {_inline(v)}\n" for k, v in table.items())


def _inline(value: Any) -> str:
    """A value as TOML on one line; whole floats are written without ".0", and read as floats."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(member) for member in value) + "]"
    return _scalar(value)


@lru_cache(maxsize=4096, typed=True)
def _scalar(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return tomli_w.dumps({"v": value}).removeprefix("v = ").removesuffix("\n")


@cache
def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")
