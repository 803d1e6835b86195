"""Pages, and parts of pages, that programs write have today's numbers (`make accept`)."""

from functools import cache
from itertools import chain
from pathlib import Path

import pytest

import experiments
from experiments import (
    bbr_cubic,
    coverage,
    expected_numbers,
    ifip25,
    pam25,
    scorecard_page,
    statements,
    variants,
)
from experiments.kernel import applications, compare, exported, papers
from experiments.variants import page

DOCS = Path(experiments.__file__).parents[1] / "docs"


@cache
def records():
    return [r for paper in experiments.papers() for r in expected_numbers.records_of(paper)]


WHOLE = {
    "coverage.md": lambda: coverage.markdown(records()),
    "scorecard.md": lambda: experiments.markdown(records()),
    scorecard_page.STATEMENTS: lambda: statements.markdown(records()),
    "variants.md": lambda: page.page(variants.stored()),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_page_is_what_is_written_of_todays_numbers(name):
    assert (DOCS / name).read_text(encoding="utf-8") == WHOLE[name]()


def of_ifip25():
    tables = ifip25.tables
    return [*chain(*map(tables.page_rows, tables.ITEMS.values())), *tables.spread_rows()]


def overview():
    return [scorecard_page.overview_markdown(records(), "notebooks/{}.ipynb")]


PARTS = [
    ("../README.md", overview),
    ("scorecard.md", lambda: [statements.overview_markdown(records())]),
    ("bbr_cubic.md", bbr_cubic.tables.page_rows),
    ("ifip25.md", of_ifip25),
    ("pam25.md", lambda: [*chain(*pam25.tables.page_rows().values())]),
    ("guides/kernel.md", lambda: [exported.markdown(), exported.refused()]),
    *(
        pytest.param("guides/kernel.md", lambda of=of: [of.markdown()], marks=pytest.mark.long)
        for of in (applications, compare, papers)
    ),
]


@pytest.mark.parametrize(("name", "parts"), PARTS)
def test_a_page_has_the_parts_that_are_written_of_todays_numbers(name, parts):
    text, wanted = (DOCS / name).read_text(encoding="utf-8"), parts()
    assert wanted
    assert [part for part in wanted if part not in text] == []
