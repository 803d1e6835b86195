"""The gallery: twelve short scripts, each with a title, a caption, labels and a legend."""

import ast
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "docs" / "gallery").glob("*.py"))


def test_there_are_twelve():
    assert len(SCRIPTS) == 12


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_and_says_what_it_shows(script):
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, _, caption = ast.get_docstring(tree).partition("\n\n")
    assert len(title) < 60
    assert title.endswith(".")
    assert 150 < len(caption) < 700
    assert len(text.splitlines()) <= 50
    assert text.count(f'savefig("{script.stem}.png"') == 1
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
             for alias in node.names}  # fmt: skip
    assert names <= {"tcpcc", "numpy", "matplotlib.pyplot"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_axes_have_labels_and_curves_a_legend(script):
    text = script.read_text(encoding="utf-8")
    assert "xlabel=" in text
    assert "ylabel=" in text
    assert "legend(" in text or "colorbar(" in text
