"""The page of all tables, figures and equations: every place that it names exists."""

import re

import pytest

import experiments
from experiments import coverage

PAPERS = experiments.papers()
ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4}


@pytest.mark.parametrize("one", coverage.places(), ids=lambda one: f"{one.paper} {one.place}")
def test_a_place_of_a_paper_is_in_experiments_notebook_figures_or_code(one):
    assert coverage.broken(one) == ""
    assert bool(one.item) + bool(one.code) + bool(one.reason) == 1


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"place": "Figure 99", "item": "figure_99"}, "no item figure_99"),
        ({"item": "limits"}, "no cell of the notebook shows limits"),
        ({"item": "", "code": "controllers/fusion.py", "mark": "(17)"}, "has no '(17)'"),
        ({"item": "", "code": "controllers/none.py", "mark": "(1)"}, "has no '(1)'"),
    ],
)
def test_a_place_that_does_not_exist_is_found(changes, told):
    one = coverage.Place(
        **{"paper": "tcp_fusion", "place": "Figure 1", "item": "figure_1"} | changes
    )
    assert told in coverage.broken(one)


@pytest.mark.parametrize("paper", dict.fromkeys(one.paper for one in coverage.places()))
@pytest.mark.parametrize("kind", ["Figure", "Table", r"Equation \("])
def test_no_number_is_left_out(paper, kind):
    found = []
    for one in coverage.places():
        if one.paper == paper and (match := re.fullmatch(rf"{kind} ?([\d.IVX]+)\)?", one.place)):
            chapter, _, number = match[1].rpartition(".")
            found.append((chapter, ROMAN.get(number) or int(number)))
    for chapter in dict.fromkeys(chapter for chapter, _ in found):
        numbers = [number for of, number in found if of == chapter]
        assert numbers == list(range(1, len(numbers) + 1)), chapter


def test_every_figure_or_table_that_is_an_item_is_a_place():
    named = {(one.paper, one.item) for one in coverage.places()}
    for paper in {one.paper for one in coverage.places()}:
        for item in PAPERS[paper].items:
            if re.match(r"(figure|table)_\d", item):
                assert (paper, item) in named
