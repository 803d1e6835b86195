"""Every number of every paper, one test each; a paper's simulations run once, and are kept.

Each cell is held to what is accepted in `experiments/data`: both models' numbers to rounding, and
their verdicts. What moved shows as "packet: 21.2 -> 23.4". `make accept` writes the files anew.
`make test` simulates a few seeds, `make papers` all; what is said of the numbers is asked of those
accepted.
"""

import re
from functools import cache
from pathlib import Path

import pytest

import experiments
from experiments import expected, seeds
from experiments.records import NOT_EXPLAINED, agree, needs_cause

pytestmark = pytest.mark.slow

CELLS = [cell for paper in experiments.papers().values() for cell in paper.cells()]
HELD = [cell for cell in CELLS if cell.published is not None or cell.reference is not None]


def name(cell):
    words = "-".join((cell.paper, cell.item, cell.row, cell.column)).lower()
    return re.sub(r"[^a-z0-9_.]+", "-", words)


@cache
def simulated(paper):
    """The paper's records, by item, row and column."""
    return {r.key: r for r in experiments.reproduce(paper, model="both")}


@cache
def of_paper(paper):
    """Those accepted."""
    return {r.key: r for r in expected.records_of(paper)}


def of_all():
    return [record for paper in experiments.papers() for record in of_paper(paper).values()]


@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_of_a_few_seeds_numbers_and_verdicts_are_those_expected(cell):
    assert seeds.QUICK
    assert expected.moved(simulated(cell.paper)[cell.key]) == []


@pytest.mark.papers
@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_numbers_and_verdicts_are_those_expected(cell):
    assert not seeds.QUICK
    assert expected.moved(simulated(cell.paper)[cell.key]) == []


@pytest.mark.parametrize("cell", HELD, ids=name)
def test_a_number_is_reproduced_or_the_data_file_says_why_not(cell):
    """A cause that explains nothing any more is out of date, unless it is of chance, or of a claim
    that fails here."""
    record = of_paper(cell.paper)[cell.key]
    told = f"target {record.target:g}, ours {record.number('packet'):g} +- {record.tolerance:g}"
    if needs_cause(record.verdict):
        assert cell.cause, told
    else:
        fails = not all(holds(cell.paper, claim) for claim in cell.claims)
        assert not cell.cause or cell.cause.chance or fails, f"{told}: the cause is out of date"


def holds(paper, claim):
    """In every model."""
    one = [of_paper(paper)[key] for key in (claim.more, claim.less)]
    return all(all(found.values()) for _, _, found in expected.claims(one))


@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_the_fluid_model_agrees_or_says_why(cell):
    record = of_paper(cell.paper)[cell.key]
    told = record.formula is None and record.fluid is not None
    if told and not agree(record.packet, record.fluid):
        assert record.fluid_cause not in ("", NOT_EXPLAINED), (record.packet, record.fluid)


@pytest.mark.parametrize("column", ["halved", "doubled"])
def test_figure_3s_ranges_over_phases_overlap(column):
    """What the data file says of the two models there."""
    record = of_paper("quick_vegas")["figure_3", "Quick Vegas", column]
    packet, fluid = record.spread, record.fluid_spread
    assert max(packet[0], fluid[0]) < min(packet[1], fluid[1])


@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_a_number_lies_in_the_range_printed_with_it(cell):
    record = of_paper(cell.paper)[cell.key]
    for value, spread in (
        (record.packet, record.spread),
        (record.fluid, record.fluid_spread),
    ):
        rounding = 1e-12 * abs(value or 0)  # a mean of equal numbers may miss them by its last bit
        assert spread is None or spread[0] - rounding <= value <= spread[1] + rounding


@pytest.mark.papers
@pytest.mark.parametrize("paper", experiments.papers())
def test_claims_hold_where_they_are_expected_to(paper):
    found = expected.claims(simulated(paper).values())
    held = {("/".join(c.more), "/".join(c.less)): holds for _, c, holds in found}
    told = {
        (line["more"], line["less"]): {m: line[m] == "holds" for m in experiments.MODELS if line[m]}
        for line in expected.claims_of(paper)
    }
    assert held == told


@pytest.mark.parametrize("paper", experiments.papers())
def test_a_claim_that_fails_is_explained_at_one_of_its_cells(paper):
    cells = {cell.key: cell for cell in CELLS if cell.paper == paper}
    for _, claim, holds in expected.claims(of_paper(paper).values()):
        both = [cells[key] for key in (claim.more, claim.less)]
        assert holds["packet"] or any(cell.cause for cell in both), claim
        assert holds.get("fluid", True) or any(cell.cause or cell.fluid_cause for cell in both), (
            claim
        )


def test_scorecard_and_readme_are_of_these_numbers():
    """Paths, since a table is long: `make accept` renews both."""
    found, root = of_all(), Path(experiments.__file__).parents[1]
    assert experiments.markdown(found) == (root / "docs" / "scorecard.md").read_text()
    readme = (root / "README.md").read_text()
    assert experiments.report.overview_markdown(found, "docs/scorecard.md") in readme


def test_every_difference_is_explained_or_counted_as_not():
    found = of_all()
    packets = experiments.report.explained(found, "cause")
    assert packets.total() == sum(needs_cause(r.verdict) for r in found)
    fluid = experiments.report.explained(found, "fluid_cause")
    both = [r for r in found if r.formula is None and None not in (r.packet, r.fluid)]
    assert fluid.total() == sum(not agree(r.packet, r.fluid) for r in both)
    assert packets["not traced"] < 0.2 * packets.total()
