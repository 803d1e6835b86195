"""Powers, exponentials and logarithms in plain arithmetic, for machines without a C library.

They are computed with twice the digits and rounded once, so they are correctly rounded except in
about one of a million cases, and have the same bits in every browser. A system's C library errs in
the last bit in about one of a thousand cases.

A number with twice the digits is an unevaluated sum ``h + l`` (T. J. Dekker, A floating-point
technique for extending the available precision, Numerische Mathematik 18, 1971).
"""

import math
from decimal import Decimal, localcontext

from tcpcc.engine.jit import entry, not_inlined

LN2_HIGH, LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
TERMS_LOG = 20  # of the series of atanh: 0.0295**20 < 2**-100
PARTS = 32  # of 1, for the table of exp
TERMS_EXP = 10  # of the series of exp, for arguments below 1/64: 64**-10 / 11! < 2**-85
LONG_TERMS = 4  # those that need twice the digits: 64**-4 / 5! < 2**-30
LARGEST = 745.2  # beyond it exp() is infinite, or 0


def _doubles(numbers):
    """Each number as two doubles: those with the first and those with the further digits."""
    high = tuple(float(x) for x in numbers)
    return high, tuple(float(x - Decimal(h)) for x, h in zip(numbers, high, strict=True))


with localcontext(prec=50):
    INVERSE_HIGH, INVERSE_LOW = _doubles(
        [1 / Decimal(math.factorial(n)) for n in range(TERMS_EXP + 1)]
    )
    MIDDLE = math.ceil(PARTS * LN2_HIGH / 2)
    EXP_HIGH, EXP_LOW = _doubles([(Decimal(j) / PARTS).exp() for j in range(-MIDDLE, MIDDLE + 1)])


@not_inlined
def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@not_inlined
def two_product(a, b):
    p = a * b
    t = 134217729.0 * a
    ah = t - (t - a)
    t = 134217729.0 * b
    bh = t - (t - b)
    al = a - ah
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@not_inlined
def times(ah, al, bh, bl):
    p, e = two_product(ah, bh)
    return two_sum(p, e + (ah * bl + al * bh))


@not_inlined
def plus(ah, al, bh, bl):
    s, e = two_sum(ah, bh)
    t, f = two_sum(al, bl)
    s, e = two_sum(s, e + t)
    return two_sum(s, e + f)


@not_inlined
def over(ah, al, bh, bl):
    q = ah / bh
    p, e = two_product(q, bh)
    rest = ((ah - p) - e) + al - q * bl
    return two_sum(q, rest / bh)


@not_inlined
def scaled(x, exponent):
    """``x * 2**exponent``."""
    step = 2.0 if exponent > 0 else 0.5
    left = abs(exponent)
    while left > 0:
        if left & 1:
            x *= step
        left >>= 1
        if left > 0:
            step *= step
    return x


@not_inlined
def logarithm(x):
    """ln x as a double sum, for finite x > 0."""
    e = 0
    for k in range(9, -1, -1):
        while x >= 2.0 ** (2**k):
            x /= 2.0 ** (2**k)
            e += 2**k
        while x < 2.0 ** -(2**k):
            x *= 2.0 ** (2**k)
            e -= 2**k
    if x > math.sqrt(2.0):
        x /= 2
        e += 1
    elif x < math.sqrt(0.5):
        x *= 2
        e -= 1
    bh, bl = two_sum(x, 1.0)
    sh, sl = over(x - 1.0, 0.0, bh, bl)
    zh, zl = times(sh, sl, sh, sl)
    h, low = 0.0, 0.0
    for k in range(TERMS_LOG, -1, -1):
        h, low = times(h, low, zh, zl)
        rh, rl = over(1.0, 0.0, 2.0 * k + 1.0, 0.0)
        h, low = plus(h, low, rh, rl)
    h, low = times(h, low, 2 * sh, 2 * sl)
    eh, el = times(float(e), 0.0, LN2_HIGH, LN2_LOW)
    return plus(eh, el, h, low)


@not_inlined
def exponential(h, low):
    """exp(h + low), rounded once."""
    if h != h:
        return h
    if h > LARGEST:
        return math.inf
    if h < -LARGEST:
        return 0.0
    k = math.floor(h / LN2_HIGH + 0.5)
    mh, ml = times(float(k), 0.0, LN2_HIGH, LN2_LOW)
    h, low = plus(h, low, -mh, -ml)
    j = math.floor(h * PARTS + 0.5)
    h, low = plus(h, low, -j / PARTS, 0.0)
    # exp(r) - 1
    sh, sl = INVERSE_HIGH[TERMS_EXP], 0.0
    for n in range(TERMS_EXP - 1, LONG_TERMS, -1):
        sh = sh * h + INVERSE_HIGH[n]
    for n in range(LONG_TERMS, 0, -1):
        sh, sl = times(sh, sl, h, low)
        sh, sl = plus(sh, sl, INVERSE_HIGH[n], INVERSE_LOW[n])
    sh, sl = times(sh, sl, h, low)
    th, tl = EXP_HIGH[j + MIDDLE], EXP_LOW[j + MIDDLE]
    sh, sl = times(sh, sl, th, tl)
    sh, sl = plus(th, tl, sh, sl)
    half = k // 2
    return scaled(scaled(sh, half), k - half)


@entry
def power(x, y):
    """x**y as C's `pow`."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return math.nan
    sign = 1.0
    if math.copysign(1.0, x) < 0.0 and abs(y) < 2.0**53:
        if math.floor(y) == y:
            sign = 1.0 if y == 2 * math.floor(y / 2) else -1.0
        elif -math.inf < x < 0.0:
            return math.nan
    x = abs(x)
    if x == 1.0:
        return sign  # two_product(y, 0) overflows for the largest y
    if x == 0.0 or x == math.inf or abs(y) == math.inf:
        return sign * (math.inf if (x > 1.0) == (y > 0.0) else 0.0)
    h, low = logarithm(x)
    if abs(y * h) > 2 * LARGEST:
        return sign * exponential(y * h, 0.0)
    h, low = times(y, 0.0, h, low)
    return sign * exponential(h, low)


@entry
def exp(x):
    return exponential(x, 0.0)


@entry
def exp2(x):
    h, low = times(max(min(x, 2000.0), -2000.0), 0.0, LN2_HIGH, LN2_LOW)
    return x if x != x else exponential(h, low)


@entry
def log(x):
    return _log(x, 1.0, 0.0)


@entry
def log2(x):
    return _log(x, LN2_HIGH, LN2_LOW)


@not_inlined
def _log(x, base_high, base_low):
    if x == 0.0:
        return -math.inf
    if not 0.0 < x < math.inf:
        return x if x == math.inf else math.nan
    h, low = logarithm(x)
    h, low = over(h, low, base_high, base_low)
    return h


#: Functions of C's library by name, with their numbers of arguments.
FUNCTIONS = {
    "pow": (power, 2),
    "exp": (exp, 1),
    "exp2": (exp2, 1),
    "log": (log, 1),
    "log2": (log2, 1),
}
