"""The result of an evaluation: findings, verdicts by section, tables and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tcpcc.apps.evaluate.criterion import Criterion, Scenarios
from tcpcc.apps.evaluate.sections import SECTIONS
from tcpcc.files import whole_file
from tcpcc.results.metrics import Mean

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.results import Run
    from tcpcc.scenario import Flow

FAILS, PASSES, BETTER = "fails", "passes", "better"
REFUSED, REPORTED, NOT_MEASURED = "refused", "reported", "not measured"
ORDER = (FAILS, REFUSED, PASSES, BETTER, REPORTED, NOT_MEASURED)
"""Verdicts; a section has the first of these that one of its criteria has."""


@dataclass(frozen=True)
class Finding:
    """A criterion's result.

    Attributes:
        criterion: what was measured.
        value: mean over the seeds, with its confidence interval.
        standards: the same for the standard controllers, by name.
        verdict: "fails": worse than all standards; "better": better than all; "passes": neither;
            "refused": it cannot be simulated; "reported": no requirement. A controller with a rule
            that fails, as by a division by zero, fails the criterion.
        reason: why it was refused, or which rule failed; else "".
        scenarios, runs: those of the first seed, by name.
        standard_runs: the standards' runs of the first seed, by name of the standard.
    """

    criterion: Criterion
    value: Mean
    standards: Mapping[str, Mean]
    verdict: str
    reason: str
    scenarios: Scenarios = field(repr=False)
    runs: Mapping[str, Run] = field(repr=False)
    standard_runs: Mapping[str, Mapping[str, Run]] = field(repr=False)


@dataclass(frozen=True)
class Evaluation:
    """An evaluation of one controller.

    Attributes:
        flow: the evaluated flow.
        seeds: number of seeds.
        findings: one for each criterion, in the order of the RFC's sections.
    """

    flow: Flow
    seeds: int
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """The controller's name."""
        return self.flow.controller

    @property
    def failed(self) -> list[Finding]:
        """The findings that fail."""
        return [finding for finding in self.findings if finding.verdict == FAILS]

    def of_section(self, number: str) -> list[Finding]:
        """The findings of a section of RFC 9743."""
        return [finding for finding in self.findings if finding.criterion.section == number]

    def table(self) -> pd.DataFrame:
        """One row for each criterion.

        Columns: `section`, `measure`, `setting`, `unit`, `better` ("less" or "more"),
        `value`, `half_width` (of the 95 % confidence interval), a column for each standard
        controller, `verdict`, `reason`.
        """
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "section": finding.criterion.section,
                    "measure": finding.criterion.measure,
                    "setting": finding.criterion.setting,
                    "unit": finding.criterion.unit,
                    "better": "less" if finding.criterion.less else "more",
                    "value": finding.value.mean,
                    "half_width": finding.value.half_width,
                    **{name: mean.mean for name, mean in finding.standards.items()},
                    "verdict": finding.verdict,
                    "reason": finding.reason,
                }
                for finding in self.findings
            ]
        )

    def sections(self) -> pd.DataFrame:
        """One row for each section of RFC 9743: level, verdict, number of criteria, what failed."""
        import pandas as pd

        rows = []
        for section in SECTIONS:
            findings = self.of_section(section.number)
            verdicts = [finding.verdict for finding in findings] or [NOT_MEASURED]
            wrong = [finding for finding in findings if finding.verdict in (FAILS, REFUSED)]
            rows.append(
                {
                    "section": section.number,
                    "title": section.title,
                    "level": section.level,
                    "verdict": min(verdicts, key=ORDER.index),
                    "criteria": len(findings),
                    "worst": "; ".join(_in_words(finding) for finding in wrong[:2])
                    or section.reason,
                }
            )
        return pd.DataFrame(rows).set_index("section")

    def save(self, folder: str | Path) -> Path:
        """Write `index.html`, `findings.csv`, and each criterion's scenario as TOML.

        Returns:
            the HTML page.

        Raises:
            TcpccError: Jinja2 is not installed; `pip install 'tcpcc[evaluate]'`.
        """
        from tcpcc.apps.evaluate.page import page

        folder = Path(folder)
        (folder / "scenarios").mkdir(parents=True, exist_ok=True)
        for finding in self.findings:
            for name, scenario in finding.scenarios.items():
                scenario.save(folder / "scenarios" / f"{finding.criterion.name}.{name}.toml")
        with whole_file(folder / "findings.csv") as part:
            self.table().to_csv(part, index=False)
        index = folder / "index.html"
        with whole_file(index) as part:
            part.write_text(page(self), encoding="utf-8")
        return index

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.sections().to_html()}"

    def __repr__(self) -> str:
        failed = {finding.criterion.section for finding in self.failed}
        text = f"fails in {', '.join(sorted(failed))}" if failed else "fails nowhere"
        return f"<Evaluation of {self.name}: {len(self.findings)} criteria, {text}>"


def _in_words(finding: Finding) -> str:
    """ "drop rate 0.12 (reno 0.01, cubic 0.02): 8 flows, 50 Mb/s, 40 ms, 0.5 BDP"."""
    criterion = finding.criterion
    if finding.reason:
        return f"{criterion.measure}: {finding.reason}"
    standards = ", ".join(f"{name} {mean.mean:.3g}" for name, mean in finding.standards.items())
    unit = f" {criterion.unit}" if criterion.unit in ("ms", "s", "packets") else ""
    return f"{criterion.measure} {finding.value.mean:.3g}{unit} ({standards}): {criterion.setting}"
