"""What the mean field, and the fluid model, refuse in one line because they would run it wrong."""

import pytest

import tcpcc as tc
from tcpcc.errors import ScenarioError
from tcpcc.queues import QUEUES
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


TIMED = [name for name, queue in QUEUES.items() if queue.on_interval and queue.on_fluid]


@pytest.mark.parametrize("name", TIMED)
def test_the_timer_of_a_queue_is_no_function_of_the_queue(name):
    with pytest.raises(ScenarioError, match=f"queue '{name}' changes by a timer"):
        tc.right_hand_side(scenario(name))


@pytest.mark.parametrize("name", TIMED)
def test_timers_of_queues_run_in_the_mean_field(name):
    """Without its timer the queue would be drop-tail, and full most of the time."""
    net = tc.dumbbell("30 Mbps", "20 ms", 800, queue=name)
    case = tc.Scenario(net, [tc.Flow("newreno", count=60, access_delay="40 ms")], duration=100)
    queue, full = (
        tc.simulate(x, "meanfield").queue_mean(after=50)
        for x in (case, case.replace(net=tc.dumbbell("30 Mbps", "20 ms", 800)))
    )
    assert queue == pytest.approx(tc.simulate(case).queue_mean(after=50), rel=0.2)
    assert queue < 0.5 * full


def test_rem_is_at_its_equilibrium():
    """(2) of `rem` at rest: a (q - target) = C T - x, and x = C T / (1 - p) arrive."""
    net = tc.dumbbell("30 Mbps", "20 ms", 800, queue="rem")
    flows = [tc.Flow("newreno", count=60, access_delay="40 ms")]
    run = tc.simulate(tc.Scenario(net, flows, duration=200), "meanfield")
    sent = 3750 * 0.002
    excess = sent / (1 - run.drop_rate(after=150)) - sent
    assert run.queue_mean(after=150) == pytest.approx(20 - excess / 0.1, rel=0.01)


def test_pi_holds_its_target():
    """Hollot, Misra, Towsley, Gong 2001: 60 flows, 3750 packets/s, a target of 200 packets."""
    queue = tc.PI(qref=200, a=1.822e-5, b=1.816e-5, w=170)
    net = tc.dumbbell("15 Mbps", "20 ms", 800, queue=queue)
    flows = [tc.Flow("newreno", count=60, access_delay="76 ms", packet_size=500)]
    run = tc.simulate(tc.Scenario(net, flows, duration=200), "meanfield")
    assert run.queue_mean(after=150) == pytest.approx(200, rel=0.02)


def test_the_mean_field_has_no_recovery_and_refuses_none():
    tc.register(tc.Recovery("mine", "go-back-N", on_ack))
    own, known = (tc.simulate(scenario(recovery=r), "meanfield") for r in ("mine", "sack"))
    assert own.queue_mean(after=2) == known.queue_mean(after=2)


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
