"""A scenario: network, traffic, duration and seed; the complete input of a simulation.

Scenarios are frozen, comparable and hashable, and convert to TOML text and back without loss.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from dataclasses import KW_ONLY, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc import html_tables
from tcpcc.errors import ScenarioError, positive, refuse, whole
from tcpcc.files import whole_file
from tcpcc.scenario.frozen import (
    Record,
    Seconds,
    Setting,
    arguments,
    instance,
    optional,
    record,
    seconds,
    setting,
    tuple_of,
)
from tcpcc.scenario.network import Change, Network
from tcpcc.scenario.traffic import CBR, Flow, SlowStart
from tcpcc.scenario.units import Quantity
from tcpcc.scenario.workload import Workload

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved, Senders

MAX_BINS = 10_000_000
"""Largest number of bins that a run may record."""


@record
class Scenario(Record):
    """The input of a simulation. Everything is checked here, before anything runs.

    Args:
        net: the network.
        flows: `Flow` and `CBR` in any order; they are numbered in this order.
        duration: simulated time, s.
        seed: seed of all random numbers, a whole number >= 0. Those of a link, flow or workload
            depend on the seed and on its name; a default name contains the number of the flow.
        changes: scheduled changes of links, in any order.
        workloads: conversations that start at random times, in any order.
        interval: width of the bins that a run records, s; default 1/1000 of the duration, at least
            10^-7 of it.

    Raises:
        ScenarioError: a setting is invalid; the message, of one line, names it.

    >>> import tcpcc as tc
    >>> net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    >>> scenario = tc.Scenario(net, [tc.Flow("vegas"), tc.Flow("reno", start=1)], duration=100)
    >>> tc.Scenario.from_toml(scenario.to_toml()) == scenario
    True
    """

    net: Network = setting(instance, kind=Network, allowed="a Network, such as tc.dumbbell(...)")
    flows: Setting[Iterable[Flow | CBR], tuple[Flow | CBR, ...]] = setting(
        tuple_of, kinds=(Flow, CBR)
    )
    _: KW_ONLY
    duration: Seconds = setting(seconds, check=positive)
    seed: int = setting(whole, default=1)
    changes: Setting[Iterable[Change], tuple[Change, ...]] = setting(
        tuple_of, default=(), kinds=(Change,)
    )
    workloads: Setting[Iterable[Workload] | Workload, tuple[Workload, ...]] = setting(
        tuple_of, default=(), kinds=(Workload,)
    )
    interval: Setting[Quantity | None, float] = setting(
        optional(seconds), default=None, check=positive
    )

    def _check(self) -> None:
        if self.interval is None:
            self._store(**self._implied())
        if not self.flows and not self.workloads:
            raise ScenarioError("flows: a scenario needs at least one")
        if self.interval > self.duration:
            raise ScenarioError(
                f"interval = {self.interval:g}: must be at most duration = {self.duration:g} (s)"
            )
        if self.duration > MAX_BINS * self.interval:
            raise ScenarioError(
                f"interval = {self.interval:g}: must be at least duration / {MAX_BINS:.0e} (s), "
                "to bound the size of the record"
            )
        self.resolve(expand=False)

    def _implied(self) -> dict[str, Any]:
        return {"interval": self.duration / 1000}

    def _repr_html_(self) -> str:
        flows = []
        for resolved in self.resolve(expand=False).flows:
            settings = resolved.spec.given()
            kind = settings.pop("controller", "cbr")
            many = settings.pop("count", None)
            params = ", ".join(f"{name}={value:g}" for name, value in settings.pop("params", ()))
            life = [settings.pop(name, None) for name in ("start", "stop", "size")]
            others = ", ".join(f"{k}={v!r}" for k, v in settings.items() if k != "name")
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
        return html_tables.headed(
            "Scenario",
            f"{self.duration:g} s, seed {self.seed}; {self.net._told()}",
            self.net._links_html(),
            html_tables.table(head, flows),
            html_tables.table(("workload", "conversations of"), listed),
            html_tables.table(("change",), [(repr(change),) for change in self.changes]),
        )

    def resolve(self, expand: bool = True, senders: float | Senders = math.inf) -> Resolved:
        """The form of the scenario that the models run.

        Access links are added; every flow has its route, name, controller and parameters.

        Args:
            expand: whether a flow with a `count` becomes that many flows.
            senders: largest number of flows that one flow is expanded to; they share its count.
        """
        from tcpcc.scenario.resolve import resolve

        return resolve(self, expand, senders)

    def spelled_out(self) -> Scenario:
        """The scenario with one flow in place of each conversation, for models without workloads.

        Each conversation costs as much as a flow: suitable for hundreds, not for tens of thousands.

        Raises:
            ScenarioError: a conversation has more than one item (a flow has one), or there are
                access links (the connections of a workload share them, flows do not).
        """
        from tcpcc.scenario.workload_draws import spelled_out

        loads = self.resolve().workloads
        flows = [flow for load in loads for flow in spelled_out(load.spec, load.name, self)]
        return self.replace(flows=(*self.flows, *flows), workloads=())

    def jittered(
        self, *, starts: Quantity | None = None, processing: Quantity | None = None
    ) -> Scenario:
        """The scenario with random delays in its hosts.

        The result then depends on the `seed` even if nothing else is random. Without randomness, a
        run with drop-tail queues and long flows shows only one of many possible traffic phases.

        Args:
            starts: time over which the start of each flow with a controller is spread, s
                (`Flow.jitter`). Default: unchanged.
            processing: longest time a host takes to send a packet, s (`Flow.processing`), also for
                workloads. Default: unchanged.
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
        """SHA-256, in hexadecimal, of everything that determines the result.

        A parameter left at its default and one set to its default give the same digest. Of a
        controller, the name and the parameters enter, not the source of its rules.
        """
        canonical = json.dumps(_canonical(self, {}), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def cite(self, *more: str) -> str:
        """BibTeX of the literature behind the scenario, ready for a .bib file.

        This package, then the sources of all controllers, slow-start rules, loss recoveries, queue
        disciplines, settings of senders (RFCs) and built-in distributions that the scenario uses.
        A comment above each entry says what it is for. A definition that names no source, such as
        your own, has a comment instead.

        Args:
            more: further sources to cite, as definitions write them or by key: "RFC 3168",
                "netravali-et-al-2015" (the format of `tc.changes.mahimahi`).

        Raises:
            ScenarioError: one of `more` is not in the package's bibliography.
        """
        from tcpcc.scenario.sources import cite

        return cite(self, more)

    def to_toml(self) -> str:
        """The scenario as TOML text, with explicit links and without settings at their default."""
        from tcpcc.scenario.toml import dump

        return dump(self)

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """The scenario in a TOML text; see `tcpcc.scenario.toml` for the format."""
        from tcpcc.scenario.toml import parse

        return parse(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """The scenario in a TOML file; errors name the file."""
        try:
            return cls.from_toml(Path(path).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise ScenarioError(f"scenario file {os.fspath(path)!r}: {reason}") from None
        except ScenarioError as error:
            raise ScenarioError(f"scenario file {os.fspath(path)!r}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scenario to a TOML file, which is replaced atomically."""
        try:
            with whole_file(path) as part:
                part.write_text(self.to_toml(), encoding="utf-8", newline="\n")
        except OSError as error:
            reason = error.strerror or str(error)
            raise ScenarioError(f"cannot write {os.fspath(path)!r}: {reason}") from None


_PLAIN = frozenset({str, int, bool, type(None)})
"""Types that JSON represents directly."""


def _canonical(value: Any, memo: dict[int, tuple[Any, Any]]) -> Any:
    """The value as plain JSON, with the defaults of controllers and queues written out.

    `memo` has values and results by identity: flows share their transports.
    """
    from tcpcc.queues.discipline import QueueSpec

    if isinstance(value, float):
        return repr(value) if math.isinf(value) else value
    if id(value) in memo:
        return memo[id(value)][1]
    if isinstance(value, tuple):
        return [_canonical(member, memo) for member in value]
    if is_dataclass(value):
        kind: type = type(value)
        plain = {name: getattr(value, name) for name in arguments(kind)}
        for name, setting in plain.items():
            if type(setting) not in _PLAIN:
                plain[name] = _canonical(setting, memo)
        if isinstance(value, Flow):
            plain["params"] = value.definition.check(dict(value.params))
            plain["recovery"] = value.recovery or value.definition.recovery
        if isinstance(value, SlowStart):
            plain["params"] = value.rule.check(dict(value.params))
        if isinstance(value, QueueSpec):
            plain["params"] = value.discipline.check(dict(value.params))
        memo[id(value)] = value, {"": kind.__name__, **plain}
        return memo[id(value)][1]
    return value


def require_scenario(value: object, field: str = "scenario") -> None:
    """Refuse what is not a scenario.

    Raises:
        ScenarioError: `value` is something else; the message begins with `field`.
    """
    if not isinstance(value, Scenario):
        hint = "; tc.Scenario.load(...) reads a file" if isinstance(value, str | Path) else ""
        raise refuse(field, value, f"a Scenario{hint}")
