"""SEARCH: neqo's tests of its bins and of its decision, and whole runs."""

import math

import pytest
from by_hand import Rules
from every_model import EVERY_MODEL, simulate_in
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.slow_start.search import missing

RTT, BIN = 0.1, 0.035
JUST = 1e-9
PACKET = 1200.0


class Sender(Rules):
    """Reno with SEARCH, told of ACKs as neqo's tests do: 1200 bytes sent and acknowledged first."""

    def __init__(self):
        super().__init__("reno", "search", cwnd=1.0, ssthresh=math.inf)
        self.now = self.sent = self.acked = 0.0
        self.wait(RTT, sent=PACKET, acked=PACKET)

    def wait(self, after, *, sent=0.0, acked=0.0, rtt=RTT):
        """Send, wait, and take an ACK; whether slow start goes on."""
        self.now += after
        self.sent += sent
        self.acked += acked
        left = self.sent - self.acked
        s = self.ack(now=self.now, rtt=rtt, srtt=rtt, delivered=acked, inflight=left)
        return s.cwnd < s.ssthresh

    @property
    def bin(self):
        return self.s.search_bin

    def bins(self, count, *, sent=PACKET, acked=PACKET):
        """So many bins, each with an ACK just after its end, in which nothing is missing."""
        for _ in range(count):
            assert self.wait(BIN + JUST, sent=sent, acked=acked)


def test_the_first_round_trip_time_gives_the_bins():
    one = Sender()
    assert one.s.search_duration == pytest.approx(BIN)
    one.wait(0.2, rtt=0.2)
    assert one.s.search_duration == pytest.approx(BIN)


def test_a_bin_ends_with_the_first_ack_after_it():
    one = Sender()
    one.wait(BIN - JUST)
    assert one.bin == 0
    one.wait(2 * JUST)
    assert one.bin == 1
    assert one.s.search_end == pytest.approx(RTT + 2 * BIN)


def test_bins_without_an_ack_repeat_the_one_before():
    one = Sender()
    one.wait(2 * BIN + JUST, sent=PACKET, acked=PACKET)
    assert one.bin == 2
    assert list(one.s.search_acked_at[:3]) == [0, 0, PACKET]
    assert list(one.s.search_sent_at[:3] - one.s.search_sent_at[0]) == [0, 0, PACKET]


@pytest.mark.parametrize(("passed", "anew"), [(10, False), (11, True)])
def test_more_bins_without_an_ack_than_a_window_has_begin_anew(passed, anew):
    one = Sender()
    one.wait(passed * BIN + JUST)
    assert (one.bin < 0) == anew
    if anew:
        one.wait(BIN, rtt=0.2)
        assert one.bin == 0
        assert one.s.search_duration == pytest.approx(2 * BIN)


@pytest.mark.parametrize("event", ["on_loss", "on_timeout"])
def test_a_loss_or_timeout_begins_anew(event):
    one = Sender()
    one.bins(5)
    assert one.call(event).search_bin < 0


def test_it_needs_ten_bins_an_rtt_ago_and_at_most_fifteen_since():
    """100 ms are 2.86 bins: from bin 13 on there are 10 before. 600 ms are 17 bins, 525 ms 15."""
    one = Sender()
    one.p.search_threshold = 2.0
    one.bins(12, acked=0.0)
    assert missing(one.s, RTT) == 0
    one.wait(BIN + JUST, sent=PACKET)
    assert one.bin == 13
    assert missing(one.s, RTT) == 1
    one.bins(15, acked=0.0)
    assert missing(one.s, 14.5 * BIN) == 1
    assert missing(one.s, 0.5251) == missing(one.s, 0.6) == 0


def test_with_all_delivered_nothing_is_missing():
    one = Sender()
    one.bins(20)
    assert missing(one.s, RTT) == 0


def test_the_window_an_rtt_ago_is_interpolated_back_in_time():
    """Bin k sends k packets: the ten bins that ended 2.857 bins ago sent 0.857 of the way from 10
    to 11 bins back."""
    one = Sender()
    for k in range(1, 21):
        one.wait(BIN + JUST, sent=float(k), acked=float(k))
    now = sum(range(11, 21))
    ago = [sum(range(20 - back - 9, 20 - back + 1)) for back in (2, 3)]
    part = RTT / BIN - 2
    sent = ago[0] * (1 - part) + ago[1] * part
    assert missing(one.s, RTT) == pytest.approx((sent - now) / sent)


def test_it_ends_when_delivery_slows_down_for_longer():
    """neqo's search_exits_when_delivery_rate_slows_down."""
    one, packets = Sender(), 10 * PACKET
    while one.bin < 12 or packets < 10 * PACKET * 2**15:
        assert one.wait(RTT, sent=packets, acked=packets)
        packets *= 2
    assert one.wait(RTT, sent=packets, acked=packets / 4)
    packets *= 1.25
    assert not one.wait(RTT, sent=packets, acked=packets / 4)
    assert one.s.ssthresh == one.s.cwnd


@EVERY_MODEL
def test_on_a_clean_path_it_ends_before_a_loss(model):
    """50 Mb/s, 100 ms: 625 packets in the pipe. It ends at 5.9 of these; a buffer of 6 has room,
    which standard slow start overflows."""
    link = {"rate": "50 Mbps", "delay": "50 ms", "buffer": 6 * 625}
    dropped = {}
    for rule in ("standard", "search"):
        flow = tc.Flow("reno", slow_start=rule)
        run = simulate_in(model, on_a_link(flow, duration=3, **link))
        dropped[rule] = run.data.dropped.sum().item()
        assert run.utilization(after=1.5) > 0.985
    assert dropped["standard"] > 1000
    assert dropped["search"] == 0
