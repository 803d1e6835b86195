"""An explorer in a real JupyterLab: a paper's figure to begin with, a slider, a race, packets."""

import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from browser import browser, listen

pytestmark = [
    pytest.mark.long,
    *(
        pytest.mark.skipif(find_spec(x) is None, reason=f"no {x}: pip install 'tcpcc[notebook]'")
        for x in ("jupyterlab", "ipywidgets")
    ),
]

PATIENCE = 60
"""s."""

CELL = """\
import experiments

experiments.explore("quick_vegas", "figure_2")"""

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Address of a JupyterLab with one notebook, `explore.ipynb`, whose cell has not run."""
    import nbformat

    own, folder = tmp_path_factory.mktemp("jupyter"), tmp_path_factory.mktemp("notebooks")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, folder / "explore.ipynb")
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--port=0",
               "--allow-root", "--IdentityProvider.token=secret", f"--notebook-dir={folder}",
               "--LabApp.news_url="]  # fmt: skip
    places = {f"JUPYTER_{name}_DIR": str(own / name) for name in ("CONFIG", "RUNTIME", "DATA")}
    environment = {**os.environ, **places, "PYTHONPATH": str(ROOT)}
    with (own / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield address(server, own / "log")
        finally:
            server.terminate()
            server.wait(PATIENCE)


def address(server, log):
    """Where the server listens, once it answers."""
    begin = time.monotonic()
    while time.monotonic() < begin + PATIENCE:
        found = re.search(r"(http://127\.0\.0\.1:\d+)/lab", log.read_text())
        if found:
            try:
                urllib.request.urlopen(f"{found[1]}/api?token=secret").close()
                return found[1]
            except urllib.error.URLError:
                pass
        assert server.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(f"no answer from JupyterLab: {log.read_text()}")


@pytest.fixture(scope="module")
def page(lab):
    """The notebook in the browser, its cell run. Tests leave an explorer that works."""
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(1e3 * PATIENCE)
        page.complaints = listen(page)
        page.goto(f"{lab}/lab/tree/explore.ipynb?token=secret")
        page.get_by_text("| Idle").wait_for()  # before there is a kernel a cell does not run
        page.get_by_title("Run this cell and advance").click()
        picture(page).wait_for()
        yield page


def picture(page):
    return page.locator(".jp-OutputArea svg[aria-label*=Window]")


@contextmanager
def redrawn(page):
    """The picture changes by what is done here."""
    before = picture(page).inner_html()
    yield
    page.wait_for_function(
        "([svg, before]) => !svg.isConnected || svg.innerHTML !== before",
        arg=[picture(page).element_handle(), before],
    )


def test_a_papers_figure_is_drawn_at_once(page):
    """Quick Vegas' Figure 2: 620 packets wait at 80 s, when half of the link is taken away."""
    assert picture(page).locator("text").first.text_content() == "vegas, fluid"
    assert page.get_by_text("Fluid: ").is_visible()
    assert page.complaints == []


def test_a_slider_redraws(page):
    slider = page.locator(".widget-hslider", has_text="Base RTT")
    told = slider.locator(".widget-readout").inner_text()
    with redrawn(page):
        slider.locator(".noUi-handle").press("End")  # half a step changes nothing
    assert float(slider.locator(".widget-readout").inner_text()) > float(told)
    assert page.complaints == []


def test_packets_are_drawn_beside_fluid(page):
    assert "vegas, packets" not in picture(page).inner_html()
    with redrawn(page):
        page.get_by_role("button", name="Run packets").click()
    names = picture(page).locator("text").all_text_contents()[:2]
    assert names == ["vegas, packets", "vegas, fluid"]
    assert page.complaints == []


def test_a_controller_joins_and_another_is_chosen(page):
    with redrawn(page):
        page.get_by_role("button", name="Add a controller").click()
    with redrawn(page):
        page.get_by_label("Controller").last.select_option("reno")
    names = picture(page).locator("text").all_text_contents()[:2]
    assert names == ["vegas, fluid", "reno, fluid"]
    assert page.complaints == []
