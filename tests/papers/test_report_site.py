"""The report can be looked at without a network, has every table and figure, and works on a phone.

Its numbers here are those accepted, from `experiments/data`: nothing is measured. A browser is
asked where there is one (Debian's package chromium).
"""

import csv
import html
import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import matplotlib as mpl
import pytest
from browser import browser, listen

import experiments
from experiments import expected, published, report
from experiments.bbr_cubic import scenarios, tables
from experiments.kernel import conformance as kernel
from experiments.keys import in_words
from experiments.site import build, other, pages, traces
from tcpcc.apps.conformance import cases

mpl.use("Agg")

PAPER, ITEM = "quick_vegas", "figure_2"


@pytest.fixture(scope="module")
def records():
    return [r for paper in experiments.papers() for r in expected.records_of(paper)]


def no_simulation(*args, **settings):
    raise AssertionError("the report simulates what it was given")


def with_one_scenario(papers):
    """The papers, each item with one scenario for all of its thousand: these are quickly made."""
    one = papers[PAPER].items[ITEM].scenarios()
    few = {
        name: {
            key: item if item.scenarios is dict else replace(item, scenarios=lambda: one)
            for key, item in paper.items.items()
        }
        for name, paper in papers.items()
    }
    return {name: replace(paper, items=few[name]) for name, paper in papers.items()}


@pytest.fixture(scope="module")
def site(records, tmp_path_factory):
    """All pages, without figures and runs."""
    folder = tmp_path_factory.mktemp("report")
    small = with_one_scenario(experiments.papers())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.harness.papers", lambda: small)
        patch.setattr("tcpcc.models.simulate", no_simulation)
        build(records, folder, figures=False, runs=False)
    return folder


@pytest.fixture(scope="module")
def page(records, tmp_path_factory):
    """One item with its figure and its runs, and a front page."""
    folder = tmp_path_factory.mktemp("page")
    build(records, folder, PAPER, ITEM, cache=None)
    return folder


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.targets += [found[name] for name in ("href", "src", "data-source") if name in found]
        self.names.add(found.get("id"))


@cache
def links(path):
    return Links(path.read_text(encoding="utf-8"))


def test_every_item_of_every_paper_has_a_page(site):
    wanted = {
        f"{paper.name}/{item}.html"
        for paper in experiments.papers().values()
        for item in paper.items
    }
    made = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    others = {f"{name}/index.html" for name in other.PAGES}
    assert made == wanted | others | {"index.html"}
    assert wanted | others <= set(links(site / "index.html").targets)


def broken(folder, only=None):
    found = []
    for path in folder.rglob("*.html"):
        for target in links(path).targets:
            parts = urlsplit(target)
            if target == "data:,":
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if only is not None and aim.suffix == ".html" and aim.stem != only:
                continue
            lost = parts.fragment and parts.fragment not in links(aim).names
            if parts.scheme or parts.netloc or not aim.exists() or lost:
                found.append((path.name, target))
    return found


def test_links_resolve_and_nothing_comes_from_a_network(site):
    assert broken(site) == []
    for path in [*site.glob("static/*.css"), *site.glob("static/*.js")]:
        fetched = re.findall(
            r"(?:url\(|@import|fetch\(|import\()\s*[\"']?([^)\"']+)", path.read_text()
        )
        assert fetched == [], path


def test_the_page_of_bbr_beside_cubic_has_all_networks_and_points(site):
    folder = site / "bbr_cubic"
    text = " ".join((folder / "index.html").read_text(encoding="utf-8").split())
    for row in tables.summary(tables.stored()):
        assert f"{row['network']}</th><td>packets</td><td>{row['points']}</td>" in text
        assert f"{row['median distance']:.3f}" in text
        assert row["equilibria"] in text
    lines = list(csv.DictReader((folder / "points.csv").open()))
    assert len(lines) == len(tables.stored())
    first = lines[0]
    network = scenarios.Network(float(first["rate_mbps"]), float(first["rtt_ms"]))
    point = scenarios.Point(network, float(first["buffer_bdp"]), int(first["bbr_flows"]))
    assert float(first["packet_bbr_mbps"]) == tables.stored()[point][0]
    assert float(first["testbed_cubic_mbps"]) == scenarios.testbed()[point][1]


def test_the_page_of_the_kit_has_every_check_and_the_verdicts_on_linux(site):
    text = html.unescape((site / "conformance" / "index.html").read_text(encoding="utf-8"))
    for name, case in cases().items():
        part = text[text.index(f'<h2 id="{name}">') :].split("<h2", 2)[1]
        for check in case.checks:
            assert check.envelope in part
            assert check.reason in part
        assert all(url in part for url in case.answers)
    assert text.count("✓ passes") == len({*kernel.KNOWN, *kernel.NEW})


def test_a_check_is_as_good_as_the_worst_recording(monkeypatch):
    case = cases()["cubic-04"]
    assert {row.verdict for row in other._rows(case)} == {"within"}
    flows = kernel.traces("cubic-04")
    monkeypatch.setattr(kernel, "traces", lambda name: [*flows, flows[0][::-1]])
    verdicts = {row.check.name: row.verdict for row in other._rows(case)}
    assert verdicts["decrease of Reno"] == "leaves"  # of CUBIC


def test_a_page_has_figure_downloads_scenario_and_command(page):
    assert broken(page, only=ITEM) == []
    folder = page / PAPER
    assert {p.suffix for p in folder.glob(f"{ITEM}.*")} == {
        ".html", ".csv", ".zip", ".js", ".png", ".svg", ".pdf",
    }  # fmt: skip
    text = html.unescape((folder / f"{ITEM}.html").read_text(encoding="utf-8"))
    assert f"tcpcc reproduce {PAPER} {ITEM}" in text
    first = next(iter(experiments.papers()[PAPER].items[ITEM].scenarios().values()))
    assert first.to_toml().strip() in text
    assert experiments.papers()[PAPER].cells(ITEM)[0].tolerance.reason in text


def test_the_front_page_counts_what_the_records_say(site, records):
    text = " ".join((site / "index.html").read_text(encoding="utf-8").split())
    printed = [r for r in records if r.is_tested]
    good = sum(r.verdict == "reproduced" for r in printed)
    assert f"{good} <small>of {len(printed)} published numbers reproduced" in text
    for verdict in ("loose match", "undecided"):
        assert sum(r.verdict == verdict for r in printed) > 9
    assert f"? {sum(r.verdict == 'undecided' for r in printed)} undecided" in text
    for said in pages.said(records)["quick_vegas"]:
        assert html.escape(said.text[1:], quote=False) in text.replace("&#39;", "'")


def test_the_front_page_says_how_much_is_explained_and_where_the_evidence_is(site, records):
    text = html.unescape((site / "index.html").read_text(encoding="utf-8"))
    for which in ("cause", "fluid_cause"):
        told = report.explained(records, which)
        assert f"{told['tested']} with a tested cause" in text
        assert f"{told['not traced'] + told['undecided']} not explained" in text
    missed = next(r for r in records if r.cause in published.checks(r.paper))
    assert published.checks(missed.paper)[missed.cause] in text
    page = html.unescape((site / missed.paper / f"{missed.item}.html").read_text(encoding="utf-8"))
    assert published.checks(missed.paper)[missed.cause] in page


def test_a_claim_holds_partly_where_one_of_its_pairs_does(records):
    by_model = {model: set() for model in ("packet", "fluid")}
    for of_paper in pages.said(records).values():
        for said in of_paper:
            for model, verdicts in by_model.items():
                held = said.held(model)
                verdicts.add(said.verdict(model))
                some = "not run" if not held else "partly" if any(held) else "fails"
                assert said.verdict(model) == ("holds" if held and all(held) else some)
    assert by_model["fluid"] == {"holds", "partly", "fails"}  # or this test shows nothing


def test_sentences_of_one_form_are_written_once():
    texts = ["Reno wins beside BIC", "Reno wins beside FAST"]
    assert pages._sentence("{a} wins beside {b}", texts) == "Reno wins beside BIC/FAST"


def test_runs_are_shown_up_to_a_cost_and_the_page_says_what_is_left_out():
    scenarios = experiments.papers()[PAPER].items["figure_3"].scenarios()
    one = next(iter(scenarios.values()))
    many = {(name, seed): one for name in "abcdefghijklmnopqrst" for seed in (1, 2)}
    choice = traces.choose(many)
    fits = int(traces.PACKETS / traces.packets(one))
    assert len(choice.keys) == min(traces.MOST, fits)
    assert (choice.seeds, choice.costly) == (20, 20 - len(choice.keys))
    assert "20 with other seeds" in choice.left_out
    assert traces.choose(many, known=many).costly == 20 - traces.MOST


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


def test_runs_with_another_buffer_are_not_runs_with_another_seed():
    item = experiments.papers()["westwood_rbe"].items["figure_3"]
    scenarios = {key: scenario for key, scenario in item.scenarios().items() if key[0] == "reno"}
    choice = traces.choose(scenarios, scenarios, item.parts)
    others = {(buffer, flows) for _, buffer, flows, _ in scenarios}
    assert len(choice.keys) == min(len(others), traces.MOST)
    assert choice.seeds == len(scenarios) - len(others)


def test_every_key_with_several_numbers_names_its_parts():
    for paper in experiments.papers().values():
        for name, item in paper.items.items():
            for key in item.scenarios():
                numbers = isinstance(key, tuple) and len(key) > 2
                if numbers and any(type(part) is int for part in key):
                    assert len(item.parts) == len(key), (paper.name, name, key)


def test_a_shown_runs_numbers_are_those_of_the_table(page, records):
    text = (page / PAPER / f"{ITEM}.runs.js").read_text(encoding="utf-8")
    (run,) = json.loads(text[len("tcpccRuns(") : text.rindex(")")])
    table = {(r.row, r.column): r.packet for r in records if (r.paper, r.item) == (PAPER, ITEM)}
    told = {(c["row"], c["column"]): c["value"] for c in run["cells"]["packet"]}
    assert told == pytest.approx(table, rel=1e-3)
    places = {c["place"] for c in run["cells"]["packet"]}
    assert places <= links(page / PAPER / f"{ITEM}.html").names


# In a browser


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


def browse(chromium, path, script, width=1200):
    """What `script` returns in a page of a width, and what the page complains of."""
    page = chromium.new_page(viewport={"width": width, "height": 900})
    complaints = listen(page)
    page.goto(path.as_uri())
    told = page.evaluate(f"() => {{ {script} }}")
    page.close()
    return told, complaints


FILTER = """
const rows = () => [...document.querySelectorAll("#list tbody tr")].filter((row) => !row.hidden);
const field = (name) => document.getElementById(name);
const change = (name, values) => {
  Object.assign(field(name), values);
  field(name).dispatchEvent(new Event("input", { bubbles: true }));
  return rows().map((row) => row.querySelector("a").getAttribute("href"));
};
const press = (name) => {
  document.querySelector(`[data-sort="${name}"]`).click();
  return rows().map((row) => Number(row.dataset[name]));
};
return {
  all: rows().length,
  deviates: change("deviates", { checked: true }),
  none: change("deviates", { checked: false }).length,
  apart: change("apart", { checked: true }),
  again: change("apart", { checked: false }).length,
  paper: change("paper", { value: "tcp_fusion" }),
  search: change("search", { value: "hstcp sack" }),
  nothing: change("search", { value: "zzz" }),
  told: field("shown").textContent,
  back: (change("search", { value: "" }), change("paper", { value: "" }).length),
  falling: press("apart"),
  rising: press("apart"),
};
"""


def test_filters_search_and_sort_work(chromium, site, records):
    told, console = browse(chromium, site / "index.html", FILTER)
    assert console == []
    count = sum(len(paper.items) for paper in experiments.papers().values())
    assert {told[name] for name in ("all", "none", "again", "back")} == {count}
    bad = ("deviates", "off the reference")
    off = [r for r in records if r.verdict in bad or r.fluid_verdict in bad]
    assert set(told["deviates"]) == {f"{r.paper}/{r.item}.html" for r in off if r.formula is None}
    differs = [r for r in records if r.agreement not in (None, "within 10 %")]
    assert set(told["apart"]) == {f"{r.paper}/{r.item}.html" for r in differs}
    assert told["paper"]
    assert all(href.startswith("tcp_fusion/") for href in told["paper"])
    assert set(told["search"]) <= set(told["paper"])
    assert (told["nothing"], told["told"]) == ([], f"0 of {count}")
    assert told["falling"] == sorted(told["falling"], reverse=True)
    assert told["rising"] == sorted(told["rising"])


LOOK = """
const click = document.querySelector("td.traced");
click?.click();
return {
  panels: [...document.querySelectorAll("#panels svg")].map(
    (svg) => svg.querySelectorAll(".line").length,
  ),
  traced: document.querySelectorAll("td.traced").length,
  chosen: document.querySelectorAll("td.chosen").length,
  legend: document.getElementById("legend").innerText,
  again: document.getElementById("again").innerText,
  toml: decodeURIComponent(document.querySelector("#again a").href.split(",").slice(1).join(",")),
  images: [...document.images].map((image) => image.naturalWidth),
};
"""


def test_a_click_on_a_number_shows_its_run(chromium, page):
    told, console = browse(chromium, page / PAPER / f"{ITEM}.html", LOOK)
    assert console == []
    assert len(told["panels"]) == 3  # window, throughput, queue
    assert all(lines >= 2 for lines in told["panels"])  # a curve of each model
    for said in ("vegas", "queue", "packets solid, fluid dashed"):
        assert said in told["legend"]
    assert told["traced"] >= 6
    assert told["chosen"] == 1
    assert all(width > 500 for width in told["images"])
    first = next(iter(experiments.papers()[PAPER].items[ITEM].scenarios().values()))
    assert told["toml"] == first.to_toml()
    assert re.search(r"tcpcc run (\S+\.toml) or tcpcc run \1 --model fluid", told["again"])


SMALL = """
document.querySelector("td.traced")?.click();
const texts = [...document.querySelectorAll("#panels text")];
return texts.map((text) => text.getBoundingClientRect().height);
"""


def test_the_runs_can_be_read_on_a_phone(chromium, page):
    heights, console = browse(chromium, page / PAPER / f"{ITEM}.html", SMALL, width=360)
    assert console == []
    assert len(heights) > 10
    assert min(heights) > 9


ROWS = """
return [...document.querySelectorAll("#list tbody tr")].map((row) => [
  row.cells[0].getBoundingClientRect().width, row.getBoundingClientRect().height,
]);
"""


def test_the_list_of_items_can_be_read_on_a_phone(chromium, site):
    rows, complaints = browse(chromium, site / "index.html", ROWS, width=360)
    assert complaints == []
    assert min(width for width, _ in rows) > 250
    assert max(height for _, height in rows) < 200


WIDE = """
const root = document.documentElement;
return [root.scrollWidth, root.clientWidth];
"""


@pytest.mark.parametrize(
    "path",
    [
        "index.html",
        "quick_vegas/table_1.html",
        "red_fairness/table_4_2.html",
        "bbr_cubic/index.html",
        "conformance/index.html",
    ],
)
def test_nothing_overflows_on_a_phone(chromium, site, path):
    (content, screen), console = browse(chromium, site / path, WIDE, width=360)
    assert console == []
    assert content <= screen <= 360


@pytest.mark.papers
def test_a_page_with_figure_and_runs_fits_a_phone(chromium, page):
    (content, screen), _ = browse(chromium, page / PAPER / f"{ITEM}.html", WIDE, width=360)
    assert content <= screen <= 360
