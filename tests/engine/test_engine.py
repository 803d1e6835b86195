"""Compiled code is kept on disk by what it hangs on: no stale code runs, and no thread finds
another one's folder."""

import ast
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from new_process import printed

import tcpcc as tc
from tcpcc.engine import cache, source
from tcpcc.engine.jit import (
    INTERPRETED,
    Caller,
    address,
    blank,
    call_rule,
    entry,
    longer,
    record_dtype,
    rule_address,
)
from tcpcc.engine.source import modules_behind
from tcpcc.models.packet import handlers
from tcpcc.models.trains import train_events

compiled_only = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")

RECORD = np.dtype([("x", np.float64)])


@pytest.mark.parametrize(("fields", "lines"), [(2, 1), (9, 3), (24, 3)])
def test_records_of_whole_cache_lines_begin_and_end_with_one_however_many_are_added(fields, lines):
    dtype = record_dtype({f"x{k}": np.float64 for k in range(fields)}, whole_lines=True)
    some = blank(3, dtype)
    some["x1"] = [1, 2, 3]
    more = longer(some, 2)
    for array in (some, more):
        assert address(array) % 64 == 0
        assert array.dtype == dtype
        assert array.itemsize == array.strides[0] == 64 * lines
    assert more["x1"].tolist() == [1, 2, 3, 0, 0]


@pytest.mark.parametrize("module", [handlers, train_events])
def test_the_digest_of_an_engine_covers_every_module_that_its_functions_come_from(module):
    """What an engine's modules can reach is read off the imported modules themselves."""
    behind = set(modules_behind(module.__name__))
    for name in behind:
        for value in vars(sys.modules[name]).values():
            home = getattr(getattr(value, "py_func", value), "__module__", "")
            if isinstance(home, str) and home.startswith("tcpcc.") and callable(value):
                assert home in behind, (name, value)
    assert {"tcpcc.models.recorded_fields", "tcpcc.engine.streams", "tcpcc.engine.jit"} <= behind


def test_the_imports_that_the_digest_follows_are_those_of_the_syntax_tree():
    def by_syntax(node):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield inside if source._file(inside) else node.module
        for inner in ast.iter_child_nodes(node):
            yield from by_syntax(inner)

    behind = {*modules_behind(handlers.__name__), *modules_behind(train_events.__name__)}
    assert len(behind) > 30
    for name in behind:
        file = source._file(name)
        expected = {m for m in by_syntax(ast.parse(file.read_bytes())) if m.startswith("tcpcc")}
        assert set(source._imports(file)) == expected, name


@compiled_only
@pytest.mark.parametrize(("module", "trains"), [(handlers, None), (train_events, 16)])
def test_the_machine_code_of_an_event_loop_can_be_kept(module, trains):
    """A function that is passed to one that is not inlined is an address in this process: Numba
    keeps no such machine code, and each process would compile the engine again."""
    one = tc.Scenario(tc.dumbbell("100 Mbps", "40 ms", 400), [tc.Flow("reno")], duration=0.1)
    tc.simulate(one, trains=trains)  # path and buffer hold 733 packets: trains have several
    (loop,) = module.run_events.overloads.values()  # one: a whole second is a float, too
    assert not loop.library.has_dynamic_globals


def test_packets_one_by_one_compile_no_trains():
    """The event loop gets the handlers of trains as functions and does not import them."""
    trains = "tcpcc.models.trains."
    assert any(m.startswith(trains) for m in modules_behind(train_events.__name__))
    assert not any(m.startswith(trains) for m in modules_behind(handlers.__name__))


def test_no_algorithm_is_behind_an_engine():
    """An edit of a controller or of a queue discipline leaves the engines' machine code alone."""
    for module in (handlers, train_events):
        rules = [m for m in modules_behind(module.__name__) if m.endswith((".vegas", ".red"))]
        assert rules == []


def test_swapped_fields_of_a_bin_give_another_digest(tmp_path):
    """This module was once left out of the hash: stale code ran and windows became inf."""
    package = Path(tc.__file__).parent
    digests = set()
    for swap in (False, True):
        copy = tmp_path / str(swap) / "tcpcc"
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        bins = copy / "models" / "recorded_fields.py"
        text = bins.read_text()
        assert '"cwnd": float, "ssthresh": float' in text
        if swap:
            text = text.replace(
                '"cwnd": float, "ssthresh": float', '"ssthresh": float, "cwnd": float'
            )
            bins.write_text(text)
        code = (
            "from tcpcc.engine.source import module_digest as d;"
            "print(d('tcpcc.models.packet.handlers'), d('tcpcc.models.trains.train_events'))"
        )
        digests.update(printed(code, cwd=copy.parent, env={"PYTHONPATH": ""}).split())
    assert len(digests) == 4


@entry
def apply(rule, state):
    call_rule(rule, state, state, state)


@compiled_only
def test_a_changed_global_changes_what_a_rule_does():
    scope = {"GAIN": 1.0}
    exec("def rule(s, p, a):\n    s.x = GAIN", scope)
    record = np.zeros(1, RECORD)
    for gain in (1.0, 2.0, 1.0):
        scope["GAIN"] = gain
        apply(rule_address(scope["rule"], RECORD, RECORD, RECORD), record.ctypes.data)
        assert record["x"][0] == gain


@entry
def longer_than(seconds, number):
    return seconds * 60 > 1 / number


@entry
def count(first, last):
    return last - first


compare = Caller(bool, float, int)
distance = Caller(int, int, int)


@entry
def both(comparing, counting, seconds, number):
    if compare(comparing, seconds, number):
        return distance(counting, 3, number)
    return -1


def test_one_entry_calls_another_by_its_address():
    """Of several types; what it raises reaches the caller."""
    at = compare.address(longer_than), distance.address(count)
    assert both(*at, 1.0, 5) == 2
    assert both(*at, 0.001, 5) == -1


@compiled_only
def test_an_entry_returns_what_its_caller_expects():
    with pytest.raises(TypeError, match="count returns int64"):
        Caller(float, int, int).address(count)


@compiled_only
def test_no_two_threads_parse_at_once(monkeypatch):
    """Python 3.11.7 and older may fail then."""
    inside, most = [], []

    def slowly(text):
        inside.append(text)
        most.append(len(inside))
        time.sleep(0.01)
        inside.remove(text)

    monkeypatch.setattr(source, "ast", SimpleNamespace(parse=slowly))
    threads = [threading.Thread(target=source.parse, args=(f"x = {k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


def test_threads_that_compile_at_once_each_find_their_own_folder(tmp_path, monkeypatch):
    """Numba's folder is a setting of the whole process; ours must not be. 8 threads, 2000 looks."""
    monkeypatch.setenv("TCPCC_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_KEEP", 10_000)
    before = numba.core.config.CACHE_DIR
    barrier = threading.Barrier(8)

    def look(thread):
        barrier.wait()
        wrong = 0
        for k in range(250):
            folder = f"engine-{thread}-{k % 10}"
            dispatcher = cache.keep_in(folder, numba.njit(lambda x: x), lambda: None)
            wrong += Path(dispatcher._cache.cache_path) != tmp_path / folder
            wrong += before != numba.core.config.CACHE_DIR
        return wrong

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(look, range(8))) == 0


@compiled_only
def test_machine_code_is_found_again_by_another_process(tmp_path, monkeypatch):
    """Also that of a rule written in a notebook, which no file holds."""
    code = """
import numpy as np, sys
from tcpcc.engine import jit, machine
scope = {}
exec("def rule(s, p, a):\\n    s.x = p.x + 1.0", scope)
R = np.dtype([("x", np.float64)])
jit.rule_address(scope["rule"], R, R, R)
(dispatcher,) = machine._alive.values()
print(sum(dispatcher.stats.cache_hits.values()), sum(dispatcher.stats.cache_misses.values()))
"""
    monkeypatch.setenv("TCPCC_CACHE_DIR", str(tmp_path))
    assert [printed(code).split() for _ in "ab"] == [["0", "1"], ["1", "0"]]


@pytest.mark.long
@compiled_only
def test_machine_code_of_two_processes_has_no_symbols_in_common(tmp_path, monkeypatch):
    """Two layouts of one record, a helper that is too long to be inlined, each compiled alone."""
    code = """
import sys
import numpy as np
from tcpcc.engine.jit import call_rule, entry, rule_address

@entry
def apply(rule, state):
    call_rule(rule, state, state, state)

branch = "        elif s.x < -k - {0}.5: s.x = s.x * 0.{0} + abs(s.x) ** 0.5; k += {1}\\n"
branches = "".join(branch.format(i, i % 3) for i in range(60))
helper = f'''
def helper(s, n):
    s.x += n
    k = 0
    while k < 2:
        if s.x > 1e9 + k:
            s.x -= 3.0
{branches}        k += 1
def rule(s, p, a):
    if s.y > 1: helper(s, 5.0)
    elif s.y > 2: helper(s, 6.0)
    elif s.y > 3: helper(s, s.y)
    else: helper(s, 2.0)
'''
scope = {}
exec(helper, scope)
for names in sys.argv[1:]:
    kind = np.dtype([(name, np.float64) for name in names])
    record = np.zeros(1, kind)
    apply(rule_address(scope["rule"], kind, kind, kind), record.ctypes.data)
    print(record["x"][0], record["y"][0])
"""
    monkeypatch.setenv("TCPCC_CACHE_DIR", str(tmp_path))

    assert printed(code, "xy") == printed(code, "yx") == "2.0 0.0\n"
    assert printed(code, "xy", "yx") == "2.0 0.0\n" * 2


def test_what_several_want_to_compile_is_compiled_serialized(tmp_path):
    at_work, most = [], []

    def compile_one(signature):
        at_work.append(signature)
        most.append(len(at_work))
        time.sleep(0.02)
        at_work.remove(signature)
        return signature

    wanted = [cache._serialized(compile_one, tmp_path / "lock") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(lambda k: wanted[k](k), range(4)))
    assert given == [0, 1, 2, 3]
    assert max(most) == 1


def test_on_a_disk_that_cannot_lock_each_compiles_for_itself(tmp_path):
    no_folder = tmp_path / "file"
    no_folder.touch()
    assert cache._serialized(str.upper, no_folder / "lock")("x") == "X"
