"""Sentences of RFC 9937 (proportional rate reduction), by section."""

from types import SimpleNamespace

import pytest
from endpoint import opened

import tcpcc as tc
from tcpcc.transport.flow_record import OPEN, RECOVERY
from tcpcc.transport.recovery import rate_reduction

RECOVERIES = ["sack-prr", "rack-tlp"]


@pytest.mark.parametrize(
    ("pipe", "ssthresh", "flight", "delivered", "out", "now", "safe", "sent"),
    [
        # pipe > ssthresh: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
        (30, 20, 40, 1, 0, 1, False, 1),
        (30, 20, 40, 2, 1, 1, False, 0),
        (30, 20, 40, 3, 1, 1, False, 1),
        (30, 20, 40, 3, 1, 1, True, 1),  # SafeACK adds nothing here
        (21, 20, 40, 4, 9, 1, True, 0),  # never negative
        (21, 20.9, 40, 40, 0, 1, False, 20),  # whole packets of ssthresh
        # else: MAX(prr_delivered - prr_out, DeliveredData), one more for a SafeACK
        (10, 20, 40, 5, 5, 1, False, 1),
        (10, 20, 40, 5, 5, 1, True, 2),
        (10, 20, 40, 9, 5, 1, False, 4),
        (10, 20, 40, 9, 5, 6, False, 6),
        (10, 20, 40, 9, 5, 1, True, 5),
        # at most ssthresh - pipe
        (19, 20, 40, 9, 5, 1, True, 1),
        (20, 20, 40, 9, 5, 1, True, 0),
        (0, 0.5, 4, 2, 2, 1, False, 1),  # of one packet, if ssthresh is less
    ],
)
def test_6_2_packets_that_an_ack_may_send(
    pipe, ssthresh, flight, delivered, out, now, safe, sent, monkeypatch
):
    monkeypatch.setattr(
        rate_reduction, "window_at", lambda *_: SimpleNamespace(cwnd=float(ssthresh))
    )
    s = SimpleNamespace(
        pipe=pipe, flight_at_loss=flight, known=100 + delivered, known_at_loss=100, prr_out=out
    )
    assert rate_reduction.may_go(s, SimpleNamespace(state=0), now, safe) == sent


def reduced(recovery, lost_acks=()):
    """A sender of 42 packets whose packet 1 is lost, after the duplicate ACKs caused by 2 to 41,
    and the packets that it has sent for them."""
    end = opened(recovery, make=tc.Transport, initial_window=40)
    sent = []
    for k in range(2, 42):
        if k not in lost_acks:
            sent += end.ack(0.2 + k / 1000, 0, k, (2, k + 1))
    assert end.phase == RECOVERY
    return end, sent


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("lost_acks", [(10,), range(12, 30), range(7, 41, 2), (5, 6, 40)])
def test_6_2_a_lost_ack_changes_no_sum(recovery, lost_acks):
    """DeliveredData is the change in what is known: the next ACK's block covers the packet of the
    lost one."""
    (whole, all_sent), (end, sent) = reduced(recovery), reduced(recovery, lost_acks)
    assert (end.known, end.prr_out) == (whole.known, whole.prr_out)
    assert sent == all_sent


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_6_3_retransmissions_and_new_data_count_as_sent(recovery):
    end, sent = reduced(recovery)
    repaired = sent.index(1)
    assert end.prr_out == len(sent[repaired:])


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_6_4_the_window_is_ssthresh_when_recovery_ends(recovery):
    end, _ = reduced(recovery)
    ssthresh = end.ssthresh
    end.ack(0.3, end.recover, 1)
    assert end.phase == OPEN
    assert end.cwnd == pytest.approx(ssthresh, abs=0.1)
