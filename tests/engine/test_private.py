"""Numba's private interface, which `tcpcc.engine.private` collects, and what does without it."""

import re
from pathlib import Path

import numba
import pytest
from new_process import printed, python

import tcpcc
from tcpcc.engine import private
from tcpcc.engine.jit import INTERPRETED

PACKAGE = Path(tcpcc.__file__).parent

compiled_only = pytest.mark.skipif(INTERPRETED, reason="about compiled code")


@compiled_only
def test_the_installed_numba_has_been_tried_and_does_what_is_expected_of_it():
    assert numba.version_info.short <= private.TRIED
    assert private.works()


@compiled_only
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("codegen.JITCodeLibrary", "_raise_if_finalized"),
        ("caching.FunctionCache", "_index_key"),
        ("caching.CompileResultCacheImpl", "reduce"),
        ("types.Record", "mangling_args"),
    ],
)
def test_a_numba_that_has_changed_is_noticed(owner, name, monkeypatch):
    changed = numba.core
    for part in owner.split("."):
        changed = getattr(changed, part)
    monkeypatch.setattr(changed, name, "changed")
    assert not private.works()


NEWER = """
import logging, numba, numba.core.{module}
del numba.core.{module}.{name}
numba.version_info = numba.version_info._replace(short=(1, 0))
logging.basicConfig(level="INFO")
"""

PROGRAM = """
import numpy as np
from tcpcc.engine import machine, private
from tcpcc.engine.jit import call_rule, compiled, entry, rule_address

scope = {}
exec('''
def twice(s):
    s.x = 2 * s.x
def rule(s, p, a):
    twice(s)
    s.x += 0.5
''', scope)

@entry
def apply(rule, state):
    pass_on(rule, state)

@compiled
def pass_on(rule, state):
    call_rule(rule, state, state, state)

kind = np.dtype([("x", np.float64)])
record = np.ones(1, kind)
apply(rule_address(scope["rule"], kind, kind, kind), record.ctypes.data)
print("pipeline_class" in private.PART, record["x"][0])
dispatchers = [apply, *machine._alive.values()]
print([sum(d.stats.cache_hits.values()) for d in dispatchers])
"""


@compiled_only
@pytest.mark.parametrize(
    ("module", "name"), [("typed_passes", "AnnotateTypes"), ("caching", "_CacheLocator")]
)
def test_an_unknown_numba_gets_the_public_decorators_and_their_cache(module, name, tmp_path):
    program = NEWER.format(module=module, name=name) + PROGRAM
    runs = [python("-c", program, env={"TCPCC_CACHE_DIR": str(tmp_path)}) for _ in range(2)]
    assert [run.stdout.splitlines() for run in runs] == [
        ["False 2.5", "[0, 0]"],
        ["False 2.5", "[1, 1]"],
    ]
    assert f"cannot import name '{name}'" in runs[0].stderr


def test_only_one_folder_imports_what_is_private_to_numba():
    """Everything in `numba.core` and llvmlite; `machine` builds code with llvmlite's public IR."""
    private_parts = re.compile(r"^\s*(from|import) numba\.(?!extending)\w+", re.MULTILINE)
    files = [file for file in PACKAGE.rglob("*.py") if private_parts.search(file.read_text())]
    assert {file.parent.name for file in files} == {"private"}


def test_naming_controllers_and_queues_loads_neither_numba_nor_random_numbers():
    code = """
import sys
import tcpcc as tc
tc.Scenario(tc.dumbbell("1 Mbps", "20 ms", 5, queue=tc.queues.RED()), [tc.Flow("reno")], duration=1)
heavy = ("numba", "numpy.random", "pandas", "matplotlib")
print([name for name in heavy if name in sys.modules])
"""
    assert printed(code) == "[]\n"


@compiled_only
def test_loaded_machine_code_imports_neither_scipy_nor_numbas_array_library():
    code = """
import sys
import tcpcc as tc
net = tc.dumbbell(rate="1 Mbps", delay="20 ms", buffer=5)
tc.simulate(tc.Scenario(net, [tc.Flow("reno")], duration=1))
heavy = ("scipy.linalg", "numba.np.arraymath", "matplotlib")
print([name for name in heavy if name in sys.modules])
"""
    assert [printed(code) for _ in "ab"][1] == "[]\n"
