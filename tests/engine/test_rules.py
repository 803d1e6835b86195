"""What a user's rule may say: it is read when it is defined, and its errors name its line."""

import dataclasses
import math
import random

import numpy as np
import pytest
from every_model import EVERY_MODEL, simulate_in

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.controller import nothing
from tcpcc.engine.subset import trusted
from tcpcc.errors import ScenarioError
from tcpcc.queues.discipline import QUEUES
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.transport.recovery import RECOVERIES

NET = tc.dumbbell(rate="1 Mbps", delay="20 ms", buffer=20)
GAIN = 0.5


def scenario(controller, **settings):
    return tc.Scenario(NET, [tc.Flow(controller, **settings)], duration=5)


def grow(s, p, ack):
    s.cwnd += ack.acked / s.cwnd


def halve(s, p, ack):
    s.ssthresh = max(s.cwnd / 2, 2.0)
    s.cwnd = s.ssthresh


def make(name="mine", **rules):
    usual = {"on_ack": grow, "on_loss": halve, "on_timeout": halve}
    return tc.Controller(name, "", **(usual | rules))


# What is read


def hidden_branch(s, p, ack):
    if ack.now > 1e6:
        s.cwnd = ack.windwo


def helper(p, ack):
    return p.gain if ack.now > 1e6 else 1.0


def by_helper(s, p, ack):
    s.cwnd += helper(p, ack)


def draws(s, p, ack):
    s.cwnd += random.random()


def draws_numpy(s, p, ack):
    s.cwnd += np.random.rand()


def unknown_name(s, p, ack):
    if ack.now > 1e6:
        s.cwnd += gian  # noqa: F821


def writes_parameter(s, p, ack):
    p.alpha = 2.0


MODE = "fast"


def writes_text(s, p, ack):
    if ack.now > 1e6:
        s.cwnd = "a"


def writes_named_text(s, p, ack):
    if ack.now > 1e6:
        s.cwnd, s.ssthresh = 1.0, MODE


def writes_none(s, p, ack):
    s.cwnd = ack.rtt if ack.now < 1e6 else None


def writes_function(s, p, ack):
    s.cwnd += 1.0
    if ack.now > 1e6:
        s.cwnd = helper


def writes_record(s, p, ack):
    if ack.now > 1e6:
        s.ssthresh = ack


def text():
    return "a"


def writes_returned_text(s, p, ack):
    s.ssthresh = text()


def imports(s, p, ack):
    import os

    s.cwnd += len(os.sep)


def no_such_function(s, p, ack):
    s.cwnd = math.sqare(s.cwnd)


def opens(s, p, ack):
    open("x")  # noqa: SIM115


def short(s, p, ack):
    s.cwnd = helper(p)


def former_name(s, p, ack):
    s.cwnd = ack.acked / ack.min_rtt


BAD = {
    "former": (former_name, r"ack\.min_rtt: not in the sample: did you mean 'base_rtt'\?"),
    "branch": (hidden_branch, r"ack\.windwo: not in the sample: did you mean 'window'\?"),
    "helper": (by_helper, r"p\.gain: not in the parameters"),
    "random": (draws, r"random\.random: random numbers outside the scenario's seed"),
    "numpy": (draws_numpy, r"np\.random: random numbers outside the scenario's seed"),
    "name": (unknown_name, r"gian: not defined"),
    "write": (writes_parameter, r"p\.alpha: (not in|a rule may only read this field of) the param"),
    "text": (writes_text, r"s\.cwnd = 'a': must be a number"),
    "named text": (writes_named_text, r"s\.ssthresh = MODE: must be a number"),
    "none": (writes_none, r"s\.cwnd = None: must be a number"),
    "function": (writes_function, r"s\.cwnd = helper: must be a number"),
    "record": (writes_record, r"s\.ssthresh = ack: must be a number"),
    "import": (imports, r"an import does not compile in a rule"),
    "math": (no_such_function, r"math\.sqare: no such name: did you mean 'sqrt'"),
    "open": (opens, r"open: does not compile in a rule"),
    "arguments": (short, r"helper takes 2 arguments, but is called with parameters"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("rule_name", ["on_ack", "on_loss"])
def test_a_bad_rule_is_refused_in_one_line_when_it_is_defined(case, rule_name):
    rule, text = BAD[case]
    with pytest.raises(ScenarioError, match=text) as error:
        make(**{rule_name: rule})
    line = str(error.value)
    assert line.startswith(f"controller 'mine', {rule_name}, line ")
    assert "test_rules.py" in line
    assert "\n" not in line


def test_a_value_that_is_no_number_is_also_found_by_a_call_of_the_rule():
    with pytest.raises(ScenarioError, match=r"^controller 'mine', on_ack: s\.ssthresh = 'a': must"):
        make(on_ack=writes_returned_text)


def masks(s, p, ack):
    s.turn = (int(ack.now) + s.turn) & 3


def test_only_whole_state_takes_part_in_bit_operations():
    def turn(kind):
        return {"turn": tc.State(0, "", "turn", kind=kind)}

    assert make(on_ack=masks, state=turn(int)).state_dtype["turn"].kind == "i"
    with pytest.raises(ScenarioError, match=r"^controller 'mine', on_ack: unsupported operand"):
        make(on_ack=masks, state=turn(float))


def test_queue_and_slow_start_rules_are_read_too():
    def arrival(s, p, q):
        if q.now > 1e6:
            q.drop = q.quee

    def length(s, p, q):
        q.drop = q.length > 9

    def watch(s, p, ack, before):
        if before > 1e6:
            s.cwnd = ack.acke

    def fills(s, p, q):
        q.queue = 0.0

    def raises(s, p, ack, before):
        ack.acked = 2.0

    with pytest.raises(ScenarioError, match=r"queue 'x', on_arrival, line .*q\.quee: not in"):
        tc.Discipline("x", "", on_arrival=arrival)
    with pytest.raises(ScenarioError, match=r"q\.length: not in the .* did you mean 'queue'"):
        tc.Discipline("x", "", on_arrival=length)
    with pytest.raises(ScenarioError, match=r"slow start 'x', on_ack, line .*ack\.acke: not in"):
        tc.StartUp("x", "", on_ack=watch)
    with pytest.raises(ScenarioError, match=r"q\.queue: a rule may only read"):
        tc.Discipline("x", "", on_arrival=fills)
    with pytest.raises(ScenarioError, match=r"ack\.acked: a rule may only read"):
        tc.StartUp("x", "", on_ack=raises)


def test_what_compiles_is_let_through():
    table = np.array([1.0, 2.0])
    factor = 2.0

    def good(s, p, ack):
        total: float = 0.0
        for k in range(len(table)):
            total += table[k] * factor
        s.cwnd += np.minimum(total, math.inf) * GAIN * 0 + float(abs(-1)) * max(0.0, 1.0)

    assert make(on_ack=good).on_ack is good


# Rules that there are not


@EVERY_MODEL
@pytest.mark.parametrize("missing", ["on_ack", "on_loss", "on_timeout"])
def test_a_rule_may_be_missing(model, missing):
    """It used to be a segmentation fault."""
    rules = {"on_ack": grow, "on_loss": halve, "on_timeout": halve}
    del rules[missing]
    run = simulate_in(model, scenario(tc.Controller("mine", "", **rules)))
    assert float(run.data["sent"].sum()) > 1


# Their values


def slower(s, p, ack, before):
    s.cwnd = before + GAIN * (s.cwnd - before)


def test_a_changed_global_of_a_slow_start_rule_takes_effect(monkeypatch):
    import sys

    tc.register(tc.StartUp("slower", "", on_ack=slower))

    def early():
        run = tc.simulate(scenario("reno", slow_start="slower"))
        return float(run.data["cwnd"].sel(time=0.3, method="nearest")[0])

    before = early()
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 0.01)
    assert early() < before


def test_register_takes_each_kind_to_its_own_table():
    from tcpcc.controllers import CONTROLLERS
    from tcpcc.queues.discipline import QUEUES

    own = tc.register(tc.Discipline("own_queue", "drops nothing early"))
    assert QUEUES["own_queue"] is own
    assert "own_queue" not in CONTROLLERS
    with pytest.raises(ScenarioError, match=r"register = 5: must be a Controller, StartUp"):
        tc.register(5)


# Errors while it runs


def divides(s, p, ack):
    if ack.now > 1:
        s.cwnd += 1 / (ack.now - ack.now)


def leaves_nan(s, p, ack):
    s.cwnd += 1.0
    if ack.now > 1:
        s.cwnd *= math.inf
        s.cwnd -= s.cwnd


def queue_divides(s, p, q):
    q.drop = 1 / (q.queue - q.queue)


@pytest.mark.parametrize("driver", ["compiled", "simpy"])
@pytest.mark.parametrize(
    ("rule", "offset", "text"),
    [(divides, 2, "division by zero"), (leaves_nan, 3, "left cwnd = nan, not a positive finite")],
)
def test_an_error_names_controller_rule_line_and_values(rule, offset, text, driver):
    controller = make(on_ack=rule)
    with pytest.raises(tc.errors.RuleError) as error:
        tc.simulate(scenario(controller), driver=driver)
    line = str(error.value)
    number = rule.__code__.co_firstlineno + offset
    assert line.startswith(f"controller 'mine', on_ack, line {number} of test_rules.py: ")
    assert text in line
    for value in ("t = 1.", "flow 'mine1'", "s.cwnd = ", "sample.now = "):
        assert value in line
    assert "sample.rtt" not in line  # the rule does not read it
    assert "\n" not in line


def test_an_error_in_a_queue_names_the_queue():
    tc.register(tc.Discipline("divides", "", on_arrival=queue_divides))
    net = tc.dumbbell(rate="1 Mbps", delay="20 ms", buffer=20, queue="divides")
    with pytest.raises(tc.errors.RuleError, match=r"queue 'divides', line \d+ .*link 'bottleneck'"):
        tc.simulate(tc.Scenario(net, [tc.Flow("reno")], duration=1))


def test_a_controller_whose_recovery_is_misspelt():
    with pytest.raises(ScenarioError, match=r"controller 'mine': unknown recovery 'sakc': did you"):
        tc.Flow(make(recovery="sakc"))


def test_a_parameter_outside_its_own_range():
    with pytest.raises(ScenarioError, match=r"Param default = 5: must be in its range \[0, 1\]"):
        tc.Param(5, "", "", 0, 1)


def test_the_rules_of_this_package_pass_the_check_that_is_skipped_at_import():
    for registry in (CONTROLLERS, QUEUES, SLOW_STARTS, RECOVERIES):
        for definition in list(registry.values()):
            dataclasses.replace(definition)  # made anew, so checked


def test_what_is_defined_after_the_import_is_checked():
    def on_ack(s, p, ack):
        s.cwnd += ack.gone

    with pytest.raises(ScenarioError, match=r"ack\.gone"):
        dataclasses.replace(CONTROLLERS["reno"], on_ack=on_ack)
    with trusted():
        pass
    with pytest.raises(ScenarioError, match=r"ack\.gone"):
        dataclasses.replace(CONTROLLERS["reno"], on_ack=on_ack)


def roots_of_the_window(s, p, ack):
    s.cwnd = math.sqrt(s.cwnd - 100.0)


def test_a_rule_may_be_undefined_for_the_example_that_checks_it():
    """The numbers with which a rule is run once need not suit it, here a root of -90."""
    one = tc.Controller("roots", "", roots_of_the_window, nothing, nothing)
    assert one.name == "roots"
