"""One sample for all rules: every field is known, or NaN."""

import dataclasses
import math
from types import SimpleNamespace

import pytest
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.controllers.controller import CONTROLLERS, OF_PACKETS
from tcpcc.controllers.reno import PARAMS, on_timeout
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_loss as reno_on_loss
from tcpcc.errors import ScenarioError
from tcpcc.models.packet.handlers import run_events
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.transport import sample

RATE = 1250.0  # packets/s, of the path


def on_ack(s, p, a):
    reno_on_ack(s, p, a)
    s.acks += 1
    s.acks_in_recovery += 1.0 if a.phase == 1 else 0.0
    s.acked_in_recovery += a.acked if a.phase == 1 else 0.0
    s.rate, s.owd, s.lost, s.pipe = a.delivery_rate, a.owd, a.lost, a.pipe
    s.total, s.of_idle, s.ce = a.total_delivered, a.idle, s.ce + a.ce
    s.marked += a.marked


def on_round(s, p, a):
    s.round_rate = a.delivery_rate


def on_loss(s, p, a):
    reno_on_loss(s, p, a)
    s.loss_phase, s.loss_rate, s.loss_owd = a.phase, a.delivery_rate, a.owd
    s.loss_pipe, s.loss_total, s.loss_ce = a.pipe, a.total_delivered, a.ce


def on_mark(s, p, a):
    reno_on_loss(s, p, a)
    s.mark_ce, s.mark_rate = a.ce, a.delivery_rate


NUMBERS = (
    "acks", "acks_in_recovery", "acked_in_recovery", "rate", "owd", "lost", "pipe", "total",
    "of_idle", "ce", "marked", "round_rate", "loss_phase", "loss_rate", "loss_owd", "loss_pipe",
    "loss_total", "loss_ce", "mark_ce", "mark_rate",
)  # fmt: skip
READER = tc.Controller(
    "reader", "Reno that notes its sample", on_ack, on_loss, on_timeout, on_round,
    on_mark=on_mark, params=PARAMS, state={n: tc.State(0, "", "") for n in NUMBERS},
    recovery="sack-prr",
)  # fmt: skip


def state(
    controller=READER, duration=5.0, *, buffer=30, queue=None, recovery="sack-prr", **transport
):
    """Its state at the end of a flow over 10 Mb/s, 40 ms and a buffer of 30 packets."""
    flow = tc.Flow(controller, recovery=recovery, transport=transport)
    world = PacketWorld(on_a_link(flow, buffer=buffer, queue=queue, duration=duration, seed=1))
    while run_events(world.address, float(duration)):
        world.grow()
    return world.senders.states[0][0], world.tcp[0]


@pytest.mark.parametrize("recovery", ["newreno", "sack-prr", "rack-tlp"])
def test_a_plain_on_ack_reads_rates_delays_and_packets_in_flight(recovery):
    s, f = state(recovery=recovery)
    assert f["loss_events"] > 0
    assert s["acks_in_recovery"] == 0
    assert s["rate"] == pytest.approx(RATE, rel=0.01)
    assert s["round_rate"] == pytest.approx(RATE, rel=0.01)
    assert 0.0208 - 1e-9 <= s["owd"] <= 0.0208 + 31 / RATE
    assert 20 < s["pipe"] <= 85
    assert s["lost"] == 0
    assert f["delivered"] - 85 <= s["total"] <= f["delivered"]  # ACKs are under way


def test_fields_of_an_ack_are_nan_in_on_loss_and_the_others_known():
    s, _ = state()
    assert math.isnan(s["loss_rate"])
    assert math.isnan(s["loss_owd"])
    assert (s["loss_phase"], s["loss_ce"]) == (1, 0)
    assert 0 < s["loss_pipe"] <= 85
    assert 0 < s["loss_total"] < s["total"]


def test_with_every_ack_the_same_rule_is_called_in_recovery_and_acknowledges_nothing_there():
    s, f = state(dataclasses.replace(READER, every_ack=True))
    assert f["loss_events"] > 0
    assert s["acks_in_recovery"] > 20
    assert s["acked_in_recovery"] == 0
    assert s["acks"] == pytest.approx(f["acks"], abs=3)


@pytest.mark.parametrize("every_ack", [False, True])
def test_marks_of_an_ack_and_marks_since_the_last_rule_add_up(every_ack):
    """With no loss every mark is told once in `ce`, and once in `marked`."""
    controller = dataclasses.replace(READER, every_ack=every_ack)
    s, f = state(controller, buffer=200, queue=tc.queues.StepMark(threshold=15), ecn="accurate")
    assert f["loss_events"] == 0
    assert s["ce"] == s["marked"] == f["echoed"]
    assert s["ce"] > 5
    assert s["mark_ce"] == 1
    assert s["mark_rate"] == pytest.approx(RATE, rel=0.01)


def test_packets_are_recorded_only_for_rules_that_read_of_them():
    plain = dataclasses.replace(
        READER, on_ack=reno_on_ack, on_loss=reno_on_loss, on_mark=None, on_round=None
    )
    assert plain.reads_of_packets == []
    assert state(plain, 0.5)[1]["delivery"] == 0
    read = ["pipe", "total_delivered", "delivery_rate", "lost", "owd"]
    assert READER.reads_of_packets == read
    assert state(READER, 0.5)[1]["delivery"] != 0
    names = [n for n, c in CONTROLLERS.items() if c.reads_of_packets]
    assert names == ["bbr", "bbr2", "bbr3", "ledbat", "lp", "prague", "vivace"]


def of_pipe(sample):
    return sample.pipe


def by_helper(s, p, a):
    s.cwnd = of_pipe(a)


def by_name(s, p, a):
    s.cwnd = of_pipe(sample=a)


def by_another_name(s, p, a):
    b = a
    s.cwnd = b.pipe


@pytest.mark.parametrize(
    ("rule", "read"),
    [(by_helper, ["pipe"]), (by_name, list(OF_PACKETS)), (by_another_name, list(OF_PACKETS))],
)
def test_fields_are_found_in_helpers_and_under_other_names(rule, read):
    assert (
        tc.Controller("x", "", rule, on_timeout, on_timeout, params=PARAMS).reads_of_packets == read
    )


def test_the_analysis_refuses_rules_that_read_of_packets():
    with pytest.raises(ScenarioError, match=r"controller 'reader' needs packets \(a.pipe\)"):
        tc.analysis.equilibrium(on_a_link(READER))


def test_an_ack_that_reports_no_packet_has_no_delivery_rate(monkeypatch):
    """Not that of the packet before either."""
    monkeypatch.setattr(sample, "delivery_at", lambda *_: SimpleNamespace(news=0))
    a = SimpleNamespace(delivery_rate=9.0, rate_interval=9.0, rate_delivered=9.0, owd=9.0)
    sample.fill_of_newest(SimpleNamespace(delivery=1), a)
    assert set(vars(a).values()) == {0.0}
