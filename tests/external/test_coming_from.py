"""The ns-2 script of the guide for those who come from ns-2 does what tcpcc does there."""

import re
import subprocess
from pathlib import Path

import ns2_runs
import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "coming_from.md"


@ns2_runs.needs_ns2
def test_the_script_of_ns2_and_that_of_tcpcc_give_the_same_rates(tmp_path):
    text = GUIDE.read_text(encoding="utf-8")
    script = tmp_path / "dumbbell.tcl"
    script.write_text(re.search(r"^```tcl\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1])
    done = subprocess.run(["ns", script], capture_output=True, text=True, check=True)
    printed = [float(rate) for rate in re.findall(r"(\d\.\d+) Mb/s", text)]  # tested by test_docs
    assert [float(line) for line in done.stdout.split()] == pytest.approx(printed, rel=0.01)
