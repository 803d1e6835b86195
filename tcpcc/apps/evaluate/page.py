"""An evaluation as one HTML page: verdicts, numbers beside the standards', pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tcpcc.apps.evaluate.criterion import WITH
from tcpcc.apps.evaluate.findings import ORDER, Evaluation, Finding
from tcpcc.apps.evaluate.pictures import picture, sketch, strip
from tcpcc.apps.evaluate.sections import SECTIONS
from tcpcc.errors import TcpccError


def page(evaluation: Evaluation) -> str:
    """The page's text; it needs no other file."""
    table = evaluation.sections()
    sections = []
    for section in SECTIONS:
        findings = evaluation.of_section(section.number)
        sections.append(
            {
                "section": section,
                "verdict": table.loc[section.number, "verdict"],
                "rows": [(finding, _strip(finding), sketch(finding)) for finding in findings],
                "picture": picture(_telling(findings)),
            }
        )
    standards = list(evaluation.findings[0].standards) if evaluation.findings else []
    return rendered(
        "evaluation.html", evaluation=evaluation, sections=sections, standards=standards
    )


def rendered(template: str, **content: Any) -> str:
    """A template of this folder with its content."""
    from tcpcc import __version__

    return str(_template(template).render(version=__version__, **content))


def strip_drawn(of: Mapping[str, Any], name: str) -> str:
    """A strip (`tcpcc.apps.evaluate.pictures.strip`) of the controller `name` as SVG."""
    return str(_template("drawn.html").module.strip(of, name))


@cache
def _template(name: str) -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise TcpccError("a page needs Jinja2: pip install 'tcpcc[evaluate]'") from None
    pages = PackageLoader("tcpcc.apps.evaluate", ".")
    world = Environment(undefined=StrictUndefined, autoescape=True, loader=pages)
    world.filters["number"] = _number
    return world.get_template(name)


def _number(x: float) -> str:
    return "-" if math.isnan(x) else f"{x:.3g}"


def _telling(findings: Sequence[Finding]) -> Finding | None:
    """The finding to draw: the first of the section's verdict that has a run."""
    with_runs = [finding for finding in findings if WITH in finding.runs]
    return min(with_runs, key=lambda finding: ORDER.index(finding.verdict), default=None)


def _strip(finding: Finding) -> dict[str, Any]:
    means = {name: mean.mean for name, mean in finding.standards.items()}
    value = finding.value
    return strip(value.mean, value.half_width, means, finding.criterion.unit)
