"""The scripts of the guide for those who come from ns-2 or ns-3 do what tcpcc does there."""

import re
import subprocess
from pathlib import Path

import ns2_runs
import pytest
from test_dctcp_against_ns3 import MODULES, compiled, needs_ns3

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "coming_from.md"

PROGRAM = """\
%s
#include <iostream>
using namespace ns3;

uint64_t before[2];
uint64_t Received(uint32_t i) {
    Ptr<Node> right = NodeList::GetNode(1);
    return DynamicCast<PacketSink>(right->GetApplication(i))->GetTotalRx();
}
void Begin() { for (int i = 0; i < 2; i++) before[i] = Received(i); }

int main() {
Simulator::Schedule(Seconds(20), &Begin);
%s
for (int i = 0; i < 2; i++) std::cout << (Received(i) - before[i]) * 8 / 40e6 << std::endl;
}
"""
"""The includes, and the guide's listing in a program that prints goodputs from 20 s on, Mb/s."""


@ns2_runs.needs_ns2
def test_the_script_of_ns2_and_that_of_tcpcc_give_the_same_rates(tmp_path):
    text = GUIDE.read_text(encoding="utf-8")
    script = tmp_path / "dumbbell.tcl"
    script.write_text(re.search(r"^```tcl\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1])
    done = subprocess.run(["ns", script], capture_output=True, text=True, check=True)
    printed = [float(rate) for rate in re.findall(r"^\w+: (\d\.\d+) Mb/s", text, re.MULTILINE)]
    assert [float(line) for line in done.stdout.split()] == pytest.approx(printed, rel=0.01)


@needs_ns3
def test_the_program_of_ns3_runs_and_gives_what_the_guide_says(tmp_path):
    text = GUIDE.read_text(encoding="utf-8")
    listing = re.search(r"^```cpp\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]
    source = tmp_path / "dumbbell.cc"
    includes = "\n".join(f'#include "ns3/{name}-module.h"' for name in MODULES)
    source.write_text(PROGRAM % (includes, listing))
    program = compiled(source, tmp_path / "dumbbell")
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    vegas, reno = map(float, done.stdout.split())
    written = re.search(r"Vegas gets (\d\.\d+) and Reno (\d\.\d+)", text).groups()
    assert [vegas, reno] == pytest.approx([float(rate) for rate in written], abs=0.02)
