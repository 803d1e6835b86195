"""Parameters that are true or false."""

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.cli import main
from tcpcc.controllers import CONTROLLERS
from tcpcc.definition import Flag
from tcpcc.queues import QUEUES
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.transport.recovery import RECOVERIES

NET = ("10 Mbps", "20 ms", 50)


def scenario(yes, no):
    queue = tc.queues.RED(gentle=yes, wait=no)
    change = tc.Change(1, "bottleneck", queue={"wait": yes})
    flow = tc.Flow("reno", integer_window=yes, integer_ssthresh=no)
    return tc.Scenario(tc.dumbbell(*NET, queue=queue), [flow], duration=2, changes=[change])


@pytest.mark.parametrize(("yes", "no"), [(1, 0), (1.0, 0.0), (np.True_, np.False_)])
def test_true_is_the_same_as_1(yes, no):
    """As a scenario, in its digest and in its file."""
    if isinstance(yes, np.bool_):
        yes, no = bool(yes), bool(no)
    usual, other = scenario(True, False), scenario(yes, no)
    assert other == usual
    assert other.digest == usual.digest
    assert other.to_toml() == usual.to_toml()


def test_a_file_says_true_and_false_and_reads_numbers():
    toml = scenario(1, 0).to_toml()
    assert 'queue = { name = "red", gentle = true, wait = false }' in toml
    assert "params = { integer_ssthresh = false, integer_window = true }" in toml
    assert tc.Scenario.from_toml(toml) == scenario(1, 0)
    numbers = toml.replace("true", "1").replace("false", "0").replace("record = 1", "record = true")
    assert tc.Scenario.from_toml(numbers) == scenario(1, 0)


@pytest.mark.parametrize("value", [2, 0.5, -1, "yes", float("nan"), None])
def test_anything_else_is_refused(value):
    with pytest.raises(tc.ScenarioError, match=r"queue 'red' gentle = .*: must be true or false$"):
        tc.queues.RED(gentle=value)
    with pytest.raises(tc.ScenarioError, match="integer_window"):
        tc.Flow("reno", integer_window=value)


def test_a_number_is_not_true():
    for refused in (
        lambda: tc.queues.RED(max_p=True),
        lambda: tc.Flow("vegas", alpha=True),
        lambda: tc.Change(1, "bottleneck", queue={"max_p": True}),
    ):
        with pytest.raises(tc.ScenarioError, match="= True: must be a number"):
            refused()


def test_a_flag_has_a_default_and_no_range():
    flag = tc.Flag(True, "what it does")
    assert flag.replace(default=False) == tc.Flag(False, "what it does")
    assert type(flag.replace(doc="other")) is Flag
    with pytest.raises(tc.ScenarioError, match="Flag default = 2: must be true or false"):
        tc.Flag(2)


def test_lists_say_true_and_false(capsys):
    main(["list", "red"])
    rows = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()[3:]}
    assert rows["gentle"] == "true"
    assert rows["ecn"] == "false"
    assert rows["min_thresh"] == "5"
    assert "gentle : p_b grows from max_p to 1 over max .. 2 max (true or false; true)" in (
        tc.queues.RED.__doc__
    )


@pytest.mark.parametrize("registry", [CONTROLLERS, SLOW_STARTS, QUEUES, RECOVERIES])
def test_no_definition_declares_a_flag_as_a_number(registry):
    for one in registry.values():
        for name, param in one.params.items():
            assert isinstance(param, Flag) or param.unit != "0 or 1", f"{one.name}: {name}"


def test_a_rule_reads_a_flag_compiled():
    """A window of 3 or of 7 packets, by the flag."""

    def stay(s, p, a):
        if p.large:
            s.cwnd = 7.0
        if not p.large:
            s.cwnd = 3.0

    def leave(s, p, a):
        s.cwnd = s.cwnd + 0.0

    one = tc.Controller(
        "by_flag", "", on_ack=stay, on_loss=leave, on_timeout=leave,
        params={"large": tc.Flag(False, "7 packets, not 3")},
    )  # fmt: skip
    for large, packets in ((True, 7), (False, 3)):
        flow = tc.Flow(one, large=large)
        run = tc.simulate(tc.Scenario(tc.dumbbell(*NET), [flow], duration=2))
        assert float(run.data.cwnd[-1, 0]) == packets
