"""Every notebook runs from top to bottom, and what it is committed with is what it gives."""

import html
import re
from itertools import zip_longest
from pathlib import Path

import pytest

from experiments import harness, notebook, published_numbers
from experiments.records import (
    BEYOND_CHANCE,
    NEAR_PACKETS,
    NEAR_UNDECIDED,
    OF_ONE_RUN,
    UNDECIDED,
    WITHIN_CHANCE,
)

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def mark_of(path):
    """A notebook of the papers or of variants takes numbers of all seeds, which `make papers` has;
    the other studies show what is stored."""
    return "papers" if path.stem in {"variants", *harness.papers()} else "long"


def told(cell):
    """What the outputs of a cell say: their text, without what differs from run to run."""
    texts = []
    for output in cell.get("outputs", []):
        if notebook.VOLATILE in output.get("metadata", {}).values():
            continue
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "image/png" not in data and output.get("name") != "stderr":
            texts.append("".join(data.get("text/markdown", data.get("text/plain", ""))))
    return re.sub(r"0x[0-9a-f]+|cpu_seconds: .*|\s+", " ", " ".join(texts))


def differences(stored, fresh):
    """(words, numbers) in which two texts differ, numbers by more than a hundredth."""
    words = [a for a in zip_longest(NUMBER.split(stored), NUMBER.split(fresh)) if a[0] != a[1]]
    numbers = [
        (a, b)
        for a, b in zip_longest(NUMBER.findall(stored), NUMBER.findall(fresh))
        if a != b and (None in (a, b) or float(a) != pytest.approx(float(b), rel=0.01, abs=1e-9))
    ]
    return words, numbers


def test_a_number_that_moved_is_found():
    assert differences("a 1.00 b", "a 1.005 b") == ([], [])
    assert differences("a 1.00 b", "a 1.05 b") == ([], [("1.00", "1.05")])
    assert differences("a 1 b", "a 1 c") == ([(" b", " c")], [])


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=getattr(pytest.mark, mark_of(p))) for p in NOTEBOOKS],
)
def test_notebook_runs_and_gives_what_is_stored(path, monkeypatch):
    import nbclient
    import nbformat

    monkeypatch.setenv(notebook.CHOICE, "0")
    stored = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(fresh, timeout=900, resources=folder).execute()
    assert any(cell.get("outputs") for cell in stored.cells)
    for old, new in zip(stored.cells, fresh.cells, strict=True):
        if "time()" in old.source:  # it measures how long something takes
            continue
        assert differences(told(old), told(new)) == ([], []), old.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_light_enough_to_look_at(path):
    """GitHub shows none that is much larger; figures of the papers have palettes for that."""
    assert path.stat().st_size < 2e6


@pytest.mark.parametrize("paper", harness.papers())
def test_every_table_and_figure_is_in_its_papers_notebook(paper):
    import nbformat

    book = nbformat.read(NOTEBOOKS[0].parent / f"{paper}.ipynb", as_version=4)
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    calls = {
        (call, item)
        for call, arguments in re.findall(r"book\.(\w+)\(([^)]*)", code)
        for item in re.findall(r'"(\w+)"', arguments)
    }
    for name, item in harness.papers()[paper].items.items():
        measured = [cell for cell in harness.papers()[paper].cells(name) if cell.value is None]
        wanted = {("compute", name)} if measured else set()
        wanted |= {("draw", name)} if item.has_figure else set()
        assert wanted <= calls


@pytest.mark.parametrize("paper", harness.papers())
def test_a_papers_notebook_begins_with_its_choices_and_a_table_and_can_be_edited(paper):
    import nbformat

    book = nbformat.read(NOTEBOOKS[0].parent / f"{paper}.ipynb", as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    for choice in ("QUICK = True", 'DRIVER = "compiled"', 'MODELS = ("packet", "fluid")'):
        assert choice in code[0].source
    assert code[1].source.startswith("book.excerpt(")
    edited = [cell for cell in code if "book.measured(" in cell.source]
    assert len(edited) == 1
    assert "driver=DRIVER" in edited[0].source
    for cell in code:
        is_harness = re.match(r"book\.\w+\(", cell.source) is not None
        assert ("hide-input" in cell.metadata.get("tags", [])) == is_harness, cell.source


@pytest.mark.parametrize("paper", harness.papers())
def test_the_code_that_a_stored_notebook_shows_is_that_of_today(paper):
    """Quick, where executing the notebook is not: scenarios that were edited want it executed
    anew (`make notebooks`)."""
    import nbformat

    stored = nbformat.read(NOTEBOOKS[0].parent / f"{paper}.ipynb", as_version=4)
    book = notebook.Book(paper)
    listings = 0
    for cell in stored.cells:
        listing = re.fullmatch(r'book\.code\("(\w+)"\)', cell.source)
        if listing and isinstance(now := book.code(listing[1]), notebook.Folded):
            assert "".join(cell.outputs[0]["data"]["text/plain"]) == now.text, cell.source
            listings += 1
    assert listings


# Causes


@pytest.mark.parametrize("paper", harness.papers())
def test_the_causes_that_a_stored_table_tells_are_those_of_today(paper):
    """Quick, where executing the notebook is not: causes that were edited want it executed anew."""
    import nbformat

    book = nbformat.read(NOTEBOOKS[0].parent / f"{paper}.ipynb", as_version=4)
    outputs = [o for cell in book.cells for o in cell.get("outputs", [])]
    page = " ".join("".join(o.get("data", {}).get("text/html", "")) for o in outputs)
    found = re.findall(r'<li id="note-[^"]*">(.*?)(?:<span|</li>)', page, flags=re.DOTALL)
    told = {html.unescape(re.sub(r"<a [^>]*>.*?</a>|<[^>]*>", "", text)).strip() for text in found}
    cells = published_numbers.of(paper).cells
    causes = {c.text for cell in cells for c in (cell.cause, cell.fluid_cause) if c}
    by_rule = (BEYOND_CHANCE, NEAR_PACKETS, NEAR_UNDECIDED, OF_ONE_RUN, UNDECIDED, WITHIN_CHANCE)
    assert told
    assert {text for text in told - causes if not text.startswith(by_rule)} == set()
