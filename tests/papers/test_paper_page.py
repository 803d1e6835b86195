"""The papers' pages have every stored number with its verdict, and links that lead somewhere."""

import csv
import html
import re
import zipfile
from collections import Counter
from dataclasses import replace

import matplotlib as mpl
import pytest

import experiments
from experiments import (
    conformance_page,
    expected_numbers,
    paper_page,
    published_numbers,
    scorecard_page,
)
from experiments.kernel import conformance as kernel
from experiments.paper_table import MARKS, place
from experiments.run_labels import in_words
from experiments.scorecard_page import number
from tcpcc import Scenario
from tcpcc.apps.conformance import cases

mpl.use("Agg")

PAPERS = experiments.papers()
PAPER, ITEM = "quick_vegas", "figure_2"


def with_one_scenario(papers):
    """The papers, each item with one scenario for all of its thousand: these are quickly made."""
    one = papers[PAPER].items[ITEM].scenarios()
    return {
        name: replace(
            paper,
            items={
                key: item if item.scenarios is dict else replace(item, scenarios=lambda: one)
                for key, item in paper.items.items()
            },
        )
        for name, paper in papers.items()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.harness.papers", lambda: with_one_scenario(PAPERS))
        patch.setattr("tcpcc.models.simulate", lambda *_, **__: pytest.fail("it simulates"))
        patch.setattr("experiments.ratio_plot._panel", lambda *_: None)  # empty pictures, quickly
        paper_page.write(folder)
    return folder


def text_of(folder, page):
    return (folder / f"{page}.md").read_text(encoding="utf-8")


def section_of(folder, paper, item):
    """The text of an item's section."""
    text = text_of(folder, paper)
    return text.split(f"({paper_page.anchor(paper, item)})=\n", 1)[1].split("\n(", 1)[0]


def anchors(text):
    return set(re.findall(r'id="([^"]+)"', text)) | set(re.findall(r"^\((\S+)\)=$", text, re.M))


ITEMS = [(name, item) for name, paper in PAPERS.items() for item in paper.items]


def test_every_item_has_a_section_and_the_list_leads_to_it(folder):
    listed = re.findall(
        r'<tr><td class="words"><a href="(\w+)\.html#([^"]+)"', text_of(folder, "index")
    )
    assert listed == [(paper, paper_page.anchor(paper, item)) for paper, item in ITEMS]
    for name, paper in PAPERS.items():
        assert {at for of, at in listed if of == name} <= anchors(text_of(folder, name))
        assert f"\n{name}\n" in text_of(folder, "index").split("toctree", 1)[1]
        assert f"[{paper.title}]({name}.md)" in text_of(folder, "index")


@pytest.mark.parametrize("paper", PAPERS)
def test_links_within_a_page_and_to_its_files_lead_somewhere(folder, paper):
    text = text_of(folder, paper)
    assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors(text)
    targets = re.findall(r"\]\(([^)#]+)\)", text) + re.findall(r"\{figure\} (\S+)", text)
    targets += re.findall(r"\{download\}`[^<]+<([^>]+)>`", text)
    assert len(targets) > 3
    here = experiments.harness.HERE.parent / "docs" / "papers"
    for target in targets:
        if target.startswith(".."):
            source = target.replace("../notebooks", "../../notebooks")  # docs/notebooks is a copy
            exists = (here / source).resolve().exists()
        else:
            exists = (folder / target).exists()
        assert exists, target


@pytest.mark.parametrize("paper", PAPERS)
def test_every_stored_number_is_at_its_place_with_the_mark_of_its_verdict(folder, paper):
    """The table has our first model's number at the anchor of its cell."""
    cells = dict(re.findall(r'<td[^>]*? id="([^"]+)"[^>]*>(.*?)</td>', text_of(folder, paper)))
    lines = expected_numbers.cells_of(paper)
    assert len(lines) > 100
    for line in lines:
        item, row, column = (line[name] for name in expected_numbers.CELL)
        shown = cells[place(item, row, column)]
        model = "packet" if line["formula"] or line["packet"] else "fluid"
        own = line["formula"] or line[model]
        assert shown.startswith(html.escape(number(float(own)))), (line, shown)
        verdict = line["verdict"] if model == "packet" else line["fluid_verdict"]
        mark = MARKS[verdict][0] if verdict in MARKS else ""
        assert re.findall(r'<span class="mark">(.)</span>', shown) == [mark] * bool(mark), line


def test_every_cell_has_its_own_place():
    for paper in PAPERS.values():
        places = [place(*cell.key) for cell in paper.cells()]
        assert len(set(places)) == len(places)


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("model", experiments.MODELS)
def test_a_section_and_the_list_count_the_stored_verdicts(folder, paper, model):
    name, column = ("Packets", "verdict") if model == "packet" else ("Fluid", "fluid_verdict")
    listed = dict(
        re.findall(
            rf'href="{paper}\.html#([^"]+)".*?</td>(.*?)</tr>', text_of(folder, "index"), re.S
        )
    )
    judged = 0
    for item in PAPERS[paper].items:
        lines = [
            x for x in expected_numbers.cells_of(paper) if x["item"] == item and not x["formula"]
        ]
        marks = Counter(MARKS[x[column]][0] for x in lines if x[column] in MARKS)
        judged += marks.total()
        section = section_of(folder, paper, item)
        of_model = re.findall(rf"^{name}: (.*?) of (\d+)[.,]", section, re.M)
        counts = ", ".join(f"{m}&nbsp;{marks[m]}" for m in "✓○?≈✗" if marks[m])
        assert of_model == ([(counts, str(marks.total()))] if marks else []), item
        if lines:
            cells = re.findall("<td>(.*?)</td>", listed[paper_page.anchor(paper, item)])
            own = cells[2:7] if model == "packet" else cells[8:13]
            assert own == [str(marks[m] or "") for m in "✓○?≈✗"], item
    assert judged > 10 or paper == "l4s"


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_hold_as_stored(folder, paper):
    claims = text_of(folder, paper).split("## Claims", 1)[1].split("\n(", 1)[0]
    lines = expected_numbers.claims_of(paper)
    for model, name in (("packet", "packets"), ("fluid", "fluid")):
        stored = Counter(line[model] for line in lines)
        for verdict, mark in (("holds", "✓"), ("fails", "✗")):
            assert claims.count(f" {name} {mark}") == stored[verdict]
    shown = html.unescape(claims)
    for claim in {claim for cell in PAPERS[paper].cells() for claim in cell.claims}:
        assert f"{', '.join(claim.more[1:])} > {', '.join(claim.less[1:])}:" in shown


def test_causes_are_below_the_table_with_their_evidence(folder):
    known = {name: expected_numbers.records_of(name) for name in PAPERS}
    told = 0
    for name, records in known.items():
        checks = published_numbers.checks(name)
        for r in records:
            section = html.unescape(section_of(folder, name, r.item))
            for cause in filter(None, (r.cause, r.fluid_cause)):
                assert cause in section
                assert cause not in checks or checks[cause] in section
                told += cause in checks
    assert told > 100


def test_every_figure_is_shown_with_what_it_is_drawn_from(folder):
    for paper, item in ITEMS:
        figure = f"::{{figure}} ../../figures/{paper}_{item}.png"
        section = section_of(folder, paper, item)
        assert (figure in section) == PAPERS[paper].items[item].has_figure
        if figure in section:
            caption = section.split(figure, 1)[1].split(":::", 1)[0]
            source = "scenarios" if PAPERS[paper].items[item].networks else "runs"
            assert source in caption
            is_of_fluid = PAPERS[paper].items[item].models == ("fluid",) and source == "runs"
            assert ("of the fluid model" in caption) == is_of_fluid
            assert f":alt: {scorecard_page.heading(item)}" in caption


def test_ratios_are_drawn_where_there_are_published_numbers(folder):
    drawn = {path.stem for path in folder.glob("*.svg")}
    assert len(drawn) > 30
    for paper, item in ITEMS:
        shown = f"]({paper}_{item}.svg)" in section_of(folder, paper, item)
        assert shown == (f"{paper}_{item}" in drawn), (paper, item)


def test_a_section_has_definitions_tolerances_and_the_first_scenario(folder):
    text = html.unescape(section_of(folder, PAPER, ITEM))
    first = next(iter(PAPERS[PAPER].items[ITEM].scenarios().values()))
    assert first.to_toml() in text
    assert f"tcpcc reproduce {PAPER} {ITEM}" in text
    for cell in PAPERS[PAPER].cells(ITEM):
        assert cell.measured in text
        assert cell.tolerance is None or cell.tolerance.reason in text


def test_the_downloads_are_the_numbers_and_all_scenarios(folder, tmp_path):
    with (folder / f"{PAPER}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    stored = {
        "/".join(r.key): r.packet
        for r in expected_numbers.records_of(PAPER)
        if r.packet is not None
    }
    found = {"/".join((x["item"], x["row"], x["column"])): x["packet"] or "nan" for x in rows}
    assert {key: float(found[key]) for key in stored} == pytest.approx(stored, nan_ok=True)
    paper = replace(PAPERS[PAPER], items={ITEM: PAPERS[PAPER].items[ITEM]})
    archive = tmp_path / "x.zip"
    archive.write_bytes(paper_page._archive(paper_page.sections(paper, [])))
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path)
        assert opened.infolist()[0].compress_size < opened.infolist()[0].file_size
    for name, scenario in zip(
        sorted((tmp_path / ITEM).iterdir()), paper.items[ITEM].scenarios().values(), strict=True
    ):
        assert Scenario.load(name) == scenario


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_has_the_assumed_settings_with_links_to_the_items_with_other_values(folder, paper):
    settings = PAPERS[paper].assumed
    named = set(re.findall(r'item "(\w+)"', settings))
    assert named <= set(PAPERS[paper].items)
    assert bool(named) == (paper != "l4s")  # whose settings are those of its authors
    text = text_of(folder, paper)
    assert "\n## Settings that the paper does not give\n" in text
    assert settings.rstrip().splitlines()[-1] in text
    for item in named:
        assert f'[item "{item}"](#{paper_page.anchor(paper, item)})' in text


def test_a_paper_without_stored_numbers_has_a_page():
    paper = replace(PAPERS[PAPER], items={"mine": PAPERS[PAPER].items["figure_1"]})
    text = paper_page.page(paper_page.sections(paper, []))
    assert "## Mine" in text
    assert "## Claims" not in text


def sentence(*pairs):
    return paper_page.Sentence("", [(None, held) for held in pairs])


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        (({"fluid": True}, {"fluid": True}), "holds"),
        (({"fluid": True}, {"fluid": False}), "partly"),
        (({"fluid": False},), "fails"),
        (({"packet": True},), "not run"),
    ],
)
def test_a_claim_holds_partly_where_one_of_its_pairs_does(pairs, verdict):
    assert sentence(*pairs).verdict("fluid") == verdict


def test_sentences_of_one_form_are_written_once():
    texts = ["reno wins beside BIC", "reno wins beside FAST"]
    assert paper_page.common("{a} wins beside {b}", texts) == "Reno wins beside BIC/FAST"
    many = [f"A wins beside {k}" for k in range(5)]
    assert paper_page.common("{a} wins beside {b}", many) == "A wins beside …"


# The conformance kit


def test_the_page_of_the_kit_has_every_check_and_the_verdicts_on_linux():
    text = conformance_page.page()
    for name, case in cases().items():
        part = text[text.index(f"\n({name})=\n") :].split("\n## ", 2)[1]
        for check in case.checks:
            assert f"| {check.envelope} |" in part
            assert f"- *{check.name}*: {' '.join(check.reason.split())}" in part
            assert " ".join(check.exception.split()) in part
        assert all(url in part for url in case.answers)
        assert case.scenario_text.strip() in part
    assert text.count("✓ passes") == len({*kernel.KNOWN, *kernel.NEW})


def test_a_check_is_as_good_as_the_worst_recording(monkeypatch):
    case = cases()["cubic-04"]
    assert {verdict for verdict, _ in conformance_page.on_linux(case)} == {"within"}
    flows = kernel.traces("cubic-04")
    monkeypatch.setattr(kernel, "traces", lambda name: [*flows, flows[0][::-1]])
    verdicts = [verdict for verdict, _ in conformance_page.on_linux(case)]
    names = [check.name for check in case.checks]
    assert verdicts[names.index("decrease of Reno")] == "leaves"  # of CUBIC
    assert "✗ leaves" in conformance_page.page()


# Keys in words


@pytest.mark.parametrize(
    ("key", "parts", "title"),
    [
        (0.05, (), "parameter value 0.05"),
        ("Vegas", (), "Vegas"),
        (("Vegas", 3), (), "Vegas (seed 3)"),
        ((0.05, 3), (), "parameter value 0.05 (seed 3)"),
        ((("a", "b"), 0.5, 2), ("pair", "share", "seed"), "a, b, share 0.5 (seed 2)"),
        (
            ("reno", 67, 2, 1),
            ("controller", "buffer", "flows", "seed"),
            "reno, buffer 67, flows 2 (seed 1)",
        ),
        (("Reno", 15, 1, 0.5), ("large", "buffer", "seed", "delay"),
         "Reno, buffer 15, delay 0.5 (seed 1)"),
    ],
)  # fmt: skip
def test_a_runs_title_names_its_numbers_and_its_seed(key, parts, title):
    assert in_words(key, parts) == title


def test_every_key_with_several_numbers_names_its_parts():
    for paper in PAPERS.values():
        for name, item in paper.items.items():
            for key in item.scenarios():
                numbers = isinstance(key, tuple) and len(key) > 2
                if numbers and any(type(part) is int for part in key):
                    assert len(item.parts) == len(key), (paper.name, name, key)
