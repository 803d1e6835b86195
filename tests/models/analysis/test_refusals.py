"""Queues with timers, and what the analysis refuses in one line because it would be wrong."""

import pytest

import tcpcc as tc
from tcpcc.errors import ScenarioError
from tcpcc.queues import QUEUES
from tcpcc.transport.recovery.go_back_n import on_ack

NET = {"rate": "10 Mbps", "delay": "20 ms", "buffer": 50}


def scenario(queue="droptail", **flow):
    net = tc.dumbbell(**NET, queue=queue)
    return tc.Scenario(net, [tc.Flow(**{"controller": "reno", **flow})], duration=5)


TIMED = [name for name, queue in QUEUES.items() if queue.on_interval and queue.on_fluid]


@pytest.mark.parametrize("name", TIMED)
def test_the_timer_of_a_queue_is_no_function_of_the_queue(name):
    with pytest.raises(ScenarioError, match=f"queue '{name}' changes by a timer"):
        tc.analysis.right_hand_side(scenario(name))


@pytest.mark.parametrize("name", TIMED)
def test_a_queue_with_a_timer_has_the_equilibrium_of_packets(name):
    """Without its timer the queue would be drop-tail, and full."""
    net = tc.dumbbell("30 Mbps", "20 ms", 800, queue=name)
    case = tc.Scenario(net, [tc.Flow("newreno", count=60, access_delay="40 ms")], duration=100)
    queue = float(tc.analysis.equilibrium(case)["queue"][0])
    assert queue == pytest.approx(tc.simulate(case).queue_mean(after=50), rel=0.2)
    assert queue < 400


@pytest.mark.parametrize("name", ["sred", "connection_red"])
def test_a_queue_that_counts_flows_sees_them(name):
    net = tc.dumbbell("30 Mbps", "20 ms", 400, queue=name)
    flows = [tc.Flow("newreno", count=20, access_delay="40 ms", jitter=1)]
    case = tc.Scenario(net, flows, duration=60)
    packets = tc.simulate(case).queue_mean(after=20)
    assert float(tc.analysis.equilibrium(case)["queue"][0]) == pytest.approx(packets, rel=0.15)


def test_rem_is_at_its_equilibrium():
    """(2) of `rem` at rest: a (q - target) = C T - x, and x = C T / (1 - p) arrive."""
    net = tc.dumbbell("30 Mbps", "20 ms", 800, queue="rem")
    flows = [tc.Flow("newreno", count=60, access_delay="40 ms")]
    found = tc.analysis.equilibrium(tc.Scenario(net, flows, duration=200))
    sent = 3750 * 0.002
    excess = sent / (1 - float(found["loss"][0])) - sent
    assert float(found["queue"][0]) == pytest.approx(20 - excess / 0.1, rel=0.01)


def test_pi_holds_its_target():
    """Hollot, Misra, Towsley, Gong 2001: 60 flows, 3750 packets/s, a target of 200 packets."""
    queue = tc.queues.PI(qref=200, a=1.822e-5, b=1.816e-5, w=170)
    net = tc.dumbbell("15 Mbps", "20 ms", 800, queue=queue)
    flows = [tc.Flow("newreno", count=60, access_delay="76 ms", packet_size=500)]
    found = tc.analysis.equilibrium(tc.Scenario(net, flows, duration=200))
    assert float(found["queue"][0]) == pytest.approx(200, rel=1e-6)


def test_the_analysis_has_no_recovery_and_refuses_none():
    tc.register(tc.Recovery("mine", "go-back-N", on_ack))
    own, known = (tc.analysis.equilibrium(scenario(recovery=r)) for r in ("mine", "sack"))
    assert own.identical(known)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cdg", "draws random numbers"),
        ("nv", "draws random numbers"),
        ("dual", "depends on exact values"),
        ("card", "depends on exact values"),
        ("newvegas", "depends on exact values"),
        ("bic_2004", "depends on exact values"),
        ("bbr", "needs packets"),
        ("xcp", "needs packets"),
    ],
)
def test_controllers_that_means_do_not_describe_run_in_the_fluid_model_only(name, reason):
    case = scenario(controller=name)
    for analyse in (tc.analysis.equilibrium, tc.analysis.stability, tc.analysis.right_hand_side):
        with pytest.raises(ScenarioError, match=f"controller '{name}' {reason}") as error:
            analyse(case)
        assert str(error.value).endswith('; use tc.simulate(..., model="fluid")')
        assert "\n" not in str(error.value)
    tc.simulate(case, model="fluid")


@pytest.mark.parametrize("name", [name for name, x in QUEUES.items() if not x.runs_in_fluid])
def test_a_queue_without_a_rule_for_amounts_is_refused(name):
    with pytest.raises(ScenarioError, match=f"link 'bottleneck': queue '{name}' has no on_fluid"):
        tc.analysis.equilibrium(scenario(name))


@pytest.mark.parametrize(
    ("flow", "settings", "line"),
    [
        ({"size": 100}, {}, "flow 'reno1': size = 100: the analysis takes only endless flows"),
        ({"writes": [(0, None)]}, {}, "writes: the analysis takes only flows that"),
        ({"controller": "lia", "group": "m"}, {}, "group = 'm': the analysis treats flows as"),
        ({}, {"workloads": tc.workloads.web("reno", rate=1)}, "takes only endless flows"),
        (
            {},
            {"changes": [tc.Change(1, "bottleneck", rate="5 Mbps")]},
            "change of link 'bottleneck' at 1: the analysis takes only constant links",
        ),
    ],
)
def test_what_ends_changes_or_is_coupled_is_refused(flow, settings, line):
    with pytest.raises(ScenarioError, match=line):
        tc.analysis.equilibrium(scenario(**flow).replace(**settings))


def test_a_window_that_is_no_number_is_one_line():
    def wrong(s, p, a):
        s.cwnd = -1.0

    broken = tc.Controller("broken", "", on_ack=wrong)
    with pytest.raises(tc.errors.NoEquilibriumError, match=r"^flow 'broken1': its window does not"):
        tc.analysis.equilibrium(scenario(controller=broken))
