"""The conformance kit as a page of the documentation: cases, envelopes, verdicts on Linux."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.kernel import conformance as kernel
from experiments.markdown_tables import table
from tcpcc.apps.conformance import Case, cases, judge

MARKS = {"within": "✓", "not in trace": "·"}
"""Symbols of verdicts; ✗ for every other one."""

RECORDED = (*kernel.KNOWN, *kernel.NEW)
"""Cases recorded with Linux."""


def page() -> str:
    """The page as Markdown; nothing is simulated."""
    kit = cases()
    verdicts = {name: list(on_linux(kit[name])) for name in RECORDED}
    passed = [n for n in RECORDED if all(verdict in MARKS for verdict, _ in verdicts[n])]
    own = [case for case in kit.values() if not any(check.exception for check in case.checks)]
    version = f"Linux {kernel.recorded()['kernel']}"
    rows = [
        [
            f"[{name}](#{name})",
            case.title,
            case.source.split(",")[0],
            len(case.checks),
            "✓ passes" if name in passed else "✗ leaves" if name in RECORDED else "",
        ]
        for name, case in kit.items()
    ]
    lines = [
        "# Cases of the conformance kit",
        "",
        f"{len(kit)} cases, each a scenario and an envelope: the accepted values, with the reason"
        " and the document that requires them. [The guide](guides/conformance.md) tells how to"
        f" judge a trace. tcpcc's own senders pass {len(own)} cases without an exception;"
        f" {version}'s CUBIC and Reno, recorded between two network namespaces, pass"
        f" {len(passed)} of {len(RECORDED)}.",
        "",
        table(["Case", "Tests", "Source", "Checks", version], rows, words=5),
    ]
    for name, case in kit.items():
        lines += ["", f"({name})=", "", f"## {name}: {case.title}", "", *_about(case), ""]
        lines += [_checks(case, verdicts.get(name, []), version), ""]
        lines += ["```{raw} html", "<details><summary>Scenario</summary>", "```", ""]
        lines += ["```toml", case.scenario_text.strip(), "```", ""]
        lines += ["```{raw} html", "</details>", "```"]
    return "\n".join(lines) + "\n"


def _about(case: Case) -> Iterator[str]:
    yield f"Source: {case.source}. {case.notes}".strip()
    if case.answers:
        yield ""
        yield f"Answers {', '.join(f'<{address}>' for address in case.answers)}."


def _checks(case: Case, verdicts: list[tuple[str, str]], version: str) -> str:
    """The envelope as a table, with what `verdicts` says of each check; then the reasons."""
    head = ["Check", "Measured", "Envelope", *([version, "Found"] if verdicts else [])]
    rows, reasons = [], []
    for k, check in enumerate(case.checks):
        row = [check.name, f"`{check.measured}`", check.envelope]
        if verdicts:
            verdict, found = verdicts[k]
            row += [f"{MARKS.get(verdict, '✗')} {verdict}", found]
        rows.append([cell.replace("|", "\\|") for cell in row])
        reason = f"- *{check.name}*: {check.reason}"
        if check.source != case.source:
            reason += f" ({check.source})"
        if check.exception:
            reason += f" **tcpcc's sender leaves it:** {check.exception}"
        reasons.append(" ".join(reason.split()))
    return "\n".join([table(head, rows, words=len(head)), "", *reasons])


def on_linux(case: Case) -> Iterator[tuple[str, str]]:
    """For each check the worst verdict on the recordings of Linux, and their ranges."""
    judgements = [judge(flows, case) for flows in kernel.traces(case.name)]
    for findings in zip(*(judgement.findings for judgement in judgements), strict=True):
        worst = next((f.verdict for f in findings if f.verdict != "within"), "within")
        yield worst, "; ".join(dict.fromkeys(f.found for f in findings if f.found))
