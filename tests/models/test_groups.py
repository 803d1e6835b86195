"""Flows that share state: who sees whom, in which models, and what is refused."""

import numpy as np
import pytest
from drivers import both_drivers

import tcpcc as tc
from tcpcc.controllers import Controller, State
from tcpcc.engine.jit import accessor, member
from tcpcc.errors import RuleError
from tcpcc.models.controller_memory import ControllerMemory

NET = tc.dumbbell("10 Mbps", "20 ms", 50)


def count(s, p, a):
    """The window is the number of members; `seen` is the sum of their own numbers."""
    s.own = a.packet_size
    s.seen = 0.0
    for i in range(s.members):
        s.seen += member(s, i).own
    s.cwnd = float(s.members)


def counter(on_ack=count, **more):
    state = {"own": State(0, "", "own number"), "seen": State(0, "", "sum of all")}
    return Controller("counter", "", on_ack, state=state, record=("seen",), coupled=True, **more)


def flow(controller, size=100, **settings):
    return tc.Flow(controller, packet_size=size, **settings)


def seen(flows, **how):
    """The last `seen` of each flow."""
    run = tc.simulate(tc.Scenario(NET, flows, duration=1), trace=True, **how)
    table = run.trace().dropna(subset="seen").groupby("flow", observed=True)["seen"].last()
    return {str(name): value for name, value in table.items()}


def test_a_rule_reads_the_states_of_its_groups_members_only():
    one = counter()
    flows = [
        flow(one, 100, group="x", name="x1"),
        flow(one, 200, group="x", name="x2"),
        flow(one, 400, group="y", name="y1"),
        flow(one, 800, name="alone"),
        flow(one, 1600, group="y", name="y2", start=0.3),
    ]
    found = seen(flows)
    assert found == {"x1": 300, "x2": 300, "y1": 2000, "y2": 2000, "alone": 800}
    assert seen(flows, driver="simpy") == found


def test_the_first_flows_of_a_count_are_one_connection_the_second_another():
    one = counter()
    flows = [flow(one, size, group="c", count=2, name=f"of{size}") for size in (100, 200)]
    assert set(seen(flows).values()) == {300}
    run = tc.simulate(tc.Scenario(NET, flows, duration=1))
    assert run.data["group"].values.tolist() == ["c.1", "c.2", "c.1", "c.2"]


def test_both_drivers_give_the_same_bits():
    flows = [tc.Flow("olia", group="m"), tc.Flow("olia", group="m", start=1.0), tc.Flow("reno")]
    both_drivers(tc.Scenario(NET, flows, duration=5))


def test_a_rule_of_a_group_is_the_same_interpreted():
    """On views of records, as with NUMBA_DISABLE_JIT=1, and compiled."""
    net = tc.dumbbell("10 Mbps", "20 ms", 50)
    flows = tc.Scenario(net, [tc.Flow("lia", group="m", count=1, name=n) for n in "ab"], duration=1)
    memory, rows = (
        ControllerMemory(),
        np.zeros(2, [("state", int), ("params", int), ("sample", int)]),
    )
    resolved = flows.resolve().flows
    states = [memory.fill(row, f) for row, f in zip(rows, resolved, strict=True)]
    for state, cwnd in zip(states, (10.0, 20.0), strict=True):
        state["cwnd"], state["ssthresh"], state["rtt"] = cwnd, 2.0, 0.1
    assert resolved[0].controller is not None
    view = accessor(resolved[0].controller.state_dtype)(int(rows["state"][0]), 0)
    assert [member(view, i).cwnd for i in range(view.members)] == [10, 20]


def test_a_flow_that_is_added_joins_its_group():
    one = counter()
    scenario = tc.Scenario(NET, [flow(one, 100, group="x", name="first")], duration=2)
    sim = tc.PacketSimulation(scenario, growing=True, trace=True)

    def later():
        yield sim.env.timeout(1)
        sim.add(flow(one, 200, group="x", name="second"))

    sim.env.process(later())
    trace = sim.run().trace().dropna(subset="seen")
    assert trace[(trace.time < 1) & (trace.seen > 0)].seen.unique().tolist() == [100]
    assert trace.seen.iloc[-1] == 300


def test_a_group_is_summed_and_saved():
    flows = [tc.Flow("lia", group="m", name=n) for n in "ab"] + [tc.Flow("reno", name="c")]
    scenario = tc.Scenario(NET, flows, duration=5)
    assert tc.Scenario.from_toml(scenario.to_toml()) == scenario
    run = tc.simulate(scenario)
    rates = run.throughput(after=1)
    sums = run.by_group(rates)
    assert sums["group"].values.tolist() == ["m", "c"]
    assert sums.values == pytest.approx([rates.values[:2].sum(), rates.values[2]])
    series = run.by_group(run.data["delivered"])
    assert series.dims == ("group", "time")
    assert series.sel(group="m").values == pytest.approx(run.data["delivered"][:, :2].sum("flow"))


# Refusals, each in one line


def on_ack(s, p, a):
    s.cwnd = member(s, 0).cnwd


def writes(s, p, a):
    m = member(s, 0)
    m.cwnd = 2.0


def outside(s, p, a):
    s.cwnd = member(s, s.members).cwnd


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (on_ack, "member\\(s, 0\\).cnwd: not in the state of a member: did you mean 'cwnd'"),
        (writes, "m.cwnd: a rule may only read this field of the state of a member"),
    ],
)
def test_a_wrong_use_of_a_member_is_found_when_the_rule_is_defined(rule, message):
    with pytest.raises(tc.ScenarioError, match=message):
        counter(rule)


def test_a_member_that_is_not_there_ends_the_run():
    with pytest.raises(IndexError, match=r"not between 0 and s\.members - 1"):
        tc.simulate(tc.Scenario(NET, [tc.Flow(counter(outside), group="x")], duration=1))


def divides(s, p, a):
    s.own = a.packet_size
    if a.now > 0.5:
        s.cwnd = 1 / (member(s, 1).own - 200)


def test_the_line_of_a_failing_rule_of_a_group_is_named():
    one = counter(divides)
    flows = [flow(one, 100, group="x"), flow(one, 200, group="x")]
    with pytest.raises(RuleError, match=r"'counter', on_ack, line \d+ of test_groups.py"):
        tc.simulate(tc.Scenario(NET, flows, duration=1))


def test_the_fields_of_a_group_are_not_a_controllers_own():
    with pytest.raises(tc.ScenarioError, match="state 'members' is common to all"):
        Controller("mine", "", state={"members": State(0, "", "")}, coupled=True)


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        ([("lia", {}), ("reno", {})], "group 'm': flows with controllers 'lia' and 'reno'"),
        ([("reno", {}), ("olia", {})], "group 'm': flows with controllers 'reno' and 'olia'"),
        ([("lia", {}), ("lia", {"slow_start": "hystart"})], "one controller and one slow start"),
        ([("lia", {"count": 2}), ("lia", {})], "group 'm': flows with count = 2 and 1"),
        ([("lia", {}), ("lia", {"name": "m"})], "group 'm': a flow has this name"),
    ],
)
def test_flows_that_cannot_be_a_group(flows, message):
    made = [tc.Flow(name, group="m", **settings) for name, settings in flows]
    with pytest.raises(tc.ScenarioError, match=message):
        tc.Scenario(NET, made, duration=1).resolve()


def test_uncoupled_flows_may_be_any_group():
    tc.Scenario(
        NET, [tc.Flow("reno", group="m"), tc.Flow("cubic", group="m")], duration=1
    ).resolve()


def test_models_that_cannot_couple_say_so():
    flows = [tc.Flow("lia", group="m"), tc.Flow("lia", group="m", background=True)]
    scenario = tc.Scenario(NET, flows, duration=1)
    many = scenario.replace(flows=[flow.replace(count=3) for flow in flows])
    with pytest.raises(tc.ScenarioError, match="has flows with and without background=True"):
        tc.simulate(many, "hybrid", senders=2)
    assert (tc.simulate(many, "hybrid").data.delivered.sum("time") > 0).all()
    with pytest.raises(tc.ScenarioError, match="'lia': coupled = True: exported code"):
        tc.export("lia", to="c")
    with pytest.raises(tc.ScenarioError, match="flow: group = 'm': must be left out"):
        tc.workloads.on_off(tc.Flow("lia", group="m"), sources=1, size=10, off=1)
