"""The documentation site builds without a warning, and shows everything that is public."""

import csv
import re
import shutil
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest
from browser import browser

import experiments
import tcpcc as tc
from experiments import response
from tcpcc.controllers import CONTROLLERS
from tcpcc.models.evidence import evidence_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy of the pages: nothing is left in the checkout."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "notebooks"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("_*", "controllers")
        )
    (folder / "figures").symlink_to(ROOT / "figures")
    pages, out = folder / "docs", folder / "html"
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning"]
    done = subprocess.run([*command, str(pages), str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def page():
    with browser() as chromium:
        yield chromium.new_page()


@pytest.mark.long
def test_every_controller_has_its_page(site):
    for name in CONTROLLERS:
        page = (site / "controllers" / f"{name}.html").read_text()
        assert CONTROLLERS[name].source.split(";")[0].split(",")[0] in page.replace("&amp;", "&")
        for each in evidence_of(name).tests:
            assert each.test.split("::")[0] in page
        assert f"{name}.svg" in page
        assert (site / "_images" / f"{name}.svg").stat().st_size > 5000


@pytest.mark.long
@pytest.mark.parametrize("name", ["vegas", "xcp", "prague"])
def test_a_controllers_page_simulates_it(site, page, name):
    page.goto((site / "controllers" / f"{name}.html").as_uri())
    page.locator("iframe.simulator").scroll_into_view_if_needed()
    inside = page.frame_locator("iframe.simulator")
    inside.locator("#legend li").first.wait_for()
    legend = inside.locator("#legend li").all_text_contents()
    assert legend[:3] == [f"{name} 1", "reno 2", "cubic 3"]
    assert legend[3:] in ([], ["packets", "fluid model"])


@pytest.mark.long
def test_simulators_are_small(site):
    sizes = [page.stat().st_size for page in (site / "simulators").glob("*.html")]
    assert len(sizes) == 5
    assert max(sizes) < 420_000


@pytest.mark.long
def test_the_league_is_sorted_and_filtered_in_the_browser(site, page):
    page.goto((site / "league.html").as_uri())
    names = page.locator(".variants tbody tr:visible th")
    assert names.count() == len(CONTROLLERS)
    page.get_by_role("searchbox", name="show only rows").fill("vegas, bbr3")
    shown = names.all_text_contents()
    assert "bbr3" in shown
    assert all("vegas" in name or name == "bbr3" for name in shown)
    page.locator(".variants thead th", has_text="fails").click()
    fails = page.locator(".variants tbody tr:visible td:nth-child(2)").all_text_contents()
    assert [int(n) for n in fails] == sorted(int(n) for n in fails)
    assert fails != sorted(fails, key=int, reverse=True)


AWAY = """
all => all.filter(letter => {
  const own = letter.getBoundingClientRect(), cell = letter.closest("td").getBoundingClientRect();
  return own.top < cell.top - 10 || own.bottom > cell.bottom + 10;
}).length
"""
"""Number of letters that are not beside the number that they explain."""


@pytest.mark.long
def test_every_paper_is_shown_and_its_numbers_are_coloured(site, page):
    for name, paper in experiments.papers().items():
        page.goto((site / "papers" / f"{name}.html").as_uri())
        images = page.locator("article img").evaluate_all(
            "all => Promise.all(all.map(x => (x.loading = 'eager', x.decode())"
            ".then(() => x.naturalWidth)))"
        )
        assert len(images) >= sum(item.has_figure for item in paper.items.values())
        assert all(width > 300 for width in images)
        colour = page.locator(".tcpcc-table td.good").first.evaluate(
            "e => getComputedStyle(e).backgroundColor"
        )
        assert colour == "rgb(230, 244, 234)"
        assert page.locator(".tcpcc-table td sup").evaluate_all(AWAY) == 0


@pytest.mark.long
def test_the_list_of_tables_and_figures_is_sorted_and_filtered(site, page):
    page.goto((site / "papers" / "index.html").as_uri())
    rows = page.locator(".papers tbody tr:visible")
    assert rows.count() == sum(len(p.items) for p in experiments.papers().values())
    page.locator(".papers thead th", has_text="✗").first.click()
    page.locator(".papers thead th", has_text="✗").first.click()  # falling
    cells = rows.locator("td:nth-child(8)").all_text_contents()
    deviations = [int(text or 0) for text in cells]  # an empty cell comes last
    assert deviations == sorted(deviations, reverse=True)
    assert deviations[0] > 4
    page.get_by_role("searchbox", name="show only rows").fill("fairness")
    assert 2 < rows.count() < 40
    with page.expect_navigation():
        rows.first.locator("a").click()
    assert "papers/" in page.url
    anchor = page.url.partition("#")[2]
    assert page.locator(f"#{anchor}").count() == 1


@pytest.mark.long
def test_every_script_of_the_gallery_has_drawn_its_picture(site):
    front = (site / "index.html").read_text()
    scripts = list((ROOT / "docs" / "gallery").glob("*.py"))
    for script in scripts:
        assert f'src="_images/{script.stem}.png"' in front
        assert f'href="gallery/{script.stem}.html"' in front
        assert (site / "_images" / f"{script.stem}.png").stat().st_size > 15_000
        page = (site / "gallery" / f"{script.stem}.html").read_text()
        assert f"docs/gallery/{script.name}" in page
        assert "<figcaption>" in page
    assert len(scripts) == 12


WIDTHS = (500, 1280, 1920)
WIDE = ("index", "gallery", "league", "variants", "scorecard", "names", "guides/senders",
        "guides/coming_from", "notebooks/variants", "controllers/cubic", "api", "papers/index",
        "papers/red_fairness", "conformance_cases")  # fmt: skip


@pytest.mark.long
def test_no_page_is_wider_than_the_window_and_wide_tables_scroll(site, page):
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for name in WIDE:
            page.goto((site / f"{name}.html").as_uri())
            beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert beyond <= 0, (name, width)
    page.set_viewport_size({"width": 500, "height": 900})
    page.goto((site / "league.html").as_uri())
    table = page.locator(".variants").first
    assert table.evaluate("e => e.scrollWidth > e.clientWidth")
    assert table.evaluate("e => getComputedStyle(e).overflowX") == "auto"


@pytest.mark.long
def test_every_notebook_is_shown_with_its_outputs(site):
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        page = (site / "notebooks" / f"{notebook.stem}.html").read_text()
        assert "cell_output" in page


def stored_curves():
    with response.FILE.open(newline="") as file:
        return {
            (line["controller"], line["model"], float(line["loss"])): float(line["Mb/s"])
            for line in csv.DictReader(file)
        }


def test_every_controller_has_a_response_curve_of_each_model():
    wanted = {
        (name, model, loss)
        for name in CONTROLLERS
        for model in ("packet", "fluid")
        for loss in response.LOSSES
    }
    assert set(stored_curves()) == wanted


@pytest.mark.parametrize("cell", [("vegas", "packet", 1e-3), ("reno", "fluid", 1e-2)])
def test_the_curves_are_what_the_models_give(cell):
    name, model, loss = cell
    assert response.rate(name, loss, model) / 1e6 == pytest.approx(stored_curves()[cell], rel=0.01)


def test_every_public_name_is_in_the_reference():
    page = (ROOT / "docs" / "api.md").read_text()
    listed = set(re.findall(r"^   ([\w.]+)$", page, re.MULTILINE))
    rooms = {name.partition(".")[0] for name in listed if "." in name}
    assert set(tc.__all__) - listed - rooms - {"__version__"} == set()
    for name in listed:
        if name.partition(".")[0] in tc.__all__:
            assert attrgetter(name)(tc) is not None
        else:
            assert "." in name  # of a package that is no attribute, such as gym
