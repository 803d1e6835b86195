"""The rule `on_send` is called for every packet sent, in every model."""

import math

import pytest
from drivers import both_drivers
from every_model import WAYS, simulate_in

import tcpcc as tc
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import reno

EVERY_WAY = pytest.mark.parametrize("model", WAYS)
NUMBERS = ("sent", "again", "calls", "inflight", "pipe", "back", "elsewhere")


def count(s, p, a):
    s.sent += a.sent
    s.again += a.retransmitted
    s.calls += 1
    s.inflight = max(s.inflight, a.inflight)
    s.pipe = max(s.pipe, a.pipe)


def on_ack(s, p, a):
    reno_on_ack(s, p, a)
    s.elsewhere += a.sent + a.retransmitted


COUNTER = reno.variant(
    name="counter", on_ack=on_ack, on_send=count, stamps={"sent": "back"},
    state={name: tc.State(0, "", "") for name in NUMBERS},
)  # fmt: skip


def scenario(controller, recovery="sack", *, loss=0.01, duration=20, **settings):
    net = tc.dumbbell("10 Mbps", "20 ms", 60, loss=loss)
    settings = {"recovery": recovery, "slow_start": "standard", "name": "f"} | settings
    behind = tc.Flow("reno", background=True, name="g", transport={"rwnd": 15})
    return tc.Scenario(net, [tc.Flow(controller, **settings), behind], duration=duration, seed=1)


def counted(model, *args, **settings):
    """The run of a flow with COUNTER, and its state at the end."""
    run = simulate_in(model, scenario(COUNTER, *args, record=NUMBERS, **settings))
    return run, run.states("f").max()


@EVERY_WAY
@pytest.mark.parametrize("recovery", ["sack", "rack-tlp", "newreno", "tahoe"])
def test_it_sees_all_packets_but_the_syn_and_which_of_them_are_retransmissions(model, recovery):
    run, s = counted(model, recovery, size=3000, duration=40, transport={"rwnd": 15})
    syn = 0 if model == "fluid" else 1
    assert s["sent"] == pytest.approx(float(run.data.sent.sel(flow="f").sum()) - syn, abs=1e-6)
    again = float(run.data.retransmitted.sel(flow="f").sum())
    assert s["again"] == pytest.approx(again, abs=1e-6)
    assert again > 10
    assert s["sent"] - s["again"] == pytest.approx(3000, abs=1.1)  # Tahoe's fluid: 3001
    assert s["calls"] == s["sent"] or model == "fluid"
    assert s["elsewhere"] == 0
    assert s["inflight"] == pytest.approx(15, abs=1e-9)  # with and without a retransmission


@EVERY_WAY
def test_the_packet_counts_as_in_flight_and_the_stamp_that_it_takes_along_is_new(model):
    """A window of 15 packets. The stamp is the number of packets sent, this one included."""
    run, s = counted(model, loss=0, transport={"rwnd": 15, "handshake": False})
    assert float(run.data.dropped.sum()) == 0
    assert (s["inflight"], s["pipe"]) == pytest.approx((15, 15), abs=1e-9)
    step = 5 if model == "fluid" else 0  # packets
    assert s["sent"] - s["back"] == pytest.approx(15, abs=step)


def nothing(s, p, a):
    pass


def note_clock(s, p, a):
    reno_on_ack(s, p, a)
    s.clock = a.clock


@EVERY_WAY
@pytest.mark.parametrize("state", [{}, {"pacing_rate": tc.State(900.0, "packets/s", "")}])
def test_a_rule_that_does_nothing_changes_no_bit(model, state):
    """The application limits the flow, so that its clock stands still now and then. Trains handle
    each ACK if a rule needs packets, as `on_start` does."""
    own = {
        "on_ack": note_clock,
        "on_start": nothing,
        "state": {"clock": tc.State(0, "s", ""), **state},
    }
    flow = {"writes": [(0.03 * k, 4) for k in range(500)], "record": ("clock",)}
    runs = [
        simulate_in(model, scenario(reno.variant(name="mine", **own, on_send=rule), **flow))
        for rule in (None, nothing)
    ]
    for name in runs[0].data:
        assert runs[0].data[name].values.tobytes() == runs[1].data[name].values.tobytes(), name
    assert float(runs[0].states("f")["clock"].max()) < 14


def test_both_drivers_give_the_same_bits():
    both_drivers(scenario(COUNTER, duration=4))


def halve(s, p, a):
    s.cwnd = max(0.5 * s.cwnd, 2.0)


@EVERY_WAY
def test_a_window_that_it_sets_applies_to_what_is_sent_later(model):
    case = scenario(reno.variant(name="halving", on_send=halve), loss=0)
    run = simulate_in(model, case)
    assert float(run.data.cwnd.sel(flow="f").max()) <= 10


def divides(s, p, a):
    s.cwnd = 10.0 + 1.0 / (a.sent - a.sent)


def leaves_nan(s, p, a):
    s.cwnd = a.sent * math.nan


def leaves_minus(s, p, a):
    s.ssthresh = -math.inf * a.sent


@EVERY_WAY
@pytest.mark.parametrize("rule", [divides, leaves_nan, leaves_minus])
def test_a_bad_rule_is_an_error_of_one_line(model, rule):
    case = scenario(reno.variant(name="bad", on_send=rule))
    with pytest.raises(tc.errors.RuleError, match=r"^controller 'bad'.* t = 0\.0[0-9]* s") as error:
        simulate_in(model, case)
    assert "\n" not in str(error.value)


def test_the_analysis_refuses_it():
    case = scenario(reno.variant(name="x", on_send=nothing))
    with pytest.raises(tc.ScenarioError, match=r"'x' needs packets \(on_send\)") as error:
        tc.analysis.equilibrium(case)
    assert "\n" not in str(error.value)
