"""A network drawn: nodes from left to right, each link with its rate, delay and buffer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpcc.results.figure import BLACK, GREY, SKY, WIDTH, new_axes, rate_unit, style
from tcpcc.scenario.network import Link, Network

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes


def topology(net: Network, ax: Axes | None = None) -> Axes:
    """Nodes and links of a network, as papers draw them; access links are not drawn.

    Two links that join the same nodes are one line; what is written there is of the one from left
    to right, and of the other below it where that is not the same.

    Args:
        net: to draw.
        ax: to draw on. Default: a new figure.
    """
    import networkx as nx

    graph = nx.DiGraph()
    for link in net.links:
        graph.add_edge(link.src, link.dst, link=link)
    depth = _depths(graph, net)
    nx.set_node_attributes(graph, depth, "depth")
    places = nx.multipartite_layout(graph, subset_key="depth", align="vertical")
    widest = max(list(depth.values()).count(d) for d in depth.values())
    with style():
        ax = ax or new_axes((WIDTH, max(1.6, 1.1 * widest)))
        for a, b in {
            tuple(sorted((s, d), key=lambda n: (depth[n], str(n)))) for s, d in graph.edges
        }:
            (x, y), (u, v) = places[a], places[b]
            ax.plot([x, u], [y, v], color=GREY, lw=1.4, zorder=1)
            there = [graph.edges[pair]["link"] for pair in ((a, b), (b, a)) if pair in graph.edges]
            told = list(dict.fromkeys(describe(link) for link in there))
            ax.annotate(
                "\n".join(told), ((x + u) / 2, (y + v) / 2), ha="center", va="bottom", size=7,
                xytext=(0, 3), textcoords="offset points",
            )  # fmt: skip
        for node, (x, y) in places.items():
            box = {"boxstyle": "round", "fc": SKY, "ec": BLACK, "lw": 0.7, "alpha": 1}
            ax.text(x, y, str(node), ha="center", va="center", size=8, bbox=box, zorder=3)
        ax.margins(0.12, 0.3)
        ax.set_axis_off()
    return ax


def describe(link: Link) -> str:
    """ "50 Mb/s, 20 ms, 250 packets" of a link; what is unlimited or lossless is left out."""
    scale, unit = rate_unit(link.rate)
    told = [] if math.isinf(link.rate) else [f"{link.rate / scale:g} {unit}"]
    told.append(f"{1e3 * link.delay:g} ms")
    if math.isfinite(link.buffer):
        told.append(f"{link.buffer:g} {link.buffer_unit}")
    if link.loss:
        told.append(f"loss {link.loss:g}")
    return ", ".join(told)


def _depths(graph: nx.DiGraph, net: Network) -> dict[str, int]:
    """Hops from the node where the default path begins, else from the first link's source."""
    import networkx as nx

    whole = graph.to_undirected()
    first = net.default_path[0] if net.default_path else net.links[0].src
    depth: dict[str, int] = {}
    for node in [first, *graph.nodes]:  # a network may be in several pieces
        if node not in depth:
            depth |= dict(nx.single_source_shortest_path_length(whole, node))
    return depth
