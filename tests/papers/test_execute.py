"""Notebooks are executed in place; one with the same results does not change."""

from experiments.execute import execute

RANDOM_ID = """
from uuid import uuid4
from IPython.display import HTML
name = uuid4()
HTML(f"<a id='data-{name}'></a><a href='#data-{name}'></a><a id='data-{uuid4()}'></a>")
"""
PIECES = """
import random, sys
for text in ("one", "two", "three"):
    print(text)
    if random.random() < 0.5:
        sys.stdout.flush()
"""
WARNS = "import warnings; warnings.warn('too long', UserWarning); warnings.warn('too wide')"
CLOCK = "import time; print(time.perf_counter_ns())"


def test_only_cells_with_other_results_change(tmp_path):
    """Cells that show measured times keep their outputs; links lead to their targets."""
    import nbformat  # a second of CPU time

    path = tmp_path / "one.ipynb"
    cells = [
        nbformat.v4.new_code_cell(x) for x in ("6 * 7", RANDOM_ID, PIECES, CLOCK, WARNS, CLOCK)
    ]
    cells[3].metadata.tags = ["measured"]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    books = []
    for _ in range(2):
        execute(path)
        books.append(nbformat.read(path, 4))
    clocks = [book.cells[-1].pop("outputs") for book in books]
    assert clocks[0] != clocks[1]
    assert books[0] == books[1]
    assert all(cell.outputs for cell in books[0].cells[:-1])
    html = books[0].cells[1].outputs[0].data["text/html"]
    first, link, second = (part.split("data-")[1][:36] for part in html.split("<a ")[1:])
    assert first == link != second
    assert books[0].cells[4].outputs[0].text == "UserWarning: too long\nUserWarning: too wide\n"


def test_what_a_kernel_prints_by_itself_is_not_shown(tmp_path, capfd):
    """A kernel's debugger warns of frozen modules, on the stderr of the process."""
    import nbformat

    path = tmp_path / "noisy.ipynb"
    code = "import subprocess; subprocess.run('echo x >&2', shell=True); 1"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), path)
    execute(path)
    assert capfd.readouterr().err == ""
    assert nbformat.read(path, 4).cells[0].outputs[-1]["data"]["text/plain"] == "1"
