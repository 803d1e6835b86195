"""The paper's arrangement of a table, and the notebook that shows it."""

import copy
import re

import pytest

import tcpcc as tc
from experiments import harness, notebook, published_numbers, seeds
from experiments.measured_numbers import Measured
from experiments.paper_table import PaperTable
from experiments.records import Record
from experiments.records import record as harness_record
from experiments.scorecard_page import number
from experiments.tcp_vegas import tables
from tcpcc.errors import ScenarioError


def record(row, column, packet=1.0, **more):
    settings = {
        "paper": "p", "item": "table_1", "unit": "Mb/s", "published": 2.0, "fluid": 1.5,
        "tolerance": 0.1, "verdict": "deviates", "fluid_verdict": "direction holds", "cause": "why",
    }  # fmt: skip
    return Record(row=row, column=column, packet=packet, **{**settings, **more})


def entries(table, row=0, column=0):
    return table.rows[row].cells[column]


def test_print_packets_and_fluid_stand_under_each_heading():
    table = PaperTable([record(row, column) for row in "ab" for column in "xy"])
    assert ([row.name for row in table.rows], table.columns) == (["a", "b"], ["x", "y"])
    assert (table.unit, table.sources, table.is_stacked) == (
        "Mb/s", ["print", "packet", "fluid"], False
    )  # fmt: skip
    assert [e.text for e in entries(table)] == ["2", "1.000", "1.500"]
    assert [e.mark for e in entries(table)] == ["", "✗", "≈"]
    assert [e.small for e in entries(table)] == ["± 0.1", "-50 %", "-25 %"]
    assert "<small>± 0.1</small>" in table.html()
    assert [e.details for e in entries(table)] == ["", "deviates, -50 %", "direction holds, -25 %"]


def test_a_cause_is_written_once_and_leads_to_its_cell():
    for columns in ("xyz", "uvwxyz"):  # side by side, below each other
        table = PaperTable([record("a", column) for column in columns])
        (note,) = table.notes
        assert (note.letter, note.text, len(note.places)) == ("a", "why", len(columns))
        html = table.html()
        targets = set(re.findall(r'href="#([^"]+)"', html))
        assert targets <= set(re.findall(r'id="([^"]+)"', html))
        assert html.count("why") == 1


def test_a_wide_table_keeps_its_rows_and_has_its_sources_below_each_other():
    table = PaperTable([record("a", column) for column in "stuvwx"])
    assert table.is_stacked
    assert ([row.name for row in table.rows], table.columns) == (["a"], list("stuvwx"))
    lines = re.findall(r'<th class="source">(\w+)</th>', table.html())
    assert lines == ["published", "packets", "fluid"]


def test_no_column_is_empty_and_no_name_begins_with_a_slash():
    told = {"published": None, "fluid": None, "verdict": "no published number", "tolerance": None}
    table = PaperTable([record("/ a", "", cause="", fluid_verdict=None, **told)])
    assert table.sources == ["packet"]
    assert (table.rows[0].name, table.columns) == ("a", ["value"])
    assert entries(table)[0].mark == ""


def test_rows_with_other_columns_stay_in_one_table():
    table = PaperTable([record("a", "x"), record("a", "y"), record("b", "z")])
    assert [row.name for row in table.rows] == ["a", "b"]
    assert table.columns == ["x", "y", "z"]
    assert [e.text for e in entries(table, 1, 0)] == ["", "", ""]


def test_rows_that_the_paper_lacks_come_last_and_have_no_published_line(monkeypatch):
    layout = published_numbers.Layout(rows=["printed"])
    monkeypatch.setattr("experiments.paper_table._layout", lambda records: layout)
    own = {"published": None, "verdict": "no published number", "fluid_verdict": None}
    columns = "stuvwx"
    table = PaperTable(
        [record("own", c, **own) for c in columns] + [record("printed", c) for c in columns]
    )
    assert [(row.name, row.is_printed) for row in table.rows] == [("printed", True), ("own", False)]
    assert [len(table.lines(row)) for row in table.rows] == [3, 2]


def test_columns_that_are_combinations_have_common_headings():
    names = [f"{queue} {mix}" for queue in ("drop-tail", "RED") for mix in ("5V", "4V1R")]
    table = PaperTable([record("a", name) for name in names])
    assert table.groups == [("drop-tail", ["5V", "4V1R"]), ("RED", ["5V", "4V1R"])]
    other = PaperTable([record("a", name) for name in [*names, "REM 5V"]])
    assert other.groups == [("", [*names, "REM 5V"])]


@pytest.mark.parametrize(
    ("paper", "item", "rows"),
    [
        ("red_fairness", "table_3_1", ["Arrive", "Drop", "S1", "S2", "Total", "Fairness",
                                       "Utilization"]),
        ("quick_vegas", "table_1", ["0-25", "25-55", "55-300", "300-310", "310-400", "400-420",
                                    "420-435", "435-500"]),
        ("tcp_fusion", "table_1", ["Reno", "Fusion", "ARENO", "CTCP", "HSTCP", "BIC", "CUBIC"]),
    ],
)  # fmt: skip
def test_rows_and_digits_are_those_of_the_paper(paper, item, rows):
    """Table 3.1 has Fairness above Utilization, Table I times as rows and "0.780"."""
    cells = [cell for cell in published_numbers.of(paper).cells if cell.item == item]
    of = {"packet": {cell.key: Measured(cell.published or 0.0) for cell in cells}}
    claims = [claim for cell in cells for claim in cell.claims]
    others = {key: Measured(0.0) for claim in claims for key in (claim.more, claim.less)}
    of["packet"] = others | of["packet"]
    table = PaperTable([harness_record(cell, of) for cell in cells])
    names = [row.name.removesuffix(" (packets)").removesuffix(" (kb/s)") for row in table.rows]
    assert names[: len(rows)] == rows
    if (paper, item) == ("quick_vegas", "table_1"):
        assert table.corner == "Time (s)"
        assert entries(table, 1, 0)[0].text == "0.780"


def test_printed_digits_survive_copies_and_files(tmp_path):
    value = published_numbers.Printed("0.780")
    assert value == 0.78
    values = (value, copy.deepcopy(value), 0.78, 926.0, None)
    digits = [published_numbers.digits(v) for v in values]
    assert digits == ["0.780", "0.780", "0.78", "926", ""]
    text = published_numbers.file_of("quick_vegas").read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(text.replace("turned = true", 'rows = ["Vegass"]'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"layout\.rows must be among the rows"):
        published_numbers.read(wrong)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (1e-5, "1e-05"), (-2e-4, "-0.0002"), (0.5, "0.500"), (620.9, "620.9"),
     (12345.6, "12346"), (float("nan"), "never"), (None, "")],
)  # fmt: skip
def test_a_number_has_four_digits(value, text):
    assert number(value) == text


def test_the_spread_says_of_what_it_is():
    spread = record("a", "x", sd=0.25, spread=(0.5, 1.5), seeds=25)
    same = record("a", "y", sd=0.0, spread=(1.0, 1.0))
    table = PaperTable([spread, same])
    assert entries(table)[1].details == (
        "deviates, -50 %, standard error 0.050 (25 seeds), standard deviation of runs 0.250, "
        "runs from 0.500 to 1.500"
    )
    assert entries(table, 0, 1)[1].details == "deviates, -50 %"
    assert "standard error 0.050" in re.sub(r"<td[^>]*title.*", "", table.html())  # second view


def test_an_undecided_number_has_a_mark_and_the_number_of_seeds_that_decide_it():
    noisy = {"verdict": "undecided", "cause": "", "sd": 1.2, "seeds": 16}
    table = PaperTable([record("a", "x", packet=2.5, **noisy)])
    assert (entries(table)[1].mark, entries(table)[1].note) == ("?", "a")
    (note,) = table.notes
    assert note.text == "Undecided with this number of seeds (16): 36 seeds would decide it."
    assert note.text in entries(table)[1].details
    loose = PaperTable([record("a", "x", verdict="loose match")])
    assert (entries(loose)[1].mark, entries(loose)[1].look) == ("○", "partly")


def test_a_notebook_takes_few_seeds_or_all(monkeypatch):
    monkeypatch.setattr(seeds, "QUICK", True)
    assert seeds.seeds_up_to(10) == range(1, 1 + seeds.QUICK_SEEDS)
    monkeypatch.setattr(seeds, "QUICK", False)
    assert seeds.seeds_up_to(10) == range(1, 11)
    monkeypatch.setenv(notebook.CHOICE, "0")
    assert notebook.open("quick_vegas", quick=True).paper.name == "quick_vegas"


def test_a_notebook_shows_a_table_by_simpy():
    book = notebook.Book("red_fairness")
    table = book.by_simpy("table_3_1", [("drop-tail V vs R", 0)])
    assert "SimPy" in table.html()
    assert table.columns == ["drop-tail V vs R"]
    found = {row.name: [e.text for e in row.cells[0]] for row in table.rows}
    assert found["S1 (kb/s)"] == ["323", "323.6"]
    assert found["Arrive (packets)"] == ["18139", "18139"]


def test_any_table_of_a_notebook_can_be_by_simpy_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(harness, "CACHE", None)
    by_simpy = notebook.Book("tcp_vegas", driver="simpy", models=("packet",))
    compiled = notebook.Book("tcp_vegas", models=("packet",))
    assert by_simpy.records("figure_7") == compiled.records("figure_7")
    assert "Bit-identical to the compiled driver: 1 of 1 runs." in capsys.readouterr().out
    table = by_simpy.compute("figure_7")
    assert "SimPy" in table.html()
    assert "fluid" not in table.html()
    assert "SimPy" not in compiled.compute("figure_7").html()


def test_a_run_of_ones_own_is_shown_in_the_row_of_the_table():
    book = notebook.Book("tcp_vegas")
    key, scenario = next(iter(book.scenarios("figure_7").items()))
    slow = scenario.replace(flows=[scenario.flows[0].replace(size="512 KB")])
    run = tc.simulate(slow)
    table = book.measured("figure_7", {key: run})
    (throughput,) = (row for row in table.rows if row.name.startswith("throughput"))
    published, mine = throughput.cells[0]
    assert published.text == "169"
    assert mine.note == ""
    assert float(mine.text) == pytest.approx(tables.throughput(run), rel=1e-3)
    assert float(mine.text) < 160


@pytest.mark.parametrize("choice", [{"driver": "fast"}, {"models": ("packets",)}])
def test_a_driver_or_model_that_is_none_is_named(choice):
    with pytest.raises(ScenarioError, match=r"unknown (driver|model) '(fast|packets)'"):
        notebook.open("quick_vegas", **choice)


def test_the_code_of_an_item_has_what_makes_its_scenarios_and_numbers():
    book = notebook.Book("quick_vegas")
    shown = book.code("figure_2").text
    for name in ("basic_runs", "basic", "basic_values", "settling", "throughput_at_85"):
        assert f"def {name}(" in shown
    assert "above" in book.code("figure_3").data
    assert book.code("table_1")._repr_html_().startswith("<details><summary>Code of Table 1")
