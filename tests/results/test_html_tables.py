"""Scenarios, networks, flows, controllers and runs show themselves in a notebook."""

import re

import factories

import tcpcc as tc
from tcpcc import html_tables
from tcpcc.controllers import CONTROLLERS

NET = tc.dumbbell("10 Mbps", "20 ms", 50, queue=tc.queues.RED(min_thresh=5), access_delay="1 ms")
SCENARIO = tc.Scenario(
    NET, [tc.Flow("vegas", alpha=2), tc.Flow("reno", start=1.5, stop=9), tc.CBR("1 Mbps")],
    duration=10, seed=7,
)  # fmt: skip


def told(thing):
    """The text of its HTML, whose tags are closed."""
    text = thing._repr_html_()
    for tag in ("table", "tr", "td", "div"):
        assert len(re.findall(f"<{tag}[ >]", text)) == text.count(f"</{tag}>")
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_a_scenario_tells_its_links_and_flows():
    text = told(SCENARIO)
    assert text.startswith("Scenario : 10 s, seed 7")
    for part in ("bottleneck", "1e+07", "red", "vegas1", "alpha=2", "reno2", "1.5", "cbr"):
        assert part in text, part


def test_a_network_tells_its_links_and_access_links():
    text = told(NET)
    assert "left right 1e+07 0.02 50 packets red(min_thresh=5)" in text
    assert "0.001" in text


def test_a_flow_tells_what_is_not_default():
    text = told(tc.Flow("vegas", alpha=2, start=3))
    assert "controller vegas" in text
    assert "start" in text
    assert "stop" not in text


def test_a_definition_tells_parameters_ranges_and_source():
    vegas = CONTROLLERS["vegas"]
    text = told(vegas)
    assert vegas.summary in text
    assert vegas.source.split(",")[0] in text
    for name, param in vegas.params.items():
        value = param.plain(param.default)
        assert f"{name} {value if isinstance(value, bool) else f'{value:g}'}" in text
    assert told(tc.queues.RED).startswith("queue red")


def test_a_run_tells_its_flows():
    run = factories.toy_run(SCENARIO)
    assert "vegas" in told(run)
    assert run._repr_html_().count("<tr") == 1 + len(run.flows)


def test_what_a_user_named_cannot_become_a_tag():
    assert "<b>" not in html_tables.table(["a"], [["<b>"]])
    flow = tc.Flow("reno", name="<i>")
    assert "<i>" not in flow._repr_html_()
    assert "&lt;i&gt;" in factories.run(factories.scenario([flow]))._repr_html_()
