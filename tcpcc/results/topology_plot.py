"""Drawings of networks: nodes from left to right, links with rate, delay and buffer, hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from tcpcc.queues import DropTail
from tcpcc.results.plot_style import BLACK, GREY, SKY, WIDTH, new_axes, rate_unit, style
from tcpcc.scenario import Scenario
from tcpcc.scenario.network import Link, Network

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

MOST_ALONE = 6
"""Largest number of flows that have a box each; more are drawn by kind."""

ROW = 0.85
"""Height of a row of nodes, inches."""

COLUMN = 1.5
"""Distance from a node to the next in a row, in rows."""

HOSTS = 1.25 * COLUMN
"""Distance of a host from its node: the label of the access link fits between their boxes."""

APART = 0.62
"""Vertical distance of two hosts, in rows."""

NEAR_NODE = 0.42
"""Position of an access link's label, as a part of its length from the node: hosts are wide."""

BOX, LABEL = 9, 8
"""Sizes of type, points: in boxes and on links, as of axis labels and ticks in other figures."""

INSIDE = 14
"""Longest text, in characters, with which the boxes of two neighbouring nodes do not overlap."""

Place = tuple[float, float]


@dataclass(frozen=True)
class _Host:
    """Sources of one kind with one route, or their destinations: text, and the access link."""

    node: str
    text: str
    access: str


@dataclass
class _Picture:
    """The content of a drawing: places of nodes, texts in them, hosts beside them, lines."""

    nodes: dict[str, Place]
    texts: dict[str, str]
    hosts: list[tuple[_Host, Place]] = field(default_factory=list)
    lines: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def span(self) -> tuple[float, float]:
        """Heights of the lowest and of the highest box, in rows."""
        heights = [y for _, y in (*self.nodes.values(), *(place for _, place in self.hosts))]
        return min(heights), max(heights)


def topology(
    net: Network | Scenario, ax: Axes | None = None, *, names: Mapping[str, str] | None = None
) -> Axes:
    """Draw the nodes and links of a network; of a scenario also its sources and destinations.

    Two links between the same nodes are one line. Its label describes the link from left to right;
    the reverse link is described below it unless it has the same rate and delay, an unlimited
    buffer and no loss. Flow k goes from source Sk to destination Dk, unless it has a name. Many
    flows of one kind on one route are one box. A network that is no row of nodes has lists of the
    sources in its nodes.

    Args:
        net: the network or scenario.
        ax: axes to draw on. Default: a new figure.
        names: names to show in place of those of nodes, controllers and queue disciplines.
    """
    labels = dict(names or {})
    picture = _picture(net, labels)
    with style():
        ax = ax or new_axes((WIDTH, topology_height(net)))
        for a, b, label in picture.lines:
            _line(ax, picture.nodes[a], picture.nodes[b], label)
        for host, place in picture.hosts:
            _line(ax, picture.nodes[host.node], place, "")
            _box(ax, place, host.text, fc="white", boxstyle="round,rounding_size=0.6")
        for host, place in _labelled(picture):
            _label(ax, picture.nodes[host.node], place, host.access, NEAR_NODE)
        for node, place in picture.nodes.items():
            _box(ax, place, picture.texts[node], fc=SKY, boxstyle="round")
        ax.margins(0.09, 0.0)
        low, high = picture.span
        ax.set_ylim(low - 0.55, high + 0.55)
        ax.set_axis_off()
    return ax


def topology_height(net: Network | Scenario) -> float:
    """Height of the drawing of a network in inches."""
    low, high = _picture(net, {}).span
    return ROW * (1.1 + (high - low))


def describe(link: Link, names: Mapping[str, str] | None = None) -> str:
    """Label of a link in lines: "50 Mb/s, 20 ms", "250 packets", its discipline, its loss.

    An unlimited buffer, drop-tail and a loss of 0 are left out; a discipline with thresholds shows
    them.
    """
    parts = []
    if math.isfinite(link.buffer):
        parts.append(f"{link.buffer:g} {link.buffer_unit}")
    queue = link.queue
    if queue.name != DropTail.name:
        params = dict(queue.params)
        ends = [f"{params[name]:g}" for name in ("min_thresh", "max_thresh") if name in params]
        parts.append(
            " ".join([(names or {}).get(queue.name, queue.name), " to ".join(ends)]).strip()
        )
    if link.loss:
        parts.append(f"loss {link.loss:g}")
    return "\n".join([_speed(link.rate, link.delay), *parts])


def _line(ax: Axes, start: Place, end: Place, label: str) -> None:
    (x, y), (u, v) = start, end
    ax.plot([x, u], [y, v], color=GREY, lw=1.4, zorder=1)
    _label(ax, start, end, label)


def _label(ax: Axes, start: Place, end: Place, label: str, at: float = 0.5) -> None:
    """Write a label at a part of a line's length: above one that is flat, on one that is not."""
    (x, y), (u, v) = start, end
    flat = abs(v - y) < 0.08 * abs(u - x)
    ax.annotate(
        label, (x + at * (u - x), y + at * (v - y)), (0, 3 if flat else 0), size=LABEL,
        textcoords="offset points", ha="center", va="bottom" if flat else "center", zorder=2,
        bbox=None if flat else {"fc": "white", "ec": "none", "pad": 1.0},
    )  # fmt: skip


def _box(ax: Axes, place: Place, text: str, *, fc: str, boxstyle: str) -> None:
    box = {"ec": BLACK, "lw": 0.7, "fc": fc, "boxstyle": boxstyle}
    ax.text(*place, text, ha="center", va="center", size=BOX, bbox=box, zorder=3)


def _labelled(picture: _Picture) -> Iterator[tuple[_Host, Place]]:
    """The hosts whose access link has a label: the highest of those that share one."""
    labelled = set()
    for host, place in picture.hosts:
        side = place[0] > picture.nodes[host.node][0]
        if host.access and (host.node, side, host.access) not in labelled:
            labelled.add((host.node, side, host.access))
            yield host, place


def _speed(rate: float, delay: float) -> str:
    scale, unit = rate_unit(rate)
    parts = [] if math.isinf(rate) else [f"{rate / scale:g} {unit}"]
    if 1e3 * delay >= 0.05 or not parts:  # a shorter delay is a jitter of the start
        parts.append(f"{1e3 * delay:.3g} ms")
    return ", ".join(parts)


def _picture(net: Network | Scenario, names: Mapping[str, str]) -> _Picture:
    network = net.net if isinstance(net, Scenario) else net
    links = {(link.src, link.dst): link for link in network.links}
    flows = list(_flows(net, names)) if isinstance(net, Scenario) else []
    nodes, in_columns = _places(network, [flow.route for flow in flows])
    ends = {tuple(sorted(pair, key=lambda node: (nodes[node], node))) for pair in links}
    lines = [
        (a, b, _link_label(links.get((a, b)), links.get((b, a)), names)) for a, b in sorted(ends)
    ]
    picture = _Picture(nodes, {node: names.get(node, node) for node in nodes}, [], lines)
    _put_hosts(picture, flows, in_columns=in_columns)
    return picture


def _link_label(forth: Link | None, back: Link | None, names: Mapping[str, str]) -> str:
    """Label of the line between two nodes."""
    if forth is None or back is None:
        return describe(forth or back, names)  # type: ignore[arg-type]
    same = (forth.rate, forth.delay) == (back.rate, back.delay)
    plain = math.isinf(back.buffer) and not back.loss
    texts = [describe(forth, names), *([] if same and plain else [describe(back, names)])]
    return "\n".join(dict.fromkeys(texts))


# Flows and their hosts.


@dataclass(frozen=True)
class _Flow:
    """Flows `first` to `last` (counted from 1), or a flow with a name, as drawn."""

    name: str
    first: int
    last: int
    kind: str
    route: tuple[str, ...]
    access: tuple[str, str]

    @property
    def source(self) -> str:
        return self.name or self._numbers("S")

    @property
    def destination(self) -> str:
        if not self.name:
            return self._numbers("D")
        return f"D{self.name[1:]}" if self.name[0] == "S" and self.name[1:].isdigit() else ""

    @property
    def kinds(self) -> str:
        """ "9 Vegas"; "" if the name has it."""
        count = self.last - self.first + 1
        text = f"{count} {self.kind}" if count > 1 else self.kind
        return "" if self.kind in self.name else text

    def _numbers(self, letter: str) -> str:
        ends = dict.fromkeys((self.first, self.last))
        return " to ".join(f"{letter}{k}" for k in ends)


def _flows(scenario: Scenario, names: Mapping[str, str]) -> Iterator[_Flow]:
    """The flows and workloads of a scenario."""
    net = scenario.net
    default = net.default_path or ("", "")
    loads = [(load.flow, load.name, True) for load in scenario.workloads]
    last = 0
    for of, name, is_load in [*((f, f.name, False) for f in scenario.flows), *loads]:
        kind = names.get(of.controller, of.controller)
        first, *_, end = of.path or default
        source, target = of.source or first, of.target or end
        route = of.path or _shortest(net, source, target)
        ends = ("", "")
        if net.access is not None:
            near = net.access.delay if of.access_delay is None else of.access_delay
            ends = _speed(net.access.rate, near), _speed(net.access.rate, net.access.delay)
        yield _Flow(name or "", last + 1, last + of.count, kind, route, ends)
        last += 0 if is_load else of.count


def _grouped(flows: Sequence[_Flow]) -> list[_Flow]:
    """Adjacent flows of one kind and route as one, unless they have names."""
    groups = []
    for _, group in groupby(flows, key=lambda f: (f.kind, f.route, f.access, f.name)):
        members = list(group)
        groups.append(replace(members[0], last=members[-1].last))
    return groups


def _put_hosts(picture: _Picture, flows: Sequence[_Flow], *, in_columns: bool) -> None:
    """Place hosts left and right of the outer nodes, and below the others; without columns, nodes
    list their own."""
    first, last = (end(x for x, _ in picture.nodes.values()) for end in (min, max))
    shown_flows = _grouped(flows) if len(flows) > MOST_ALONE else list(flows)
    outer = {n for n, (x, _) in picture.nodes.items() if in_columns and x in (first, last)}
    beside: dict[str, list[_Host]] = {}
    inside: dict[str, list[str]] = {}
    for flow in shown_flows:
        start, end = flow.route[0], flow.route[-1]
        if start in outer:
            text = "\n".join(filter(None, (flow.source, flow.kinds)))
            beside.setdefault(start, []).append(_Host(start, text, flow.access[0]))
        else:
            alike = len({f.kind for f in shown_flows}) == 1
            kinds = "" if alike else flow.kinds
            inside.setdefault(start, []).append(": ".join(filter(None, (flow.source, kinds))))
        if end in outer and flow.destination:
            beside.setdefault(end, []).append(_Host(end, flow.destination, flow.access[1]))
    for flow in shown_flows:
        end = flow.route[-1]
        if end in outer and end not in beside:
            beside[end] = [_Host(end, "receivers", flow.access[1])]
    wide = max((len(text) for texts in inside.values() for text in texts), default=0) > INSIDE
    for node, texts in inside.items():
        if in_columns:
            x, y = picture.nodes[node]
            lower = wide and round(x / COLUMN) % 2  # the boxes of neighbours would overlap
            below = y - 0.5 - 0.12 * len(texts) - (0.1 + 0.22 * len(texts)) * lower
            picture.hosts.append((_Host(node, "\n".join(texts), ""), (x, below)))
        else:
            picture.texts[node] += "\n" + "\n".join(texts)
    rows = max((len(hosts) for hosts in beside.values()), default=1)
    lanes = max(sum(column == x for column, _ in picture.nodes.values()) for x in (first, last))
    if lanes > 1:  # room for the hosts of nodes in one column
        stretch = max(1.0, rows * APART + 0.2)
        picture.nodes = {node: (x, y * stretch) for node, (x, y) in picture.nodes.items()}
    for node, hosts in beside.items():
        x, y = picture.nodes[node]
        out = x + (-HOSTS if x == first else HOSTS)
        for k, host in enumerate(hosts):
            picture.hosts.append((host, (out, y + APART * ((len(hosts) - 1) / 2 - k))))


def _shortest(net: Network, source: str, target: str) -> tuple[str, ...]:
    import networkx as nx

    graph = nx.DiGraph([(link.src, link.dst) for link in net.links])
    return tuple(nx.shortest_path(graph, source, target))


# Places of nodes.


def _places(net: Network, routes: Sequence[tuple[str, ...]]) -> tuple[dict[str, Place], bool]:
    """Places in columns along the routes, and True; else those of a spring layout, and False."""
    import networkx as nx

    graph = nx.Graph([(link.src, link.dst) for link in net.links])
    onward = nx.DiGraph()
    for route in routes or [net.default_path or ()]:
        longer = nx.DiGraph([*onward.edges, *pairwise(route)])
        if nx.is_directed_acyclic_graph(longer):  # skip routes in the opposite direction
            onward = longer
    depth = _columns(graph, onward)
    if any(depth[a] == depth[b] for a, b in graph.edges):
        springs = nx.kamada_kawai_layout(graph)
        return {node: (3 * float(x), 2.6 * float(y)) for node, (x, y) in springs.items()}, False
    column: dict[int, list[str]] = {}
    for node in sorted(graph.nodes):
        column.setdefault(depth[node], []).append(node)
    return {
        node: (COLUMN * x, (len(of) - 1) / 2 - k)
        for x, of in column.items()
        for k, node in enumerate(of)
    }, True


def _columns(graph: nx.Graph, onward: nx.DiGraph) -> dict[str, int]:
    """Column of each node: the longest distance in hops from the start of a route.

    Nodes on no route are counted from a neighbour on a route, or else from the first node in
    alphabetical order.
    """
    import networkx as nx

    column: dict[str, int] = {}
    if onward.edges:
        for k, nodes in enumerate(nx.topological_generations(onward)):
            column |= dict.fromkeys(nodes, k)
        last = max(column.values())
        for node in onward.nodes:  # a source that joins later is placed just before its successor
            after = [column[successor] for successor in onward.successors(node)]
            column[node] = min(after) - 1 if after else last if len(onward) > 2 else column[node]
    for start in [*column, *sorted(graph.nodes)]:
        first = column.setdefault(start, 0)
        for node, hops in nx.single_source_shortest_path_length(graph, start).items():
            column.setdefault(node, first + hops)
    return column
