"""Rules that lean on the order in which Python evaluates: the same bits in C."""

import math
from inspect import isfunction, signature

import pytest
from held import InBPF, InC, differences, needs_cc

from tcpcc.controllers.controller import Controller
from tcpcc.definition import State


def draw(s):
    s.drawn += 1.0
    return int(s.drawn) % 4


def value_before_index(s, p, a):
    s.many[draw(s)] = s.drawn + 1.0


def turned(s, x):
    if x > 1e9:
        return x
    for k in range(3):
        s.many[k] = s.many[k + 1] + s.drawn
    s.drawn += x
    return s.drawn / 3.0


def index_after_a_call(s, p, a):
    s.many[int(min(s.many[1], 9.0)) % 4] = turned(s, s.one)


def values_before_places(s, p, a):
    s.many[draw(s)], s.many[draw(s)] = s.drawn, s.drawn + 0.5


def index_before_value(s, p, a):
    s.many[draw(s)] += s.drawn * draw(s)


def operands(s, p, a):
    s.cwnd = s.many[draw(s)] + s.many[draw(s)] * s.drawn + 1


def before_a_call(s, p, a):
    x = s.drawn
    s.cwnd = x + draw(s) + s.drawn
    x += draw(s)
    s.one = max(s.drawn, draw(s), x) if draw(s) > 1 else s.drawn


def several_targets(s, p, a):
    s.one = s.many[draw(s)] = s.drawn


def conditions(s, p, a):
    if (s.drawn > 2 and draw(s) > 1) or s.drawn < draw(s):
        s.cwnd += s.drawn
    while s.drawn < 9 and draw(s) != 3:
        s.one += s.drawn


def loops_of_one_name(s, p, a):
    for k in range(draw(s)):
        s.many[k] += draw(s)
        for k in range(3):
            s.one += k
        s.cwnd += k


def array_changed_in_its_loop(s, p, a):
    for x in s.many:
        s.many[draw(s)] = x + 1
        if x > 5:
            continue
        s.one += x


def powers(s, p, a):
    x, y = s.one, s.cwnd
    x, y = y, x + draw(s)
    s.one, s.cwnd = x, y
    s.cwnd = -(x**2) + (-x) ** 2 - x**3 * 2 / x // 3 % 5


def integers(s, p, a):
    n = int(a.now * 10) - 5
    s.cwnd = n // 3 + n % 3 * 10 + (-n) // -3 * 100 + n // -3 * 7 + n % -3
    s.one = (n >> 1) + (n << 2) + (n & 6) + (n | 1) + (n ^ 3) + ~n
    s.one += float(n < 0) + float(1 < n <= 3 != 5)


def twice(s, x, y=2.0):
    s.drawn += x
    return y * x


def keywords(s, p, a):
    s.cwnd = twice(s, y=s.drawn, x=draw(s)) + s.drawn


def choices(s, p, a):
    s.cwnd = s.drawn if not draw(s) else s.drawn + draw(s)
    s.one = s.drawn and draw(s) and s.drawn
    s.one += (s.cwnd or draw(s)) + s.drawn


def extremes(s, p, a):
    zero = s.one * 0.0
    none = (s.one + math.inf) - math.inf
    s.many[0], s.many[1] = max(zero, -zero), min(-zero, zero)
    s.many[2], s.many[3] = max(-zero, zero), min(zero, -zero)
    s.cwnd = max(none, 1.0)
    s.one, s.drawn = max(1.0, none), min(none, 1.0)


RULES = [
    one
    for one in list(vars().values())
    if isfunction(one) and list(signature(one).parameters) == ["s", "p", "a"]
]
STATE = {
    "one": State(0.0, "", ""),
    "drawn": State(0.0, "s", ""),
    "many": State(1.0, "", "", size=4),
}


@needs_cc
@pytest.mark.parametrize("target", [InC, InBPF])
def test_effects_have_pythons_order(tmp_path, target):
    controllers = [Controller(r.__name__, "", r, r, r, state=STATE) for r in RULES]
    made = target(tmp_path, controllers, "-fno-builtin")
    for one in controllers:
        wrong, answered = differences(one, made, 300)
        assert not wrong, wrong[0]
        assert sum(answered.values()) > 250
