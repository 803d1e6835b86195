"""Data that an application writes while losses are being detected or repaired: RFC 5681, 3.2, RFC
6675, 5, and RFC 9937, 6.2; Linux sends in every state what is below cwnd (``tcp_write_xmit``)."""

import math

import pytest
from endpoint import Endpoint

import tcpcc as tc
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY
from tcpcc.transport.recovery import RECOVERIES

NAMES = RECOVERIES.names()
COUNTING = ["tahoe", "reno", "reno-rfc5681", "newreno", "newreno-steady", "vegas", "vegas-ns2"]
BY_PIPE = ["sack", "sack-prr", "sack-prr-6937", "rack-tlp"]
REDUCING = ["sack-prr", "sack-prr-6937", "rack-tlp"]


def writer(recovery, written, window, **settings):
    """A sender whose application has written so many packets; they are sent at 0 s."""
    end = Endpoint(recovery, make=tc.Transport, initial_window=window, **settings)
    end.set(to_send=written, awaits=1)
    end.start()
    return end


def repairing(recovery, written=10, window=20, **settings):
    """A sender of `written` packets that has sent nothing but packet 0 again for the duplicate ACKs
    caused by all others."""
    end = writer(recovery, written, window, **settings)
    sent = [seq for k in range(1, written) for seq in end.ack(0.1 + k / 1000, -1, k, (1, k + 1))]
    assert sent == [0]
    assert end.phase == RECOVERY
    return end


@pytest.mark.parametrize("recovery", NAMES)
def test_5681_3_2_data_written_after_two_duplicate_acks_cause_the_third(recovery):
    """So that packet 0 is retransmitted an RTT later, not by the timer (RFC 3042, 1)."""
    end = writer(recovery, 3, 5)
    end.dupacks(0.1, 1, 2)
    assert end.write(0.11, 4) == [3]
    assert 0 in end.dupack(0.21, 3)
    assert (end.phase, end.loss_events, end.timeouts) == (RECOVERY, 1, 0)


@pytest.mark.parametrize(
    ("recovery", "sent"), [*((x, [3, 4]) for x in COUNTING), *((x, [3, 4, 5, 6]) for x in BY_PIPE)]
)
def test_5681_3_2_no_more_than_cwnd_allows_leave_between_duplicate_acks(recovery, sent):
    """Five packets beyond the cumulative ACK; with SACK (RFC 6675, 5, step 3.3) five in the
    network, of which 1 and 2 are no longer."""
    end = writer(recovery, 3, 5)
    end.dupacks(0.1, 1, 2)
    assert end.write(0.11, 30) == sent
    assert end.write(0.12, 40) == []
    assert end.phase == OPEN


@pytest.mark.parametrize("recovery", ["reno", "newreno", *BY_PIPE])
def test_5681_3_2_data_written_in_a_recovery_leave_at_once(recovery):
    """Step 5: ssthresh is 5, and 8 packets have left the network or are inflated for. RFC 6675, 5,
    step C; RFC 9937, 6.2: at most ssthresh - pipe = 5 - 1."""
    end = repairing(recovery)
    assert end.write(0.15, 30) == [10, 11, 12, 13]
    assert end.write(0.16, 40) == []


@pytest.mark.parametrize("recovery", REDUCING)
def test_9937_6_2_only_packets_sent_count_as_sent(recovery):
    """prr_out: the ACKs after the retransmission allow packets that the application has not."""
    assert repairing(recovery).prr_out == 1


@pytest.mark.parametrize("recovery", REDUCING)
@pytest.mark.parametrize("answered", [4, 5, 6, 9])
def test_9937_6_2_what_acks_have_allowed_is_not_lost_without_data(recovery, answered):
    """While pipe exceeds ssthresh: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out."""
    end = writer(recovery, 40, 50)
    for k in range(1, answered + 1):
        end.ack(0.1 + k / 1000, -1, k, (1, k + 1))
    assert end.phase == RECOVERY
    assert end.pipe > math.floor(end.cwnd)
    due = (end.known - end.known_at_loss) * math.floor(end.cwnd) / end.flight_at_loss
    new = math.ceil(due) - 1
    assert end.write(0.15, 80) == list(range(40, 40 + new))
    assert end.write(0.15, 90) == []
    assert end.prr_out == math.ceil(due)


@pytest.mark.parametrize("recovery", REDUCING)
def test_9937_6_2_a_receive_window_that_opens_releases_what_acks_have_allowed(recovery):
    """ssthresh is 10, and the five packets 15 to 19 and packet 0 are in the network."""
    end = Endpoint(recovery, make=tc.Transport, initial_window=20, rwnd=20)
    end.start()
    for k in range(1, 16):
        end.ack(0.1 + k / 1000, -1, k, (1, k + 1))
    assert end.offer(0.15, 60) == [20, 21, 22, 23, 24]


@pytest.mark.parametrize("recovery", NAMES)
def test_5681_3_1_data_written_after_a_timeout_leave_as_slow_start_allows(recovery):
    """cwnd is 2 after the ACK of packet 0, of which packet 1, sent again, takes one."""
    end = writer(recovery, 2, 10)
    end.time_out()
    end.ack(5.0, 0)
    assert end.phase == LOSS
    assert end.write(5.01, 4) == [2]


@pytest.mark.parametrize("recovery", BY_PIPE)
def test_6675_5_1_duplicate_acks_after_a_timeout_hold_no_written_data_back(recovery):
    """The retransmission of 1 is lost again, 2 and 3 have arrived."""
    end = writer(recovery, 4, 10)
    end.time_out()
    end.ack(5.0, 0)
    end.dupacks(5.1, 2, 3)
    assert end.phase == LOSS
    assert end.write(5.2, 9) == [4]
