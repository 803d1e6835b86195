"""The cache of machine code: damaged files are compiled again, others cannot write it, and a cache
that cannot be written is a warning."""

import os
import random
import shutil
import stat
import sys
import warnings

import numba
import numpy as np
import pytest
from full_disk import files_of_at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from new_process import python

from tcpcc.engine import cache
from tcpcc.engine.jit import INTERPRETED, rule_address
from tcpcc.errors import CacheWarning, TcpccError

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
posix_only = pytest.mark.skipif(os.name != "posix", reason="about owners and modes")

FOLDER = "engine-0/1"


SHARED = cache._root()  # of all tests


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("TCPCC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_warned", False)
    return tmp_path / "cache"


def times_plus(k):
    """Without a closure, of which Numba keeps a hash of its own; in a module, whose name Numba
    stores instead of all that its code can see."""
    scope = {"__name__": "tcpcc"}
    exec(f"def times_plus(x):\n    return 12345.678 * x + {k}", scope)
    return scope["times_plus"]


FUNCTION = times_plus(0.25)


def run(function=FUNCTION, folder=FOLDER):
    """The result of a function, and whether its machine code was loaded."""
    dispatcher = cache.keep_in(folder, numba.njit(function), lambda: None)
    dispatcher.compile((numba.float64,))
    return dispatcher(2.0), bool(sum(dispatcher.stats.cache_hits.values()))


RIGHT = 12345.678 * 2.0 + 0.25

DAMAGES = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "short by a byte": lambda content: content[:-1],
    "longer": lambda content: content + b"\n",
    "zeros": lambda content: bytes(len(content)),
    "foreign": lambda content: b"hello world",
    "foreign pickle": lambda content: b"\x80\x04K\x01.",
    "first bit": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "last bit": lambda content: content[:-1] + bytes([content[-1] ^ 128]),
}


def spoil(file, damage):
    content = DAMAGES[damage](file.read_bytes())
    file.unlink()
    if content is not None:
        file.write_bytes(content)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_again_and_then_loads(damage, suffix, root):
    assert run() == (RIGHT, False)
    assert run() == (RIGHT, True)
    (file,) = root.rglob(f"*.{suffix}")
    spoil(file, damage)
    assert run() == (RIGHT, False)
    assert run() == (RIGHT, True)
    assert len([*root.rglob("*.nb*")]) == 2


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(which=st.integers(0, 1), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_never_gives_another_result(which, place, bit, root):
    """A place as a part of the file, whose size differs from one compilation to another."""
    run()
    files = sorted(root.rglob("*.nb*"))
    assert len(files) == 2
    file = files[which]
    content = bytearray(file.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    file.write_bytes(content)
    assert run() == (RIGHT, False)


def test_machine_code_of_another_function_is_not_taken(root):
    """Its files are undamaged, but in the wrong folder."""
    run()
    other = times_plus(0.5)
    run(other, "engine-0/2")
    for file in (root / FOLDER).glob("*.nb*"):
        shutil.copy(root / "engine-0/2" / file.name, file)
    assert run() == (RIGHT, False)


def test_machine_code_of_another_signature_is_not_taken(root):
    def dispatcher():
        return cache.keep_in(FOLDER, numba.njit(times_plus(0.25)), lambda: None)

    first = dispatcher()
    for kind in (numba.float64, numba.int64):
        first.compile((kind,))
    one, two = sorted(root.rglob("*.nbc"))
    was = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(was)
    for value, kind in ((2.0, numba.float64), (2, numba.int64)):
        again = dispatcher()
        again.compile((kind,))
        assert not sum(again.stats.cache_hits.values())
        assert again(value) == RIGHT


def test_a_folder_in_place_of_a_file_is_a_warning(root):
    run()
    file = next(root.rglob("*.nbc"))
    file.unlink()
    file.mkdir()
    with pytest.warns(CacheWarning, match="compiles it again"):
        assert run() == (RIGHT, False)


def test_a_folder_that_was_removed_meanwhile_is_made_again(root):
    dispatcher = cache.keep_in(FOLDER, numba.njit(times_plus(0.25)), lambda: None)
    shutil.rmtree(root)
    dispatcher.compile((numba.float64,))
    assert dispatcher(2.0) == RIGHT


SCENARIO = """
import tcpcc as tc, numpy as np
RED = tc.queues.RED(min_thresh=5, max_thresh=15)
net = tc.dumbbell("10 Mbps", "20 ms", 30, queue=RED)
run = tc.simulate(tc.Scenario(net, [tc.Flow("reno")], duration=5, seed=1))
print(run.data.cwnd.values.tobytes().hex()[-200:], run.data.attrs["digest"])
"""


@pytest.mark.long
def test_a_run_with_a_damaged_cache_is_the_same_run(root):
    """In new processes, with one file after the other of rules and of other functions damaged."""

    def simulate(folder=root):
        out = python("-c", SCENARIO, env={"TCPCC_CACHE_DIR": str(folder)})
        assert out.stderr == ""
        return out.stdout

    right = simulate(SHARED)  # most is compiled already
    shutil.copytree(SHARED, root)
    assert simulate() == right
    drawn = random.Random(1)
    slow = {f.parent for f in root.rglob("*.nbc") if f.stat().st_size > 100_000}  # to compile
    files = [f for f in sorted(root.rglob("*.nb*")) if f.parent not in slow]
    assert len(files) > 20
    for k, file in enumerate(files):
        if k % 2:
            spoil(file, list(DAMAGES)[k % len(DAMAGES)])
            continue
        content = bytearray(file.read_bytes())
        content[drawn.randrange(len(content))] ^= 1 << drawn.randrange(8)
        file.write_bytes(content)
    for _ in range(2):
        assert simulate() == right


# --- a cache that cannot be written


@posix_only
@pytest.mark.parametrize("size", [0, 600])
def test_a_full_disk_is_one_warning(size, root):
    """Of no byte, and of the index but not of the machine code."""
    with files_of_at_most(size), warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        for function in (times_plus(0.25), times_plus(0.25)):
            assert run(function) == (RIGHT, False)
    (only,) = shown
    assert only.category is CacheWarning
    text = str(only.message)
    assert "\n" not in text
    assert str(root) in text
    assert " MB" in text
    assert [f.name for f in root.rglob("*") if f.is_file() and f.name != "lock"] == []
    assert run() == (RIGHT, False)
    assert run() == (RIGHT, True)


@posix_only
def test_a_full_disk_leaves_a_damaged_file_unused(root):
    run()
    file = next(root.rglob("*.nbc"))
    file.write_bytes(b"")
    with files_of_at_most(100), pytest.warns(CacheWarning):
        assert run() == (RIGHT, False)
    assert run() == (RIGHT, False)
    assert run() == (RIGHT, True)


def test_a_cache_that_is_a_file_is_a_warning(root):
    root.write_text("")
    with pytest.warns(CacheWarning, match=str(root)):
        assert run() == (RIGHT, False)


def test_without_a_place_too_a_function_may_call_one_that_is_defined_after_it(root):
    root.write_text("")
    code = """
from tcpcc.engine.jit import compiled, entry

@entry
def twice_and_one(x):
    return twice(x) + 1

@compiled
def twice(x):
    return 2 * x

print(twice_and_one(3.0))
"""
    assert python("-W", "ignore", "-c", code).stdout == "7.0\n"


def test_a_rule_with_a_large_array_runs_without_being_stored():
    """Numba keeps the address of an array above 1 MB, so the code is of no use to others."""
    table = np.full(200_000, 7.0)

    def rule(s, p, a):
        s.x = table[100_000]

    record = np.dtype([("x", float)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rule_address(rule, record, record, record)


# --- a cache that others can write


@posix_only
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777, 0o702])
def test_a_cache_that_others_can_write_is_refused(mode, root):
    root.mkdir()
    root.chmod(mode)
    with pytest.raises(TcpccError, match=r"can be written by others .*TCPCC_CACHE_DIR") as caught:
        run()
    assert "\n" not in str(caught.value)
    assert str(root) in str(caught.value)


@posix_only
@pytest.mark.parametrize("part", ["engine-0", FOLDER])
def test_a_folder_of_the_cache_that_others_can_write_is_refused(part, root):
    run()
    (root / part).chmod(0o777)
    with pytest.raises(TcpccError, match="can be written by others"):
        run()


@posix_only
def test_another_users_cache_is_refused_whoever_we_are(root, monkeypatch):
    root.mkdir(mode=0o755)
    if os.geteuid() == 0:
        os.chown(root, 4321, -1)
    monkeypatch.setattr(cache.os, "geteuid", lambda: 1234)
    uid = root.stat().st_uid
    with pytest.raises(TcpccError, match=rf"belongs to another user \(uid {uid}\)"):
        run()


@posix_only
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750])
def test_a_cache_that_others_can_only_read_is_used(mode, root):
    root.mkdir()
    root.chmod(mode)
    run()
    assert run() == (RIGHT, True)


@posix_only
@pytest.mark.parametrize("mask", [0, 0o002])
def test_the_folders_of_a_new_cache_are_the_users_only(mask, root):
    before = os.umask(mask)
    try:
        run()
        kept()
    finally:
        os.umask(before)
    for folder in (root, root / "engine-0", root / FOLDER, root / "made"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert run() == (RIGHT, True)


@posix_only
@pytest.mark.parametrize("command", [["run", "scenario.toml"], ["bench"]])
def test_the_command_says_so_in_one_line(command, root, tmp_path):
    import tcpcc as tc

    net = tc.dumbbell("1 Mbps", "20 ms", 5)
    tc.Scenario(net, [tc.Flow("reno")], duration=1).save(tmp_path / "scenario.toml")
    root.mkdir()
    root.chmod(0o777)
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    out = python("-m", "tcpcc", *command, cwd=tmp_path, env=env, ends=2)
    (line,) = out.stderr.splitlines()
    assert "can be written by others" in line
    assert not [*root.iterdir()]


# What is kept in files, such as a page's module


def kept(name="a.wasm", content=b"made"):
    """What the cache gives, and whether it was made for that."""
    made = []
    return cache.stored(name, lambda: made.append(1) or content), bool(made)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_kept_file_is_made_once_and_again_if_it_is_damaged(damage, root):
    assert kept() == (b"made", True)
    assert kept() == (b"made", False)
    spoil(root / "made" / "a.wasm", damage)
    assert kept() == (b"made", True)
    assert kept() == (b"made", False)


def test_a_kept_file_of_another_name_is_not_taken(root):
    kept("a", b"first")
    kept("b", b"second")
    shutil.copy(root / "made" / "a", root / "made" / "b")
    assert kept("b", b"second") == (b"second", True)


def test_the_files_that_were_used_last_are_kept(root):
    for k in range(cache._KEEP + 3):
        kept(str(k))
        os.utime(root / "made" / str(k), (k, k))
    kept("3")
    kept("last")
    names = {file.name for file in (root / "made").iterdir()}
    assert names == {"3", *(str(k) for k in range(5, cache._KEEP + 3)), "last"}


def test_without_a_place_for_files_they_are_made_each_time(root):
    root.write_text("a file")
    with pytest.warns(CacheWarning, match="each process compiles it again"):
        assert kept() == (b"made", True)
    assert kept() == (b"made", True)


@posix_only
def test_files_that_others_can_write_are_refused(root):
    kept()
    (root / "made").chmod(0o777)
    with pytest.raises(TcpccError, match="can be written by others"):
        kept()


def test_what_cannot_be_made_is_not_kept(root):
    def fails():
        raise TcpccError("a rule calls cos")

    with pytest.raises(TcpccError, match="calls cos"):
        cache.stored("a", fails)
    assert kept("a") == (b"made", True)
