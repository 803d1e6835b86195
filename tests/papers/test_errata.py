"""The list of errata has every entry that is cited."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTIONS = {
    "quick_vegas": "Quick Vegas",
    "red_fairness": "The thesis on RED and Vegas",
    "tcp_fusion": "Fusion",
    "tcp_vegas": "Vegas (JSAC 1995)",
    "westwood_rbe": "Westwood with buffer estimation",
}


@pytest.mark.parametrize("paper", SECTIONS)
def test_each_erratum_that_an_experiment_cites_is_listed(paper):
    page = (ROOT / "docs/errata.md").read_text()
    section = page.split(f"## {SECTIONS[paper]}\n")[1].split("\n## ")[0]
    listed = set(re.findall(r"^\| ([AB]\d+) \|", section, re.MULTILINE))
    texts = [path.read_text() for path in (ROOT / "experiments" / paper).glob("*.py")]
    texts.append((ROOT / f"experiments/data/{paper}_published.toml").read_text())
    texts.append((ROOT / f"notebooks/{paper}.ipynb").read_text())
    cited = {number for text in texts for number in re.findall(r"erratum ([AB]\d+)", text)}
    assert cited <= listed
