"""Numbers from runs, their distance from the test-bed, and files of published and own numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import tcpcc as tc
from experiments.ifip25 import scenarios as s
from experiments.ifip25.scenarios import Cell, Network, Single, Ten
from experiments.published_numbers import DATA
from experiments.testbeds import MODELS, TESTBED, Item, Key, Numbers, read, renew_tables, stored

PUBLISHED = "published_model"

MEASURES = ("jain", "loss", "occupancy")
"""Measures of ten flows: Jain's index, loss and mean backlog in per cent."""

RATE = "rate"
"""Measure of the other experiment: throughput of all BBR flows, Mb/s."""


def of_ten(run: tc.Run) -> dict[str, float]:
    """The measures of ten flows, as the test-bed computes them."""
    rates = run.goodput(*s.MEASURED).values
    seconds = s.MEASURED[1] - s.MEASURED[0]
    again = float(run.data["retransmitted"].sel(time=slice(*s.MEASURED)).sum())
    queue = run.data["queue"].sel(link="bottleneck", time=slice(*s.QUEUE_MEASURED)).mean()
    return {
        "jain": tc.jain_index(rates),
        "loss": 100 * again * 1500 * 8 / float(rates.sum() * seconds),
        "occupancy": 100 * float(queue / run.data["buffer"].sel(link="bottleneck")),
    }


def of_single(run: tc.Run) -> dict[str, float]:
    """Throughput of all BBR flows."""
    bbr = run.data["group"].values == "bbr"
    return {RATE: float(run.goodput(*s.SINGLE_MEASURED).values[bbr].sum()) / 1e6}


def measured(cell: Cell, run: tc.Run) -> dict[str, float]:
    """The measures of a cell."""
    return of_ten(run) if isinstance(cell, Ten) else of_single(run)


# Errors.


def error(numbers: Numbers, source: str, cell: Cell, measure: str) -> float:
    """Mean over trials or seeds of |value - mean of the test-bed's trials|.

    A trial of the test-bed itself is compared with the mean of the other trials.
    """
    testbed = np.array(numbers[Key(TESTBED, cell, measure)])
    if source == TESTBED:
        others = (testbed.sum() - testbed) / (testbed.size - 1)
        return float(np.abs(testbed - others).mean())
    return float(np.abs(np.array(numbers[Key(source, cell, measure)]) - testbed.mean()).mean())


def mean_error(numbers: Numbers, source: str, cells: Sequence[Cell], measure: str) -> float:
    """Mean of `error` over cells; NaN if the source has none of them."""
    numbered = [cell for cell in cells if Key(source, cell, measure) in numbers]
    return float(np.mean([error(numbers, source, cell, measure) for cell in numbered] or [np.nan]))


def within_spread(numbers: Numbers, source: str, cell: Cell, measure: str) -> bool:
    """Whether the mean differs from that of the test-bed's trials by at most their range."""
    testbed = np.array(numbers[Key(TESTBED, cell, measure)])
    mean = np.mean(numbers[Key(source, cell, measure)])
    return bool(abs(mean - testbed.mean()) <= np.ptp(testbed))


# Files.


def _ten(row: Mapping[str, str]) -> tuple[Cell, str]:
    return Ten(row["first"], row["second"], int(row["buffer"])), row["measure"]


def _ten_columns(key: Key) -> tuple[object, ...]:
    return *key.cell, key.measure


def _single(row: Mapping[str, str]) -> tuple[Cell, str]:
    network = Network(float(row["rate_mbps"]), float(row["rtt_ms"]))
    cell = Single(row["bbr"], row["other"], network, int(row["buffer"]), int(row["flows"]))
    return cell, RATE


def _single_columns(key: Key) -> tuple[object, ...]:
    cell = key.cell
    assert isinstance(cell, Single)
    return cell.bbr, cell.other, *map("{:g}".format, cell.network), cell.buffer, cell.flows


ITEMS = {
    item.name: item
    for item in (
        Item(
            "ifip25", "ten", s.ten, s.TEN_SEEDS, ("first", "second", "buffer", "measure"),
            _ten, _ten_columns,
        ),
        Item(
            "ifip25", "single", s.single, s.SINGLE_SEEDS,
            ("bbr", "other", "rate_mbps", "rtt_ms", "buffer", "flows"),
            _single, _single_columns,
        ),
    )
}  # fmt: skip


def published(item: Item) -> dict[Key, tuple[float, ...]]:
    """Numbers of the test-bed and of the published fluid model."""
    return read(item, item.published)


def everything(item: Item) -> Numbers:
    """Published and accepted numbers."""
    return {**published(item), **stored(item)}


# The page.

PAGE = DATA.parents[1] / "docs" / "ifip25.md"
SOURCES = (TESTBED, *MODELS, PUBLISHED)


def summary(item: Item, numbers: Numbers) -> list[dict[str, object]]:
    """Mean errors of each source, a row for each pair, or set and range of buffers."""
    return _summary_ten(numbers) if item.name == "ten" else _summary_single(numbers)


def _summary_ten(numbers: Numbers) -> list[dict[str, object]]:
    rows = []
    for pair in s.PAIRS:
        cells = [cell for cell in s.ten() if cell[:2] == pair]
        row: dict[str, object] = {"pair": s.title(*pair)}
        for measure in MEASURES:
            for source in SOURCES:
                row[f"{measure}: {source}"] = mean_error(numbers, source, cells, measure)
        rows.append(row)
    return rows


def _summary_single(numbers: Numbers) -> list[dict[str, object]]:
    rows = []
    for setting in s.SETS:
        for low, high in ((1, 8), (16, 64)):
            cells = [c for c in s.single() if c[:3] == setting and low <= c.buffer <= high]
            row: dict[str, object] = {
                "BBR": s.NAMES[setting[0]],
                "beside": s.NAMES[setting[1]],
                "network": str(setting[2]),
                "buffers": f"{low} to {high}",
            }
            for source in (TESTBED, *MODELS):
                row[source] = mean_error(numbers, source, cells, RATE) / setting[2].rate
            rows.append(row)
    return rows


def page_rows(item: Item) -> list[str]:
    """The rows of a table in docs/ifip25.md."""
    rows = summary(item, everything(item))
    if item.name == "single":
        return [
            f"| {r['BBR']} | {r['beside']} | {r['network']} | {r['buffers']} | "
            f"{r[TESTBED]:.3f} | {r['packet']:.3f} | {r['fluid']:.3f} |"
            for r in rows
        ]
    return [
        f"| {row['pair']} | "
        + " | ".join(
            " / ".join(_number_text(row[f"{measure}: {source}"], digits) for source in SOURCES)
            for measure, digits in (("jain", 3), ("occupancy", 1), ("loss", 2))
        )
        + " |"
        for row in rows
    ]


def spread_rows() -> list[str]:
    """The rows of the page's table of cells within the test-bed's spread, ten flows."""
    item = ITEMS["ten"]
    numbers, rows = everything(item), []
    for pair in s.PAIRS:
        cells = [cell for cell in s.ten() if cell[:2] == pair]
        counts = (
            " / ".join(_count_text(numbers, source, cells, measure) for source in SOURCES[1:])
            for measure in ("jain", "occupancy", "loss")
        )
        rows.append(f"| {s.title(*pair)} | {' | '.join(counts)} |")
    return rows


def _count_text(numbers: Numbers, source: str, cells: Sequence[Cell], measure: str) -> str:
    numbered = [cell for cell in cells if Key(source, cell, measure) in numbers]
    count = sum(within_spread(numbers, source, cell, measure) for cell in numbered)
    return str(count) if numbered else "none"


def _number_text(value: object, digits: int) -> str:
    return "none" if np.isnan(value) else f"{value:.{digits}f}"  # type: ignore[call-overload]


HEADS = {
    "ten": "|---|---|---|---|\n",
    "spread": "|:--|:--|:--|:--|\n",
    "single": "|---|---|---|---|--:|--:|--:|\n",
}
"""Last lines of the heads of the page's tables."""


def renew_page(page: Path = PAGE) -> Path:
    """Write `page_rows` into the tables of a page."""
    rows = {name: page_rows(item) for name, item in ITEMS.items()}
    renew_tables(page, HEADS, rows | {"spread": spread_rows()})
    return page
