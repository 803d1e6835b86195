"""A scenario: a network, its traffic, a duration and a seed; all that a simulation needs to know.

Scenarios are frozen, comparable and hashable, and go to TOML text and back without loss. All the
records that make one up can be imported from here.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc import rich
from tcpcc.errors import ScenarioError, positive, refuse, whole
from tcpcc.files import whole_file
from tcpcc.scenario import units
from tcpcc.scenario.frozen import Record, arguments, named
from tcpcc.scenario.network import Access, Change, Link, Network, tuple_of
from tcpcc.scenario.traffic import CBR, Flow, SlowStart, Transport
from tcpcc.scenario.units import Quantity
from tcpcc.scenario.workload import Workload

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved

__all__ = [
    "CBR",
    "Access",
    "Change",
    "Flow",
    "Link",
    "Network",
    "Scenario",
    "SlowStart",
    "Transport",
    "Workload",
]

MAX_BINS = 10_000_000
"""Most bins that a run may record."""


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Scenario(Record):
    """What to simulate. Everything is checked here, before anything runs.

    Args:
        net: the network.
        flows: `Flow` and `CBR` in any order; the order numbers them.
        duration: s of simulated time.
        seed: of all random numbers, a whole number >= 0.
        changes: scheduled changes of links, in any order.
        workloads: conversations that come and go by themselves, in any order.
        interval: s, width of the bins that a run records; default a thousandth of the duration,
            at least a ten-millionth.

    Raises:
        ScenarioError: something in it cannot be meant; one line says what.

    >>> import tcpcc as tc
    >>> net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    >>> scenario = tc.Scenario(net, [tc.Flow("vegas"), tc.Flow("reno", start=1)], duration=100)
    >>> tc.Scenario.from_toml(scenario.to_toml()) == scenario
    True
    """

    net: Network
    flows: tuple[Flow | CBR, ...]
    duration: float
    seed: int
    changes: tuple[Change, ...]
    workloads: tuple[Workload, ...]
    interval: float

    def __init__(
        self,
        net: Network,
        flows: Iterable[Flow | CBR],
        *,
        duration: Quantity,
        seed: int = 1,
        changes: Iterable[Change] = (),
        workloads: Iterable[Workload] | Workload = (),
        interval: Quantity | None = None,
    ) -> None:
        if not isinstance(net, Network):
            raise refuse("net", net, "a Network, as tc.dumbbell(...) makes one")
        length = positive("duration", units.seconds(duration, "duration"), "s")
        self._store(
            net=net,
            flows=tuple_of("flows", flows, Flow, CBR),
            duration=length,
            seed=whole("seed", seed),
            changes=tuple_of("changes", changes, Change),
            workloads=tuple_of("workloads", workloads, Workload),
            interval=length / 1000
            if interval is None
            else positive("interval", units.seconds(interval, "interval"), "s"),
        )
        if not self.flows and not self.workloads:
            raise ScenarioError("flows: a scenario needs at least one")
        if self.interval > length:
            raise ScenarioError(
                f"interval = {self.interval:g}: must be at most duration = {length:g} (s)"
            )
        if length > MAX_BINS * self.interval:
            raise ScenarioError(
                f"interval = {self.interval:g}: must be at least duration / {MAX_BINS:.0e} (s), "
                "for a run to hold its record"
            )
        self.resolve(expand=False)

    def _implied(self) -> dict[str, Any]:
        return {"interval": self.duration / 1000}

    def _repr_html_(self) -> str:
        flows = []
        for resolved in self.resolve(expand=False).flows:
            given = resolved.spec.given()
            kind = given.pop("controller", "cbr")
            many = given.pop("count", None)
            params = ", ".join(f"{name}={value:g}" for name, value in given.pop("params", ()))
            life = [given.pop(name, None) for name in ("start", "stop", "size")]
            others = ", ".join(f"{k}={v!r}" for k, v in given.items() if k != "name")
            flows.append((resolved.name, kind, many, *life, params, others))
        head = (
            "flow",
            "controller",
            "count",
            "start (s)",
            "stop (s)",
            "size",
            "parameters",
            "other",
        )
        listed = [(load.name or "workload", repr(load.flow)) for load in self.workloads]
        return rich.headed(
            "Scenario",
            f"{self.duration:g} s, seed {self.seed}; {self.net._told()}",
            self.net._links_html(),
            rich.table(head, flows),
            rich.table(("workload", "conversations of"), listed),
            rich.table(("change",), [(repr(change),) for change in self.changes]),
        )

    def resolve(self, expand: bool = True, at_most: float = math.inf) -> Resolved:
        """Every link with the access links added, every flow with its route, name, controller and
        parameters: the form that the models run. Flows with a `count` are expanded, or not, or into
        `at_most` so many each."""
        from tcpcc.scenario.resolve import resolve

        return resolve(self, expand, at_most)

    def spelled_out(self) -> Scenario:
        """The scenario with a flow of its own in place of every conversation, as every model runs
        them. They cost as much as any flow, so this is for hundreds, not for ten thousands.

        Raises:
            ScenarioError: a conversation has more than one item, which no flow has, or the
                network has access links, which a workload's connections share.
        """
        from tcpcc.scenario.draw import spelled_out

        loads = self.resolve().workloads
        flows = [flow for load in loads for flow in spelled_out(load.spec, load.name, self)]
        return self.replace(flows=(*self.flows, *flows), workloads=())

    def jittered(
        self, *, starts: Quantity | None = None, processing: Quantity | None = None
    ) -> Scenario:
        """The scenario with chance in its hosts, so that its `seed` has an effect where nothing
        else is random: of drop-tail queues and steady flows one run is one phase of many.

        Args:
            starts: s, over which the start of each flow with a controller is spread
                (`Flow.jitter`). Default: as it is.
            processing: s that a host takes at most to send a packet (`Flow.processing`), of
                workloads too. Default: as it is.
        """
        spread = {} if starts is None else {"jitter": starts}
        slow = {} if processing is None else {"processing": processing}
        return self.replace(
            flows=[
                flow.replace(**spread, **slow) if isinstance(flow, Flow) else flow
                for flow in self.flows
            ],
            workloads=[load.replace(flow=load.flow.replace(**slow)) for load in self.workloads],
        )

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of everything that decides the result; scenarios that mean the
        same, a parameter left at its default or set to it, share it. A controller counts with its
        name and parameters, not with the text of its rules."""
        canonical = json.dumps(_canonical(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_toml(self) -> str:
        """The scenario as TOML text, with explicit links; what is at its default is left out."""
        from tcpcc.scenario.toml import dump

        return dump(self)

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """The scenario in a TOML text; see `tcpcc.scenario.toml` for its form."""
        from tcpcc.scenario.toml import parse

        return parse(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """The scenario in a TOML file; its errors name the file."""
        try:
            return cls.from_toml(Path(path).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise ScenarioError(f"scenario file {os.fspath(path)!r}: {reason}") from None
        except ScenarioError as error:
            raise ScenarioError(f"scenario file {os.fspath(path)!r}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scenario to a TOML file; the file is replaced whole or not at all."""
        try:
            with whole_file(path) as part:
                part.write_text(self.to_toml(), encoding="utf-8", newline="\n")
        except OSError as error:
            reason = error.strerror or str(error)
            raise ScenarioError(f"cannot write {os.fspath(path)!r}: {reason}") from None


_ADDED: tuple[tuple[type, dict[str, Any]], ...] = (
    (Flow, {"count": 1, "jitter": 0.0}),
    (Flow, {"processing": 0.0}),
    (Flow, {"record": True}),
    (Transport, {"count_delivered": False}),
    (Transport, {"whole_window": False}),
    (Transport, {"gso_segments": 1}),
    (Transport, {"gradual_marks": False}),
    (Link, {"jitter": 0.0, "jitter_share": 1.0, "reordering": False}),
    (Link, {"aggregation": 0.0}),
)
"""Settings that came later, with their defaults: a scenario without them keeps its digest."""


@cache
def _added(kind: type) -> tuple[dict[str, Any], ...]:
    """What was added to a kind of record."""
    return tuple(settings for one, settings in _ADDED if issubclass(kind, one))


_PLAIN = frozenset({str, int, bool, type(None)})
"""Kinds that JSON has."""


def _canonical(value: Any) -> Any:
    """The value as plain JSON, complete: defaults of controllers and queues are written out."""
    from tcpcc.queues.discipline import QueueSpec

    if isinstance(value, float):
        return repr(value) if math.isinf(value) else value
    if isinstance(value, tuple):
        return [_canonical(member) for member in value]
    if is_dataclass(value):
        kind: type = type(value)
        plain = {name: getattr(value, name) for name in arguments(kind)}
        if isinstance(value, Scenario) and not value.workloads:
            del plain["workloads"]  # what has none has the digest that it had before there were any
        for settings in _added(kind):  # as before there were such settings
            if all(plain[k] == v for k, v in settings.items()):
                for name in settings:
                    del plain[name]
        for name, setting in plain.items():
            if type(setting) not in _PLAIN:
                plain[name] = _canonical(setting)
        if isinstance(value, Flow):
            plain["params"] = value.definition.check(dict(value.params))
            plain["recovery"] = value.recovery or value.definition.recovery
        if isinstance(value, SlowStart):
            plain["params"] = value.rule.check(dict(value.params))
        if isinstance(value, QueueSpec):
            plain["params"] = value.discipline.check(dict(value.params))
        return {"": kind.__name__, **plain}
    return value
