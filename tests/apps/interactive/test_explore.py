"""What an explorer's controls say is what is simulated; widgets are driven in Python."""

import math
import re
import sys
from dataclasses import replace

import factories
import pytest

import tcpcc as tc
from tcpcc.apps.interactive import canvas
from tcpcc.apps.interactive.setting import (
    Lane,
    base_rtt,
    bottleneck,
    scenario_of,
    setting_of,
)
from tcpcc.errors import ScenarioError

NET = tc.dumbbell("10 Mbps", "20 ms", 50, access_delay="1 ms")
RACE = tc.Scenario(
    NET,
    [tc.Flow("vegas", alpha=2), tc.Flow("vegas", alpha=2, start=3), tc.Flow("reno", start=1),
     tc.CBR("1 Mbps", on=[(5, 10)])],
    duration=20,
)  # fmt: skip


def changed(scenario=RACE, **changes):
    return scenario_of(scenario, replace(setting_of(scenario), **changes))


# Settings


def test_a_setting_that_nobody_touched_makes_the_same_scenario():
    assert changed() == RACE
    odd = tc.Scenario(
        tc.dumbbell("1.544 Mbps", "33.3 ms", "20 kB"), [tc.Flow("cubic", count=7)], duration=33
    )
    assert changed(odd) == odd


def test_a_setting_tells_the_bottleneck_and_who_races():
    setting = setting_of(RACE)
    assert (setting.rate, setting.buffer, setting.queue) == (10e6, 50, "droptail")
    assert setting.rtt == pytest.approx(0.044)
    assert setting.lanes == (Lane("vegas", 2, {"alpha": 2.0}), Lane("reno", 1, {}))


def test_rate_round_trip_buffer_queue_and_duration_change_what_they_say():
    scenario = changed(rate=5e6, rtt=0.1, buffer=30, queue="red", duration=40)
    there, back = scenario.net.links
    assert (there.rate, there.buffer, there.queue.name) == (5e6, 30, "red")
    assert back.rate == 5e6
    assert base_rtt(scenario) == pytest.approx(0.1)
    assert scenario.duration == 40
    assert scenario.flows == RACE.flows


def test_a_round_trip_that_access_links_exceed_is_refused():
    with pytest.raises(ScenarioError, match=r"^rtt = 3: must be at least 4 \(ms\)$"):
        changed(rtt=0.003)


def test_a_slow_link_with_a_buffer_is_the_bottleneck():
    net = tc.chain(3, ["10 Mbps", "2 Mbps", "5 Mbps"], "5 ms", 20)
    assert bottleneck(net).rate == 2e6


def test_a_lane_with_more_flows_has_more_like_its_last():
    flows = changed(lanes=(Lane("vegas", 5, {"alpha": 2.0}),)).flows
    assert [(flow.count, flow.start) for flow in flows[:-1]] == [(1, 0.0), (4, 3.0)]
    assert flows[-1] == RACE.flows[-1]
    fewer = changed(lanes=(Lane("vegas", 1, {"alpha": 2.0}),)).flows
    assert fewer == (RACE.flows[0], RACE.flows[-1])


def test_another_controller_keeps_start_and_loses_what_was_the_old_ones():
    start = RACE.replace(flows=[tc.Flow("vegas", start=2, recovery="vegas", alpha=3)])
    (flow,) = changed(start, lanes=(Lane("cubic", 1),)).flows
    assert (flow.controller, flow.start, flow.recovery, flow.params) == ("cubic", 2, None, ())


def test_a_lane_beyond_the_scenarios_groups_is_a_new_racer():
    lanes = (*setting_of(RACE).lanes, Lane("cubic", 3))
    assert [getattr(flow, "controller", "cbr") for flow in changed(lanes=lanes).flows] == [
        "vegas", "vegas", "reno", "cubic", "cbr",
    ]  # fmt: skip


def test_a_scenario_without_a_controller_is_refused():
    with pytest.raises(ScenarioError, match="must have a controller"):
        setting_of(RACE.replace(flows=[tc.CBR("1 Mbps")]))


# The picture


def test_the_picture_has_a_line_for_each_flow_and_model():
    run = factories.toy_run(RACE)
    text = canvas.svg({"packet": run, "fluid": run})
    dashed = re.findall(r'<path d="M[^"]*L[^"]*"[^>]*stroke-dasharray', text)
    solid = re.findall(
        r'<path d="M[^"]*L[^"]*" fill="none" stroke="#\w+" stroke-width="1.8"/>', text
    )
    assert len(dashed) == len(solid) == 2 * 3 + 1  # windows, rates, queue; CBR has none
    for name in ("vegas1, packets", "vegas2, fluid", "reno, packets"):
        assert name in text
    assert "nan" not in text


def test_many_flows_are_drawn_as_their_mean():
    crowd = RACE.replace(flows=[tc.Flow("reno") for _ in range(9)])
    names = [name for name, _, _ in canvas.groups(factories.toy_run(crowd), "packet")]
    assert names == ["mean of 9 reno"]


# Widgets


@pytest.fixture
def explore():
    pytest.importorskip("ipywidgets")
    return tc.explore


@pytest.fixture
def explorer(explore):
    return explore(RACE)


def test_an_explorer_begins_with_the_scenario_itself(explorer):
    assert explorer.scenario == RACE
    assert explorer.runs["fluid"].identical(tc.simulate(RACE, model="fluid"))
    assert "<svg" in explorer.picture.value
    assert "Jain" in explorer.table.value


def test_a_slider_redraws_by_the_fluid_model(explorer):
    before = explorer.picture.value
    explorer.buffer.value = 25
    assert bottleneck(explorer.scenario.net).buffer == 25
    assert explorer.runs["fluid"].scenario == explorer.scenario
    assert explorer.picture.value != before


def test_a_redrawing_takes_less_than_a_fifth_of_a_second(explorer):
    took = []
    for room in (25, 30, 35, 40, 45):
        explorer.buffer.value = room
        took.append(explorer.seconds)
    assert min(took) < 0.2


def test_packets_run_on_demand_and_are_gone_with_the_next_change(explorer):
    assert set(explorer.runs) == {"fluid"}
    explorer.packets.click()
    assert explorer.runs["packet"].identical(tc.simulate(RACE))
    assert "packets</b>" in explorer.table.value
    explorer.queue.value = "red"
    assert set(explorer.runs) == {"fluid"}


def test_parameters_follow_the_controller(explorer):
    lane = explorer.lanes.children[0]
    assert lane.params["alpha"].value == 2
    lane.params["alpha"].value = 3
    assert explorer.scenario.flows[0].params == (("alpha", 3.0),)
    lane.controller.value = "cubic"
    assert "alpha" not in lane.params
    assert explorer.scenario.flows[0].controller == "cubic"


def test_controllers_join_and_leave_a_race(explorer):
    explorer.add.click()
    assert explorer.scenario.flows[-2].controller == "cubic"
    explorer.lanes.children[0].remove.click()
    assert [c.lane.controller for c in explorer.lanes.children] == ["reno", "cubic"]
    for controls in explorer.lanes.children:
        controls.remove.click()
    assert len(explorer.lanes.children) == 1  # the last one stays


def test_an_impossible_setting_is_refused_and_nothing_breaks(explorer):
    explorer.rtt.value = 1.0
    assert "must be at least 4" in explorer.message.value
    assert explorer.scenario == RACE
    explorer.rtt.value = 60
    assert base_rtt(explorer.scenario) == pytest.approx(0.06)


def test_a_run_that_would_take_long_waits_for_the_button(explorer):
    explorer.duration.value = 1e5
    assert "would take about" in explorer.message.value


def test_several_scenarios_are_a_menu(explore):
    other = RACE.replace(duration=10)
    explorer = explore({"long": RACE, "short": other})
    explorer.start.value = "short"
    assert explorer.scenario == other
    assert explorer.duration.value == 10


def test_an_endless_buffer_stays_endless(explore):
    endless = RACE.replace(net=tc.dumbbell("10 Mbps", "20 ms", math.inf))
    explorer = explore(endless)
    assert explorer.scenario == endless
    assert explorer.buffer.disabled


@pytest.mark.parametrize("wrong", [5, {}, {"a": 1}])
def test_what_is_no_scenario_is_refused(explore, wrong):
    with pytest.raises(ScenarioError, match="must be a Scenario"):
        explore(wrong)


def test_without_ipywidgets_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "tcpcc.apps.interactive.explorer", raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(tc.TcpccError, match=r"pip install 'tcpcc\[notebook\]'"):
        tc.explore(RACE)
