"""One setting of the hosts changed at a time, for the cells with many flows in small windows.

Prague's settings are those of L4STeam's kernel (`Flow.linux`): an ACK for each packet, single
packets as pieces, pacing by whole packets. CUBIC's hosts are older than Linux 6.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.pam25 import tables
from experiments.pam25.scenarios import Mixture

CELLS = tuple(
    Mixture(n, m, "CUBIC ECN", bottleneck, buffer)
    for (n, m), bottleneck, buffer in (
        ((1, 10), "FIFO", 0.5),
        ((10, 10), "FIFO", 0.5),
        ((10, 10), "CoDel+ECN", 0.5),
        ((10, 10), "DualPI2", 2.0),
        ((1, 10), "FIFO+ECN", 2.0),
        ((1, 2), "DualPI2", 2.0),
    )
)
SEEDS = (1, 2, 3)

Change = Callable[[Any], tc.Flow]


def _settings(**changes: Any) -> Change:
    return lambda flow: flow.replace(transport=flow.transport.replace(**changes))


def _unpaced(flow: tc.Flow) -> tc.Flow:
    return flow.replace(params={**dict(flow.params), "pacing_gain": 1.0})


def _same(flow: tc.Flow) -> tc.Flow:
    return flow


_delayed = _settings(delayed_ack=0.04)
_pieces = _settings(gso_segments=2)
_new = _settings(push_acks=True, piece_wait=1e-3)

CHANGES: Mapping[str, tuple[Change, Change]] = {
    "no change": (_same, _same),
    "Prague: ACKs delayed": (_delayed, _same),
    "Prague: pieces of 2 packets": (_pieces, _same),
    "Prague: paced at W/srtt": (_unpaced, _same),
    "CUBIC: hosts of Linux 6.18": (_same, _new),
    "all of these": (lambda f: _new(_unpaced(_pieces(_delayed(f)))), _new),
}
"""Changes of Prague's and of CUBIC's flows, by name."""


def changed(cell: Mixture, seed: int, prague: Change, other: Change) -> tc.Scenario:
    """The cell's scenario with its flows changed."""
    case = cell.scenario(seed)
    first, second = case.flows
    return case.replace(flows=[prague(first), other(second)])


def rows() -> list[dict[str, object]]:
    """Prague's throughput by change (Mb/s, means of the seeds), and the test-bed's."""
    testbed = {_name(cell): f"{tables.published()[cell, 'prague'].mean:.0f}" for cell in CELLS}
    table: list[dict[str, object]] = [{"change": "test-bed", **testbed}]
    for name, change in CHANGES.items():
        runs = tc.sweep([changed(cell, seed, *change) for cell in CELLS for seed in SEEDS])
        cells = [cell for cell in CELLS for _ in SEEDS]
        rates = [
            tables.of_mixture(cell, run)["prague"] for cell, run in zip(cells, runs, strict=True)
        ]
        means = np.reshape(rates, (len(CELLS), -1)).mean(axis=1)
        table.append(
            {"change": name, **{_name(c): f"{v:.0f}" for c, v in zip(CELLS, means, strict=True)}}
        )
    return table


def _name(cell: Mixture) -> str:
    return f"{cell.prague} + {cell.others}, {cell.bottleneck}, {cell.buffer:g} BDP"
