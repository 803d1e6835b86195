"""Sentences of RFC 5682 (F-RTO), by section: the version with SACK."""

import math

import pytest
from endpoint import opened, started, view

import tcpcc as tc
from tcpcc.transport.flow_record import LOSS, OPEN, STAMP


def timed_out(**settings):
    """A sender of packets 1 to 11, acknowledged up to 0, after a timeout that has sent 1 again."""
    end = opened("rack-tlp", make=tc.Transport, initial_window=10, **settings)
    assert end.time_out() == [1]
    assert (end.phase, end.cwnd, end.recover) == (LOSS, 1, end.max_seq)
    return end


def in_network(end):
    """The segments in the network, in sending order."""
    found, seq = [], int(end.world.senders.deliveries[0]["first"][0][0])
    while seq >= 0:
        found.append(seq)
        place = end.stamps + (seq & end.stamp_mask) * STAMP.itemsize
        seq = int(view(place, STAMP)["after"])
    return found


def test_3_1_step_2_the_ack_of_the_retransmission_releases_two_new_segments():
    end = timed_out()
    assert end.ack(1.0, 1) == [12, 13]


@pytest.mark.parametrize("settings", [{"frto": False}, {"size": 12}])
def test_3_1_step_2_otherwise_retransmissions(settings):
    """Without F-RTO, or without new data."""
    end = timed_out(**settings)
    assert end.ack(1.0, 1)[0] == 2


def test_3_1_step_2_an_ack_of_all_segments_shows_a_spurious_timeout_too():
    """A difference from the RFC, as in Linux: segments sent once have arrived."""
    end = timed_out()
    end.ack(1.0, end.recover)
    assert (end.phase, end.ssthresh) == (OPEN, math.inf)


@pytest.mark.parametrize("how", ["cumulative", "selective"])
def test_3_1_step_3_an_ack_of_a_segment_sent_once_shows_a_spurious_timeout(how):
    """The window is that before the timeout, and nothing else is sent again (section 6)."""
    end = timed_out()
    end.ack(1.0, 1)
    sent = end.ack(1.1, 2) if how == "cumulative" else end.dupack(1.1, 3)
    assert (end.phase, end.ssthresh, end.backoff) == (OPEN, math.inf, 1)
    assert end.cwnd >= 11
    assert min(sent, default=14) >= 14
    assert end.retransmitted == 1


def test_3_1_step_3_an_ack_of_new_data_only_shows_a_loss():
    """Conventional recovery: the other segments are sent again."""
    end = timed_out()
    cut = end.ssthresh
    end.ack(1.0, 1)
    assert end.dupack(1.1, 12) == [2]
    assert end.ack(1.2, 2) == [3, 4]
    assert (end.phase, end.ssthresh) == (LOSS, cut)


@pytest.mark.parametrize("first", [0, 1])
def test_after_a_spurious_timeout_no_packet_is_forgotten(first):
    """The segment sent again was sent last but for the new ones."""
    end = started("rack-tlp", make=tc.Transport, initial_window=10)
    if first == 1:
        end.ack(0.1, 0)
    last = end.max_seq
    assert end.time_out() == [first]
    end.dupack(1.1, 3)
    assert end.phase == OPEN
    before = [k for k in range(first + 1, last + 1) if k != 3]
    assert in_network(end) == [*before, first, *range(last + 1, end.max_seq + 1)]
    if first == 0:  # the packet before it in the list leaves
        end.dupack(1.2, last)
        assert in_network(end) == [*before[:-1], first, *range(last + 1, end.max_seq + 1)]


def test_3_1_step_1_a_second_timeout_begins_again():
    end = timed_out()
    end.ack(1.0, 1)
    assert end.time_out() == [2]
    assert end.ack(5.0, 2) == [14, 15]
