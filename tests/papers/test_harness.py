"""The frame of the experiments: verdicts, data files, records, tables."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import experiments
from experiments import expected_numbers, harness, number_store, published_numbers, scorecard_page
from experiments import records as judging
from experiments.measured_numbers import Measured, completed
from experiments.published_numbers import Cause, Cell, Claim, Tolerance
from experiments.records import agree, grade, judge, record
from experiments.seeds import means, over_seeds
from tcpcc.errors import ScenarioError, TcpccError

NUMBER = st.floats(-1e6, 1e6)
PAPERS = experiments.papers()


def cell(**changes):
    plain = Cell(
        paper="p", item="table_1", row="Vegas", column="0-25", unit="1", published=0.5,
        tolerance=Tolerance("absolute", 0.03, "so far"), measured="", source="Table I",
    )  # fmt: skip
    return replace(plain, **changes)


def judged(one, packet=None, fluid=None):
    """The record of a cell: a number of each model, or what was measured."""
    values = {"packet": packet, "fluid": fluid}
    return record(
        one,
        {
            model: {one.key: value if isinstance(value, Measured) else Measured(value)}
            for model, value in values.items()
            if value is not None
        },
    )


def why(text):
    return Cause(text, check="test_x.py::test_y")


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
    assert judge(printed, Measured(value), tolerance, claims) == verdict


@pytest.mark.parametrize(
    ("printed", "value", "tolerance", "error", "verdict"),
    [
        (10, 12, 4, 1.0, "reproduced"),  # 2 + 2 * 1 = 4
        (10, 12, 4, 1.01, "undecided"),  # a hit inside its noise
        (10, 15, 4, 0.5, "undecided"),  # a miss inside its noise: 5 - 2 * 0.5 = 4
        (10, 15, 4, 0.49, "deviates"),
        (10, 15, 4, 0.0, "deviates"),  # without seeds a number is always decided
        (10, 14, 4, 0.0, "reproduced"),
        (10, 14, 5, 0.0, "loose match"),  # a tolerance of half the value
        (10, 14, 5, 0.6, "undecided"),
        (10, 16, 5, 0.4, "deviates"),
        (-10, -14, 5, 0.0, "loose match"),
        (0, 0.3, 0.5, 0.0, "reproduced"),  # no tolerance is a share of 0
        (10, math.nan, 4, 1.0, "deviates"),
    ],
)
def test_hits_and_misses_are_decided_by_two_standard_errors(
    printed, value, tolerance, error, verdict
):
    number = Measured(value, sd=3 * error, seeds=9)
    assert judge(printed, number, tolerance, []) == verdict


def test_claims_do_not_matter_for_what_is_undecided():
    assert judge(10, Measured(15, 13, 17), 4, [True]) == "undecided"
    assert judge(10, Measured(15), 4, [True]) == "direction holds"


def test_an_undecided_number_says_how_many_seeds_decide_it_and_needs_no_cause():
    """10 + 4 is 1 from 13; two standard errors fit with (2 * 5 / 1)^2 = 100 seeds."""
    one = cell(published=10.0, tolerance=Tolerance("absolute", 4, "r"), cause=why("phases"))
    mean, single = Measured(13.0, 5, 20, 5.0, 16), Measured(13.0, 9, 13.5, 5.0)
    found = judged(one, mean, single)
    assert (found.verdict, found.fluid_verdict, found.cause) == ("undecided", "reproduced", "")
    text = f"{judging.UNDECIDED} (16): 100 seeds would decide it."
    assert (found.undecided("packet"), found.undecided("fluid")) == (text, "")
    assert found.as_dict()["undecided"] == text
    assert f"[1] {text}" in scorecard_page.markdown_table([found])
    assert judging.seeds_needed(5.0, 0.9) == 124  # 123.4
    near = judged(one, fluid=mean._replace(value=14.001))
    assert near.undecided("fluid").endswith("more than 10,000 seeds would decide it.")


def test_a_reference_is_undecided_too():
    one = cell(published=None, reference=0.5)
    for value in (0.52, 0.54):
        assert judged(one, Measured(value, 0.4, 0.6, 0.1, 16)).verdict == "undecided"


def test_a_quotient_is_judged_by_its_standard_error():
    pair = ("a", "b", "c"), ("d", "e", "f")
    one = cell(published=2.0, tolerance=Tolerance("absolute", 0.3, "r"), quotients=(pair,))
    for sd, verdict in ((0.1, "reproduced"), (2.0, "undecided")):
        values = {pair[0]: Measured(6.0, 5, 7, sd, 9), pair[1]: Measured(3.0)}
        assert record(one, {"packet": completed(values, [one])}).verdict == verdict


def test_fluid_near_undecided_packets_says_so():
    found = judged(cell(), Measured(0.52, 0, 1, 0.1, 16), 0.54)
    assert found.fluid_cause == judging.NEAR_UNDECIDED
    assert scorecard_page.explained([found], "fluid_cause").total() == 0


def test_printed_and_inferred_numbers_and_formulas_are_counted_apart():
    text = cell(paper="quick_vegas")
    sentence, formula = replace(text, row="b", read="sentence"), replace(text, formula=True)
    found = [judged(one, 0.51, 0.54) for one in (text, sentence, formula)]
    row = scorecard_page.overview(found).iloc[0]
    assert (row["published"], row["text"], row["axis"], row["sentence"]) == (2, 1, 0, 1)
    assert (row["packet tested"], row["packet reproduced"], row["packet within 10 %"]) == (1, 1, 1)
    assert (row["fluid tested"], row["fluid deviates"], row["fluid within 10 %"]) == (1, 1, 1)
    assert (row["packet sentence tested"], row["packet sentence reproduced"]) == (1, 1)
    assert (row["fluid sentence tested"], row["fluid sentence reproduced"]) == (1, 0)


def test_the_strict_count_leaves_out_undecided_numbers_and_loose_matches():
    noisy = cell(paper="quick_vegas")
    loose = replace(noisy, tolerance=Tolerance("relative", 0.5, "r"))
    found = [judged(noisy, 0.51, 0.51), judged(loose, 0.51, 0.51)]
    found.append(judged(noisy, Measured(0.51, 0, 1, 0.5, 10)))
    row = scorecard_page.overview(found).iloc[0]
    told = [row[f"packet {name}"] for name in ("tested", "reproduced", "loose match", "undecided")]
    assert told == [3, 1, 1, 1]


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (0.51, 0.48, 0.52, "reproduced"),  # 0.5, of which 0.03 is accepted
        (0.51, 0.40, 0.52, "undecided"),  # a hit that other starts miss
        (0.60, 0.52, 0.62, "undecided"),  # a miss that other starts hit
        (0.60, 0.40, 0.62, "undecided"),  # the published value is between our runs
        (0.60, 0.54, 0.62, "deviates"),
    ],
)
def test_a_single_run_is_decided_by_its_range_over_starts(value, low, high, verdict):
    one = cell()
    of_one_run = Measured(value, low, high, 0.01)
    found = judged(one, of_one_run, of_one_run)
    assert [found.judged(m) for m in judging.MODELS] == [verdict] * 2
    why_open = judging.OF_ONE_RUN if verdict == "undecided" else ""
    assert [found.undecided(m) for m in judging.MODELS] == [why_open] * 2
    mean = judged(one, of_one_run._replace(seeds=16))
    assert mean.verdict == ("reproduced" if value == 0.51 else "deviates")


def test_the_summary_counts_single_runs_among_the_undecided():
    one = cell(paper="quick_vegas")
    found = [judged(one, Measured(0.51, 0.4, 0.6)), judged(one, Measured(0.51, 0.4, 0.6, 0.5, 10))]
    lines = scorecard_page.overview_markdown(found).splitlines()
    counts = {line.split(" | ")[0][2:].split(":")[0]: line.split(" | ")[1:] for line in lines}
    assert counts["undecided"] == ["2", "0 |"]
    assert counts["of these, numbers of single runs; the rest need more seeds"] == ["1", "0 |"]


def test_the_summary_counts_values_within_the_tolerance_whatever_their_range():
    one = cell(paper="quick_vegas")  # 0.50 +- 0.03
    found = [judged(one, Measured(value, 0.4, 0.6)) for value in (0.529, 0.531)]
    assert [r.verdict for r in found] == ["undecided"] * 2
    assert "is within the tolerance | 1 | 0 |" in scorecard_page.overview_markdown(found)


def test_deviations_of_numbers_of_one_run_add_up_in_their_quotient():
    """Two shares of one link move in opposite directions: their ratio has the sum of both."""
    first = np.random.default_rng(1).normal(0.5, 0.01, 1000)
    shares = [
        Measured(float(x.mean()), sd=float(x.std(ddof=1)), seeds=1000) for x in (first, 1 - first)
    ]
    ratio = float((first / (1 - first)).std(ddof=1))
    assert shares[0].to(shares[1], of_one_run=True).sd == pytest.approx(ratio, rel=0.02)
    assert shares[0].to(shares[1]).sd == pytest.approx(ratio / math.sqrt(2), rel=0.02)


def test_the_quotient_of_zero_has_a_deviation():
    assert Measured(0.0, sd=1.0, seeds=4).to(Measured(2.0, sd=1.0, seeds=4)).sd == 0.5


def test_a_quotient_by_a_single_run_has_the_range_of_both():
    """6 +- 2 * 0.1 by 2 to 4: from 5.8 / 4 to 6.2 / 2."""
    mean, single = Measured(6.0, 5, 7, 0.4, 16), Measured(3.0, 2, 4, 0.5)
    ratio = mean.to(single)
    assert (ratio.value, ratio.seeds, ratio.interval) == (2.0, None, (1.45, 3.1))
    assert mean.to(Measured(3.0)).interval == pytest.approx((5.8 / 3, 6.2 / 3))
    assert mean.to(Measured(3.0, 0, 4)).interval == (1.45, math.inf)
    assert math.isnan(single.to(Measured(0.0)).value)


def test_a_cell_by_definition_is_shown_but_not_counted():
    """A number divided by itself says nothing about a model, whatever the value."""
    cell = next(c for c in published_numbers.of("tcp_vegas").cells if c.by_definition)
    for value in (1.0, 7.0):
        found = judged(cell, value)
        assert (found.published, found.verdict, found.cause) == (1.0, "by definition", "")
        row = scorecard_page.overview([found]).iloc[0]
        assert (row["published"], row["packet tested"], row["packet reproduced"]) == (0, 0, 0)


def test_a_published_number_needs_a_tolerance():
    with pytest.raises(ValueError, match="needs a tolerance"):
        judge(1.0, Measured(1.0), None, [])


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


@pytest.mark.parametrize(
    ("ours", "target", "told"),
    [
        (110, 100, "within 10 %"),
        (-89, -100, "within 25 %"),
        (51, 100, "within 50 %"),
        (21.2, 10.3, "beyond 50 %"),
        (0, 0, "within 10 %"),
        (1e-9, 0, "beyond 50 %"),
        (math.nan, 1, "beyond 50 %"),
    ],
)
def test_errors_are_graded_whatever_the_tolerance(ours, target, told):
    assert grade(judging.difference(ours, target)) == told


def test_each_model_has_its_own_verdict_and_error():
    found = judged(cell(), 0.52, 0.6)
    assert (found.verdict, found.fluid_verdict) == ("reproduced", "deviates")
    assert found.error("packet") == pytest.approx(0.04)
    assert found.error("fluid") == pytest.approx(0.2)
    assert found.agreement == "within 25 %"


def test_claims_are_asked_of_each_model():
    other = cell(row="New Reno")
    one = cell(claims=(Claim(cell().key, other.key, "more than New Reno"),))
    packet = {one.key: Measured(0.7), other.key: Measured(0.6)}
    fluid = {one.key: Measured(0.7), other.key: Measured(0.8)}
    found = record(one, {"packet": packet, "fluid": fluid})
    assert (found.verdict, found.fluid_verdict) == ("direction holds", "deviates")


def test_a_reference_is_met_or_not_and_nothing_is_reproduced():
    other = cell(published=None, reference=0.5)
    found = judged(other, 0.52, 0.6)
    assert (found.published, found.target) == (None, 0.5)
    assert (found.verdict, found.fluid_verdict) == ("as the reference", "off the reference")
    assert judged(other, 0.6, 0.6).cause == "Not traced."


def test_a_formula_is_no_agreement_of_two_models():
    found = judged(cell(formula=True), 0.51, 0.51)
    assert (found.formula, found.packet, found.fluid) == (0.51, None, None)
    assert (found.verdict, found.fluid_verdict, found.agreement) == ("reproduced", None, None)


def test_causes_stand_only_where_something_is_to_be_explained():
    one = cell(cause=why("phases"), fluid_cause=why("no bursts"))
    good = judged(one, 0.51, 0.53)
    assert (good.verdict, good.cause, good.tolerance) == ("reproduced", "", 0.03)
    off = judged(one, 0.61, 0.53)
    assert (off.verdict, off.cause, off.fluid_cause) == ("deviates", "phases", "no bursts")
    assert (off.packet, off.fluid) == (0.61, 0.53)


def test_fluid_near_packets_that_meet_print_says_so():
    one = cell(fluid_cause=why("no bursts"))
    assert judged(one, 0.52, 0.56).fluid_cause == judging.NEAR_PACKETS  # 8 %, but 0.06 off print
    assert judged(one, 0.52, 0.525).fluid_cause == ""
    assert judged(one, 0.54, 0.55).fluid_cause == ""  # packets miss it too and say why


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (Measured(0.61, 0.5, 0.7, 0.01, 16), "phases"),  # print, 0.5, in the range
        (Measured(0.61, 0.55, 0.7, 0.04), "phases"),  # outside, but within three deviations
        (Measured(0.61, 0.55, 0.7, 0.03), judging.BEYOND_CHANCE),
        (Measured(0.61), judging.BEYOND_CHANCE),
    ],
)
def test_chance_explains_only_what_our_runs_have_room_for(number, told):
    assert judged(cell(cause=Cause("phases", chance=True)), number).cause == told
    assert judged(cell(cause=why("phases")), number).cause == "phases"


@pytest.mark.parametrize(
    ("packet", "fluid", "told"),
    [
        (Measured(1, 1, 2), Measured(2.5, 1.9, 2.5), "phases"),  # ranges overlap
        (Measured(1, 1, 2), Measured(1.5), "phases"),  # one is in the other's
        (Measured(1), Measured(1.5), judging.BEYOND_CHANCE),
        (Measured(1, 1, 2), Measured(2.5, 2.1, 2.5), judging.BEYOND_CHANCE),
        (Measured(1, 0, 2, 0.2, 16), Measured(1.5, 1, 3, 0.2, 16), judging.BEYOND_CHANCE),  # means
    ],
)
def test_chance_parts_the_models_only_where_their_runs_have_room(packet, fluid, told):
    one = cell(published=None, tolerance=None, fluid_cause=Cause("phases", chance=True))
    assert judged(one, packet, fluid).fluid_cause == told


def test_two_means_may_differ_by_chance_alone():
    one = cell(fluid_cause=why("no bursts"))
    packet, near, far = (Measured(value, 0, 2, 0.2, 16) for value in (1.0, 1.2, 1.22))
    assert packet.error == pytest.approx(0.05)
    assert Measured(1.0).error == 0
    assert "standard errors" in judged(one, packet, near).fluid_cause
    assert judged(one, packet, far).fluid_cause == "no bursts"
    assert judged(one, 1.0, 1.2).fluid_cause == "no bursts"


def test_seeds_that_could_not_tell_two_means_apart_explain_nothing():
    """Three standard errors of a third each would explain that one is twice the other."""
    one = cell()
    packet, fluid = Measured(1.0, 0, 4, 1, 9), Measured(1.9, 0, 4, 1, 9)
    assert judging.may_be_chance(packet, fluid)
    assert judged(one, packet, fluid).fluid_cause.startswith(judging.UNDECIDED)
    explained = replace(one, fluid_cause=why("no bursts"))
    assert judged(explained, packet, fluid).fluid_cause == "no bursts"


def test_a_mean_over_seeds_has_a_standard_error_and_a_deterministic_run_none():
    mean = over_seeds({1: 1.0, 2: 3.0})
    assert (mean.value, mean.seeds, mean.error) == (2.0, 2, pytest.approx(1.0))
    alone = over_seeds({0: 7.0, 1: 1.0, 2: 3.0})
    assert (alone.value, alone.low, alone.high) == (7.0, 1.0, 7.0)
    assert alone.sd == pytest.approx(2**0.5)
    assert (alone.seeds, alone.error) == (None, 0.0)


def test_a_model_alone_is_judged_itself():
    alone = judged(cell(), fluid=0.51)
    assert (alone.packet, alone.fluid, alone.verdict) == (None, 0.51, None)
    assert alone.fluid_verdict == "reproduced"


@given(st.dictionaries(st.integers(0, 5), NUMBER, min_size=1))
def test_a_number_lies_in_its_range(of_seed):
    """But for the rounding of a mean."""
    found = over_seeds(of_seed)
    if found.low is not None:
        room = 1e-12 * max(map(abs, of_seed.values()))
        assert found.low - room <= found.value <= found.high + room


def test_means_are_by_what_stands_before_the_seed():
    runs = {("a", "x", 1): 1.0, ("a", "x", 2): 3.0, ("b", "x", 1): 5.0}
    assert {key: cell.value for key, cell in means(float, runs).items()} == {
        ("a", "x"): 2.0,
        ("b", "x"): 5.0,
    }
    assert set(means(float, {("a", 1): 1.0})) == {"a"}


def test_each_model_has_its_own_spread():
    found = judged(cell(), Measured(0.5, 0.4, 0.6), Measured(0.5, 0, 9))
    assert (found.spread, found.fluid_spread) == ((0.4, 0.6), (0, 9))
    assert "spread" not in judged(cell(), 0.5).as_dict()


def test_a_number_that_never_came_is_null_in_json():
    never = judged(cell(), math.nan).as_dict()
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
    assert paper.published.bibtex.startswith("@")


@pytest.mark.parametrize("name", PAPERS)
def test_every_published_number_has_a_unit_a_source_and_a_way_to_measure(name):
    for one in PAPERS[name].cells():
        assert one.unit, one.key
        assert one.source, one.key
        assert one.measured, one.key
        assert (one.tolerance is None) == (one.published is one.reference is None), one.key
        assert one.read in published_numbers.READ, one.key


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


def test_a_block_may_be_read_otherwise_than_its_item(tmp_path):
    file = tmp_path / "p.toml"
    of_axis = MINIMAL.replace('title = "One"', 'title = "One"\nread = "axis"')
    of_text = of_axis.replace("[[item.block]]", '[[item.block]]\n  read = "text"')
    for text, told in ((MINIMAL, "text"), (of_axis, "axis"), (of_text, "text")):
        file.write_text(text)
        assert {one.read for one in published_numbers.read(file).cells} == {told}
    file.write_text(of_axis.replace("axis", "guess"))
    with pytest.raises(ValueError, match="read must be one of text, axis, sentence"):
        published_numbers.read(file)


def write(tmp_path, text) -> Path:
    path = tmp_path / "paper.toml"
    path.write_text(text)
    return path


def test_reading_a_data_file(tmp_path):
    found = published_numbers.read(write(tmp_path, MINIMAL))
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
    found = published_numbers.read(write(tmp_path, MINIMAL + claim))
    said = {c for cell in found.cells for c in cell.claims}
    assert {(c.more, c.less, c.text) for c in said} == {
        (("table_1", row, "b"), ("table_1", row, "a"), f"{row} falls") for row in "xy"
    }


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        (
            '[[claim]]\nmore = "table_1/x/a"\nless = "table_1/z/a"\ntext = "t"',
            "a claim names table_1/z/a, which is not a cell",
        ),
        ('[[claim]]\nmore = "table_1/x"\nless = "table_1/y/a"\ntext = "t"', "item/row/column"),
        (
            '[[claim]]\nmore = "table_1/x/{c}"\nless = "table_1/y/a"\ntext = "t"\neach.d = ["a"]',
            "`each` has no 'c'",
        ),
        ('[[item.block]]\nunit="s"\ncolumns=["a"]\nrows=["x"]\npublished.x=[1]', "the same item"),
        ('[[item.block]]\nunit="s"\ncolumns=["c"]\nrows=["x"]\npublished.z=[1]', "among the rows"),
        ('[[item.block]]\nunit="s"\ncolumns=["c"]\nrows=["x"]\nreference.z=[1]', "among the rows"),
        (
            '[[item.block]]\nunit="s"\ncolumns=["c"]\nrows=["x"]\npublished.x=[1]\nreference.x=[1]',
            "cannot be published and reference",
        ),
    ],
)
def test_a_data_file_that_contradicts_itself_is_refused(tmp_path, addition, message):
    with pytest.raises(ValueError, match=message):
        published_numbers.read(write(tmp_path, MINIMAL + addition))


# --- reproduce and its tables --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"paper": "quick_vega"}, "did you mean 'quick_vegas'"),
        ({"paper": "quick_vegas", "item": "table_9"}, "unknown item of quick_vegas 'table_9'"),
        ({"model": "fluids"}, "did you mean 'fluid'"),
    ],
)
def test_unknown_names_are_refused_before_anything_runs(arguments, message, monkeypatch):
    monkeypatch.setattr("tcpcc.models.simulate", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(ScenarioError, match=message):
        experiments.reproduce(**arguments)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return experiments.reproduce(
        "quick_vegas", "figure_2", "packet", cache=tmp_path_factory.mktemp("runs")
    )


def test_the_quickest_first_item_is_reported_first_and_then_paper_by_paper(tmp_path, monkeypatch):
    told = []

    def fake(wanted, model, settings, title=""):
        yield from ([(paper.name, len(items))] for paper, items in wanted)

    monkeypatch.setattr(harness, "_judged", fake)
    found = experiments.reproduce(
        cache=tmp_path, watch=lambda paper, item, records: told.append((paper.name, item, records))
    )
    first, item, _ = told[0]
    assert item == PAPERS[first].cells()[0].item
    assert len(PAPERS[first].items[item].scenarios()) < harness.MANY
    assert [each[:2] for each in told[1:]] == [(name, None) for name in PAPERS]
    assert found == [(name, len(PAPERS[name].items)) for name in PAPERS]


class FakeStep:
    """Writes down what is asked of it."""

    def __init__(self, name, told):
        self.name, self.told = name, told
        told.append(f"{name} made")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.told.append(f"{self.name} closed")

    def prepare(self):
        self.told.append(f"{self.name} prepared")

    def begin(self):
        self.told.append(f"{self.name} begun")

    def wait(self, at_last, bar):
        if at_last:
            at_last()
        self.told.append(f"{self.name} there")

    def numbers(self):
        self.told.append(f"{self.name} measured")
        return self.name


def test_the_next_step_is_under_way_while_one_is_measured_and_looked_at():
    told = []
    steps = harness._in_turn((FakeStep(name, told) for name in "ab"), bar=None)
    assert list(steps) == ["a", "b"]
    assert told[:-2] == [
        "a made", "a begun", "b made", "b prepared", "b begun", "a there", "a measured",
        "b there", "b measured",
    ]  # fmt: skip


def test_no_simulation_outlives_what_asked_for_it():
    told = []
    steps = harness._in_turn((FakeStep(name, told) for name in "abc"), bar=None)
    assert next(steps) == "a"
    steps.close()
    assert told[-2:] == ["b closed", "a closed"]


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
    verdicts = table[[f"packet {verdict}" for verdict in experiments.scorecard_page.VERDICTS]]
    grades = table[[f"packet {grade(x)}" for x in (0.1, 0.25, 0.5, math.inf)]]
    tested = sum(r.is_tested for r in records)
    assert len(records) == table["cells"].sum()
    assert verdicts.to_numpy().sum() == tested == table["published"].sum()
    assert grades.to_numpy().sum() == tested
    assert table[[f"fluid {v}" for v in experiments.scorecard_page.VERDICTS]].to_numpy().sum() == 0


def test_the_summary_of_a_whole_paper_names_every_item(records):
    (paper,) = {r.paper for r in records}
    lines = scorecard_page.summary_markdown(records).splitlines()[2:]
    assert len(lines) == len({r.item for r in records})  # of a part of it only what is there
    one = PAPERS[paper]
    whole = [replace(records[0], item=cell.item) for cell in one.cells()]
    names = [
        line.split(" | ")[1] for line in scorecard_page.summary_markdown(whole).splitlines()[2:]
    ]
    assert names == [scorecard_page.heading(item) for item in one.items]


def test_the_markdown_has_a_row_for_every_record_and_the_causes(records):
    told = [replace(records[0], verdict="deviates", cause="the moon"), *records[1:]]
    text = scorecard_page.markdown_table(told)
    assert text.count("| Vegas |") == len(records)
    assert "[1] the moon" in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("the moon", "chance"),  # nobody's cause
        (judging.BEYOND_CHANCE, "not traced"),
        (f"{judging.UNDECIDED}: 3", "undecided"),
        (next(iter(published_numbers.checks("quick_vegas"))), "chance"),  # another cell's
    ],
)
def test_differences_are_counted_by_how_they_are_explained(records, text, told):
    off = replace(records[0], verdict="deviates", cause=text)
    assert scorecard_page.explained([*records[1:], off], "cause") == {told: 1}
    mine = next(c for c in PAPERS["westwood_rbe"].cells() if c.fluid_cause and c.fluid_cause.check
                and not c.fluid_cause.chance)  # fmt: skip
    apart = replace(records[0], paper=mine.paper, item=mine.item, row=mine.row, column=mine.column,
                    fluid_cause=mine.fluid_cause.text)  # fmt: skip
    assert scorecard_page.explained([apart], "fluid_cause") == {"tested": 1}
    assert "1 have a cause whose evidence a test computes" in scorecard_page.explained_markdown(
        [apart]
    )


def test_the_summary_is_renewed_between_its_marks(records, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n{}\nstale\n{}\nafter\n".format(*experiments.scorecard_page.MARKS))
    for _ in range(2):
        experiments.write_summary(records, page)
        text = page.read_text()
        assert text.startswith("before\n")
        assert text.endswith("\nafter\n")
        assert "stale" not in text
        assert text.count(scorecard_page.overview_markdown(records, "notebooks/{}.ipynb")) == 1
    page.write_text("no marks")
    with pytest.raises(TcpccError, match="must have"):
        experiments.write_summary(records, page)


def test_figures_are_drawn_of_items_that_have_one(tmp_path):
    with pytest.raises(ScenarioError, match="unknown figure of quick_vegas 'table_1'"):
        experiments.draw("quick_vegas", "table_1")


def test_a_chart_is_drawn_from_the_numbers_kept(tmp_path, monkeypatch):
    paper, item = "quick_vegas", "figure_4"
    assert PAPERS[paper].items[item].chart is not None
    cache = tmp_path / "runs"
    first = experiments.draw(paper, item, "fluid", cache=cache)
    monkeypatch.setattr("tcpcc.models.simulate", lambda *_, **__: pytest.fail("it ran"))
    again = experiments.draw(paper, item, "fluid", cache=cache)
    points = [[line.get_xydata().tolist() for line in f.axes[0].lines] for f in (first, again)]
    assert points[0] == points[1] != []


# --- what is expected -----------------------------------------------------------------------------


@pytest.fixture
def all_seeds(monkeypatch):
    """As `make accept` has it, and tests do not."""
    monkeypatch.setattr("experiments.seeds.QUICK", False)


@pytest.fixture
def accepted(records, tmp_path, all_seeds):
    """Figure 2's records, in a folder of what is expected."""
    expected_numbers.accept(records, tmp_path)
    return tmp_path


def test_what_was_accepted_is_as_expected(records, accepted):
    assert all(expected_numbers.moved(r, accepted) == [] for r in records)


def test_moved_numbers_are_shown_before_and_after(records, accepted):
    first = records[0]
    off = replace(first, packet=first.packet * 1.001, verdict="deviates")
    number, verdict = expected_numbers.moved(off, accepted)
    assert number == f"packet: {first.packet:.9g} -> {first.packet * 1.001:.9g}"
    assert verdict == "verdict: reproduced -> deviates"
    assert expected_numbers.moved(replace(first, fluid=1.0), accepted) == ["fluid: none -> 1"]
    assert expected_numbers.moved(replace(first, packet=math.nan), accepted)


def test_rounding_does_not_move_a_number(records, accepted):
    near = replace(records[0], packet=records[0].packet * (1 + 1e-8))
    assert expected_numbers.moved(near, accepted) == []


def test_on_another_platform_chance_may_move_a_number_inside_its_range(records, accepted):
    ranged = replace(records[0], spread=(1.0, 3.0), packet=2.0, sd=0.5)
    expected_numbers.accept([ranged], accepted)
    inside, outside = replace(ranged, packet=2.5, sd=0.6), replace(ranged, packet=3.1)
    assert expected_numbers.moved(inside, accepted) == ["packet: 2 -> 2.5", "packet_sd: 0.5 -> 0.6"]
    file = accepted / "quick_vegas_expected.csv"
    file.write_text(file.read_text().replace(expected_numbers.this_platform(), "another"))
    assert expected_numbers.moved(inside, accepted) == []
    assert expected_numbers.moved(outside, accepted) == ["packet: 2 -> 3.1"]
    fixed = replace(records[1], packet=records[1].packet * 1.001)
    assert len(expected_numbers.moved(fixed, accepted)) == 1


def test_a_sample_of_few_seeds_is_accepted_and_held_by_itself(records, accepted, monkeypatch):
    """It has lines only where few seeds give other numbers; all seeds are held to theirs."""
    first, *others = records
    few = [replace(first, packet=first.packet + 1), *others]
    monkeypatch.setattr("experiments.seeds.QUICK", True)
    (file,) = expected_numbers.accept(few, accepted)
    assert file.name == "quick_vegas_sample.csv"
    assert len(file.read_text().splitlines()) == 3
    assert all(expected_numbers.moved(r, accepted) == [] for r in few)
    assert expected_numbers.moved(first, accepted)
    monkeypatch.setattr("experiments.seeds.QUICK", False)
    assert expected_numbers.moved(first, accepted) == []
    assert expected_numbers.moved(few[0], accepted)


def test_accepted_numbers_are_judged_as_those_of_a_run(tmp_path, all_seeds):
    """To the last bit, range, deviation and number of seeds too."""
    paper = experiments.papers()["westwood_rbe"]
    of_figure = paper.cells("figure_3")
    spread = Measured(1 / 3, 0.1, 0.7, 0.2, 10)
    measured = dict.fromkeys((cell.key for cell in of_figure), spread)
    values = dict.fromkeys(experiments.MODELS, completed(measured, paper.cells()))
    cells = of_figure + paper.cells("limits")
    judged = [record(cell, values) for cell in cells]
    expected_numbers.accept(judged, tmp_path)
    assert expected_numbers.records_of("westwood_rbe", tmp_path) == judged


def test_accepting_one_item_leaves_the_others(records, accepted):
    file = accepted / "quick_vegas_expected.csv"
    before = file.read_text()
    expected_numbers.accept(records[:1], accepted)
    assert file.read_text() == before
    assert before.count("\n") == 2 + len(records)


@pytest.mark.parametrize("name", PAPERS)
def test_something_is_expected_of_every_cell_and_claim(name):
    """And the verdicts are those of the numbers beside them, by the data file's tolerances."""
    cells = PAPERS[name].cells()
    lines = {
        tuple(line[x] for x in expected_numbers.CELL): line
        for line in expected_numbers.cells_of(name)
    }
    assert list(lines) == [one.key for one in cells]
    values = {model: expected_numbers.numbers(name, model) for model in judging.MODELS}
    for key, line in lines.items():
        for model in PAPERS[name].items[key[0]].models:
            assert line["formula"] or line[model], (key, model)
    for one in cells:
        again = record(one, values)
        told = lines[one.key]
        assert told["verdict"] == again.verdict, one.key
        assert told["fluid_verdict"] == (again.fluid_verdict or ""), one.key
    said = {
        ("/".join(c.more), "/".join(c.less)): (c.more, c.less) for one in cells for c in one.claims
    }
    for line in expected_numbers.claims_of(name):
        more, less = said.pop((line["more"], line["less"]))
        for model, of_model in values.items():
            told = more in of_model and less in of_model
            holds = told and of_model[more].value > of_model[less].value
            assert line[model] == (("holds" if holds else "fails") if told else ""), line
    assert not said


# --- stored numbers ------------------------------------------------------------------------------


def store(folder, code, numbers):
    number_store.store(folder, "p", "table_1", "packet", code, numbers)


def load(folder, code, *, item="table_1", model="packet"):
    return number_store.load(folder, "p", item, model, code)


def test_stored_numbers_come_back_as_they_were(tmp_path):
    numbers = {
        ("Vegas", "0-25"): Measured(0.5),
        ("Reno", "0-25"): Measured(math.nan, 1.0, 2.0, 0.1, 20),
    }
    store(tmp_path, "code", numbers)
    found = load(tmp_path, "code")
    assert found["Vegas", "0-25"] == Measured(0.5)
    assert math.isnan(found["Reno", "0-25"][0])
    assert found["Reno", "0-25"][1:] == (1.0, 2.0, 0.1, 20)
    assert load(tmp_path, "code", model="fluid") is None


def test_numbers_of_other_code_are_not_found_and_make_room(tmp_path, all_seeds):
    store(tmp_path, "code", {})
    assert load(tmp_path, "other") is None
    store(tmp_path, "other", {})
    assert [file.name for file in tmp_path.iterdir()] == ["p-table_1-packet-all-other.json"]


def test_numbers_of_few_and_of_all_seeds_are_kept_beside_each_other(tmp_path, monkeypatch):
    for quick in (True, False):
        monkeypatch.setattr("experiments.seeds.QUICK", quick)
        store(tmp_path, "code", {("a", "b"): Measured(quick)})
    for quick in (True, False):
        monkeypatch.setattr("experiments.seeds.QUICK", quick)
        assert load(tmp_path, "code")["a", "b"][0] == quick


def test_a_docstring_or_a_comment_decides_no_number(tmp_path):
    texts = [
        '"""One."""\nX = 1\ndef f():\n    "says"\n    return X\n',
        '"""Two."""\nX = 1  # why\n\ndef f():\n    return X\n',
        '"""One."""\nX = 2\ndef f():\n    "says"\n    return X\n',
    ]
    codes = []
    for k, text in enumerate(texts):
        file = tmp_path / str(k) / "module.py"
        file.parent.mkdir()
        file.write_text(text)
        codes.append(number_store._code(file))
    assert codes[0] == codes[1] != codes[2]


def test_an_item_hangs_on_what_its_scenarios_and_numbers_come_from(monkeypatch, all_seeds):
    """Not on what draws its figure, nor on another paper."""
    used = number_store._dependencies({"experiments.red_fairness.studies"})
    assert {"experiments.red_fairness.scenarios", *number_store.COMMON} <= used
    assert number_store._dependencies(()) == set(number_store.COMMON)
    assert number_store._dependencies({"experiments.variants.networks"}) > set(number_store.SHARED)
    assert not any(name.startswith("experiments.tcp_fusion") for name in used)
    item = experiments.papers()["quick_vegas"].items["table_1"]
    before = item.code
    assert before == experiments.papers()["quick_vegas"].items["figure_7"].code
    monkeypatch.setattr("experiments.seeds.QUICK", True)
    assert item.code != before


@pytest.mark.parametrize(
    "damaged",
    [
        lambda text: text[:-4],
        lambda text: "",
        lambda text: text.replace("1.0", "9.0"),
        lambda text: text.partition("\n")[2],
    ],
)
def test_a_damaged_file_of_numbers_is_no_file(damaged, tmp_path):
    store(tmp_path, "code", {("a", "b"): Measured(1.0)})
    file = next(tmp_path.iterdir())
    file.write_text(damaged(file.read_text()))
    assert load(tmp_path, "code") is None


def test_numbers_of_another_item_are_not_taken(tmp_path):
    store(tmp_path, "code", {("a", "b"): Measured(1.0)})
    file = next(tmp_path.iterdir())
    file.rename(file.with_name(file.name.replace("table_1", "table_2")))
    assert load(tmp_path, "code", item="table_2") is None


def test_a_folder_of_a_name_counts(tmp_path, monkeypatch):
    """`a/same.py` and `b/same.py` had the same name in the hash."""
    found = set()
    for folder in "ab":
        file = tmp_path / folder / folder / "same.py"
        file.parent.mkdir(parents=True)
        file.write_text("X = 1")
        monkeypatch.setattr(number_store, "PACKAGE", tmp_path / folder)
        found.add(number_store._digest.__wrapped__(frozenset(), False))
    assert len(found) == 2


def test_what_is_kept_is_not_simulated_again(tmp_path, monkeypatch):
    first = experiments.reproduce("quick_vegas", "figure_2", "fluid", cache=tmp_path / "runs")

    monkeypatch.setattr("tcpcc.models.simulate", lambda *_, **__: pytest.fail("it ran"))
    again = experiments.reproduce("quick_vegas", "figure_2", "fluid", cache=tmp_path / "runs")
    assert again == first
