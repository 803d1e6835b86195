"""What rules that pace see in the fluid model, beside packets: rates, ACKs, pieces, losses."""

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.transport.flow_record import OPEN

MODELS = ("packet", "fluid")


def keep(s, p, a):
    """Note what an ACK says; rate and window stay."""
    s.acks += 1
    s.reported += a.delivered
    s.fastest = max(s.fastest, a.delivery_rate)
    s.piece = a.piece
    s.lost_before = s.lost_before + 1 if a.lost > 0 else s.lost_before
    s.open = s.open + 1 if a.lost > 0 and a.phase == OPEN else s.open
    s.cwnd = p.window
    s.pacing_rate = p.rate


PACED = tc.Controller(
    "paced", "a constant rate", on_ack=keep, window="own", recovery="rack-tlp",
    params={
        "rate": tc.Param(1000.0, "packets/s", "pacing rate"),
        "window": tc.Param(1e4, "packets", "window"),
    },
    state={
        name: tc.State(np.inf if name == "pacing_rate" else 0.0, "", name)
        for name in ("pacing_rate", "acks", "reported", "fastest", "piece", "lost_before", "open")
    },
)  # fmt: skip
NOTED = ("acks", "reported", "fastest", "piece", "lost_before", "open")


def paced(rate, window=1e4, **settings):
    """A flow of 1,000-byte packets at `rate` packets/s, of a host that takes random times."""
    return tc.Flow(
        PACED, rate=rate, window=window, access_delay=0.01, processing=0.001, record=NOTED,
        **{"transport": tc.Transport(slow_start_rule=False, initial_window=1)} | settings,
    )  # fmt: skip


def last(run, name):
    return run.data["state_" + name].values[-1]


@pytest.mark.parametrize("model", MODELS)
def test_a_queue_that_shrinks_does_not_raise_the_delivery_rate(model):
    """A source that fills the link ends, and the queue of a second empties at twice the rate."""
    net = tc.dumbbell(8e6, 0.01, 2000)
    other = tc.CBR(7.2e6, on=[(1.0, 6.0)])
    run = tc.simulate(tc.Scenario(net, [paced(500), other], duration=12), model)
    assert last(run, "fastest")[0] == pytest.approx(500, rel=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_a_rule_sees_acks_of_two_packets(model):
    """With delayed ACKs, 50 packets/s: one in 2.5 steps of the fluid model."""
    settings = {"delayed_ack": 0.2, "slow_start_rule": False}
    flow = paced(50, transport=tc.Transport(**settings))
    run = tc.simulate(tc.Scenario(tc.dumbbell(8e6, 0.01, 100), [flow], duration=20), model)
    assert last(run, "reported")[0] / last(run, "acks")[0] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_a_rule_sees_pieces_of_the_pacing_rate(model):
    """4.9 packets in 1/1024 s; a piece has whole packets."""
    settings = {"gso_segments": 2, "gso_time": 1 / 1024, "slow_start_rule": False}
    flow = paced(5000, transport=tc.Transport(**settings))
    run = tc.simulate(tc.Scenario(tc.dumbbell(80e6, 0.01, 100), [flow], duration=3), model)
    assert last(run, "piece")[0] == 4


@pytest.mark.parametrize("model", MODELS)
def test_a_recovery_follows_another_without_a_pause(model):
    """At 10 % of loss packets sent in a recovery are lost, too: the next one begins with its end
    (Linux, ``tcp_fastretrans_alert``), and few ACKs come between two."""
    net = tc.dumbbell(8e6, 0.01, 1000, loss=0.1)
    run = tc.simulate(tc.Scenario(net, [paced(500)], duration=40), model)
    assert last(run, "lost_before")[0] > 5000
    assert last(run, "open")[0] < 0.05 * last(run, "lost_before")[0]


def note_time(s, p, a):
    s.at = a.now


def note_order(s, p, a):
    s.losses += 1
    if s.at == a.now:
        s.late += 1


ORDER = tc.Controller(
    "order", "notes whether an ACK precedes the loss that it shows",
    on_ack=note_time, on_loss=note_order, window="own", recovery="rack-tlp",
    state={name: tc.State(0.0, "", name) for name in ("at", "losses", "late")},
)  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_a_rule_for_every_ack_follows_the_loss_that_the_ack_shows(model):
    net = tc.dumbbell(8e6, 0.01, 1000, loss=0.01)
    flow = tc.Flow(ORDER, transport={"initial_window": 20}, record=("losses", "late"))
    run = tc.simulate(tc.Scenario(net, [flow], duration=20), model)
    assert last(run, "losses")[0] > 20
    assert last(run, "late")[0] == 0


def test_a_slow_paced_flow_loses_a_larger_share_at_a_full_buffer():
    """Four flows send 8 % more than the link carries, six an eighth of it. Packets of a flow keep a
    distance, so that those of a fast one meet fewer others."""
    rates = [270.0] * 4 + [20.0] * 6
    for model in MODELS:
        case = tc.Scenario(tc.dumbbell(8e6, 0.01, 60), [paced(r) for r in rates], duration=60)
        late = tc.simulate(case, model).data.sel(time=slice(10, None))
        lost = (late["dropped"].sum("time") / late["sent"].sum("time")).values
        assert lost[:4].mean() == pytest.approx(0.12, rel=0.15)
        assert lost[4:].mean() == pytest.approx(0.64, rel=0.15)
