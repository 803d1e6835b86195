"""What is written, and what is refused in one line."""

import subprocess
import sys

import pytest

import tcpcc as tc
from tcpcc.apps.export import files, linux_bpf
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.controller import SAMPLE
from tcpcc.errors import ScenarioError


def draw(s):
    s.drawn += 1
    return s.drawn


def ordered(s, p, a):
    s.cwnd = s.drawn + draw(s) * s.drawn


def prints(s, p, a):
    s.cwnd += 1
    print(s.cwnd)


def halve(s, p, a):
    s.cwnd = max(s.cwnd / 2, 1.0)


def make(rule):
    return tc.Controller("mine", "", rule, halve, halve, state={"drawn": tc.State(0, "", "drawn")})


def test_what_python_reads_before_a_call_is_read_before_it():
    text = files(make(ordered))["mine.c"].partition("void mine_on_ack")[2]
    order = [text.index(part) for part in (" = s->drawn;", "= mine_draw(s)", "s->cwnd = ")]
    assert order == sorted(order)


def test_a_refusal_names_rule_line_and_target():
    with pytest.raises(ScenarioError) as error:
        files(make(prints))
    line = prints.__code__.co_firstlineno + 2
    assert f"'mine', on_ack, line {line} of test_export.py: print(s.cwnd), which" in str(
        error.value
    )
    assert str(error.value).endswith("cannot be exported to C")


def test_every_field_of_the_sample_is_known_to_the_kernel_or_refused_by_name():
    assert {*linux_bpf.KERNEL, *linux_bpf.MISSING} == set(SAMPLE)
    assert not set(linux_bpf.KERNEL) & set(linux_bpf.MISSING)


def test_parameters_are_defaults_in_c_and_constants_in_bpf():
    assert ".alpha = 2.0," in files("vegas", params={"alpha": 2})["vegas.c"]
    values = CONTROLLERS["vegas"].check({"alpha": 2})
    assert "F64(0x4000000000000000) /* alpha = 2.0 */" in linux_bpf.rules(
        CONTROLLERS["vegas"], values
    )
    with pytest.raises(ScenarioError, match="alhpa"):
        files("vegas", params={"alhpa": 2})


@pytest.mark.parametrize("to", ["", "rust", None])
def test_an_unknown_target_is_refused(to):
    with pytest.raises(ScenarioError, match="c"):
        files("vegas", to)


@pytest.mark.long
def test_the_command_writes_files_and_a_table(tmp_path):
    def tcpcc(*given):
        command = [sys.executable, "-m", "tcpcc", "export", *given]
        return subprocess.run(command, text=True, capture_output=True)

    done = tcpcc("vegas", "--out", str(tmp_path), "--slow-start", "hystart", "--set", "beta=5")
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["vegas.c", "vegas.h"]
    text = (tmp_path / "vegas.c").read_text()
    assert ".beta = 5.0," in text
    assert "hystart_samples" in text
    listed = tcpcc("--list").stdout
    assert "ack.xcp_change" in listed
    refused = tcpcc("xcp", "--out", str(tmp_path))
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
