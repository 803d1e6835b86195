"""Doubles in 64-bit integers (export/bpf/float64.h) have the bits of the CPU's doubles."""

import ctypes
import math
import shutil
import subprocess
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

import tcpcc

HEADER = Path(tcpcc.__file__).parent / "apps" / "export" / "bpf"
ONE = ("neg", "abs", "floor", "ceil", "round", "sqrt", "cbrt", "exp", "log", "from_int", "to_int")
TWO = ("add", "sub", "mul", "div", "mod", "pow", "lt", "le", "eq")
EXACT = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "mod": np.remainder,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "neg": np.negative,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "sqrt": np.sqrt,
}
SPECIAL = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 5e-324, 2.2250738585072014e-308, 2.0**52, 2.0**53, 1e300]
SPECIAL += [1.7976931348623157e308, math.inf, 0.1, 1 / 3, 0.9999999999999999, 1.0000000000000002]

compiler = shutil.which("cc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(compiler is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def soft(tmp_path_factory):
    """The functions of the header on arrays of bits."""
    folder = tmp_path_factory.mktemp("float64")
    loop = "for (long long i = 0; i < n; i++) o[i] = (f64)f64_%s(%s);"
    text = '#include "float64.h"\n'
    for names, given in ((ONE, "a[i]"), (TWO, "a[i], b[i]")):
        for name in names:
            text += f"void many_{name}(long long n, const f64 *a, const f64 *b, f64 *o)\n"
            text += f"{{ {loop % (name, given)} }}\n"
    source, library = folder / "many.c", folder / "many.so"
    source.write_text(text)
    flags = ["-O2", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{HEADER}"]
    subprocess.run([str(compiler), *flags, str(source), "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))

    def run(name, a, b=None):
        a = np.ascontiguousarray(a).view(np.uint64)
        b = a if b is None else np.ascontiguousarray(b).view(np.uint64)
        out = np.empty(len(a), np.uint64)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, out)]
        getattr(loaded, f"many_{name}")(ctypes.c_longlong(len(a)), *pointers)
        return out

    return run


def numbers(n, seed):
    """Doubles of all kinds: random bits, plain numbers, near pairs, and special values."""
    draw = np.random.default_rng(seed)
    bits = draw.integers(0, 2**64, n, dtype=np.uint64).view(np.float64)
    plain = draw.standard_normal(n) * 10.0 ** draw.integers(-6, 7, n)
    whole = draw.integers(-1000, 1000, n) / 4
    small = draw.integers(0, 2**54, n, dtype=np.uint64).view(np.float64)
    special = draw.choice(SPECIAL, n) * draw.choice([1.0, -1.0], n)
    return np.choose(draw.integers(0, 5, n), [bits, plain, whole, small, special])


def pairs(n, seed):
    a, b = numbers(n, seed), numbers(n, seed + 1000)
    near = np.random.default_rng(seed).integers(-3, 4, n) + a.view(np.int64)
    close = np.arange(n) % 5 == 0
    return a, np.where(close, near.view(np.float64), b)


def differing(found, expected):
    """Number of results with other bits; any NaN equals any other."""
    if expected.dtype == bool:
        return int(np.sum(found != expected))
    same = found == expected.view(np.uint64)
    return int(np.sum(~same & ~(np.isnan(found.view(np.float64)) & np.isnan(expected))))


@pytest.mark.parametrize("parts", [1, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", EXACT)
def test_an_operation_has_the_bits_of_the_cpu(soft, name, parts):
    """NumPy's remainder is that of Python."""
    for seed in range(1, 1 + parts):
        a, b = pairs(100_000, seed)
        with np.errstate(all="ignore"):
            expected = EXACT[name](a, b) if name in TWO else EXACT[name](a)
        assert differing(soft(name, a, b), expected) == 0


def test_integers_convert_both_ways(soft):
    draw = np.random.default_rng(3)
    whole = draw.integers(-(2**63), 2**63 - 1, 100_000) >> draw.integers(0, 63, 100_000)
    assert differing(soft("from_int", whole), whole.astype(np.float64)) == 0
    a = numbers(100_000, 4)
    fits = np.abs(a) < 2.0**63
    assert np.array_equal(soft("to_int", a[fits]).view(np.int64), a[fits].astype(np.int64))
    assert np.all(soft("to_int", a[~fits]) == np.uint64(2**63))


def exact(name, *values):
    """The result with 60 digits."""
    with localcontext() as context:
        context.prec = 60
        context.Emax, context.Emin = 10**9, -(10**9)
        given = [Decimal(v) for v in values]
        if name == "exp":
            return given[0].exp()
        if name == "log":
            return given[0].ln()
        if name == "cbrt":
            return (given[0].ln() / 3).exp()
        return (given[0].ln() * given[1]).exp()


def errors(name, found, *columns):
    """Distance from the exact result in units of the last place."""
    return [
        float(abs(Decimal(float(f)) - exact(name, *given)) / Decimal(math.ulp(float(f))))
        for f, *given in zip(found, *(c.tolist() for c in columns), strict=True)
    ]


def given_to(name, n):
    """Arguments with results of 1e-100 to 1e100, as controllers have them and far beyond."""
    draw = np.random.default_rng(5)
    x = np.exp(draw.uniform(-200, 200, n))
    near = 1 + draw.standard_normal(n) * 10.0 ** draw.integers(-15, 0, n)
    x = np.where(draw.random(n) < 0.3, np.abs(near), x)
    if name == "exp":
        return (draw.standard_normal(n) * 10.0 ** draw.integers(-10, 3, n)).clip(-230, 230), None
    if name == "pow":
        return x, draw.uniform(-3, 3, n) / np.maximum(np.abs(np.log2(x)), 1)
    return x, None


@pytest.mark.parametrize("name", ["exp", "log", "cbrt", "pow"])
def test_a_transcendental_function_is_within_051_units(soft, name):
    a, b = given_to(name, 1000)
    found = soft(name, a, b).view(np.float64)
    columns = (a,) if b is None else (a, b)
    assert max(errors(name, found, *columns)) < 0.51


def test_a_large_power_is_within_two_units(soft):
    draw = np.random.default_rng(6)
    x = np.exp(draw.uniform(-20, 20, 1000))
    y = draw.uniform(-1000, 1000, 1000) / np.abs(np.log2(x))
    assert max(errors("pow", soft("pow", x, y).view(np.float64), x, y)) < 2


#: Largest share of results with other bits than libm's. Measured with glibc 2.36: exp 0.0011,
#: log 0.0001, pow 0.005. (cbrt: 0.54, because glibc's is off by up to two units.)
UNLIKE_LIBM = {"exp": 0.01, "log": 0.01, "pow": 0.01}


@pytest.mark.parametrize("name", UNLIKE_LIBM)
def test_few_results_differ_from_libm(soft, name):
    a, b = given_to(name, 20_000)
    columns = [a.tolist()] if b is None else [a.tolist(), b.tolist()]
    expected = np.array([getattr(math, name)(*x) for x in zip(*columns, strict=True)])
    found = soft(name, a, b)
    assert np.mean(found != expected.view(np.uint64)) <= UNLIKE_LIBM[name]
    assert np.max(np.abs(found.view(np.int64) - expected.view(np.int64))) <= 1


@pytest.mark.parametrize("name", ["exp", "log", "cbrt", "pow"])
def test_special_values_are_those_of_libm(soft, name):
    """np.power and the others follow C99 for zeros, infinities, NaN and negative numbers."""
    values = np.array([*SPECIAL, math.nan, 2.0, 3.0, 27.0, 64.0])
    a, b = (x.ravel() for x in np.meshgrid(np.r_[values, -values], np.r_[values, -values]))
    with np.errstate(all="ignore"):
        expected = {"exp": np.exp, "log": np.log, "cbrt": np.cbrt}.get(name, np.power)(
            *((a, b) if name == "pow" else (a,))
        )
    found = soft(name, a, b).view(np.float64)
    plain = np.isfinite(expected) & (expected != 0)
    assert differing(found[~plain].view(np.uint64), expected[~plain]) == 0
    apart = found[plain].view(np.int64) - expected[plain].view(np.int64)
    assert np.max(np.abs(apart)) <= 2
