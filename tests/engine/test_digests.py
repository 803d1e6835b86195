"""Two functions, values or records share a digest only if nothing in them differs."""

import enum
import functools
import math
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from new_process import printed

import tcpcc as tc
from tcpcc.engine import framing
from tcpcc.engine.framing import digest
from tcpcc.engine.jit import Caller, accessor
from tcpcc.engine.source import code_digest, dtype_bytes, encoded
from tcpcc.sweeps import parallel
from tcpcc.sweeps.parallel import _cache_name, _fingerprint

NUMBERS = st.one_of(
    st.integers(-200, 200), st.booleans(), st.floats(-5, 5), st.sampled_from([0.0, -0.0, math.inf])
)
PAIRS = st.tuples(NUMBERS, NUMBERS)
PLAIN = st.recursive(
    st.one_of(NUMBERS, st.text(max_size=3), st.binary(max_size=3), st.none(), st.complex_numbers()),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


def same(first, second):
    """Whether two plain values are equal in type and value; Python finds 1, True and 1.0 equal."""
    if type(first) is not type(second):
        return False
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return repr(first) == repr(second)


def rule(text, **scope):
    exec(text, scope)
    return scope["rule"]


def constants(a, b):
    return rule(f"def rule(s, p, a):\n    s.x = {a!r} * a.acked / ({b!r} * s.cwnd)", inf=math.inf)


def globals_(a, b):
    return rule("def rule(s, p, a):\n    s.x = A * a.acked / (B * s.cwnd)", A=a, B=b)


def closure(a, b):
    def rule(s, p, ack):
        s.x = a * ack.acked / (b * s.cwnd)

    return rule


def defaults(a, b):
    def rule(s, p, ack, a=a, b=b):
        s.x = a * ack.acked / (b * s.cwnd)

    return rule


def named_defaults(a, b):
    def rule(s, p, ack, *, a=a, b=b):
        s.x = a * ack.acked / (b * s.cwnd)

    return rule


def helpers(a, b):
    one, two = (rule("def rule(x):\n    return x * K", K=k) for k in (a, b))
    return rule("def rule(s, p, a):\n    s.x = f(1) + 2 * g(1)", f=one, g=two)


def helper_s_defaults(a, b):
    return rule("def rule(s, p, a):\n    s.x = f()", f=defaults(a, b))


def nested(a, b):
    text = f"def rule(s, p, a):\n    s.x = (lambda x: x * {a!r} + {b!r})(1)"
    return rule(text, inf=math.inf)


def nested_globals(a, b):
    return rule("def rule(s, p, a):\n    s.x = max(A * i + B for i in (1, 2))", A=a, B=b)


def arrays(a, b):
    return rule("def rule(s, p, a):\n    s.x = T[0]", T=np.array([a, b]))


def numpy_numbers(a, b):
    return rule("def rule(s, p, a):\n    s.x = A * B", A=np.float64(a), B=np.float64(b))


def modules(a, b):
    return rule("def rule(s, p, a):\n    s.x = m.A * m.B", m=module(A=a, B=b))


def module(**names):
    made = type(sys)("made")
    vars(made).update(names)
    return made


def partials(a, b):
    return rule("def rule(s, p, a):\n    s.x = f()", f=functools.partial(defaults(0, 0), a, b))


OF_TWO = (
    constants, globals_, closure, defaults, named_defaults, helpers, helper_s_defaults, nested,
    nested_globals, numpy_numbers, arrays, modules, partials,
)  # fmt: skip


@pytest.mark.parametrize("make", OF_TWO)
@given(one=PAIRS, other=PAIRS)
@example(one=(1, 23), other=(12, 3))
@example(one=(1, 11), other=(11, 1))
@example(one=(0.5, 11), other=(0.51, 1))
@example(one=(1, 2), other=(True, 2))
@example(one=(1, 2), other=(1.0, 2))
@example(one=(0.0, 1), other=(-0.0, 1))
def test_rules_share_a_digest_if_and_only_if_their_numbers_are_the_same(make, one, other):
    if make in (numpy_numbers, arrays):
        one, other = tuple(map(float, one)), tuple(map(float, other))
    assert (code_digest(make(*one)) == code_digest(make(*other))) == same(one, other)


@given(one=PLAIN, other=PLAIN)
@example(one=("a", "bc"), other=("ab", "c"))
@example(one=((1,), 2), other=((1, 2),))
@example(one=(1, (2, 3)), other=(1, 2, 3))
@example(one="None", other=None)
@example(one="1", other=1)
@example(one="str:1:a", other=("a",))
def test_values_share_their_bytes_if_and_only_if_they_are_the_same(one, other):
    assert (encoded(one) == encoded(other)) == same(one, other)


TEXTS = st.lists(st.one_of(st.text(max_size=4), st.binary(max_size=4)), max_size=4)


@given(one=TEXTS, other=TEXTS)
@example(one=["ab", "c"], other=["a", "bc"])
@example(one=["a", ""], other=["a"])
@example(one=["a"], other=[b"a"])
@example(one=["str:1:a"], other=["a"])
def test_parts_share_a_digest_if_and_only_if_they_are_the_same(one, other):
    assert (digest(*one) == digest(*other)) == (one == other)


FORMATS = st.sampled_from(["f8", "f4", "i8", "i4", "u1", "S3", ("f8", (2,)), [("x", "f8")]])
COLUMNS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "ab", "a,b", "x"]), FORMATS),
    max_size=3,
    unique_by=lambda column: column[0],
)


@given(one=COLUMNS, other=COLUMNS, align=st.booleans())
def test_dtypes_share_their_bytes_if_and_only_if_they_are_equal(one, other, align):
    one, other = np.dtype(one), np.dtype(other, align=align)
    assert (dtype_bytes(one) == dtype_bytes(other)) == (one == other)


def test_which_of_two_helpers_is_called_again_counts():
    """A function that was written before must not leave out which one it is."""
    f, g = (rule("def rule(x):\n    return x * K", K=k) for k in (1, 2))
    text = "def rule(s, p, a):\n    s.x = A(1) + B(2) + C(3)"
    assert code_digest(rule(text, A=f, B=g, C=f)) != code_digest(rule(text, A=f, B=g, C=g))


def test_helpers_that_call_each_other_have_a_digest():
    def both(k):
        scope = {"K": k}
        exec("def f(x):\n    return g(x - 1) if x > 0 else K", scope)
        exec("def g(x):\n    return f(x - 1) if x > 0 else 0", scope)
        return code_digest(scope["f"])

    assert both(1) == both(1) != both(2)


def test_the_range_of_a_try_counts():
    """It is in the exception table only, not in the byte code."""
    texts = (
        "def rule(s, p, a):\n    try:\n        s.x = 1\n        s.y = 2\n"
        "    except ValueError:\n        s.x = 3",
        "def rule(s, p, a):\n    s.x = 1\n    try:\n        s.y = 2\n"
        "    except ValueError:\n        s.x = 3",
    )
    first, second = map(rule, texts)
    moved = first.__code__.replace(co_exceptiontable=second.__code__.co_exceptiontable)
    before = code_digest(first)
    first.__code__ = moved
    assert code_digest(first) != before


def test_a_missing_global_is_not_the_global_none():
    text = "def rule(s, p, a):\n    s.x = max"
    assert len({code_digest(rule(text, **scope)) for scope in ({}, {"max": None})}) == 2
    text = "def rule(s, p, a):\n    s.x = gone"
    assert len({code_digest(rule(text, **scope)) for scope in ({}, {"gone": None})}) == 2


class Colour(enum.IntEnum):
    RED = 1


class Callable:
    def __init__(self, k):
        self.k = k

    def __call__(self, values):
        return None

    def method(self, values):
        return None


def plus_one(x):
    return x + 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.minimum, np.maximum),
        (math.sin, math.cos),
        (Caller(bool, int), Caller(int, int)),
        (accessor(np.dtype([("x", "f8")])), accessor(np.dtype([("y", "f8")]))),
        (Colour.RED, 1),
        (enum.Enum("Colour", {"RED": 1}), enum.Enum("Colour", {"RED": 2})),
        (numba.njit(plus_one), numba.njit(plus_one, fastmath=True)),
        (numba.njit(plus_one), plus_one),
        (Callable(1), Callable(2)),
        (Callable(1).method, Callable(2).method),
        (Callable(1).method, Callable(1).__call__),
        (functools.partial(plus_one, 1), functools.partial(plus_one, 2)),
        ({1: 2}, {2: 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1, 23}, {12, 3}),
        ([1, 2], (1, 2)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(1, np.int64), np.zeros(1)),
        (np.float64(1), np.float32(1)),
        (np.array(["a", "bc"], object), np.array(["ab", "c"], object)),
        (1, True),
        (2**20000, 2**20000 + 1),
        (tc.controllers["reno"].params, tc.controllers["cubic"].params),
    ],
    ids=lambda value: type(value).__name__,
)
def test_these_differ(one, other):
    assert encoded(one) != encoded(other)
    text = "def rule(s, p, a):\n    s.x = K"
    assert code_digest(rule(text, K=one)) != code_digest(rule(text, K=other))


def test_a_rule_that_only_looks_like_numpys_is_written_with_its_code():
    def wrapped(k):
        @functools.wraps(np.sqrt)
        def f(x):
            return x * k

        f.__module__ = "numpy"
        return f

    assert code_digest(wrapped(1)) != code_digest(wrapped(2))


def test_what_contains_itself_is_written():
    one = [1]
    one.append(one)
    node = SimpleNamespace(k=1)
    node.node = node
    assert encoded(one) != encoded([1])
    assert encoded(node) != encoded(SimpleNamespace(k=2, node=None))


def test_another_version_of_the_digests_finds_nothing_old(monkeypatch):
    before = digest("a"), code_digest(plus_one), _cache_name(scenario(1, 2), "packet", {}, {})
    monkeypatch.setattr(framing, "VERSION", 0)
    after = digest("a"), code_digest(plus_one), _cache_name(scenario(1, 2), "packet", {}, {})
    assert not {*before} & {*after}


def test_runs_in_a_cache_are_of_the_code_of_all_files_of_the_package(tmp_path, monkeypatch):
    """Comments and docstrings of it are no reason to simulate again."""
    assert (parallel.PACKAGE / "models" / "packet" / "handlers.py").is_file()
    monkeypatch.setattr(parallel, "PACKAGE", tmp_path / "package")
    monkeypatch.setenv("TCPCC_CACHE_DIR", str(tmp_path / "cache"))  # nothing from earlier tests
    file = tmp_path / "package" / "models" / "packet" / "engine.py"
    file.parent.mkdir(parents=True)
    digests = []
    for text in (
        'def f(x):\n    """Twice."""\n    return 2 * x\n',
        "# Twice.\ndef f(x):\n    return 2 * x  # as in the paper\n",
        "def f(x):\n    return 3 * x\n",
        "def f(x):\n    return '# 3 * x'\n",
        "def f(x):\n    return '# 2 * x'\n",
    ):
        file.write_text(text)
        digests.append(parallel.package_digest.__wrapped__())
    assert digests[0] == digests[1]
    assert len({*digests}) == 4
    file.rename(file.with_name("other.py"))
    assert parallel.package_digest.__wrapped__() not in digests


def test_digests_are_the_same_in_every_process():
    code = """
import tcpcc as tc
from tcpcc.engine.source import code_digest, module_digest
from tcpcc.sweeps.parallel import _cache_name
net = tc.dumbbell("10 Mbps", "20 ms", 20, queue="red")
flows = [tc.Flow("bbr3"), tc.Flow("cubic", slow_start="hystart++")]
print(_cache_name(tc.Scenario(net, flows, duration=1), "packet", {"trace": True}, {}))
for controller in tc.controllers()["controller"].unique():
    for rule in tc.controllers[controller].rules.values():
        print(code_digest(rule))
print(module_digest("tcpcc.models.packet.handlers"))
"""
    assert len({printed(code, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2")}) == 1


def scenario(a, b, **settings):
    controller = tc.Controller("mine", "", on_ack=closure_of_ack(a, b), on_loss=halve)
    net = tc.dumbbell("20 Mbps", "40 ms", 20)
    return tc.Scenario(net, [tc.Flow(controller)], duration=20, **settings)


def closure_of_ack(a, b):
    def on_ack(s, p, ack):
        s.cwnd += ack.acked if s.cwnd < s.ssthresh else a * ack.acked / (b * s.cwnd)

    return on_ack


def halve(s, p, ack):
    s.cwnd = s.ssthresh = max(s.cwnd / 2, 2.0)


PLAIN_NUMBERS = st.one_of(st.integers(1, 200), st.sampled_from([0.5, 0.51, 1.0, 11.0]))


@given(one=st.tuples(PLAIN_NUMBERS, PLAIN_NUMBERS), other=st.tuples(PLAIN_NUMBERS, PLAIN_NUMBERS))
@example(one=(1, 23), other=(12, 3))
@example(one=(0.5, 11), other=(0.51, 1))
def test_two_controllers_never_share_a_stored_run(one, other):
    first, second = (_fingerprint(scenario(*pair), {}) for pair in (one, other))
    assert (first == second) == same(one, other)


def test_options_of_a_stored_run_do_not_run_together():
    options = [{"trace": True}, {"trace": 1}, {"trace": "True"}, {"trains": 12}, {"train": 12}, {}]
    names = [{_cache_name(scenario(1, 2), "packet", each, {}) for each in options} for _ in "ab"]
    assert len(names[0]) == len(options)
    assert names[0] == names[1]


def goodput(run):
    return float(run.goodput()[0])


def test_a_scan_of_two_whole_numbers_simulates_every_rule():
    """Eight of 36 cells had the numbers of another rule, such as 11 and 1 those of 1 and 11."""

    def make(a, b):
        return scenario(a, b, seed=1)

    table = tc.sweep(make, {"goodput": goodput}, a=[1, 11], b=[1, 11], progress=False)
    found = table.set_index(["a", "b"])["goodput"]
    assert found[1, 1] == found[11, 11]  # the quotient is the same
    assert len(set(found)) == 3
