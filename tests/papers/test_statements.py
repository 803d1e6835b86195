"""Statements of the papers' texts: the lists are whole, and evidence from the accepted numbers."""

import math
from dataclasses import replace

import pytest
from named import is_test

import experiments
from experiments import expected_numbers, published_numbers, statements
from experiments.measured_numbers import Measured, completed

PAPERS = experiments.papers()
LEAST = {"l4s": 8}  # its text is not at hand, only the abstract and the repository


def numbers(paper, model):
    return {key: each.value for key, each in expected_numbers.numbers(paper, model).items()}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_a_list_whose_names_exist(paper):
    """`statements.of` refuses cells and claims that do not exist."""
    assert len(statements.of(paper)) > LEAST.get(paper, 40)
    for one in statements.of(paper):
        assert [test for test in one.tests if not is_test(test)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_and_every_published_cell_is_of_a_statement(paper):
    listed = statements.of(paper)
    forms = {form for one in listed for form in one.claims}
    cells = PAPERS[paper].cells()
    assert {claim.form for cell in cells for claim in cell.claims} <= forms
    told = [c for c in cells if c.published is not None and not c.by_definition]
    assert [c.key for c in told if not any(one.names(c.key) for one in listed)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_no_statement_is_listed_twice(paper):
    texts = [(one.section, one.text) for one in statements.of(paper)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    "entry",
    [
        'cells = ["figure_2/Vegas/halfed"]',
        'cells = ["figure_2/Veg"]',
        'claims = ["Vegas is best"]',
        "",
        'cells = ["table_1"], not_testable = "both"',
    ],
)
def test_a_statement_with_a_wrong_name_or_without_a_holder_is_refused(entry, tmp_path, monkeypatch):
    for file in published_numbers.DATA.glob("quick_vegas*"):
        (tmp_path / file.name).write_text(file.read_text())
    line = f'statement = [{{ section = "I", text = "x"{", " * bool(entry)}{entry} }}]'
    (tmp_path / "quick_vegas_statements.toml").write_text(line)
    monkeypatch.setattr(published_numbers, "DATA", tmp_path)
    statements.of.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"names|must have"):
            statements.of("quick_vegas")
    finally:
        statements.of.cache_clear()


def test_a_statement_has_the_results_of_its_cells_and_claims():
    of = expected_numbers.records_of("tcp_fusion")
    told = {one.text: found for one, found in statements.results("tcp_fusion", of)}
    fair = "All TCP variants perform in the same manner, namely share fairly with TCP-Reno"
    assert told[fair]["packet"] == 6 * ["undecided"]
    assert told["up to 1.4 times of ARENO throughput in Fig. 4"]["fluid"] == ["fails"]
    full = "the single flow of all protocols can achieve the link bandwidth"
    assert set(told[full]["packet"]) == {"by definition"}


@pytest.mark.parametrize(
    ("found", "result"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "by definition"], "holds"),
        (["holds", "undecided"], "undecided"),
        (["undecided"], "undecided"),
        (["holds", "undecided", "fails"], "1 of 3"),
        (["undecided", "fails"], "fails"),
        (["by definition"], "by definition"),
        ([], ""),
    ],
)
def test_a_statement_is_undecided_if_a_number_is_and_none_is_missed(found, result):
    assert statements.overall(found) == result


def test_a_loose_match_holds_a_statement():
    of = [replace(r, verdict="loose match") for r in expected_numbers.records_of("tcp_fusion")]
    told = {one.text: found for one, found in statements.results("tcp_fusion", of)}
    assert told["up to 1.4 times of ARENO throughput in Fig. 4"]["packet"] == ["holds"]


# Cells that the data file computes.


def test_a_quotient_is_of_two_numbers_and_so_is_its_deviation():
    one, base, constant = Measured(6.0, 5, 7, 0.6, 10), Measured(3.0, 2, 4, 0.4, 8), Measured(3.0)
    deviation = pytest.approx(2 * math.hypot(0.1, 0.4 / 3))
    assert one.to(base) == Measured(2.0, sd=deviation, seeds=8)
    assert one.to(constant) == Measured(2.0, sd=pytest.approx(0.2), seeds=10)
    assert constant.to(one).seeds == 10
    assert Measured(6.0).to(constant) == Measured(2.0)


def test_of_several_quotients_the_largest_counts():
    cells = [c for c in PAPERS["tcp_fusion"].cells("figure_4") if c.quotients]
    values = {key: Measured(10.0) for key in (k for pair in cells[0].quotients for k in pair)}
    values["figure_4", "Fusion", "1e-3"] = Measured(13.0)
    assert completed(values, cells)[cells[0].key] == Measured(1.3)
    del values["figure_4", "ARENO", "1e-1"]
    assert cells[0].key not in completed(values, cells)


def test_a_quotient_of_what_is_not_measured_is_refused(tmp_path):
    text = published_numbers.file_of("tcp_fusion").read_text()
    file = tmp_path / "wrong.toml"
    file.write_text(text.replace('to = "figure_10/Reno beside', 'to = "figure_10/reno beside'))
    with pytest.raises(
        ValueError, match="names figure_10/reno beside Fusion/Route 2, which is not"
    ):
        published_numbers.read(file)


# Evidence for causes in the data files.


def test_who_gets_more_than_fusion_stunts_reno():
    """Figure 11: HSTCP, BIC and CUBIC at 100 Mb/s, HSTCP and BIC also at 300 Mb/s."""
    found = numbers("tcp_fusion", "packet")
    for rate in ("100 Mb/s", "300 Mb/s"):
        fusion = found["figure_11", "Fusion", rate]
        more = [v for v in ("HSTCP", "BIC", "CUBIC") if found["figure_11", v, rate] > fusion]
        assert set(more) >= {"HSTCP", "BIC"}
        for variant in more:
            beside = found["figure_11", f"Reno beside {variant}", rate]
            assert beside < 0.75 * found["figure_11", "Reno beside Fusion", rate]


@pytest.mark.parametrize(("rate", "speed"), [("600 Mb/s", 600e6), ("1 Gb/s", 1e9)])
def test_random_losses_limit_reno_at_high_rates(rate, speed):
    """Figure 11: Reno's share is that of the square-root law beside friendly and other variants."""
    found = numbers("tcp_fusion", "packet")
    law = 1.22 / math.sqrt(1e-5) / 0.044 * 8 * 1500 / speed
    for variant in ("Fusion", "ARENO", "CTCP", "HSTCP", "BIC"):
        assert found["figure_11", f"Reno beside {variant}", rate] == pytest.approx(law, abs=0.05)


def test_vegas_share_rises_with_each_lower_pair_of_thresholds():
    """The thesis' experiment with 2n and 3n: nothing turns at 3n and 4n."""
    found = numbers("red_fairness", "packet")
    columns = ("3n, 4n", "3n, 4n, n 20 % less", "2n, 3n", "2n, 3n, n 20 % less")
    shares = [found["thresholds", "8V2R: Fairness", column] for column in columns]
    assert shares == sorted(shares)
    assert shares[-1] > 1.7 * shares[0]


def test_thresholds_of_3n_and_4n_drop_nothing_of_vegas_alone():
    found = numbers("red_fairness", "packet")
    assert found["thresholds", "10V: Drop", "3n, 4n"] == 0
    assert found["thresholds", "10V: Drop", "3n, 4n, n 20 % less"] == 0
    assert found["thresholds", "10V: Drop", "2n, 3n"] > 5
