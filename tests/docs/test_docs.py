"""The documentation's examples run, and print what the documentation says."""

import contextlib
import io
import linecache
import re
import subprocess
import sys
from pathlib import Path

import pytest

import experiments
import tcpcc
from tcpcc.engine import wasm

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(GUIDES.glob("*.md"))]
LONG = ("agents.md", "evaluate.md", "traces.md")
"""Pages whose examples take ten seconds and more."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page):
    """(code, expected output or None) of each Python block, in order."""
    found = BLOCK.findall(page.read_text())
    for k, (language, text) in enumerate(found):
        if language == "python":
            follows = found[k + 1] if k + 1 < len(found) else ("", "")
            yield text, follows[1] if follows[0] == "text" else None


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.long if p.name in LONG else ()) for p in PAGES],
    ids=lambda p: p.name,
)
def test_examples_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": page.stem}
    for number, (code, expected) in enumerate(blocks(page)):
        printed = io.StringIO()
        cell = f"cell {number} of {page.name}"  # its text can be read, as that of a notebook's
        linecache.cache[cell] = len(code), None, code.splitlines(keepends=True), cell
        with contextlib.redirect_stdout(printed):
            exec(compile(code, cell, "exec"), namespace)
        if expected is not None:
            assert printed.getvalue() == expected


COUNTS = """
import tcpcc as tc

for table in (tc.controllers(), tc.queues(), tc.recoveries(), tc.slow_starts()):
    print(table.iloc[:, 0].nunique())
"""


def test_the_readme_counts_what_is_registered():
    """In a process of its own: the examples register more."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTS], capture_output=True, text=True, check=True
    )
    kinds = "controllers", "queue disciplines", "loss recoveries", "slow-start rules"
    text = (ROOT / "README.md").read_text()
    for number, what in zip(done.stdout.split(), kinds, strict=True):
        assert f"**{number} {what}**" in text


GENERATED = {
    "gallery.md", "notebooks/index.md", "../conformance_cases.md",
    *(f"papers/{name}.md" for name in ("index", *experiments.papers())),
}  # fmt: skip
"""Pages that `make docs` writes."""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_inside_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert target in GENERATED or (page.parent / target).exists(), target


def test_the_smallest_paper_of_ones_own_is_judged(tmp_path):
    """Its code and its data file, as the guide has them, fit together."""
    from experiments import harness, published_numbers
    from experiments.records import record

    texts = dict(BLOCK.findall((GUIDES / "reproduce_a_paper.md").read_text()))
    scope: dict = {"__name__": "experiments.my_paper"}
    exec(texts["python"], scope)
    data = tmp_path / "my_paper.toml"
    data.write_text(texts["toml"])
    item = scope["PAPER"].items["table_1"]
    runs = {"table_1": {key: tcpcc.simulate(case) for key, case in item.scenarios().items()}}
    numbers = {"packet": harness.measure(scope["PAPER"], runs)}
    verdicts = [record(cell, numbers).verdict for cell in published_numbers.read(data).cells]
    assert verdicts == ["reproduced", "reproduced"]


def test_the_guide_of_papers_shows_what_the_command_writes(tmp_path, monkeypatch):
    from tcpcc.cli.commands import new_command

    monkeypatch.setattr(new_command, "required", lambda: tmp_path)
    texts = [path.read_text() for path in new_command.write("paper", "my_paper")]
    blocks = BLOCK.findall((GUIDES / "reproduce_a_paper.md").read_text())
    assert [text for _, text in blocks[:2]] == texts


def test_generated_tables_are_current(pages):
    """`python docs/pages.py` writes it."""
    assert (ROOT / "docs" / "fields.md").read_text() == pages.fields_page()
    assert (ROOT / "docs" / "names.md").read_text() == pages.names_page()


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import pages

    for each in (pages.are_alive, wasm.target):
        each.cache_clear()
    yield pages
    for each in (pages.are_alive, wasm.target):
        each.cache_clear()


def test_papers_are_written_again_only_if_something_has_changed(pages, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(pages.conformance_page, "page", lambda: "# Cases\n")
    data = tmp_path / "experiments" / "data"
    data.mkdir(parents=True)
    (tmp_path / "figures").mkdir()
    monkeypatch.setattr(pages.harness, "HERE", data.parent)
    monkeypatch.setattr(pages.harness, "FIGURES", tmp_path / "figures")
    monkeypatch.setattr(pages.paper_page, "write", lambda to: written.append(to))
    (tmp_path / "papers").mkdir()
    for number, change in enumerate(("data/x.csv", "y.py", "../figures/z.png", "x.pyc"), 1):
        for _ in range(2):
            pages.write_papers(tmp_path)
            assert len(written) == number
        (data.parent / change).write_text("1")
    pages.write_papers(tmp_path)
    assert len(written) == number  # a .pyc counts for nothing
    assert (tmp_path / "conformance_cases.md").exists()


def test_without_webassembly_the_pages_have_pictures(pages, tmp_path, monkeypatch, capsys):
    """One line says so."""
    assert "<iframe" in pages.front()
    assert "<iframe" in pages.controller_page("reno")
    pages.are_alive.cache_clear()
    wasm.target.cache_clear()
    monkeypatch.setattr(wasm, "TARGET", "none-unknown-unknown")
    monkeypatch.setattr(pages, "CONTROLLERS", {"reno": pages.CONTROLLERS["reno"]})
    (tmp_path / "controllers").mkdir()
    pages.write_simulators(tmp_path)
    text = pages.controller_page("reno")
    assert "<iframe" not in text + (tmp_path / "front.txt").read_text()
    (picture,) = re.findall(r"\((reno_run\.png)\)", text)
    assert (tmp_path / "controllers" / picture).stat().st_size > 15_000
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("docs: pictures instead of pages that simulate: this llvmlite cannot")


MODULES = [p for p in (ROOT / "tcpcc").rglob("*.py") if p.stem != "__init__"]


def test_no_two_modules_share_a_name():
    stems = [p.stem for p in MODULES]
    assert {s for s in stems if stems.count(s) > 1} == set()


def test_the_architecture_page_shows_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    rooms = {p.parent.name for p in MODULES if p.parent.parent.name in ("tcpcc", "models")}
    assert {room for room in rooms if f"{room}/" not in page} == set()
