"""Pages of what has no paper's data file: BBR beside CUBIC, and the conformance kit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import pictures
from experiments.bbr_cubic import figures, scenarios, tables
from experiments.kernel import conformance as kernel
from tcpcc.apps.conformance import Case, cases, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGES = {
    "bbr_cubic": "BBR beside CUBIC on a test-bed",
    "conformance": "Conformance kit: cases, envelopes, verdicts",
}
"""Titles by name; the template has the same name."""


def words(name: str, folder: Path, draw: bool) -> Mapping[str, Any]:
    """Content of a page of `PAGES`; writes the files that it shows into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    return {"bbr_cubic": _bbr_cubic, "conformance": _conformance}[name](folder, draw)


# BBR beside CUBIC


def _bbr_cubic(folder: Path, draw: bool) -> Mapping[str, Any]:
    results = {model: tables.stored(model) for model in tables.STORED}
    (folder / "points.csv").write_text(_points(results), encoding="utf-8")
    if draw:
        for network in scenarios.networks():
            _save(figures.draw_shares(network, results["packet"]), folder / _stem(network))
        _save(figures.draw_equilibria(results["packet"]), folder / "equilibria")
    return {
        "summaries": {model: tables.summary(of_model) for model, of_model in results.items()},
        "counts": {model: len(of_model) for model, of_model in results.items()},
        "measured": len(scenarios.testbed()),
        "networks": [
            (network, _stem(network), _shares(network, results["packet"]))
            for network in scenarios.networks()
        ],
        "numbers": scenarios.SAMPLE,
        "deep": tables.DEEP,
        "accepted": tables.DISTANCE,
        "draw": draw,
    }


def _stem(network: scenarios.Network) -> str:
    return f"{network.rate:g}_{network.rtt:g}"


def _shares(
    network: scenarios.Network, results: tables.Throughputs
) -> list[tuple[float, list[tuple[float, float]]]]:
    """Rows of (buffer, pairs of our share of the link and the test-bed's, by n of the sample)."""
    testbed = scenarios.testbed()
    points = [[scenarios.Point(network, b, n) for n in scenarios.SAMPLE] for b in scenarios.BUFFERS]
    return [
        (
            row[0].buffer,
            [(results[point][0] / network.rate, testbed[point][0] / network.rate) for point in row],
        )
        for row in points
    ]


def _points(results: Mapping[str, tables.Throughputs]) -> str:
    """CSV of all simulated points: BBR's and CUBIC's throughput of each model and the test-bed."""
    by_source = {**results, "testbed": scenarios.testbed()}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    kinds = [f"{who}_{kind}_mbps" for who in by_source for kind in ("bbr", "cubic")]
    writer.writerow(["rate_mbps", "rtt_ms", "buffer_bdp", "bbr_flows", *kinds])
    for point in sorted(results["packet"]):
        both = [of_who.get(point, ("", "")) for of_who in by_source.values()]
        writer.writerow(
            [*point.network, point.buffer, point.n, *(x for pair in both for x in pair)]
        )
    return text.getvalue()


def _save(figure: Figure, path: Path) -> None:
    import matplotlib.pyplot as plt

    pictures.save(figure, path, ("png", "svg"))
    plt.close(figure)


# The conformance kit


@dataclass(frozen=True)
class Row:
    """A check of a case, and what recordings of Linux have.

    Attributes:
        case, check: the row of the envelope.
        found: ranges in the recordings; "" without one.
        verdict: the worst of the recordings' verdicts; "" without one.
    """

    case: Case
    check: Any
    found: Sequence[str]
    verdict: str


def _conformance(folder: Path, draw: bool) -> Mapping[str, Any]:
    listed = {case.name: list(_rows(case)) for case in cases().values()}
    recorded = [name for name in listed if name in {*kernel.KNOWN, *kernel.NEW}]
    return {
        "cases": cases(),
        "rows": listed,
        "recorded": recorded,
        "passed": [n for n in recorded if all(_passes(row) for row in listed[n])],
        "exceptions": [row for rows in listed.values() for row in rows if row.check.exception],
        "kernel": kernel.recorded()["kernel"],
    }


def _passes(row: Row) -> bool:
    return row.verdict in ("within", "not in trace")


def _rows(case: Case) -> Iterator[Row]:
    if case.name not in {*kernel.KNOWN, *kernel.NEW}:
        yield from (Row(case, check, (), "") for check in case.checks)
        return
    judgements = [judge(flows, case) for flows in kernel.traces(case.name)]
    for check, findings in zip(
        case.checks,
        zip(*(judgement.findings for judgement in judgements), strict=True),
        strict=True,
    ):
        verdicts = [finding.verdict for finding in findings]
        worst = next((v for v in verdicts if v != "within"), "within")
        yield Row(case, check, [finding.found for finding in findings if finding.found], worst)
