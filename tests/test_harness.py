"""The frame of the experiments: verdicts, data files, records, tables."""

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import experiments
from experiments import harness, kept, published
from experiments.harness import Measured, Record, agree, judge, record
from experiments.published import Cell, Claim, Tolerance
from experiments.seeds import over_seeds
from tcpcc.errors import ScenarioError

NUMBER = st.floats(-1e6, 1e6)
PAPERS = experiments.papers()


def cell(**changes):
    plain = Cell(
        paper="p", item="table_1", row="Vegas", column="0-25", unit="1", published=0.5,
        tolerance=Tolerance("absolute", 0.03, "so far"), measured="", source="Table I",
    )  # fmt: skip
    return replace(plain, **changes)


# --- verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "value", "tolerance", "claims", "verdict"),
    [
        (0.335, 0.314, 0.03, [], "reproduced"),  # 0.021 away
        (0.335, 0.365, 0.03, [], "reproduced"),  # at the edge: 0.365 - 0.335 = 0.03 - 6e-17
        (0.170, 0.423, 0.03, [True], "direction holds"),  # 0.253 away, but the ordering is right
        (0.170, 0.423, 0.03, [True, False], "deviates"),  # one of two orderings is not
        (0.965, 0.907, 0.03, [], "deviates"),  # nothing is said of it
        (59, 59.06, 0.03 * 59, [False], "reproduced"),  # 0.06 s of 1.77; claims do not matter
        (620, 600, 0.03 * 620, [], "deviates"),  # 20 of 18.6
        (None, 12.0, None, [True], "no published number"),
        (6.7, math.nan, 0.2, [False], "deviates"),  # never settled
    ],
)
def test_verdicts(printed, value, tolerance, claims, verdict):
    assert judge(printed, value, tolerance, claims) == verdict


@given(NUMBER, NUMBER, st.floats(0, 1e3), st.lists(st.booleans()))
def test_reproduced_is_within_tolerance_and_nothing_else_is(printed, value, tolerance, claims):
    inside = printed - tolerance <= value <= printed + tolerance
    outside = abs(value - printed) > tolerance
    if judge(printed, value, tolerance, claims) == "reproduced":
        assert not outside
    elif inside:
        assert outside  # the sums round; the difference decides


@given(NUMBER, NUMBER, st.floats(0, 1e3))
def test_without_a_claim_no_direction_holds(printed, value, tolerance):
    assert judge(printed, value, tolerance, []) in ("reproduced", "deviates")


def test_a_published_number_needs_a_tolerance():
    with pytest.raises(ValueError, match="needs a tolerance"):
        judge(1.0, 1.0, None, [])


def test_models_agree_within_ten_percent():
    assert agree(100, 110)
    assert agree(100, 90)
    assert not agree(100, 110.1)
    assert not agree(3.0, math.nan)
    assert agree(0, 0)
    assert not agree(0, 1e-9)


@pytest.mark.parametrize(
    "wrong", [("absolute", 0, "r"), ("relative", -0.1, "r"), ("absolute", 0.1, ""), ("x", 1, "r")]
)
def test_a_tolerance_is_positive_and_has_a_reason(wrong):
    with pytest.raises(ValueError, match="must be absolute or relative"):
        Tolerance(*wrong)


def test_a_relative_tolerance_is_a_share_of_the_published_value():
    assert Tolerance("relative", 0.03, "r").width(620) == pytest.approx(18.6)
    assert Tolerance("absolute", 0.03, "r").width(620) == 0.03


# --- records -------------------------------------------------------------------------------------


def test_a_record_has_the_fields_of_the_command_line():
    names = [f.name for f in fields(Record)]
    assert names == [
        "paper", "item", "row", "column", "unit", "published", "packet", "fluid", "tolerance",
        "verdict", "cause", "spread", "sd",
    ]  # fmt: skip


def test_causes_stand_only_where_something_is_to_be_explained():
    one = cell(cause="phases", fluid_cause="no bursts")
    good = record(one, {"packet": {one.key: Measured(0.51)}, "fluid": {one.key: Measured(0.53)}})
    assert (good.verdict, good.cause, good.tolerance) == ("reproduced", "", 0.03)
    off = record(one, {"packet": {one.key: Measured(0.61)}, "fluid": {one.key: Measured(0.53)}})
    assert (off.verdict, off.cause) == ("deviates", "phases Fluid: no bursts")
    assert (off.packet, off.fluid) == (0.61, 0.53)


def test_what_is_not_explained_says_so():
    one = cell()
    off = record(one, {"packet": {one.key: Measured(0.61)}, "fluid": {one.key: Measured(0.3)}})
    assert off.cause == "not explained Fluid: not explained"


def test_two_means_may_differ_by_chance_alone():
    one = cell(fluid_cause="no bursts")
    packet, near, far = (Measured(value, 0, 2, 0.4, 16) for value in (1.0, 1.4, 1.43))
    assert packet.error == pytest.approx(0.1)
    assert Measured(1.0).error == 0
    found = record(one, {"packet": {one.key: packet}, "fluid": {one.key: near}})
    assert harness.WITHIN_CHANCE in found.cause
    found = record(one, {"packet": {one.key: packet}, "fluid": {one.key: far}})
    assert "no bursts" in found.cause
    found = record(one, {"packet": {one.key: Measured(1.0)}, "fluid": {one.key: Measured(1.4)}})
    assert "no bursts" in found.cause


def test_a_mean_over_seeds_has_a_standard_error_and_a_deterministic_run_none():
    mean = over_seeds({1: 1.0, 2: 3.0})
    assert (mean.value, mean.seeds, mean.error) == (2.0, 2, pytest.approx(1.0))
    alone = over_seeds({0: 7.0, 1: 1.0, 2: 3.0})
    assert (alone.value, alone.low, alone.high) == (7.0, 1.0, 3.0)
    assert (alone.seeds, alone.error) == (None, 0.0)


def test_a_model_alone_is_judged_itself():
    one = cell()
    alone = record(one, {"fluid": {one.key: Measured(0.51)}})
    assert (alone.packet, alone.fluid, alone.verdict) == (None, 0.51, "reproduced")


def test_claims_compare_our_own_numbers():
    other = cell(row="New Reno")
    one = cell(claims=(Claim(cell().key, other.key, "more than New Reno"),))
    values = {one.key: Measured(0.7), other.key: Measured(0.6)}
    assert record(one, {"packet": values}).verdict == "direction holds"
    values[other.key] = Measured(0.8)
    assert record(one, {"packet": values}).verdict == "deviates"


def test_the_spread_is_that_of_the_model_judged():
    one = cell()
    values = {"packet": {one.key: Measured(0.5, 0.4, 0.6)}, "fluid": {one.key: Measured(0.5, 0, 9)}}
    assert record(one, values).spread == (0.4, 0.6)
    assert "spread" not in record(one, {"packet": {one.key: Measured(0.5)}}).as_dict()


def test_a_number_that_never_came_is_null_in_json():
    one = cell()
    never = record(one, {"packet": {one.key: Measured(math.nan)}}).as_dict()
    assert json.loads(json.dumps(never, allow_nan=False))["packet"] is None
    assert never["verdict"] == "deviates"


# --- data files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAPERS)
def test_a_data_file_and_its_module_have_the_same_items(name):
    paper = PAPERS[name]
    assert paper.name == name
    with_cells = list(dict.fromkeys(c.item for c in paper.cells()))
    assert with_cells == [item for item in paper.published.titles if item in with_cells]
    assert all(paper.items[item].has_figure for item in set(paper.items) - set(with_cells))
    assert set(paper.published.titles) == set(paper.items)
    assert {item.of for item in paper.items.values() if item.of} <= set(with_cells)
    assert paper.citation.startswith("@")


@pytest.mark.parametrize("name", PAPERS)
def test_every_published_number_has_a_unit_a_source_and_a_way_to_measure(name):
    for one in PAPERS[name].cells():
        assert one.unit, one.key
        assert one.source, one.key
        assert one.measured, one.key
        assert (one.tolerance is None) == (one.published is None), one.key
        assert one.read in ("text", "axis"), one.key


@pytest.mark.parametrize("name", PAPERS)
def test_what_a_paper_claims_is_true_of_its_own_numbers(name):
    numbers = {c.key: c.published for c in PAPERS[name].cells()}
    for one in PAPERS[name].cells():
        for claim in one.claims:
            more, less = numbers[claim.more], numbers[claim.less]
            assert more is None or less is None or more > less, claim


MINIMAL = """
[paper]
title = "T"
authors = ["A"]
bibtex = "@misc{t}"
[[item]]
name = "table_1"
title = "One"
source = "Table I"
  [[item.block]]
  unit = ["s", "packets"]
  columns = ["a", "b"]
  rows = ["x", "y"]
  published.x = [1, 2]
  [[item.measured]]
  text = "so"
  [[item.tolerance]]
  absolute = 0.1
  reason = "r"
  [[item.tolerance]]
  columns = ["b"]
  relative = 0.2
  reason = "s"
"""


def write(tmp_path, text) -> Path:
    path = tmp_path / "paper.toml"
    path.write_text(text)
    return path


def test_reading_a_data_file(tmp_path):
    found = published.read(write(tmp_path, MINIMAL))
    assert [c.key for c in found.cells] == [
        ("table_1", row, column) for row in "xy" for column in "ab"
    ]
    first, second, third, _ = found.cells
    assert (first.unit, first.published, first.tolerance.value) == ("s", 1.0, 0.1)
    assert (second.unit, second.tolerance) == ("packets", Tolerance("relative", 0.2, "s"))
    assert (third.published, third.tolerance) == (None, None)


def test_a_claim_of_several_cells_is_written_once(tmp_path):
    claim = """
[[claim]]
more = "table_1/{row}/b"
less = "table_1/{row}/{column}"
each.row = ["x", "y"]
each.column = ["a"]
text = "{row} falls"
"""
    found = published.read(write(tmp_path, MINIMAL + claim))
    said = {c for cell in found.cells for c in cell.claims}
    assert {(c.more, c.less, c.text) for c in said} == {
        (("table_1", row, "b"), ("table_1", row, "a"), f"{row} falls") for row in "xy"
    }


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        (
            '[[claim]]\nmore = "table_1/x/a"\nless = "table_1/z/a"\ntext = "t"',
            "a claim names table_1/z/a, which is no cell",
        ),
        ('[[claim]]\nmore = "table_1/x"\nless = "table_1/y/a"\ntext = "t"', "item/row/column"),
        (
            '[[claim]]\nmore = "table_1/x/{c}"\nless = "table_1/y/a"\ntext = "t"\neach.d = ["a"]',
            "`each` has no 'c'",
        ),
        ('[[item.block]]\nunit="s"\ncolumns=["a"]\nrows=["x"]\npublished.x=[1]', "the same item"),
        ('[[item.block]]\nunit="s"\ncolumns=["c"]\nrows=["x"]\npublished.z=[1]', "among the rows"),
    ],
)
def test_a_data_file_that_contradicts_itself_is_refused(tmp_path, addition, message):
    with pytest.raises(ValueError, match=message):
        published.read(write(tmp_path, MINIMAL + addition))


# --- reproduce and its tables --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"paper": "quick_vega"}, "did you mean 'quick_vegas'"),
        ({"paper": "quick_vegas", "item": "table_9"}, "unknown item of quick_vegas 'table_9'"),
        ({"model": "fluids"}, "did you mean 'fluid'"),
    ],
)
def test_unknown_names_are_told_before_anything_runs(arguments, message, monkeypatch):
    monkeypatch.setattr(harness, "simulate_many", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(ScenarioError, match=message):
        experiments.reproduce(**arguments)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return experiments.reproduce(
        "quick_vegas", "figure_2", "packet", cache=tmp_path_factory.mktemp("runs")
    )


def test_one_item_gives_its_own_records_only(records):
    assert {r.item for r in records} == {"figure_2"}
    assert len(records) == len(PAPERS["quick_vegas"].cells("figure_2"))
    assert all(r.fluid is None and r.packet is not None for r in records)


def test_the_scorecard_gives_relative_errors(records):
    table = experiments.scorecard(records)
    row = table[table["column"] == "largest queue"].iloc[0]
    assert row["error"] == pytest.approx(row["packet"] / 620 - 1)
    assert math.isnan(row["fluid_error"])


def test_the_summary_counts_every_record_once(records):
    table = experiments.summary(records)
    verdicts = table[["reproduced", "direction holds", "deviates", "no published number"]]
    assert verdicts.to_numpy().sum() == len(records) == table["cells"].sum()


def test_the_markdown_has_a_row_for_every_record_and_the_causes(records, tmp_path):
    told = [*records[:-1], replace(records[-1], verdict="deviates", cause="the moon")]
    experiments.write(told, tmp_path / "docs" / "scorecard.md")
    text = (tmp_path / "docs" / "scorecard.md").read_text()
    assert text.count("| Vegas |") == len(records)
    assert "[1] the moon" in text


def test_figures_are_drawn_of_items_that_have_one(tmp_path):
    with pytest.raises(ScenarioError, match="unknown figure of quick_vegas 'table_1'"):
        experiments.draw("quick_vegas", "table_1")


def test_a_chart_is_drawn_from_the_numbers_kept(tmp_path, monkeypatch):
    paper, item = "quick_vegas", "figure_4"
    assert PAPERS[paper].items[item].chart is not None
    cache = tmp_path / "runs"
    first = experiments.draw(paper, item, "fluid", cache=cache)
    monkeypatch.setattr(harness, "simulate_many", lambda *_, **__: pytest.fail("it ran"))
    again = experiments.draw(paper, item, "fluid", cache=cache)
    points = [[line.get_xydata().tolist() for line in f.axes[0].lines] for f in (first, again)]
    assert points[0] == points[1] != []


# --- kept numbers --------------------------------------------------------------------------------


def test_kept_numbers_come_back_as_they_were(tmp_path):
    numbers = {
        ("Vegas", "0-25"): Measured(0.5),
        ("Reno", "0-25"): Measured(math.nan, 1.0, 2.0, 0.1, 20),
    }
    kept.store(tmp_path, "p", "table_1", "packet", numbers)
    found = kept.load(tmp_path, "p", "table_1", "packet")
    assert found["Vegas", "0-25"] == Measured(0.5)
    assert math.isnan(found["Reno", "0-25"][0])
    assert found["Reno", "0-25"][1:] == (1.0, 2.0, 0.1, 20)
    assert kept.load(tmp_path, "p", "table_1", "fluid") is None


def test_numbers_of_other_source_are_not_found_and_make_room(tmp_path, monkeypatch):
    kept.store(tmp_path, "p", "table_1", "packet", {})
    monkeypatch.setattr(kept, "digest", lambda: "other")
    assert kept.load(tmp_path, "p", "table_1", "packet") is None
    kept.store(tmp_path, "p", "table_1", "packet", {})
    assert [file.name for file in tmp_path.iterdir()] == ["p-table_1-packet-other.json"]


def test_a_damaged_file_of_numbers_is_no_file(tmp_path):
    kept.store(tmp_path, "p", "table_1", "packet", {("a", "b"): Measured(1.0)})
    file = next(tmp_path.iterdir())
    file.write_text(file.read_text()[:-4])
    assert kept.load(tmp_path, "p", "table_1", "packet") is None


def test_what_is_kept_is_not_simulated_again(tmp_path, monkeypatch):
    first = experiments.reproduce("quick_vegas", "figure_2", "fluid", cache=tmp_path / "runs")

    def simulate(*args, **settings):
        raise AssertionError("simulated again")

    monkeypatch.setattr(harness, "simulate_many", simulate)
    again = experiments.reproduce("quick_vegas", "figure_2", "fluid", cache=tmp_path / "runs")
    assert again == first
