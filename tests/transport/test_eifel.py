"""Eifel detection: the first ACK after a retransmission shows whether the original had arrived
(RFC 3522, RFC 4015)."""

import pytest
from endpoint import DATA, Endpoint, opened
from late_packets import all_late, overtaken

import tcpcc as tc
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY

RECOVERIES = ["newreno", "sack", "sack-prr", "rack-tlp"]
QUIET = {"rwnd": 60, "dsack": False, "frto": False}


def in_recovery(recovery, **transport):
    """A sender with 41 packets, 1 to 40 outstanding, that has retransmitted packet 1."""
    end = opened(recovery, initial_window=40, eifel=True, **transport)
    end.dupacks(0.2, 3, 4, 5)
    if recovery == "rack-tlp":
        end.dupack(0.25, 6)
    assert end.phase == RECOVERY
    assert end.retransmitted >= 1
    return end


@pytest.mark.parametrize("again", [0, 1])
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_the_ack_of_the_original_ends_a_recovery_and_restores_the_window(recovery, again):
    end = in_recovery(recovery)
    before = (end.undo_cwnd, end.undo_ssthresh)
    end.set(echoes_repair=again)
    end.ack(0.3, 2)
    restored = end.cwnd >= before[0] and end.ssthresh == before[1]
    assert restored == (again == 0)
    assert end.phase == (RECOVERY if again and recovery != "reno" else OPEN)
    assert end.echo_due == 0


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_only_the_first_ack_after_the_retransmission_decides(recovery):
    end = in_recovery(recovery)
    end.set(echoes_repair=1)
    end.ack(0.3, 1)
    cut = end.cwnd
    end.set(echoes_repair=0)
    end.ack(0.31, 2)
    assert end.cwnd < 1.2 * cut


@pytest.mark.parametrize("recovery", ["sack", "sack-prr"])
def test_what_was_marked_lost_counts_as_in_the_network_again(recovery):
    """Packets 1 and 2 are late; 1 was retransmitted. Its original arrives."""
    end = opened(recovery, initial_window=20, eifel=True)
    end.dupacks(0.2, *range(3, 11))
    end.ack(0.3, 1)
    assert end.phase == OPEN
    assert end.pipe == end.max_seq - 1 - 8  # packets from 2 on, without those that have arrived
    assert end.sacked_ahead == 8


def test_after_a_spurious_timeout_new_data_is_sent():
    end = opened("sack-prr", initial_window=20, eifel=True)
    newest, window = end.max_seq, end.cwnd
    assert end.time_out() == [1]
    assert end.phase == LOSS
    sent = end.ack(2.0, 5)
    assert end.phase == OPEN
    assert end.cwnd >= window
    assert sent
    assert min(sent) == newest + 1
    assert end.backoff == 1


def test_the_receiver_echoes_what_moved_the_left_edge():
    """TS.Recent (RFC 7323, 4.3): not a packet beyond a hole; a late duplicate counts."""
    end = Endpoint("sack", size=20)
    for seq, again, echo in ((0, 0, 0), (2, 0, 0), (1, 1, 1), (4, 0, 1), (3, 0, 0), (1, 1, 1)):
        end.call(DATA, 1.0, seq, again)
        assert end.echo == echo, seq


def after(case):
    """The windows before and 1.5 s after packets are late at 5 s, and the run."""
    run = tc.simulate(case, trace=True)
    table = run.trace("flow").dropna(subset="cwnd")
    return [table["cwnd"][table["time"] < t].iloc[-1] for t in (5, 6.5)], run


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("late", [overtaken, all_late])
def test_eifel_restores_the_window_without_dsack(late, recovery):
    """Late by less than a round trip, or all late by more than the timeout."""
    args = (5, 5.003) if late is overtaken else (5,)
    more = {"share": 0.5, "most": 0.02} if late is overtaken else {}
    found = {}
    for eifel in (False, True):
        case = late("reno", *args, recovery=recovery, eifel=eifel, duration=7.0, **more, **QUIET)
        found[eifel], run = after(case)
        assert int(run.data["loss_events"].sum() + run.data["timeouts"].sum()) > 0
        assert int(run.data["drops"].sum()) == 0
    assert found[False][1] < found[False][0]
    assert found[True][1] >= found[True][0]


def test_the_first_packet_of_all_can_be_late():
    """It is sent again after a second, and its ACK arrives after one and a half."""
    net = tc.dumbbell("10 Mb/s", "750 ms", 1000)
    windows = []
    for eifel in (False, True):
        sender = tc.Transport(
            initial_window=8, initial_rto=1, handshake=False, eifel=eifel, **QUIET
        )
        run = tc.simulate(tc.Scenario(net, [tc.Flow("reno", transport=sender)], duration=2))
        assert float(run.data["timeouts"].sum()) == 1
        windows.append(float(run.data["cwnd"][-1, 0]))
    assert windows[0] < 8 < windows[1]
