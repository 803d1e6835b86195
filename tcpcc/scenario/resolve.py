"""Resolve a scenario for the models: add access links, find routes, resolve names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from tcpcc.engine.streams import seed_stream, uniform
from tcpcc.errors import ScenarioError, unknown
from tcpcc.scenario.network import Change, Link, Network, queue_spec
from tcpcc.scenario.traffic import CBR, STANDARD, Flow
from tcpcc.scenario.units import Checked
from tcpcc.scenario.workload import Workload
from tcpcc.slow_start import composed

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.queues.discipline import QueueSpec
    from tcpcc.scenario import Scenario


PROCESSING = ":processing"  # end of the name of a host's link


@dataclass(frozen=True, slots=True)
class ResolvedFlow:
    """A flow with its route, its controller and its defaults filled in.

    Attributes:
        spec: the `Flow` or `CBR` as the user gave it.
        name: its own or the default name; unique.
        owner: name of the scenario's flow, of which it may be one of several (`count`).
        forward: indices into `Resolved.links` from the source to the sink.
        reverse: the same for the ACKs; () for a `CBR`.
        controller: the controller combined with its slow-start rule; None for a `CBR`.
        params: all of the controller's parameters.
        recovery: name of the loss recovery; "" for a `CBR`.
        hops: number of links that carry its data, without its own access links.
    """

    spec: Flow | CBR
    name: str
    owner: str
    forward: tuple[int, ...]
    reverse: tuple[int, ...]
    controller: Controller | None
    params: dict[str, float]
    recovery: str
    hops: int

    @property
    def is_tcp(self) -> bool:
        """Whether it is a `Flow`, with a controller, and no `CBR`."""
        return self.controller is not None

    @property
    def tcp(self) -> Flow:
        """The `spec` of a flow that is no `CBR`."""
        assert isinstance(self.spec, Flow)
        return self.spec

    @property
    def algorithm(self) -> Controller:
        """The `controller` of a flow that is no `CBR`."""
        assert self.controller is not None
        return self.controller

    @property
    def recorded_states(self) -> tuple[str, ...]:
        """State variables of its controller whose series are recorded."""
        record = self.spec.record
        return record if isinstance(record, tuple) else ()


@dataclass(frozen=True, slots=True)
class ResolvedWorkload:
    """A workload and the connection of each of its kinds of conversation.

    Attributes:
        spec: the `Workload` as the user gave it.
        name: its own or the default name; unique.
        kinds: one flow for each kind of conversation, all on the same links; named "workload1", or
            "workload1/ftp" if there are several kinds.
    """

    spec: Workload
    name: str
    kinds: tuple[ResolvedFlow, ...]


@dataclass(frozen=True, slots=True)
class ResolvedChange:
    """A scheduled change; the index of its link in `Resolved.links`, or -1 and the indices of its
    flows in `Resolved.flows`."""

    spec: Change
    link: int
    flows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """A scenario as the models run it.

    Attributes:
        links: the links of the network in its order, then the access links flow by flow. `record`
            is True or False for each link; `variable` is True for links with scheduled changes.
        flows: in the scenario's order.
        changes: in order of time; simultaneous changes in the scenario's order.
        workloads: in the scenario's order.
    """

    links: tuple[Link, ...]
    flows: tuple[ResolvedFlow, ...]
    changes: tuple[ResolvedChange, ...]
    workloads: tuple[ResolvedWorkload, ...] = ()

    @property
    def rows(self) -> tuple[ResolvedFlow, ...]:
        """Everything that can have a row in a record: flows, then kinds of conversation."""
        return self.flows + tuple(kind for load in self.workloads for kind in load.kinds)

    @property
    def recorded(self) -> tuple[int, ...]:
        """Indices of the `rows` whose series are recorded."""
        return tuple(k for k, row in enumerate(self.rows) if row.spec.record)


class Senders(NamedTuple):
    """The largest number of senders of one flow with a `count`; of one with ``background=True`` it
    is `background`."""

    foreground: float = math.inf
    background: float = math.inf

    def of(self, spec: Flow | CBR) -> int:
        """Number of senders of a flow."""
        if not isinstance(spec, Flow):
            return 1
        return int(min(spec.count, self.background if spec.background else self.foreground))


def resolve(
    scenario: Scenario, expand: bool = True, senders: float | Senders = math.inf
) -> Resolved:
    """Resolve a scenario.

    Args:
        scenario: the scenario.
        expand: whether a flow with a `count` becomes that many flows, each with its own start.
        senders: largest number of flows that one flow is expanded to; they share its count.

    Raises:
        ScenarioError: parts of the scenario contradict each other.
    """
    names = _flow_names(scenario.flows)
    _check_groups(scenario.flows, names)
    routes = _Routes(scenario.net)
    links = list(scenario.net.links)
    flows: list[ResolvedFlow] = []
    named: Iterable[tuple[Flow | CBR, str, str]] = zip(scenario.flows, names, names, strict=True)
    limits = senders if isinstance(senders, Senders) else Senders(senders, senders)
    for spec, name, owner in _expanded(named, scenario.seed, limits) if expand else named:
        try:
            _check_times(spec, scenario.duration)
            flows.append(_resolve_flow(spec, name, owner, scenario.net, routes, links))
        except ScenarioError as error:
            raise ScenarioError(f"flow {name!r}: {error}") from None
    workloads = _resolve_workloads(scenario, routes, links, [flow.name for flow in flows])
    index = {link.name: k for k, link in enumerate(links)}
    if len(index) < len(links):
        repeated = next(x.name for k, x in enumerate(links) if index[x.name] != k)
        raise ScenarioError(f"duplicate link name {repeated!r}: an access link has this name")
    changes = _resolve_changes(scenario, links, index, flows)
    changed = {change.link for change in changes}
    for k, link in enumerate(links):
        record = link.record
        if record is None:
            record = math.isfinite(link.buffer) or link.queue != queue_spec(None)
        variable = link.variable or k in changed
        if (record, variable) != (link.record, link.variable):
            links[k] = link._with(record=record, variable=variable)
    return Resolved(tuple(links), tuple(flows), changes, workloads)


def _resolve_workloads(
    scenario: Scenario, routes: _Routes, links: list[Link], taken: list[str]
) -> tuple[ResolvedWorkload, ...]:
    """The workloads. Appends their access links to `links`; no name may be in `taken`."""
    resolved = []
    for number, spec in enumerate(scenario.workloads, 1):
        name = spec.name or f"workload{number}"
        labels = [name] if len(spec.labels) == 1 else [f"{name}/{x}" for x in spec.labels]
        for label in {name, *labels}:
            if label in taken:
                raise ScenarioError(f"duplicate flow name {label!r}: give each flow its own")
        taken += [name, *labels]
        try:
            _check_times(spec.flow, scenario.duration)
            first = _resolve_flow(spec.flow, name, name, scenario.net, routes, links)
        except ScenarioError as error:
            raise ScenarioError(f"workload {name!r}: {error}") from None
        kinds = zip(labels, spec.connections(), strict=True)
        rows = tuple(replace(first, name=label, owner=label, spec=flow) for label, flow in kinds)
        resolved.append(ResolvedWorkload(spec, name, rows))
    return tuple(resolved)


def _flow_names(flows: tuple[Flow | CBR, ...]) -> list[str]:
    """Every flow's name; the default is its controller's name and its number, from 1."""
    names: list[str] = []
    taken: set[str] = set()
    for number, flow in enumerate(flows, 1):
        name = flow.name or f"{flow.controller}{number}"
        if name in taken:
            raise ScenarioError(f"duplicate flow name {name!r}: give each flow its own")
        taken.add(name)
        names.append(name)
    return names


def _expanded(
    named: Iterable[tuple[Flow | CBR, str, str]], seed: int, senders: Senders
) -> Iterator[tuple[Flow | CBR, str, str]]:
    """Expand flows with a `count` to numbered flows, whose starts are spread over `jitter`.

    If the count exceeds the number of `senders`, these share it as evenly as whole numbers allow.
    """
    for spec, name, _ in named:
        if spec.count == 1 and spec.jitter == 0:
            yield spec, name, name
            continue
        words: dict[str, int] = {}
        seed_stream(words, seed, f"flow {name}: starts")
        stream = SimpleNamespace(**words)
        n = senders.of(spec)
        for k in range(1, n + 1):
            start = spec.start + (spec.jitter * uniform(stream) if spec.jitter else 0.0)
            numbered = name if spec.count == 1 else f"{name}.{k}"
            share = spec.count * k // n - spec.count * (k - 1) // n
            group = spec.group if spec.group is None or spec.count == 1 else f"{spec.group}.{k}"
            yield spec._with(start=start, count=share, jitter=0.0, group=group), numbered, name


def _check_groups(flows: Iterable[Flow | CBR], names: list[str]) -> None:
    """A group has no flow's name; its flows are as many each, and coupled ones alike."""
    firsts: dict[str, Flow] = {}
    for flow in flows:
        if not isinstance(flow, Flow) or flow.group is None:
            continue
        if flow.group in names:
            raise ScenarioError(f"group {flow.group!r}: a flow has this name")
        first = firsts.setdefault(flow.group, flow)
        if flow.count != first.count:
            raise ScenarioError(
                f"group {flow.group!r}: flows with count = {first.count} and {flow.count}:"
                " must be equal"
            )
        both = first.definition, flow.definition
        same = both[0] is both[1] and first.starts_by.name == flow.starts_by.name
        if any(definition.coupled for definition in both) and not same:
            raise ScenarioError(
                f"group {flow.group!r}: flows with controllers {both[0].name!r} and"
                f" {both[1].name!r}: coupled flows need one controller and one slow start"
            )


def _check_times(spec: Flow | CBR, duration: float) -> None:
    if spec.start >= duration:
        raise ScenarioError(
            f"start = {spec.start:g}: must be before the end, duration = {duration:g} (s)"
        )
    if spec.start + spec.jitter > duration:
        raise ScenarioError(
            f"jitter = {spec.jitter:g}: start + jitter must be at most the duration, "
            f"{duration:g} (s)"
        )
    if spec.writes:
        last = spec.start + spec.jitter + spec.writes[-1][0]
        if last >= duration:
            raise ScenarioError(
                f"writes: the last at {last:g}: must be before the end, duration = {duration:g} (s)"
            )
    if isinstance(spec, CBR) and spec.on[-1][0] >= duration:
        raise ScenarioError(
            f"on: from = {spec.on[-1][0]:g}: must be before the end, duration = {duration:g} (s)"
        )


def _resolve_flow(
    spec: Flow | CBR, name: str, owner: str, net: Network, routes: _Routes, links: list[Link]
) -> ResolvedFlow:
    """One flow's routes and controller. Appends its access links to `links`."""
    nodes = _way(spec, net, routes)
    forward = routes.along("path", nodes)
    hops = len(forward)
    reverse: tuple[int, ...] = ()
    back: tuple[str, ...] = ()
    if isinstance(spec, Flow):
        back = spec.ack_path or nodes[::-1]
        if (back[0], back[-1]) != (nodes[-1], nodes[0]):
            raise ScenarioError(
                f"ack_path = {list(back)!r}: must lead from {nodes[-1]!r} to {nodes[0]!r}"
            )
        reverse = routes.along("ack_path" if spec.ack_path else "no reverse path", back)
    source_side, sink_side = _access_links(spec, name, net, nodes, back)
    ends = []
    for pair in (source_side, sink_side):
        ends.append(tuple(range(len(links), len(links) + len(pair))))
        links.extend(pair)
    first, last = ends
    forward = (*first[:1], *forward, *last[:1])
    if spec.processing:
        forward = (len(links), *forward)
        links.append(_processing_link(spec.processing, name, nodes[0]))
    if isinstance(spec, CBR):
        return ResolvedFlow(spec, name, owner, forward, (), None, {}, "", hops)
    reverse = (*last[1:], *reverse, *first[1:])
    if all(links[k].rate == math.inf and links[k].delay == 0 for k in forward + reverse):
        raise ScenarioError("its RTT is 0: give a link a delay or a finite rate")
    start = spec.starts_by
    controller = composed(spec.definition, start.rule)
    params = controller.check(dict(spec.params + start.params))
    recovery = spec.recovery or controller.recovery
    if controller.window == "own":
        what = f"controller {controller.name!r} needs one that reads selective acknowledgements"
        _check_recovery(recovery, "selective", what)
    if spec.transport.gradual_marks and spec.transport.ecn != "off":
        what = "gradual_marks needs one with proportional rate reduction"
        _check_recovery(recovery, "proportional", what)
    if controller.on_open is not None and not spec.transport.handshake:
        by = "" if start.name == STANDARD else f" with {start.name!r}"
        raise ScenarioError(
            f"handshake = False: controller {controller.name!r}{by} needs the handshake"
        )
    return ResolvedFlow(spec, name, owner, forward, reverse, controller, params, recovery, hops)


def _check_recovery(recovery: str, trait: str, what: str) -> None:
    """Whether a loss recovery has the attribute `trait`; `what` is who needs which one."""
    from tcpcc.transport.recovery import RECOVERIES

    if not getattr(RECOVERIES[recovery], trait):
        able = ", ".join(name for name in RECOVERIES if getattr(RECOVERIES[name], trait))
        raise ScenarioError(f"recovery = {recovery!r}: {what}: {able}")


def _way(spec: Flow | CBR, net: Network, routes: _Routes) -> tuple[str, ...]:
    """The nodes that a flow's packets pass."""
    if spec.path is not None:
        return spec.path
    by_default = net.default_path or (None, None)
    source = routes.end("source", spec.source or by_default[0])
    target = routes.end("target", spec.target or by_default[1])
    if source == target:
        raise ScenarioError(f"source and target are both {source!r}: must be two nodes")
    return routes.shortest(source, target)


def _access_links(
    spec: Flow | CBR, name: str, net: Network, nodes: tuple[str, ...], back: tuple[str, ...]
) -> tuple[list[Link], list[Link]]:
    """A flow's own links at its source and its sink; each with its reverse if there are ACKs."""
    own = spec.access_rate is not None or spec.access_delay is not None
    if net.access is None and not own:
        return [], []
    rate, delay = (math.inf, 0.0) if net.access is None else (net.access.rate, net.access.delay)
    rate = rate if spec.access_rate is None else spec.access_rate
    near = delay if spec.access_delay is None else spec.access_delay
    host, sink = f"{name}:source", f"{name}:sink"

    def link(src: str, dst: str, delay: float, end: str) -> Link:
        return _named_link(rate, delay, src, dst, f"{name}:{end}")

    source_side = [link(host, nodes[0], near, "access")]
    sink_side = [link(nodes[-1], sink, delay, "egress")] if net.access else []
    if back:
        source_side.append(link(nodes[0], host, near, "access<"))
    if back and net.access:
        sink_side.append(link(sink, nodes[-1], delay, "egress<"))
    return source_side, sink_side


@lru_cache(maxsize=256)
def _own_link(rate: float, delay: float) -> Link:
    """An access link without its ends and name; cached, so that equal links are checked once."""
    return Link("host", "node", rate=Checked(rate), delay=Checked(delay), record=False)


@lru_cache(maxsize=4096)
def _named_link(rate: float, delay: float, src: str, dst: str, name: str) -> Link:
    return _own_link(rate, delay)._with(src=src, dst=dst, name=name)


def _processing_link(seconds: float, name: str, node: str) -> Link:
    """The processing time of a flow's host, as a link before all others."""
    ends = {"src": f"{name}:host", "dst": node, "name": f"{name}{PROCESSING}"}
    return _own_link(math.inf, 0.0)._with(**ends, jitter=seconds)


def _resolve_changes(
    scenario: Scenario,
    links: list[Link],
    index: dict[str, int],
    flows: list[ResolvedFlow],
) -> tuple[ResolvedChange, ...]:
    """The changes in order of time, each checked against its link's state at that time."""
    queues: dict[int, QueueSpec] = {}
    late: set[int] = set()  # links with a jitter set by an earlier change
    resolved = []
    for change in sorted(scenario.changes, key=lambda change: change.at):
        if change.at >= scenario.duration:
            end = f"duration = {scenario.duration:g} (s)"
            raise ScenarioError(f"{change.words}: must be before the end, {end}")
        if change.flow is not None:
            resolved.append(ResolvedChange(change, -1, _flows_named(change.flow, flows)))
            continue
        if change.link is None or change.link not in index:
            raise unknown("link in change", change.link, index)
        k = index[change.link]
        link = links[k]
        finite_buffer = change.buffer is not None and math.isfinite(change.buffer)
        if finite_buffer and change.buffer_unit != link.buffer_unit:
            raise ScenarioError(
                f"change of link {change.link!r}: its buffer is counted in {link.buffer_unit}, "
                f"not {change.buffer_unit}"
            )
        if change.queue:
            queue = queues.get(k, link.queue)
            params = {**dict(queue.params), **dict(change.queue)}
            try:
                queues[k] = queue_spec({"name": queue.name, **params})
            except ScenarioError as error:
                raise ScenarioError(f"{change.words}: {error}") from None
        if change.jitter is not None:
            late.add(k)
        elif change.jitter_share is not None and link.jitter == 0 and k not in late:
            what = f"{change.words}: jitter_share = {change.jitter_share:g}"
            raise ScenarioError(f"{what}: the link has no jitter at that time")
        resolved.append(ResolvedChange(change, k))
    return tuple(resolved)


def _flows_named(name: str, flows: list[ResolvedFlow]) -> tuple[int, ...]:
    """Places of the flows of a scenario's flow."""
    places = tuple(k for k, flow in enumerate(flows) if name in (flow.owner, flow.name))
    if not places:
        raise unknown("flow in change", name, [flow.owner for flow in flows])
    if not all(flows[k].is_tcp for k in places):
        raise ScenarioError(f"change of flow {name!r}: a CBR source has no rwnd")
    return places


class _Routes:
    """Finds links by their ends, and shortest paths."""

    def __init__(self, net: Network) -> None:
        self.links = net.links
        self.by_ends = {(link.src, link.dst): k for k, link in enumerate(net.links)}
        self.nodes = {node for ends in self.by_ends for node in ends}
        self._found: dict[tuple[str, str], tuple[str, ...]] = {}  # shortest paths
        self._passed: dict[tuple[str, ...], tuple[int, ...]] = {}  # links between nodes

    def end(self, role: str, node: str | None) -> str:
        """The node where a flow begins or ends; an error if it is missing or unknown."""
        if node is None:
            raise ScenarioError(f"no {role}: set it, or give the network a default_path")
        if node not in self.nodes:
            raise unknown(f"{role} node", node, self.nodes)
        return node

    def along(self, what: str, nodes: tuple[str, ...]) -> tuple[int, ...]:
        """Indices of the links from node to node."""
        if nodes in self._passed:
            return self._passed[nodes]
        for node in nodes:
            if node not in self.nodes:
                raise unknown(f"node in {what}", node, self.nodes)
        for src, dst in pairwise(nodes):
            if (src, dst) not in self.by_ends:
                onward = ", ".join(repr(d) for s, d in self.by_ends if s == src)
                raise ScenarioError(
                    f"{what}: there is no link from {src!r} to {dst!r}; "
                    f"from {src!r} links lead to {onward or 'nowhere'}"
                )
        self._passed[nodes] = tuple(self.by_ends[ends] for ends in pairwise(nodes))
        return self._passed[nodes]

    def shortest(self, source: str, target: str) -> tuple[str, ...]:
        """The nodes of the path with the fewest hops; of equal ones, with the least delay."""
        if (source, target) in self.by_ends:
            return source, target
        if (source, target) in self._found:
            return self._found[source, target]
        import networkx as nx

        # A hop weighs more than all delays together: delay decides only between equal hop counts.
        hop = 1.0 + sum(link.delay for link in self.links)
        graph = nx.DiGraph()
        for link in self.links:
            graph.add_edge(link.src, link.dst, weight=hop + link.delay)
        try:
            path = self._found[source, target] = tuple(nx.dijkstra_path(graph, source, target))
        except nx.NetworkXNoPath:
            raise ScenarioError(f"no path from {source!r} to {target!r}") from None
        return path
