"""Errors in rules name the controller or queue, also when running the rule again does not fail."""

import math

import pytest
from every_model import EVERY_MODEL, WAYS, simulate_in

import tcpcc as tc


def scenario(controller, buffer=30, **link):
    net = tc.dumbbell("10 Mbps", "20 ms", buffer, **link)
    return tc.Scenario(net, [tc.Flow(controller, slow_start="standard")], duration=3, seed=1)


def changes_the_window_first(s, p, ack):
    s.cwnd += 1.0
    if s.cwnd == 13.0:
        s.cwnd = 1 / (ack.now - ack.now)


def changes_its_state_first(s, p, ack):
    s.left -= 1.0
    s.cwnd = 10.0 + 1 / s.left


def paces_at_nan(s, p, ack):
    s.cwnd = 10.0
    s.pacing_rate = math.nan


def wakes_at_nan(s, p, ack):
    s.cwnd = 10.0
    s.wake_at = math.nan


def nothing(s, p, ack):
    pass


def threshold_is_nan(s, p, ack):
    s.ssthresh *= 0.0


def drops_none(s, p, q):
    q.drop = 0.0


def drops_at_nan(s, p, q):
    q.prob = math.nan


@pytest.mark.parametrize("driver", ["compiled", "simpy"])
def test_a_rule_that_has_changed_the_window_is_found_with_its_line(driver):
    controller = tc.Controller("mine", "", changes_the_window_first)
    with pytest.raises(tc.errors.RuleError) as error:
        tc.simulate(scenario(controller), driver=driver)
    line = changes_the_window_first.__code__.co_firstlineno + 3
    assert str(error.value).startswith(
        f"controller 'mine', on_ack, line {line} of test_failing_rule.py: float division by zero"
    )


def test_a_rule_that_does_not_fail_again_is_named_with_its_flow():
    state = {"left": tc.State(5, "", "")}
    controller = tc.Controller("mine", "", changes_its_state_first, state=state)
    with pytest.raises(tc.errors.RuleError) as error:
        tc.simulate(scenario(controller))
    message = str(error.value)
    assert message.startswith("controller 'mine' of flow 'mine1': division by zero, at t = ")
    assert "line" in message
    assert "\n" not in message


def test_a_queue_that_was_not_called_at_the_time_is_not_named():
    tc.register(tc.Discipline("harmless", "", on_arrival=drops_none))
    state = {"left": tc.State(5, "", "")}
    controller = tc.Controller("mine", "", changes_its_state_first, state=state)
    with pytest.raises(tc.errors.RuleError, match=r"^controller 'mine' of flow 'mine1': division"):
        tc.simulate(scenario(controller, queue="harmless"))


@pytest.mark.parametrize(
    ("rule", "name"), [(paces_at_nan, "pacing_rate"), (wakes_at_nan, "wake_at")]
)
def test_an_invalid_number_for_the_transport_names_the_controller(rule, name):
    timer = nothing if name == "wake_at" else None
    state = {name: tc.State(math.inf, "", "")}
    controller = tc.Controller("mine", "", rule, state=state, on_timer=timer)
    with pytest.raises(tc.errors.RuleError, match=rf"^controller 'mine' of flow 'mine1': .*{name}"):
        tc.simulate(scenario(controller))


@pytest.mark.parametrize("driver", ["compiled", "simpy"])
def test_a_threshold_that_is_nan_is_refused_with_its_line(driver):
    line = threshold_is_nan.__code__.co_firstlineno + 1
    text = rf"^controller 'mine', on_ack, line {line} of .*: left ssthresh = nan, not a number or"
    with pytest.raises(tc.errors.RuleError, match=text):
        tc.simulate(scenario(tc.Controller("mine", "", threshold_is_nan)), driver=driver)


@pytest.mark.parametrize("model", WAYS)
def test_every_model_refuses_a_threshold_that_is_nan(model):
    def on_ack(s, p, ack):
        s.cwnd += ack.acked
        s.ssthresh = math.nan

    case = scenario(tc.Controller("mine", "", on_ack))
    behind = case.flows[0].replace(background=model == "hybrid")
    with pytest.raises(tc.errors.RuleError, match=r"^controller 'mine'.* ssthresh (= nan|is NaN)"):
        simulate_in(model, case.replace(flows=[tc.Flow("reno"), behind]))


def test_a_drop_probability_that_is_nan_names_the_queue():
    """In trains `on_fluid` is called only for packets that stand for several flows."""
    tc.register(tc.Discipline("nan_drops", "", on_arrival=drops_none, on_fluid=drops_at_nan))
    net = tc.dumbbell("10 Mbps", "20 ms", 30, queue="nan_drops")
    case = tc.Scenario(net, [tc.Flow("reno", count=8)], duration=3)
    with pytest.raises(
        tc.errors.RuleError, match=r"queue 'nan_drops' of link 'bottleneck'.*q\.prob"
    ):
        tc.simulate(case, trains=16, senders=2)


def doubles(s, p, ack):
    s.cwnd *= 2


def leaps(s, p, ack):
    s.cwnd = 3e8


@EVERY_MODEL
@pytest.mark.parametrize("rule", [doubles, leaps])
def test_a_window_without_bound_is_refused_at_once(model, rule):
    text = r"flow 'mine1', controller 'mine': its window at .* the slowest link of its path carries"
    with pytest.raises(tc.TcpccError, match=text):
        simulate_in(model, scenario(tc.Controller("mine", "", rule), buffer=10**6))
