"""Drawings of networks: nodes from left to right, links with rate, delay and buffer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tcpcc.queues import DropTail
from tcpcc.results.figure import BLACK, GREY, SKY, WIDTH, new_axes, rate_unit, style
from tcpcc.scenario import CBR, Scenario
from tcpcc.scenario.network import Link, Network

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

MOST_HOSTS = 12
"""Largest number of nodes with hosts; above it no hosts are drawn."""

ROW = 0.8
"""Vertical distance of two nodes in inches."""

APART = 1.3
"""Distance from a node to its hosts in columns; the boxes of hosts are wide."""

BESIDE_HOSTS = 0.38
"""Position of an access link's label, as a fraction of the line from the node to its hosts."""

RECEIVERS, CONVERSATIONS = "receivers", "conversations"

Place = tuple[float, float]


@dataclass
class _Picture:
    """The content of a drawing: nodes and hosts with their places, lines with their labels."""

    nodes: dict[str, Place]
    hosts: dict[str, tuple[str, Place]]
    access: str
    lines: list[tuple[str, str, str]]

    @property
    def rows(self) -> int:
        every = [*self.nodes.values(), *(place for _, place in self.hosts.values())]
        heights = [y for _, y in every]
        return 1 + round(max(heights) - min(heights))


def topology(net: Network | Scenario, ax: Axes | None = None) -> Axes:
    """Draw the nodes and links of a network; of a scenario also its hosts, unless there are many.

    Two links between the same nodes are one line. Its label describes the link from left to right;
    the reverse link is described below it unless it has the same rate and delay, an unlimited
    buffer and no loss. The hosts at a node are one box with the number of flows of each controller
    that start there.

    Args:
        net: the network or scenario.
        ax: axes to draw on. Default: a new figure.
    """
    picture = _picture(net)
    with style():
        ax = ax or new_axes((WIDTH, topology_height(net)))
        for a, b, label in picture.lines:
            _line(ax, picture.nodes[a], picture.nodes[b], label)
        for node, (text, place) in picture.hosts.items():
            _line(ax, picture.nodes[node], place, picture.access, BESIDE_HOSTS)
            _box(ax, place, text, fc="white", boxstyle="round,rounding_size=0.8")
        for node, place in picture.nodes.items():
            _box(ax, place, node, fc=SKY, boxstyle="round")
        ax.margins(0.12, 0.3 if picture.rows > 1 else 0.5)
        ax.set_axis_off()
    return ax


def topology_height(net: Network | Scenario) -> float:
    """Height of the drawing of a network in inches."""
    return ROW * (0.6 + _picture(net).rows)


def describe(link: Link) -> str:
    """Label of a link: "50 Mb/s, 20 ms", below it "250 packets", its discipline and its loss.

    An unlimited buffer, drop-tail and a loss of 0 are left out.
    """
    told = []
    if math.isfinite(link.buffer):
        told.append(f"{link.buffer:g} {link.buffer_unit}")
    if link.queue.name != DropTail.name:
        told.append(link.queue.name)
    if link.loss:
        told.append(f"loss {link.loss:g}")
    return "\n".join(filter(None, [_speed(link.rate, link.delay), ", ".join(told)]))


def _line(ax: Axes, start: Place, end: Place, label: str, at: float = 0.5) -> None:
    (x, y), (u, v) = start, end
    ax.plot([x, u], [y, v], color=GREY, lw=1.4, zorder=1)
    upright = x == u
    ax.annotate(
        label, (x + at * (u - x), y + at * (v - y)), (4, 0) if upright else (0, 3), size=7,
        textcoords="offset points", ha="left" if upright else "center",
        va="center" if upright else "bottom", zorder=2,
        bbox={"fc": "white", "ec": "none", "pad": 0.5, "alpha": 0.75},
    )  # fmt: skip


def _box(ax: Axes, place: Place, text: str, **look: Any) -> None:
    box = {"ec": BLACK, "lw": 0.7, "alpha": 1, **look}
    ax.text(*place, text, ha="center", va="center", size=8, bbox=box, zorder=3)


def _speed(rate: float, delay: float) -> str:
    scale, unit = rate_unit(rate)
    told = [] if math.isinf(rate) else [f"{rate / scale:g} {unit}"]
    return ", ".join([*told, f"{1e3 * delay:g} ms"])


def _picture(net: Network | Scenario) -> _Picture:
    network = net.net if isinstance(net, Scenario) else net
    links = {(link.src, link.dst): link for link in network.links}
    routes = list(_routes(net)) if isinstance(net, Scenario) else []
    nodes = _places(network, [route for _, route in routes])
    ends = {tuple(sorted(pair, key=lambda node: (nodes[node], node))) for pair in links}
    lines = [(a, b, _told(links.get((a, b)), links.get((b, a)))) for a, b in sorted(ends)]
    access = network.access
    label = "" if access is None else _speed(access.rate, access.delay)
    return _Picture(nodes, _hosts(routes, nodes), label, lines)


def _told(there: Link | None, back: Link | None) -> str:
    """Label of the line between two nodes."""
    if there is None or back is None:
        return describe(there or back)  # type: ignore[arg-type]
    same = (there.rate, there.delay) == (back.rate, back.delay)
    plain = math.isinf(back.buffer) and not back.loss
    told = [describe(there), *([] if same and plain else [describe(back)])]
    return "\n".join(dict.fromkeys(told))


def _routes(scenario: Scenario) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Label ("reno", "cbr", "reno conversations") and nodes of each flow and workload."""
    default = scenario.net.default_path or ("", "")
    loads = {load.flow: f"{load.flow.controller} {CONVERSATIONS}" for load in scenario.workloads}
    for of in (*scenario.flows, *loads):
        kind, count = (
            ("cbr", 1) if isinstance(of, CBR) else (loads.get(of, of.controller), of.count)
        )
        first, *_, last = of.path or default
        source, target = of.source or first, of.target or last
        route = of.path or _shortest(scenario.net, source, target)
        yield from [(kind, route)] * count


def _shortest(net: Network, source: str, target: str) -> tuple[str, ...]:
    import networkx as nx

    graph = nx.DiGraph([(link.src, link.dst) for link in net.links])
    return tuple(nx.shortest_path(graph, source, target))


def _places(net: Network, routes: list[tuple[str, ...]]) -> dict[str, Place]:
    """Places in columns along the routes; a spring layout if the network has no columns."""
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
        return {node: (3 * float(x), 2 * float(y)) for node, (x, y) in springs.items()}
    column: dict[int, list[str]] = {}
    for node in sorted(graph.nodes):
        column.setdefault(depth[node], []).append(node)
    return {
        node: (float(x), (len(of) - 1) / 2 - k)
        for x, of in column.items()
        for k, node in enumerate(of)
    }


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
            after = [column[each] for each in onward.successors(node)]
            column[node] = min(after) - 1 if after else last if len(onward) > 2 else column[node]
    for start in [*column, *sorted(graph.nodes)]:
        first = column.setdefault(start, 0)
        for node, hops in nx.single_source_shortest_path_length(graph, start).items():
            column.setdefault(node, first + hops)
    return column


def _hosts(
    routes: list[tuple[str, tuple[str, ...]]], nodes: Mapping[str, Place]
) -> dict[str, tuple[str, Place]]:
    """By node: text and place of the box of its hosts."""
    targets = dict.fromkeys(route[-1] for _, route in routes)
    begin: dict[str, Counter[tuple[str, str]]] = {node: Counter() for node in targets}
    for kind, route in routes:
        begin.setdefault(route[0], Counter())[kind, route[-1]] += 1
    if len(begin) > MOST_HOSTS or len(begin) == len(nodes) > 4:
        return {}
    first, last = (end(x for x, _ in nodes.values()) for end in (min, max))
    found = {}
    for node, kinds in begin.items():
        by_target: dict[str, list[str]] = {}
        for (kind, target), count in kinds.items():
            many = "" if kind.endswith(CONVERSATIONS) else f"{count} "
            by_target.setdefault(target, []).append(many + kind)
        several = len(targets) > 1
        told = [
            ", ".join(each) + (f"\nto {target}" if several else "")
            for target, each in by_target.items()
        ]
        x, y = nodes[node]
        side = -1 if x == first else 1 if x == last else 0
        place = (x + APART * side, y) if side else (x, y - 1)
        found[node] = "\n".join(told) or RECEIVERS, place
    return found
