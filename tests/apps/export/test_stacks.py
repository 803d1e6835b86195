"""Exported C in other people's programs: strict compilers, C++, a stack in C, a stack in Rust."""

import shutil
import subprocess
from pathlib import Path

import pytest
from held import needs_cc

import tcpcc as tc
from tcpcc.apps.export import files
from tcpcc.controllers import CONTROLLERS
from tcpcc.errors import ScenarioError

HERE = Path(__file__).parent / "stacks"
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off"]
#: Those that C can have: `test_held.py`.
NAMES = [name for name, one in CONTROLLERS.items() if not one.coupled and name != "xcp"]


def run(*words, folder):
    done = subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of all controllers, with their glue."""
    made = tmp_path_factory.mktemp("c")
    for name in NAMES:
        for file, text in files(name, glue=True).items():
            (made / file).write_text(text)
    return made


@pytest.mark.long
@needs_cc
def test_no_file_has_a_warning_of_a_strict_compiler(folder):
    sources = sorted(path.name for path in folder.glob("*.c"))
    assert len(sources) == 2 * len(NAMES)
    run("cc", *STRICT, "-c", *sources, folder=folder)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
@needs_cc
def test_a_program_in_cpp_links_with_them(folder):
    calls = (
        "".join(f'#include "{path.name}"\n' for path in sorted(folder.glob("*.h")))
        + "int main() { vegas_state s; vegas_init(&s); return vegas_glue_size() ? 0 : 1; }\n"
    )
    (folder / "m.cpp").write_text(calls)
    run("cc", *STRICT, "-c", "vegas.c", "vegas_glue.c", folder=folder)
    run("c++", "-Wall", "-Wextra", "-Werror", "m.cpp", "vegas.o", "vegas_glue.o", "-lm", "-o", "m",
        folder=folder)  # fmt: skip
    run("./m", folder=folder)


@pytest.mark.parametrize("name", NAMES)
def test_a_header_says_when_to_call_which_rule(name):
    made = files(name, glue=True)
    controller = tc.controllers[name]
    header = next(text for file, text in made.items() if file.endswith(".h"))
    words = " ".join(header.replace("\n *", " ").split())
    assert ("in loss recovery too" in words) == controller.every_ack
    assert ("Do not call on_ack in fast recovery" in words) == (not controller.every_ack)
    assert ("Only these rules change cwnd" in words) == (controller.window == "own")
    assert ("take back" in words) == (not controller.every_ack)  # as `rules.apply_growth`
    for text in made.values():
        assert text.startswith("/* SPDX-License-Identifier: MIT */\n")
        for python in ("abc_limit", "gso_time", "every_ack", "Transport", "``"):
            assert python not in text, python


EXPECTED = {  # least Mb/s, largest queueing delay (ms), whether packets are lost
    "vegas": (9.5, 8, False),
    "reno": (9.5, 41, True),
    "cubic": (9.5, 41, True),
    "bbr": (9.0, 41, None),
    "bbr3": (8.5, 41, None),
    "copa": (8.5, 41, None),
    "westwood": (9.0, 41, True),
    "dctcp": (9.0, 41, True),
}


@needs_cc
@pytest.mark.parametrize("name", EXPECTED)
def test_a_stack_in_c_fills_its_path_through_the_glue(folder, name):
    run("cc", *STRICT, "-O1", f"-DCC={name}", f'-DHEADER="{name}_glue.h"', f"-I{folder}",
        HERE / "stack.c", f"{name}.c", f"{name}_glue.c", "-lm", "-o", f"run_{name}",
        folder=folder)  # fmt: skip
    rate, wait, lost = (float(x) for x in run(f"./run_{name}", folder=folder).split())
    least, largest, loses = EXPECTED[name]
    assert rate >= least, (rate, wait, lost)
    assert wait <= largest, (rate, wait, lost)
    assert loses is None or (lost > 0) == loses, (rate, wait, lost)


def count(s, p, a):
    s.sent += a.sent
    s.pipe = a.pipe


@needs_cc
def test_the_glue_calls_on_send_and_bpf_refuses_it(tmp_path):
    state = {name: tc.State(0, "packets", "") for name in ("sent", "pipe")}
    counter = tc.controllers["newreno"].variant(name="counter", on_send=count, state=state)
    made = files(counter, glue=True)
    made["m.c"] = """#include <stdio.h>
#include "counter_glue.h"
int main(void) {
    struct counter_glue g;
    struct counter_packet packet[2];
    counter_glue_init(&g, NULL, 1200, 12000);
    counter_on_sent(&g, &packet[0], 1200, 0, 0);
    counter_on_sent(&g, &packet[1], 600, 0, 1);
    return printf("%g %g", g.state.sent, g.state.pipe) < 0;
}
"""
    for file, text in made.items():
        (tmp_path / file).write_text(text)
    run("cc", *STRICT, "m.c", "counter.c", "counter_glue.c", "-lm", "-o", "m", folder=tmp_path)
    assert run("./m", folder=tmp_path) == "1.5 1.5"
    with pytest.raises(ScenarioError, match=r"^controller 'counter': on_send: tcp_congestion_ops"):
        files(counter, "bpf")


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc here")
@needs_cc
def test_a_stack_in_rust_holds_vegas_at_the_bdp(folder):
    run("cc", *STRICT, "-O1", "-c", "vegas.c", "vegas_glue.c", folder=folder)
    run("ar", "rcs", "libvegas.a", "vegas.o", "vegas_glue.o", folder=folder)
    run("rustc", "-L.", "-lstatic=vegas", "-lm", HERE / "stack.rs", "-o", "rusty", folder=folder)
    before, after, sent = (int(x) for x in run("./rusty", folder=folder).split())
    assert 50 <= before <= 55
    assert 0.4 * before < after < before
    assert sent > 30_000


def test_glue_is_for_c_only_and_off_unless_asked_for(tmp_path):
    assert [path.name for path in tc.export("vegas", folder=tmp_path)] == ["vegas.h", "vegas.c"]
    made = tc.export("vegas", folder=tmp_path, glue=True)
    assert [path.name for path in made][2:] == ["vegas_glue.h", "vegas_glue.c"]
    with pytest.raises(ScenarioError, match="glue = True: only for the target 'c'"):
        tc.export("vegas", "bpf", tmp_path, glue=True)
