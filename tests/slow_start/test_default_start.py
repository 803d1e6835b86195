"""The default slow start: HyStart++ where a controller starts as Reno does, in today's sender."""

import cloudpickle
import numpy as np
import pytest
from by_hand import Rules
from every_model import EVERY_MODEL, simulate_in

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.controller import Controller
from tcpcc.scenario.host_presets import LINUX
from tcpcc.scenario.resolve import resolve
from tcpcc.slow_start import SLOW_STARTS, composed

PRESETS = {"ns2": tc.Transport.ns2(), "bsd": tc.Transport.bsd(), "linux": tc.Transport.linux()}


def test_todays_sender_starts_by_the_controllers_default():
    for name in ("reno", "newreno", "cubic", "htcp", "dctcp", "westwood"):
        assert tc.Flow(name).starts_by == tc.SlowStart("hystart++")
    for name in ("vegas", "bbr", "hybla", "ledbat", "cdg", "xcp", "lp"):
        assert tc.Flow(name).starts_by == tc.SlowStart("standard")


@pytest.mark.parametrize("preset", PRESETS)
def test_the_presets_keep_the_controllers_own_start(preset):
    assert tc.Flow("reno", transport=PRESETS[preset]).starts_by.name == "standard"
    flow = tc.Flow("reno", transport=PRESETS[preset], slow_start="hystart++")
    assert flow.starts_by.name == "hystart++"


@pytest.mark.parametrize("control", LINUX)
def test_a_linux_host_starts_as_linux_does(control):
    assert tc.Flow.linux(control).starts_by.name == (
        "hystart" if control == "cubic" else "standard"
    )


def test_a_given_rule_counts():
    assert tc.Flow("reno", slow_start="standard").starts_by.name == "standard"
    assert tc.Flow("vegas", slow_start="limited").starts_by.name == "limited"


def own(**settings):
    reno = CONTROLLERS.find("reno")
    return Controller(
        "mine", "", reno.on_ack, reno.on_loss, reno.on_timeout, params=reno.params, **settings
    )


def test_a_controller_of_ones_own_runs_as_written_unless_it_names_a_rule():
    assert tc.Flow(own()).starts_by.name == "standard"
    assert tc.Flow(own(slow_start="hystart++")).starts_by.name == "hystart++"
    with pytest.raises(tc.ScenarioError, match="controller 'mine': unknown slow start 'hystat'"):
        tc.Flow(own(slow_start="hystat"))


@pytest.mark.parametrize(
    "name", [n for n in CONTROLLERS if CONTROLLERS.find(n).slow_start == "hystart++"]
)
def test_controllers_with_that_default_start_as_reno_does(name):
    """Below ssthresh each ACK adds one packet, however long the queue is."""
    rtts = dict.fromkeys(("rtt", "srtt", "round_rtt", "max_rtt"), 0.15)
    end = Rules(name, cwnd=50.0, ssthresh=1000.0, sample={"base_rtt": 0.1, **rtts})
    for _ in range(3):
        end.ack()
    assert (end.s.cwnd, end.s.ssthresh) == (53, 1000)


def case(**settings):
    net = tc.dumbbell("20 Mbps", "20 ms", 150)
    return tc.Scenario(net, [tc.Flow("reno", packet_size=1500, **settings)], duration=4)


@EVERY_MODEL
def test_the_default_is_the_rule_in_every_model(model):
    default, given, without = (
        simulate_in(model, case(**x)).data["cwnd"].values
        for x in ({}, {"slow_start": "hystart++"}, {"slow_start": "standard"})
    )
    assert np.array_equal(default, given, equal_nan=True)
    assert not np.array_equal(default, without, equal_nan=True)


def test_foreground_and_background_have_it():
    flows = [tc.Flow("reno"), tc.Flow("reno", background=True)]
    for flow in resolve(tc.Scenario(tc.dumbbell("1 Mbps", "9 ms", 9), flows, duration=1)).flows:
        assert "css_round" in flow.controller.state


def test_an_equilibrium_does_not_depend_on_it():
    net = tc.dumbbell("50 Mbps", "20 ms", 200, queue=tc.queues.RED(min_thresh=20, max_thresh=100))
    found = [
        tc.analysis.equilibrium(
            tc.Scenario(net, [tc.Flow("reno", count=20, slow_start=x)], duration=1)
        )
        for x in (None, "standard")
    ]
    assert found[0].cwnd.values == pytest.approx(found[1].cwnd.values, rel=1e-12)


def test_it_is_saved_as_none():
    scenario = case()
    assert "slow_start" not in scenario.to_toml()
    assert tc.Scenario.from_toml(scenario.to_toml()) == scenario
    classic = case(transport={"slow_start_rule": False})
    assert tc.Scenario.from_toml(classic.to_toml()) == classic
    runs = [tc.simulate(x).data["cwnd"] for x in (classic, case(slow_start="standard"))]
    assert runs[0].identical(runs[1])


def test_a_worker_processs_copy_of_the_standard_rule_changes_no_controller():
    """Controllers with a window of their own refuse every other rule."""
    copy = cloudpickle.loads(cloudpickle.dumps(SLOW_STARTS.find("standard")))
    for name in ("bbr", "prague", "reno"):
        assert composed(CONTROLLERS.find(name), copy) is CONTROLLERS.find(name)
