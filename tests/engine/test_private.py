"""Numba's private interface, which `tcpcc.engine.private` collects."""

import re
from pathlib import Path

import numba
import pytest
from new_process import printed

import tcpcc
from tcpcc.engine import private
from tcpcc.engine.jit import INTERPRETED

PACKAGE = Path(tcpcc.__file__).parent

compiled_only = pytest.mark.skipif(INTERPRETED, reason="about compiled code")


@compiled_only
def test_the_installed_numba_has_every_private_name_that_is_used():
    absent = private.missing()
    assert absent == [], f"Numba {numba.__version__} lacks {', '.join(absent)}"


@compiled_only
@pytest.mark.parametrize("name", ["numba.core.codegen:JITCodeLibrary.gone", "numba.core.gone:x"])
def test_a_missing_private_name_is_found(name, monkeypatch):
    monkeypatch.setattr(private, "USED", (*private.USED, name))
    assert private.missing() == [name]


def test_only_one_file_imports_what_is_private_to_numba():
    """Everything in `numba.core` and llvmlite; `machine` builds code with llvmlite's public IR."""
    found = {
        file.name
        for file in PACKAGE.rglob("*.py")
        if re.search(r"^\s*(from|import) numba\.(?!extending)\w+", file.read_text(), re.MULTILINE)
    }
    assert found == {"private.py"}


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
