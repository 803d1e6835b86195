"""docs/fluid.md has what `python -m experiments.fluid_page` writes, in a sample of its tables."""

import itertools

import pytest

from experiments import fluid_page
from experiments.records import agree
from experiments.variants import tables

BBR_BESIDE_CUBIC = len(fluid_page.BUFFERS)
PARTS = len(fluid_page.PARTS)


@pytest.mark.long
@pytest.mark.parametrize(
    "rows",
    [
        lambda: fluid_page.rows_of_pairs(itertools.islice(fluid_page.of_pairs(), BBR_BESIDE_CUBIC)),
        lambda: fluid_page.rows_of_phases(itertools.islice(fluid_page.of_phases(), PARTS)),
        lambda: fluid_page.rows(c for c in fluid_page.of_queues() if "step_mark" in c.title),
    ],
    ids=["pairs", "phases", "queues"],
)
def test_the_page_has_todays_numbers(rows):
    if tables.elsewhere():
        pytest.skip("stored on another platform, where rounding may differ")
    lines = fluid_page.PAGE.read_text(encoding="utf-8").splitlines()
    found = list(rows())
    assert found
    assert set(found) <= set(lines)


@pytest.mark.long
def test_loss_based_crowds_lose_as_many_packets_where_hardly_a_phase_is_left():
    """Within a tenth; 100 NewReno flows, with windows of two packets, lose 14 % fewer in fluid."""
    crowds = [case for case in fluid_page.of_crowds() if "vegas" not in case.title]
    differ = [x for x in fluid_page.compared(crowds) if not agree(x.packets, x.fluid)]
    assert [(x.title[:13], x.quantity[:9]) for x in differ] == [("100 `newreno`", "loss rate")]
    assert differ[0].fluid == pytest.approx(differ[0].packets, rel=0.15)
