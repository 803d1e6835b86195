"""Every published number, one test each; the simulations run once, through the cache.

Without a cause in the data file a number must be reproduced. With one it must not be: a cause that
explains nothing any more is out of date, unless it says that chance plays a part.
"""

import re

import pytest

import experiments
from experiments.harness import NOT_EXPLAINED

pytestmark = pytest.mark.slow

CELLS = [cell for paper in experiments.papers().values() for cell in paper.cells()]
PUBLISHED = [cell for cell in CELLS if cell.published is not None]
CURVES = [cell for cell in CELLS if cell.published is None and cell.claims]


def name(cell):
    words = "-".join((cell.item, cell.row, cell.column)).lower()
    return re.sub(r"[^a-z0-9_.]+", "-", words)


@pytest.fixture(scope="module")
def records():
    found = experiments.reproduce(model="both")
    return {(r.paper, r.item, r.row, r.column): r for r in found}


def of(cell, records):
    return records[cell.paper, *cell.key]


@pytest.mark.parametrize("cell", PUBLISHED, ids=name)
def test_published_number(cell, records):
    record = of(cell, records)
    told = f"published {cell.published:g}, ours {record.packet:g}, allowed {record.tolerance:g}"
    if not cell.cause:
        assert record.verdict == "reproduced", told
    elif record.verdict == "reproduced":
        assert cell.chance, f"{told}: the cause in the data file is out of date"
    else:
        assert cell.cause in record.cause, told


@pytest.mark.parametrize("cell", CELLS, ids=name)
def test_the_fluid_model_agrees_or_says_why(cell, records):
    record = of(cell, records)
    told = f"packet {record.packet:g}, fluid {record.fluid:g}"
    assert f"Fluid: {NOT_EXPLAINED}" not in record.cause, told


@pytest.mark.parametrize("cell", CURVES, ids=name)
def test_what_the_paper_says_of_its_curves(cell, records):
    numbers = {key[1:]: record.packet for key, record in records.items() if key[0] == cell.paper}
    for claim in cell.claims:
        assert numbers[claim.more] > numbers[claim.less], claim.text
