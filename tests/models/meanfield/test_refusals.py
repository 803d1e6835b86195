"""What the mean field, and the fluid model, refuse in one line because they would run it wrong."""

import pytest

import tcpcc as tc
from tcpcc.errors import ScenarioError
from tcpcc.queues import QUEUES
from tcpcc.transport.recovery import RECOVERIES
from tcpcc.transport.recovery.go_back_n import on_ack

NET = {"rate": "10 Mbps", "delay": "20 ms", "buffer": 50}


def scenario(queue="droptail", **flow):
    net = tc.dumbbell(**NET, queue=queue)
    return tc.Scenario(net, [tc.Flow(**{"controller": "reno", **flow})], duration=5)


def refusal(case, model, **options):
    with pytest.raises(ScenarioError) as error:
        tc.simulate(case, model=model, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("marking", [False, True])
@pytest.mark.parametrize("name", [n for n, d in QUEUES.items() if d.on_interval and d.on_fluid])
def test_the_mean_field_refuses_queues_with_a_timer(name, marking):
    said = refusal(scenario(name), "meanfield", **({"marking": True} if marking else {}))
    assert f"queue '{name}' has a timer (on_interval)" in said
    with pytest.raises(ScenarioError, match="has a timer"):
        tc.equilibrium(scenario(name))
    assert tc.simulate(scenario(name), model="fluid").utilization() > 0.3


@pytest.mark.parametrize("model", ["fluid", "meanfield"])
def test_a_recovery_of_the_users_own_needs_packets(model):
    """Unless it says that its properties describe it; all built-in recoveries do."""
    tc.register(tc.Recovery("mine", "go-back-N", on_ack))
    assert f"the {model} model calls no rule of recovery 'mine'" in refusal(
        scenario(recovery="mine"), model
    )
    tc.simulate(scenario(recovery="mine"))
    tc.register(tc.Recovery("mine", "go-back-N", on_ack, fluid=True))
    tc.simulate(scenario(recovery="mine"), model=model)
    assert all(recovery.fluid for recovery in RECOVERIES.values())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cdg", "draws random numbers"),
        ("nv", "draws random numbers"),
        ("dual", "depends on exact values"),
        ("card", "depends on exact values"),
        ("newvegas", "depends on exact values"),
        ("bic_2004", "depends on exact values"),
    ],
)
def test_the_mean_field_refuses_controllers_that_means_do_not_describe(name, reason):
    case = scenario(controller=name)
    assert f"controller '{name}' {reason}" in refusal(case, "meanfield")
    with pytest.raises(ScenarioError, match=reason):
        tc.equilibrium(case)
    tc.simulate(case, model="fluid")


@pytest.mark.parametrize("delay", ["10 ms", "50 ms"])
def test_hybla_starts_in_the_mean_field(delay):
    """An ACK of no packets before the first RTT gave it a window that was no number. (At 200 ms the
    mean field has 1.0 of the link and packets 0.51, after the overshoot of their slow start.)"""
    net = tc.dumbbell("50 Mbps", delay, 400)
    case = tc.Scenario(net, [tc.Flow("hybla", count=5)], duration=60)
    packets, mean = (tc.simulate(case, model=m) for m in ("packet", "meanfield"))
    assert mean.utilization(after=20) == pytest.approx(packets.utilization(after=20), abs=0.15)


def test_a_window_that_is_no_number_is_one_line():
    def wrong(s, p, a):
        s.cwnd = -1.0

    broken = tc.Controller("broken", "", on_ack=wrong, on_loss=None, on_timeout=None)
    with pytest.raises(tc.TcpccError, match=r"^controller 'broken': cwnd .*, flow 'broken1'.*$"):
        tc.simulate(scenario(controller=broken), model="meanfield")
