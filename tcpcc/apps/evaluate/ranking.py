"""All controllers evaluated alike, in one table: `tcpcc.league`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tcpcc.apps.evaluate.evaluation import AGAINST, STANDARDS, Judges
from tcpcc.apps.evaluate.findings import BETTER, FAILS, REFUSED
from tcpcc.apps.evaluate.sections import SECTIONS
from tcpcc.controllers import CONTROLLERS
from tcpcc.files import whole_file
from tcpcc.results import netcdf
from tcpcc.scenario import Flow

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True)
class Ranking:
    """The findings of many evaluations.

    Attributes:
        findings: the rows of `Evaluation.table` of all controllers, with the column `controller`.
    """

    findings: pd.DataFrame

    def table(self) -> pd.DataFrame:
        """One row for each controller: its verdicts by section, and the criteria that it fails.

        Columns: `fails`, `better`, `refused` (numbers of criteria), then one for each section with
        the number of failed criteria; NaN where the section has none. Sorted by `fails`.
        """
        import pandas as pd

        findings = self.findings
        counts = pd.crosstab(findings["controller"], findings["verdict"])
        counts = counts.reindex(columns=[FAILS, BETTER, REFUSED], fill_value=0)
        failed = findings["verdict"] == FAILS
        sections = pd.crosstab(findings["controller"], findings["section"], failed, aggfunc="sum")
        order = [section.number for section in SECTIONS if section.number in sections.columns]
        table = pd.concat([counts, sections[order]], axis=1)
        return table.sort_values([FAILS, BETTER], ascending=[True, False])

    def to_xarray(self) -> xr.Dataset:
        """All numbers: `value`, `half_width`, `verdict` with dims (controller, criterion).

        The standards' means, `reno` and `cubic`, have the dimension criterion, as have the
        coordinates `section`, `measure`, `setting`, `unit`, `better`.
        """
        import xarray as xr

        words = ["section", "measure", "setting", "unit", "better"]
        names_of_criteria = self.findings[words[:3]].agg(" | ".join, 1)
        findings = self.findings.assign(criterion=names_of_criteria)
        shape = findings.pivot(index="controller", columns="criterion")
        names = list(dict.fromkeys(findings["criterion"]))
        first = findings.drop_duplicates("criterion").set_index("criterion").loc[names]
        data = {
            name: (("controller", "criterion"), shape[name][names].to_numpy())
            for name in ("value", "half_width")
        }
        verdicts = shape["verdict"][names].to_numpy().astype(str)
        return xr.Dataset(
            {
                **data,
                "verdict": (("controller", "criterion"), verdicts),
                **{name: ("criterion", first[name].to_numpy()) for name in STANDARDS},
            },
            coords={
                "controller": shape.index.to_numpy().astype(str),
                "criterion": names,
                **{word: ("criterion", first[word].to_numpy().astype(str)) for word in words},
            },
        )

    def save(self, folder: str | Path) -> Path:
        """Write `index.html` (a sortable table), `league.nc` and `findings.csv`.

        Returns:
            the HTML page.

        Raises:
            TcpccError: Jinja2 is not installed.
        """
        from tcpcc.apps.evaluate.page import rendered

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / "league.nc") as part:
            netcdf.write(part, [(self.to_xarray(), None, {})])
        with whole_file(folder / "findings.csv") as part:
            self.findings.to_csv(part, index=False)
        table = self.table()
        evaluated = {name for name in table.index if (folder / name / "index.html").exists()}
        titles = {section.number: section.title for section in SECTIONS}
        text = rendered("ranking.html", table=table, evaluated=evaluated, titles=titles)
        index = folder / "index.html"
        with whole_file(index) as part:
            part.write_text(text, encoding="utf-8")
        return index

    def __repr__(self) -> str:
        return f"<Ranking of {self.findings['controller'].nunique()} controllers>"


def league(
    controllers: Iterable[str | Flow] | None = None,
    *,
    against: Sequence[str] = AGAINST,
    quick: bool = False,
    out: str | Path | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Ranking:
    """Evaluate many controllers after RFC 9743.

    Args:
        controllers: names, or flows with parameters. Default: all registered controllers.
        against, quick: as in `evaluate`.
        out: folder for the table and each controller's evaluation; written as they are finished.
        progress: show a bar. Default: only on a terminal or in a notebook.
        **settings: `sections`, `seeds`, `jobs`, `cache`, as in `evaluate`.
    """
    import pandas as pd

    flows = [
        flow if isinstance(flow, Flow) else Flow(flow)
        for flow in controllers or CONTROLLERS.names()
    ]
    judges = Judges(against, quick=quick, progress=False, **settings)
    tables = []
    quiet = None if progress is None else not progress
    for flow in tqdm(flows, "evaluating", disable=quiet, unit="controller"):
        evaluation = judges.evaluate(flow)
        tables.append(evaluation.table().assign(controller=evaluation.name))
        if out is not None:
            evaluation.save(Path(out) / evaluation.name)
    ranking = Ranking(pd.concat(tables, ignore_index=True))
    if out is not None:
        ranking.save(out)
    return ranking
