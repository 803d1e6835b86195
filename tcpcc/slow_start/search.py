"""SEARCH: slow start that ends when the path delivers less than was sent one round trip before.

Source: J. Chung, M. Kachooei, F. Li, M. Claypool, "SEARCH -- a new slow start algorithm for TCP and
QUIC", draft-chung-ccwg-search-09; mozilla/neqo, cc/search.rs.

The first ACK sets the duration of a bin, D <- `search_window` RTT / 10. At the end of bin i, A_i
packets have been acknowledged and S_i sent since the start; R is the newest RTT.

(1)  delivered in the last 10 bins:      d = A_i - A_(i - 10)
(2)  sent in 10 bins, an RTT before:     s = S(t - R) - S(t - R - 10 D), interpolated between bins
(3)  (s - d)/s >= `search_threshold`:    ssthresh <- W

While the path delivers all, d = s. Once it is full, s exceeds d by what the path delivers in the
time by which R has grown. With the default numbers (3) holds when R is 2.7 base RTTs and W
5.3 BDP: with a buffer below about 4.5 BDP a loss comes first. (3) needs 10 bins before t - R, and
fewer than 15 since. If more than 10 bins pass without an ACK, the bins begin anew; so they do after
a loss or timeout.

Differences from the draft
    S is the sum of acknowledged packets and packets in flight.
    Interpolation goes back in time, as in neqo; the draft's goes forward.
    The draft's drain phase, which then lowers W towards an empty queue, is left out, as in neqo.
"""

import math

from tcpcc.definition import Param, State, register
from tcpcc.slow_start.start_up import StartUp

BINS = 10  # of a window
EXTRA = 15  # more, to look back by an RTT
ACKED_BINS, SENT_BINS = BINS + 1, BINS + 1 + EXTRA


def begin(s, p, ack):
    s.search_acked = 0.0
    s.search_bin = 0.0
    s.search_duration = p.search_window * ack.srtt / BINS
    s.search_end = ack.now + s.search_duration
    s.search_acked_at[0] = 0.0
    s.search_sent_at[0] = ack.inflight


def store(s, i, acked, sent):
    s.search_acked_at[i % ACKED_BINS] = acked
    s.search_sent_at[i % SENT_BINS] = sent


def pass_bins(s, ack, passed):
    """`passed` bins have ended; those before the last saw no ACK."""
    i = int(s.search_bin)
    acked, sent = s.search_acked_at[i % ACKED_BINS], s.search_sent_at[i % SENT_BINS]
    for k in range(i + 1, i + passed):
        store(s, k, acked, sent)
    store(s, i + passed, s.search_acked, s.search_acked + ack.inflight)
    s.search_bin = float(i + passed)
    s.search_end += passed * s.search_duration


def sent_between(s, old, new):
    return s.search_sent_at[new % SENT_BINS] - s.search_sent_at[old % SENT_BINS]


def missing(s, rtt):
    """(s - d)/s of (1) and (2); 0 where there are too few bins."""
    i = int(s.search_bin)
    back = int(rtt / s.search_duration)
    then = i - back
    if then <= BINS or back >= EXTRA:
        return 0.0
    delivered = s.search_acked_at[i % ACKED_BINS] - s.search_acked_at[(i - BINS) % ACKED_BINS]
    part = rtt / s.search_duration - back
    sent = sent_between(s, then - 1 - BINS, then - 1) * part
    sent += sent_between(s, then - BINS, then) * (1 - part)
    return (sent - delivered) / sent if sent > 0 else 0.0


def on_ack(s, p, ack, before):
    if s.search_bin < 0:
        if ack.srtt > 0:
            begin(s, p, ack)
        return
    s.search_acked += ack.delivered
    if ack.now <= s.search_end:
        return
    passed = int((ack.now - s.search_end) / s.search_duration) + 1
    if passed > BINS:
        s.search_bin = -1.0
        return
    pass_bins(s, ack, passed)
    if missing(s, ack.rtt if ack.rtt > 0 else ack.srtt) >= p.search_threshold:
        s.ssthresh = min(s.ssthresh, s.cwnd)  # (3)


def on_restart(s, p, ack):
    s.search_bin = -1.0


search = register(
    StartUp(
        name="search",
        summary="ends slow start when the path delivers less than was sent one round trip before",
        source="draft-chung-ccwg-search-09",
        on_ack=on_ack,
        on_restart=on_restart,
        params={
            "search_window": Param(3.5, "RTTs", "length of the 10 bins, in first RTTs", 0.1),
            "search_threshold": Param(0.26, "", "share not delivered that ends slow start", 0, 1),
        },
        state={
            "search_acked": State(0, "packets", "acknowledged since the first bin began"),
            "search_bin": State(-1, "", "number of the last bin that ended; -1: none has begun"),
            "search_duration": State(math.inf, "s", "duration of a bin"),
            "search_end": State(math.inf, "s", "end of the current bin"),
            "search_acked_at": State(0, "packets", "acknowledged at bins' ends", size=ACKED_BINS),
            "search_sent_at": State(0, "packets", "sent at bins' ends", size=SENT_BINS),
        },
        record=("search_bin",),
    )
)
