"""Powers, exponentials and logarithms: correctly rounded, special values of C."""

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest

from tcpcc.engine import elementary

NUMBERS = 2000
EXACT = {
    "pow": lambda x, y: Decimal(x) ** Decimal(y),
    "exp": lambda x: Decimal(x).exp(),
    "exp2": lambda x: Decimal(2) ** Decimal(x),
    "log": lambda x: Decimal(x).ln(),
    "log2": lambda x: Decimal(x).ln() / Decimal(2).ln(),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5, 1e308, 5e-324, math.inf, -math.inf,
           math.nan]  # fmt: skip


@pytest.fixture(autouse=True)
def _sixty_digits():
    with decimal.localcontext() as context:
        context.prec = 60
        yield


def arguments(name, numbers):
    draw = np.random.default_rng(1)
    spread = 10 ** draw.uniform(-300, 300, numbers)
    near_one = 1 + draw.uniform(-1e-3, 1e-3, numbers)
    return {
        "pow": zip(10 ** draw.uniform(-8, 8, numbers), draw.uniform(-12, 12, numbers), strict=True),
        "exp": [(x,) for x in draw.uniform(-700, 700, numbers)],
        "exp2": [(x,) for x in draw.uniform(-1000, 1000, numbers)],
        "log": [(x,) for x in (*spread, *near_one)],
        "log2": [(x,) for x in (*spread, *near_one)],
    }[name]


@pytest.mark.parametrize("name", EXACT)
def test_it_is_correctly_rounded(name):
    function, takes = elementary.FUNCTIONS[name]
    for given in arguments(name, NUMBERS):
        plain = [float(x) for x in given]
        assert len(plain) == takes
        assert function(*plain) == float(EXACT[name](*plain)), (name, plain)


def test_whole_powers_are_exact():
    for k in range(-1074, 1024):
        assert elementary.power(2.0, float(k)) == math.ldexp(1.0, k)
        assert elementary.exp2(float(k)) == math.ldexp(1.0, k)


def pow_of_c(x, y):
    """C's pow, which Python's wraps in exceptions."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf
    except ValueError:
        odd = y == math.floor(y) and y % 2 == 1
        return math.copysign(math.inf, x if odd else 1.0) if x == 0 else math.nan


@pytest.mark.parametrize("x", SPECIAL)
@pytest.mark.parametrize("y", SPECIAL)
def test_special_powers_are_those_of_c(x, y):
    found, wanted = elementary.power(x, y), pow_of_c(x, y)
    assert abs(found) == abs(wanted) or (math.isnan(found) and math.isnan(wanted))
    assert math.copysign(1, found) == math.copysign(1, wanted) or found == 0 or math.isnan(found)


@pytest.mark.parametrize("x", SPECIAL)
@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2"])
def test_special_values_are_those_of_c(x, name):
    with np.errstate(all="ignore"):
        wanted = float(getattr(np, name)(x))
    found = elementary.FUNCTIONS[name][0](x)
    assert found == pytest.approx(wanted, rel=1e-15, nan_ok=True)
