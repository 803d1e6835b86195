"""Notebooks are executed in place; one with the same results does not change."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

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


@pytest.mark.parametrize("source", ["print(6 * 7)", RANDOM_ID, PIECES])
def test_a_notebook_that_gives_the_same_results_does_not_change(tmp_path, source):
    path = tmp_path / "one.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source)]), path)
    execute(path)
    first = path.read_bytes()
    assert nbformat.read(path, 4).cells[0].outputs
    execute(path)
    assert path.read_bytes() == first


def test_links_within_an_output_still_lead_to_their_targets(tmp_path):
    path = tmp_path / "one.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(RANDOM_ID)]), path)
    execute(path)
    html = nbformat.read(path, 4).cells[0].outputs[0].data["text/html"]
    first, link, second = (part.split("data-")[1][:36] for part in html.split("<a ")[1:])
    assert first == link != second


def test_a_cell_that_shows_measured_times_keeps_its_outputs(tmp_path):
    path = tmp_path / "one.ipynb"
    cell = new_code_cell("import time; print(time.perf_counter_ns())")
    cell.metadata.tags = ["measured"]
    nbformat.write(new_notebook(cells=[cell, new_code_cell("print(time.perf_counter_ns())")]), path)
    execute(path)
    first = [c.outputs for c in nbformat.read(path, 4).cells]
    execute(path)
    second = [c.outputs for c in nbformat.read(path, 4).cells]
    assert second[0] == first[0]
    assert second[1] != first[1]
