"""One setting or rule changed at a time, where ours differ from the test-bed.

Ten flows: kernel of the hosts, Linux' BBRv3, processing time, jitter, pieces. BBRv3 beside one
flow: processing time, start order, and Linux' bound of `extra`, which the draft does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.bbr_cubic.scenarios import Network
from experiments.ifip25 import scenarios as s
from experiments.ifip25 import tables
from experiments.ifip25.scenarios import Cell, Single, Ten
from experiments.testbeds import TESTBED, Key

Change = Callable[[tc.Scenario], tc.Scenario]

JITTER = 0.002  # s
LATE = 30.0  # s

TEN_CELLS = tuple(Ten(*pair, b) for pair in s.PAIRS for b in (3, 5, 6, 16))
SINGLE_CELLS = tuple(
    Single("bbr3", "cubic", Network(10, 40), b, n)
    for b, n in ((8, 1), (16, 1), (16, 4), (32, 1), (32, 32), (64, 16))
)


def _each_flow(change: Callable[[Any], tc.Flow]) -> Change:
    """Change every flow."""
    return lambda case: case.replace(flows=[change(flow) for flow in case.flows])


_unchanged = _each_flow(lambda flow: flow)
_at_once = _each_flow(lambda flow: flow.replace(processing=0.0))


def _transport(**changes: Any) -> Change:
    """Change settings of every flow's transport."""
    return _each_flow(lambda flow: flow.replace(transport=flow.transport.replace(**changes)))


_older = _transport(push_acks=False, piece_wait=np.inf)
_pieces = _transport(gso_segments=4)


def _jitter(case: tc.Scenario) -> tc.Scenario:
    return case.replace(changes=[tc.Change(0, "bottleneck", jitter=JITTER)])


def _first(group: str) -> Change:
    """Flows of `group` start `LATE` before the others."""
    return _each_flow(
        lambda flow: flow if flow.group == group else flow.replace(start=flow.start + LATE)
    )


def _linux_bbr3(*names: str) -> Change:
    """BBRv3 with Linux' values of these parameters; default: of all that differ from the draft."""
    linux = dict(tc.Flow.linux("bbr3").params)
    params = {name: linux[name] for name in names or linux}
    return _each_flow(
        lambda flow: flow.replace(params=params) if flow.controller == "bbr3" else flow
    )


_as_linux = _linux_bbr3("extra_time", "startup_extra")

TEN_CHANGES: Mapping[str, Change] = {
    "no change": _unchanged,
    "hosts of Linux 5.13 and 6.4": _older,
    "BBRv3 of Linux": _linux_bbr3(),
    "hosts send at once": _at_once,
    f"jitter of up to {JITTER * 1e3:g} ms, in order": _jitter,
    "pieces of at least 4 packets": _pieces,
}
SINGLE_CHANGES: Mapping[str, Change] = {
    "no change": _unchanged,
    "hosts send at once": _at_once,
    f"BBRv3 starts {LATE:g} s before CUBIC": _first("bbr"),
    f"CUBIC starts {LATE:g} s before BBRv3": _first("other"),
    "no extra in STARTUP, at most 0.1 s later": _as_linux,
}


def ten(seed: int = 1) -> list[dict[str, object]]:
    """Mean errors by change, for each pair: Jain's index / occupancy in points; one seed."""
    item, rows = tables.ITEMS["ten"], []
    for name, change in TEN_CHANGES.items():
        cells: dict[Cell, dict[str, float]] = {}
        runs = tc.sweep([change(cell.scenario(seed)) for cell in TEN_CELLS])
        for cell, run in zip(TEN_CELLS, runs, strict=True):
            cells[cell] = tables.of_ten(run)
        numbers = tables.published(item) | {
            Key("packet", cell, measure): (value,)
            for cell, measures in cells.items()
            for measure, value in measures.items()
        }
        row: dict[str, object] = {"change": name}
        for pair in s.PAIRS:
            cells_of_pair = [cell for cell in TEN_CELLS if cell[:2] == pair]
            jain, queue = (
                tables.mean_error(numbers, "packet", cells_of_pair, m)
                for m in ("jain", "occupancy")
            )
            row[s.title(*pair)] = f"{jain:.3f} / {queue:.1f}"
        rows.append(row)
    return rows


def single() -> list[dict[str, object]]:
    """BBR's share by change, means of the seeds, and the test-bed's."""
    item = tables.ITEMS["single"]
    numbers = tables.published(item)
    testbed = {
        f"{cell.buffer} BDP, n = {cell.flows}": float(
            np.mean(numbers[Key(TESTBED, cell, tables.RATE)]) / cell.network.rate
        )
        for cell in SINGLE_CELLS
    }
    rows: list[dict[str, object]] = [_shares("test-bed", testbed)]
    for name, change in SINGLE_CHANGES.items():
        cases = [
            change(cell.scenario(seed)) for cell in SINGLE_CELLS for seed in item.seeds["packet"]
        ]
        rates = [tables.of_single(run)[tables.RATE] for run in tc.sweep(cases)]
        shares = np.reshape(rates, (len(SINGLE_CELLS), -1)).mean(axis=1) / 10
        rows.append(_shares(name, dict(zip(testbed, shares.tolist(), strict=True))))
    return rows


def _shares(name: str, shares: Mapping[str, float]) -> dict[str, object]:
    return {"change": name, **{cell: f"{share:.2f}" for cell, share in shares.items()}}
