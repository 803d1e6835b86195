"""Every table and figure of every paper, one test each: all numbers and verdicts of an item are
those accepted in `experiments/data`, to rounding.

A test reports every cell that moved, as "packet: 21.2 -> 23.4". `make accept` writes the files.
`make test` simulates two seeds of the items that are not `EXPENSIVE`, `make long` two seeds of
those that are, `make papers` all seeds of all items. What concerns the committed files alone
(causes, ranges) has one test a paper.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import experiments
from experiments import expected_numbers, seeds
from experiments.bbr_cubic import tables as bbr_cubic
from experiments.ifip25 import tables as ifip25
from experiments.kernel import compare
from experiments.pam25 import tables as pam25
from experiments.records import NOT_EXPLAINED, agree, needs_cause

pytestmark = pytest.mark.slow

PAPERS = experiments.papers()
ITEMS = tuple(
    (name, item) for name, paper in PAPERS.items() for item in paper.items if paper.cells(item)
)
EXPENSIVE = {
    paper: set(items.split())
    for paper, items in {
        "l4s": "throughput delay dualq pairs limits",
        "quick_vegas": "table_1 table_2 table_3 figure_4 figure_5 figure_6 figure_7",
        "red_fairness": "improvements",
        "tcp_fusion": (
            "table_1 models figure_4 figure_5 figure_6 figure_8 figure_9 figure_11 figure_13 limits"
            " settings"
        ),
        "tcp_vegas": "pairs_beside_traffic fairness_settings figure_12 table_1 table_2",
        "westwood_rbe": "alone equations estimators figure_1 figure_4 figure_5 limits round_trips",
    }.items()
}
"""Items that take more than 1.5 CPU s with two seeds, or share the runs of one that does."""
SAMPLE = tuple((paper, item) for paper, item in ITEMS if item not in EXPENSIVE.get(paper, ()))
LONG = tuple(one for one in ITEMS if one not in SAMPLE)


@cache
def simulated(paper, items):
    """The records of those `items` that are a paper's, by item, row and column."""
    wanted = [item for name, item in items if name == paper]
    return {r.key: r for r in experiments.reproduce(paper, wanted, model="both")}


@cache
def accepted(paper):
    return {r.key: r for r in expected_numbers.records_of(paper)}


def moved(paper, item, items):
    """A line for each cell of an item that is not as accepted."""
    found = simulated(paper, items)
    cells = PAPERS[paper].cells(item)
    changes = {cell.key: expected_numbers.moved(found[cell.key]) for cell in cells}
    return [f"{' / '.join(key)}: {'; '.join(what)}" for key, what in changes.items() if what]


@pytest.mark.parametrize(
    ("paper", "item"), [*SAMPLE, *(pytest.param(*one, marks=pytest.mark.long) for one in LONG)]
)
def test_of_two_seeds_all_numbers_and_verdicts_are_those_accepted(paper, item):
    assert seeds.QUICK
    assert moved(paper, item, SAMPLE if (paper, item) in SAMPLE else LONG) == []


@pytest.mark.papers
@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_all_numbers_and_verdicts_are_those_accepted(paper, item):
    assert not seeds.QUICK
    assert moved(paper, item, ITEMS) == []


@pytest.mark.papers
@pytest.mark.parametrize("paper", PAPERS)
def test_claims_hold_where_they_are_expected_to(paper):
    found = expected_numbers.claims(simulated(paper, ITEMS).values())
    held = {("/".join(c.more), "/".join(c.less)): holds for _, c, holds in found}
    told = {
        (line["more"], line["less"]): {m: line[m] == "holds" for m in experiments.MODELS if line[m]}
        for line in expected_numbers.claims_of(paper)
    }
    assert held == told


def holds(paper, claim):
    """In every model."""
    one = [accepted(paper)[key] for key in (claim.more, claim.less)]
    return all(all(found.values()) for _, _, found in expected_numbers.claims(one))


def cause_of_packets(paper, cell):
    """What is wrong with the cause of a cell, if anything: it is missing, or out of date."""
    record = accepted(paper)[cell.key]
    if cell.published is None and cell.reference is None:
        return None
    if needs_cause(record.verdict):
        return None if cell.cause else f"no cause: {record.target:g}, ours {record.packet:g}"
    if record.verdict == "undecided":
        return None if record.undecided("packet") else "no number of seeds"
    fails = not all(holds(paper, claim) for claim in cell.claims)
    needed = not cell.cause or cell.cause.chance or fails
    return None if needed else "the cause is out of date"


def cause_of_fluid(paper, cell):
    """The same where fluid differs from packets by more than 10 %."""
    record = accepted(paper)[cell.key]
    if record.formula is not None or record.fluid is None or agree(record.packet, record.fluid):
        return None
    explained = record.fluid_cause not in ("", NOT_EXPLAINED)
    return None if explained else f"fluid {record.fluid:g}, packets {record.packet:g}: no cause"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_cause_of_fluid_in_the_data_file_is_told_of_some_number(paper):
    told = {record.fluid_cause for record in accepted(paper).values()}
    known = {cell.fluid_cause.text for cell in PAPERS[paper].cells() if cell.fluid_cause}
    assert known - told == set()


def out_of_range(paper, cell):
    """The mean of equal numbers may miss them by its last bit."""
    record = accepted(paper)[cell.key]
    pairs = ((record.packet, record.spread), (record.fluid, record.fluid_spread))
    for value, spread in pairs:
        rounding = 1e-12 * abs(value or 0)
        if spread is not None and not spread[0] - rounding <= value <= spread[1] + rounding:
            return f"{value:g} is not in its range {spread}"
    return None


@pytest.mark.parametrize("check", [cause_of_packets, cause_of_fluid, out_of_range])
@pytest.mark.parametrize("paper", PAPERS)
def test_every_difference_has_its_cause_and_every_number_is_in_its_range(paper, check):
    found = {cell.key: check(paper, cell) for cell in PAPERS[paper].cells()}
    assert {key: text for key, text in found.items() if text} == {}


@pytest.mark.parametrize("column", ["halved", "doubled"])
def test_figure_3s_ranges_over_phases_overlap(column):
    """What the data file says of the two models there."""
    record = accepted("quick_vegas")["figure_3", "Quick Vegas", column]
    packet, fluid = record.spread, record.fluid_spread
    assert max(packet[0], fluid[0]) < min(packet[1], fluid[1])


@pytest.mark.parametrize("paper", PAPERS)
def test_a_claim_that_fails_is_explained_at_one_of_its_cells(paper):
    """In fluid also by numbers within 10 % of packets: the claim is about a smaller difference."""
    cells = {cell.key: cell for cell in PAPERS[paper].cells()}
    for _, claim, holds in expected_numbers.claims(accepted(paper).values()):
        both = [cells[key] for key in (claim.more, claim.less)]
        assert holds["packet"] or any(cell.cause for cell in both), claim
        records = [accepted(paper)[cell.key] for cell in both]
        near = all(r.formula is not None or agree(r.packet, r.fluid) for r in records)
        caused = any(cell.cause or cell.fluid_cause for cell in both)
        assert holds.get("fluid", True) or caused or near, claim


def of_all():
    return [record for paper in PAPERS for record in accepted(paper).values()]


def test_the_readme_tells_accepted_numbers():
    words = " ".join((Path(experiments.__file__).parents[1] / "README.md").read_text().split())
    thesis = expected_numbers.numbers("red_fairness", "packet")
    sent, lost = (thesis["table_4_2", row, "drop-tail 1V9R"].value for row in ("Arrive", "Drop"))
    assert f"Reno flows over 2 Mb/s send {sent:,.0f} packets in 100 s; {lost:.0f} of them" in words
    rows = bbr_cubic.summary(bbr_cubic.stored("packet"))
    medians = [float(row["median distance"]) for row in rows]
    told = f"by {np.median(medians):.2f} of the link (median over six networks; {max(medians):.2f}"
    assert told in words
    mixtures = [cell for cell in pam25.s.mixtures() if cell.rival == "CUBIC ECN"]
    near, throughputs = pam25.within(pam25.everything(), "packet", mixtures)
    assert f"{near} of {throughputs} are within a tenth of the link" in words
    ten = ifip25.ITEMS["ten"]
    rows = ifip25.summary(ten, ifip25.everything(ten))
    ratios = [row["jain: packet"] / row["jain: testbed"] for row in rows]
    assert f"by {min(ratios):.1f} to {max(ratios):.1f} times as much" in words
    goodput, window = (f"{100 * compare.WITHIN[name]:g} %" for name in ("goodput", "window"))
    assert f"within {goodput} in goodput and {window} in mean window" in words


NOT_TRACED = {"packet": 19, "fluid": 107}
"""Numbers of differences whose cause is unknown: smaller ones are welcome, larger ones not."""


def test_every_difference_is_explained_or_counted_as_not():
    found = of_all()
    packets = experiments.scorecard_page.explained(found, "cause")
    assert packets.total() == sum(needs_cause(r.verdict) for r in found)
    fluid = experiments.scorecard_page.explained(found, "fluid_cause")
    both = [r for r in found if r.formula is None and None not in (r.packet, r.fluid)]
    assert fluid.total() == sum(not agree(r.packet, r.fluid) for r in both)
    assert packets["not traced"] <= NOT_TRACED["packet"]
    assert fluid["not traced"] <= NOT_TRACED["fluid"]
