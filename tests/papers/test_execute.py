"""Notebooks are executed in place, without the times at which that was."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from experiments.execute import execute


def test_a_notebook_that_gives_the_same_outputs_does_not_change(tmp_path):
    path = tmp_path / "one.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("print(6 * 7)")]), path)
    execute(path)
    first = path.read_bytes()
    assert b"42" in first
    execute(path)
    assert path.read_bytes() == first
