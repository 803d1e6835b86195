"""Write the kit: a folder for each case, with scenario, envelope and reference traces."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tcpcc.apps.conformance.case import Case, cases, find
from tcpcc.apps.conformance.judging import Judgement, flow_traces, judge
from tcpcc.errors import ScenarioError
from tcpcc.files import whole_file


def publish(folder: str | Path, names: Iterable[str] | None = None) -> list[Judgement]:
    """Write cases into a folder, one folder for each: scenario.toml, envelope.toml, README.md,
    reference.qlog.gz, and reference.csv (reference-2.csv for a second flow).

    Args:
        folder: made if it does not exist.
        names: of cases. Default: all.

    Returns:
        the verdicts on the references.

    Raises:
        ScenarioError: an unknown case, or `folder` is a file.
    """
    place = Path(folder)
    if place.is_file():
        raise ScenarioError(f"folder = {place}: is a file")
    chosen = [find(name) for name in names] if names is not None else [*cases().values()]
    judgements = [_publish(case, place / case.name) for case in chosen]
    with whole_file(place / "README.md") as part:
        part.write_text(_overview(judgements), encoding="utf-8")
    return judgements


def _publish(case: Case, place: Path) -> Judgement:
    place.mkdir(parents=True, exist_ok=True)
    run = case.simulate()
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "reference.qlog"
        run.to_qlog(plain)
        with whole_file(place / "reference.qlog.gz") as part:
            part.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    for number, trace in enumerate(flow_traces(run), 1):
        trace.to_csv(place / f"reference{'' if number == 1 else f'-{number}'}.csv")
    judgement = judge(run, case)
    texts = {
        "scenario.toml": case.scenario_text,
        "envelope.toml": case.text,
        "README.md": _page(judgement),
    }
    for name, text in texts.items():
        with whole_file(place / name) as part:
            part.write_text(text, encoding="utf-8")
    return judgement


def _page(judgement: Judgement) -> str:
    case = judgement.case
    lines = [
        f"# {case.name}: {case.title}",
        "",
        f"Source: {case.source}.",
        "",
        *([f"Answers {', '.join(case.answers)}.", ""] if case.answers else []),
        *([case.notes, ""] if case.notes else []),
        f"    tcpcc run scenario.toml\n    tcpcc judge YOUR.qlog --case {case.name}",
        "",
        "| check | envelope | reference | measured | reason | source |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {check.name} | {check.envelope} | {finding.found} | {check.measured} |"
        f" {_line(check.reason)} | {check.source} |"
        for finding in judgement.findings
        for check in (finding.check,)
    ]
    for check in case.checks:
        if check.exception:
            lines += ["", f"The reference leaves *{check.name}*: {_line(check.exception)}"]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def _overview(judgements: list[Judgement]) -> str:
    lines = [
        "# Conformance kit for congestion control",
        "",
        "Each folder has a scenario, an envelope of acceptable behaviour with reasons and sources,",
        "and a reference trace as qlog and CSV.",
        "",
        "| case | tests | source | reference |",
        "|---|---|---|---|",
    ]
    for judgement in judgements:
        case, failed = judgement.case, ", ".join(judgement.failed)
        verdict = f"leaves {failed}: see there" if failed else "passes"
        link = f"[{case.name}]({case.name}/README.md)"
        lines.append(f"| {link} | {case.title} | {case.source} | {verdict} |")
    return "\n".join(lines) + "\n"
