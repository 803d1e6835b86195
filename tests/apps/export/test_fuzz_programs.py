"""Random rules in C compute the bits that they compute in Python."""

import linecache
import shutil
from random import Random

import pytest
from held import InBPF, InC, differences, needs_cc
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from programs import SIZE, Drawn

from tcpcc.apps.export import export, loader
from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State

AT_ONCE = 25  # programs of an example, compiled together
CALLS = 40
# -O1 compiles in half the time; a compiler rounds cbrt(2.5) better than the library does
FLAGS = "-O1", "-fno-builtin"


def controller(text, name):
    """The controller with the rule in this text."""
    cell = f"<{name}>"
    linecache.cache[cell] = len(text), None, text.splitlines(keepends=True), cell
    scope = {"__name__": name}
    exec(compile(text, cell, "exec"), scope)
    rule = scope["on_ack"]
    return Controller(
        name, "random", rule, rule, rule,
        params={"gain": Param(0.5, "", ""), "limit": Param(3.0, "", "")},
        state={
            **{n: State(k, "", "") for k, n in enumerate(("one", "two", "three"))},
            "count": State(2, "", "", kind=int), "many": State(1.0, "", "", size=SIZE),
        },
    )  # fmt: skip


def drawn(random, count):
    texts = [Drawn(random).module() for _ in range(count)]
    return texts, [controller(text, f"program{k}") for k, text in enumerate(texts)]


def held(random, folder):
    """Compares programs in both targets with Python; the number of calls that Python answered."""
    texts, programs = drawn(random, AT_ONCE)
    calls = 0
    for kind in (InC, InBPF):
        target = kind(folder, programs, *FLAGS)
        for text, one in zip(texts, programs, strict=True):
            wrong, answered = differences(one, target, CALLS)
            assert not wrong, f"{kind.__name__}: {wrong[0]}\n{text}"
            calls += sum(answered.values())
    return calls


def compiled_for_bpf(random, folder):
    """Compiles programs for BPF with clang; their number."""
    for one in (programs := drawn(random, AT_ONCE)[1]):
        loader.compiled(
            *export(one, "bpf", folder), "-Wall", "-Werror", "-Wno-unused", "-Wno-self-assign"
        )
    return len(programs)


def runs(examples):
    return settings(
        max_examples=examples, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip


@needs_cc
@pytest.mark.parametrize("count", [AT_ONCE, pytest.param(250, marks=pytest.mark.long)])
def test_random_programs_have_pythons_bits(count, tmp_path_factory):
    @runs(count // AT_ONCE)
    @given(st.randoms(use_true_random=True))
    def check(random):
        held(random, tmp_path_factory.mktemp("programs"))

    check()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang and libbpf-dev")
def test_random_programs_compile_for_bpf(tmp_path):
    assert sum(compiled_for_bpf(Random(k), tmp_path) for k in range(2)) == 50
