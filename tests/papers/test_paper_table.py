"""The paper's arrangement of a table, and the notebook that shows it."""

import re

import pytest

from experiments import notebook, seeds
from experiments.paper_table import PaperTable
from experiments.records import Record
from experiments.report import number


def record(row, column, packet=1.0, **more):
    settings = {
        "paper": "p", "item": "table_1", "unit": "Mb/s", "published": 2.0, "fluid": 1.5,
        "tolerance": 0.1, "verdict": "deviates", "fluid_verdict": "direction holds", "cause": "why",
    }  # fmt: skip
    return Record(row=row, column=column, packet=packet, **{**settings, **more})


def test_print_packets_and_fluid_stand_under_each_heading():
    table = PaperTable([record(row, column) for row in "ab" for column in "xy"])
    (block,) = table.blocks
    assert (block.rows, block.columns) == (["a", "b"], ["x (Mb/s)", "y (Mb/s)"])
    assert block.sources == ["print", "packet", "fluid"]
    assert [e.text for e in block.entries[0][0]] == ["2", "1.000", "1.500"]
    assert [e.mark for e in block.entries[0][0]] == ["", "✗", "≈"]
    assert [e.error for e in block.entries[0][0]] == ["", "-50 %", "-25 %"]


def test_a_cause_is_told_once_and_leads_to_its_cell():
    table = PaperTable([record("a", column) for column in "xyz"])
    (note,) = table.notes
    assert (note.letter, note.text, len(note.places)) == ("a", "why", 3)
    html = table.html()
    targets = set(re.findall(r'href="#([^"]+)"', html))
    assert targets <= set(re.findall(r'id="([^"]+)"', html))
    assert html.count("why") == 1


def test_what_is_wider_than_high_is_turned():
    wide = PaperTable([record("a", column) for column in "stuvwx"])
    assert wide.blocks[0].columns == ["a"]
    assert wide.blocks[0].rows[0] == "s (Mb/s)"


def test_no_column_is_empty_and_no_name_begins_with_a_slash():
    told = {"published": None, "fluid": None, "verdict": "no published number", "tolerance": None}
    (block,) = PaperTable([record("/ a", "", cause="", fluid_verdict=None, **told)]).blocks
    assert block.sources == ["packet"]
    assert (block.rows, block.columns) == (["a"], ["value (Mb/s)"])
    assert block.entries[0][0][0].mark == ""


def test_rows_with_other_columns_make_a_table_of_their_own():
    table = PaperTable([record("a", "x"), record("a", "y"), record("b", "z")])
    assert [block.rows for block in table.blocks] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (1e-5, "1e-05"), (-2e-4, "-0.0002"), (0.5, "0.500"), (620.9, "620.9"),
     (12345.6, "12346"), (float("nan"), "never"), (None, "")],
)  # fmt: skip
def test_a_number_is_told_in_four_digits(value, text):
    assert number(value) == text


def test_the_spread_stands_below_and_nothing_where_there_is_none():
    spread = record("a", "x", sd=0.25, spread=(0.5, 1.5))
    same = record("a", "y", sd=0.0, spread=(1.0, 1.0))
    entries = PaperTable([spread, same]).blocks[0].entries[0]
    assert entries[0][1].spread == "± 0.250 (0.500 to 1.500)"
    assert entries[1][1].spread == ""


def test_a_notebook_takes_few_seeds_or_all(monkeypatch):
    monkeypatch.setattr(seeds, "QUICK", True)
    assert seeds.seeds_up_to(10) == range(1, 1 + seeds.FEW)
    monkeypatch.setattr(seeds, "QUICK", False)
    assert seeds.seeds_up_to(10) == range(1, 11)
    monkeypatch.setenv(notebook.CHOICE, "0")
    assert notebook.open("quick_vegas", quick=True).paper.name == "quick_vegas"


def test_the_code_of_an_item_has_what_makes_its_scenarios_and_numbers():
    book = notebook.Book("quick_vegas")
    shown = book.code("figure_2").data
    for name in ("basic_runs", "basic", "basic_values", "settling", "throughput_at_85"):
        assert f"def {name}(" in shown
    assert "above" in book.code("figure_3").data
