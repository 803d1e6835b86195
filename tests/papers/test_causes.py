"""Causes are claims with evidence: each names the test that computes it.

Here: that they do, and evidence from what the papers print and from the numbers that both models
are expected to give, which test_reproduction.py holds every run to. The files beside this one,
test_causes_*.py, simulate.
"""

import math
from functools import cache

import pytest
from named import TESTS, is_test, names_of

import experiments
from experiments import expected_numbers, published_numbers
from experiments.published_numbers import NOT_TRACED, Cause
from experiments.westwood_rbe import tables as westwood

PAPERS = list(experiments.papers())


def causes():
    """(paper, item, cause), each once."""
    return dict.fromkeys(
        (paper, cell.item, cause)
        for paper in PAPERS
        for cell in published_numbers.of(paper).cells
        for cause in (cell.cause, cell.fluid_cause)
        if cause is not None
    )


def test_a_cause_names_a_test_that_there_is():
    named = {cause.check for _, _, cause in causes() if cause.check}
    assert [check for check in named if not is_test(check)] == []


def test_every_piece_of_evidence_is_of_a_cause():
    named = {cause.check for _, _, cause in causes()}
    made = {
        f"papers/{file.name}::{name}"
        for file in (TESTS / "papers").glob("test_causes*.py")
        for name in names_of(f"papers/{file.name}")
    }
    structure = {name for name in made if name.endswith(("_there_is", "_of_a_cause", "_refused"))}
    assert made - structure - named == set()


@pytest.mark.parametrize("text", ["Phases.", "Somebody says so"])
def test_a_cause_without_evidence_is_refused(text):
    with pytest.raises(ValueError, match="must have a check"):
        Cause(text)
    assert not Cause(f"{NOT_TRACED}: {text}").is_traced
    assert Cause(text, check="test_x.py::test_y").is_traced
    assert Cause(text, chance=True).is_traced


# Evidence from numbers.


@cache
def ours(paper, column="packet"):
    """What a column of the expected numbers has, by (item, row, column)."""
    return {
        (line["item"], line["row"], line["column"]): float(line[column])
        for line in expected_numbers.cells_of(paper)
        if line[column]
    }


def printed(paper, item):
    return published_numbers.of(paper).printed(item)


ERRORS = ("+20%", "+10%", "8V2R", "-10%", "-20%")


def test_a_second_of_arrivals_is_missing_in_table_4_3():
    paper, mine = printed("red_fairness", "table_4_3"), ours("red_fairness")
    second = 2e6 / (8 * 1000)
    for column in ("drop-tail", *ERRORS):
        missing = mine["table_4_3", "Arrive", column] - paper["Arrive", column]
        assert 0.6 * second < missing < 1.3 * second


def test_table_4_3_prints_more_than_its_link_carries():
    paper = printed("red_fairness", "table_4_3")
    flows = [f"Vegas{k}" for k in range(1, 9)] + ["Reno1", "Reno2"]
    total = sum(paper[flow, "drop-tail"] for flow in flows)
    reno = paper["Reno1", "drop-tail"] + paper["Reno2", "drop-tail"]
    carried = 2000 * total / (total + 0.04 * reno)  # Reno's packets have 40 bytes more on the wire
    assert total == 1976
    assert ours("red_fairness")["table_4_3", "Total", "drop-tail"] < carried < total - 20


@pytest.mark.parametrize(("column", "mean", "ratio"), [("+20%", 115, 0.226), ("-20%", 161, 0.503)])
def test_table_4_3_contradicts_itself(column, mean, ratio):
    """Errata A11 and A12: the printed mean and ratio are not those of the column's rows."""
    paper = printed("red_fairness", "table_4_3")
    vegas = sum(paper[f"Vegas{k}", column] for k in range(1, 9)) / 8
    reno = (paper["Reno1", column] + paper["Reno2", column]) / 2
    assert vegas == pytest.approx(mean, abs=1)
    assert vegas / reno == pytest.approx(ratio, abs=0.001)
    assert vegas > 1.04 * paper["Vegas", column]
    assert vegas / reno > 1.04 * paper["Fairness", column]


def test_table_4_4_shares_of_s1_and_s2_vary_and_their_sum_does_not():
    low, high, mine = (ours("red_fairness", f"packet{end}") for end in ("_low", "_high", ""))
    for flow in ("S1", "S2"):
        key = "table_4_4", flow, "drop-tail"
        assert high[key] - low[key] > 180
    together = sum(mine["table_4_4", flow, "drop-tail"] for flow in ("S1", "S2"))
    paper = printed("red_fairness", "table_4_4")
    assert together == pytest.approx(paper["S1", "drop-tail"] + paper["S2", "drop-tail"], rel=0.02)
    assert high["table_4_4", "Drop", "drop-tail"] == 0


def test_what_vegas_sends_again_grows_with_the_load_past_the_print():
    mine = ours("tcp_vegas")
    grows = [mine["load", "retransmissions Vegas", load] for load in ("6", "8", "10")]
    paper = printed("tcp_vegas", "table_4")["retransmissions", "Vegas-1,3"]
    assert grows == sorted(grows)
    assert grows[1] < paper < grows[2]


def test_runs_with_other_background_differ_by_more_than_their_mean():
    mean, sd = (ours("tcp_vegas", column) for column in ("packet", "packet_sd"))
    keys = [key for key in mean if key[0] == "vegas_background"]
    assert len(keys) == 6
    assert all(sd[key] >= 0.9 * abs(mean[key]) for key in keys)


def test_the_retransmit_ratio_hangs_on_the_load_and_not_on_traffic_back():
    mine = ours("tcp_vegas")
    paper = printed("tcp_vegas", "two_way")["retransmit ratio", "Vegas-1,3"]
    ratios = [mine["load", "retransmit ratio", load] for load in ("6", "8", "10")]
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.6 * ratios[2]
    both_ways = mine["two_way", "retransmit ratio", "Vegas-1,3"]
    assert both_ways >= mine["table_4", "retransmit ratio", "Vegas-1,3"]
    assert paper < both_ways


def test_with_smaller_buffers_vegas_is_the_less_fair_as_printed():
    mine, column = ours("tcp_vegas"), "2 and 4, equal delays"
    paper = printed("tcp_vegas", "fairness")
    assert paper["Reno", column] > paper["Vegas", column]
    small = [mine["fairness_settings", f"{kind}: 10 buffers", column] for kind in ("Reno", "Vegas")]
    assert small[0] > small[1] + 0.005
    usual = [mine["fairness", kind, column] for kind in ("Reno", "Vegas")]
    assert abs(usual[0] - usual[1]) < 0.002


def test_the_papers_1_4_and_0_7_keep_the_round_trip_time():
    kept, moved = (
        westwood.LAWS["eqs. 4-6, RTT = 2 RTTmin"],
        westwood.LAWS["eqs. 4-6, RTT = RTTmin + Tq"],
    )
    paper = printed("westwood_rbe", "equations")
    for b in (0.5, 2):
        said = paper["eqs. 4-6, RTT = RTTmin + Tq", f"b = {b:g}"]
        assert round(kept(b), 1) == said
        assert abs(math.log(moved(b) / said)) > 0.1
