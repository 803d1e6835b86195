"""A dossier as one HTML page: verdicts, numbers beside the standards', pictures."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from typing import Any

from tcpcc.errors import TcpccError
from tcpcc.evaluate.criterion import OTHER, TESTED, WITH
from tcpcc.evaluate.dossier import ORDER, Dossier, Finding
from tcpcc.evaluate.readings import BOTTLENECK
from tcpcc.evaluate.sections import SECTIONS
from tcpcc.results import plots

TEMPLATE = "dossier.html"

STRIP = 180
"""Width of a row's drawing, pixels."""

MOST = 8
"""Largest number of flows in a picture."""


def page(dossier: Dossier) -> str:
    """The page's text; it needs no other file.

    Raises:
        TcpccError: Jinja2 is not installed.
    """
    table = dossier.sections()
    sections = []
    for section in SECTIONS:
        found = [each for each in dossier.findings if each.criterion.section == section.number]
        sections.append(
            {
                "section": section,
                "verdict": table.loc[section.number, "verdict"],
                "rows": [(each, strip(each)) for each in found],
                "picture": picture(_telling(found)),
            }
        )
    standards = list(dossier.findings[0].standards) if dossier.findings else []
    return rendered(TEMPLATE, dossier=dossier, sections=sections, standards=standards)


def rendered(template: str, **content: Any) -> str:
    """A template of this folder with its content.

    Raises:
        TcpccError: Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise TcpccError("a page needs Jinja2: pip install 'tcpcc[evaluate]'") from None
    from tcpcc import __version__

    pages = PackageLoader("tcpcc.evaluate", ".")
    world = Environment(undefined=StrictUndefined, autoescape=True, loader=pages)
    world.filters["number"] = _number
    return world.get_template(template).render(version=__version__, **content)


def _number(x: float) -> str:
    return "-" if math.isnan(x) else f"{x:.3g}"


def _telling(findings: Sequence[Finding]) -> Finding | None:
    """The finding to draw: the first of the section's verdict that has a run."""
    drawn = [each for each in findings if WITH in each.runs]
    return min(drawn, key=lambda each: ORDER.index(each.verdict), default=None)


def strip(finding: Finding) -> dict[str, Any]:
    """Places of the values on a line from the least to the greatest, pixels."""
    value, standards = finding.value, finding.standards
    half = 0.0 if math.isnan(value.half_width) else value.half_width
    known = [mean.mean for mean in standards.values() if not math.isnan(mean.mean)]
    if math.isnan(value.mean) or not known:
        return {}
    if finding.criterion.unit in ("", "ms", "s", "slowdown"):
        low, high = 0.0, max([*known, value.mean, 1e-9])
    else:
        low, high = min([*known, value.mean]), max([*known, value.mean])
    width = (high - low) or 1.0

    def at(x: float) -> float:
        return 6 + (STRIP - 12) * min(max((x - low) / width, 0.0), 1.0)

    return {
        "width": STRIP,
        "value": at(value.mean),
        "ends": (at(value.mean - half), at(value.mean + half)),
        "standards": [(name, at(mean.mean)) for name, mean in standards.items()
                      if not math.isnan(mean.mean)],
    }  # fmt: skip


def picture(finding: Finding | None) -> dict[str, str] | None:
    """Throughputs and queue of a finding's first run, as a PNG in a data address."""
    if finding is None:
        return None
    import matplotlib.pyplot as plt

    run = finding.runs[WITH]
    with plots.style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(plots.WIDTH, 2.1))
    drawn = [name for name in run.flows if name.startswith((TESTED, OTHER))]
    plots.throughput(run, left, flows=drawn[:MOST], width=run.duration / 60)
    plots.queue(run, right, link=BOTTLENECK)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    of = finding.criterion
    return {"address": f"data:image/png;base64,{encoded}", "text": f"{of.measure}: {of.setting}"}
