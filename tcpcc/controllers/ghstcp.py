"""Gentle HighSpeed TCP: HighSpeed TCP with Reno's increase while the RTT rises.

Source: K. Tokuda, G. Hasegawa, M. Murata, "Analysis and improvement of HighSpeed TCP with
TailDrop/RED routers", HSN 2003; Z. Zhang, G. Hasegawa, M. Murata, 2005. Only the abstracts were
available.

Equations (W = cwnd; a(W) and b(W) as in `hstcp.py`). The RTT samples of a round are divided into
`groups` groups of equal numbers of packets; m_1 ... m_n are the groups' means.

(1)  PCT = (number of k with m_k > m_{k-1}) / (n - 1)                   pairwise comparison
(2)  PDT = (m_n - m_1) / sum over k of |m_k - m_{k-1}|, 0 if all equal  pairwise difference
(3)  each round: Reno mode if PCT > pct_high or PDT > pdt_high, and neither PCT < pct_low nor
     PDT < pdt_low; HighSpeed mode if PCT < pct_low or PDT < pdt_low, and neither PCT > pct_high
     nor PDT > pdt_high, or if the round's mean RTT exceeds the smallest RTT by less than
     `no_queue`; otherwise the mode stays
(4)  per newly acknowledged packet:  W <- W + 1/W in Reno mode, W <- W + a(W)/W in HighSpeed mode
(5)  loss, timeout:  as HighSpeed TCP, and HighSpeed mode

Uncertain
    The test of the trend. The two measures and (3) are from memory. (3), the thresholds 0.66, 0.54,
    0.55, 0.45 and the 10 groups of 100 packets are those of pathload (M. Jain, C. Dovrolis, SIGCOMM
    2002); pathload uses medians, (1) means. The version of 2005 compares the RTT with two
    thresholds instead. That (5) ends Reno mode is our choice.
Differences from pathload
    Means that differ only by rounding are equal (`vegas.trend`). A trend counts only if there is a
    queue (`no_queue`, as in ARENO). Without a queue the RTT varies because single packets wait for
    each other.

Evidence (constants: paper)
    vector: HSTCP without a queue, Reno while the RTT grows
        controllers/test_highspeed.py::test_ghstcp_turns_to_reno_while_round_trip_times_rise
"""

from tcpcc.controllers.areno import NO_QUEUE
from tcpcc.controllers.hstcp import check_range, hstcp, increase
from tcpcc.controllers.hstcp import on_loss as hstcp_on_loss
from tcpcc.controllers.hstcp import on_timeout as hstcp_on_timeout
from tcpcc.controllers.vegas import trend
from tcpcc.definition import Param, State, exceeds, register


def forget(s):
    """Start the groups of a new round."""
    s.total = s.weight = 0.0
    s.first = s.last = 0.0
    s.pairs = s.rises = s.variation = 0.0


def on_round(s, p, ack):
    if ack.round_rtt - ack.base_rtt < p.no_queue:
        s.gentle = 0.0
    elif s.pairs > 0:
        pct = s.rises / s.pairs  # (1)
        pdt = (s.last - s.first) / s.variation if s.variation > 0 else 0.0  # (2)
        above = pct > p.pct_high or pdt > p.pdt_high
        below = pct < p.pct_low or pdt < p.pdt_low
        if above != below:
            s.gentle = 1.0 if above else 0.0  # (3)
    forget(s)


def compare(s, mean):
    """Compare a group's mean with that of the previous group."""
    if s.first == 0:
        s.first = mean
    else:
        change = trend(mean, s.last)
        s.pairs += 1
        if change > 0:
            s.rises += 1
        if change != 0:
            s.variation += abs(mean - s.last)
    s.last = mean


def watch(s, p, ack):
    """Add an RTT sample; close the group when it is full."""
    if ack.rtt == 0:
        return
    s.total += ack.rtt * ack.delivered
    s.weight += ack.delivered
    if s.weight >= ack.window / p.groups:
        compare(s, s.total / s.weight)
        s.total = s.weight = 0.0


def on_ack(s, p, ack):
    watch(s, p, ack)
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    elif s.gentle != 0:
        s.cwnd += ack.acked / s.cwnd  # (4)
    else:
        s.cwnd += increase(p, s.cwnd) / s.cwnd * ack.acked


def on_loss(s, p, ack):
    hstcp_on_loss(s, p, ack)
    s.gentle = 0.0  # (5)
    forget(s)


def on_timeout(s, p, ack):
    hstcp_on_timeout(s, p, ack)
    s.gentle = 0.0
    forget(s)


def check(p):
    complaint = exceeds(p, "pct_low", "pct_high") or exceeds(p, "pdt_low", "pdt_high")
    return complaint or check_range(p)


ghstcp = register(
    hstcp.variant(
        name="ghstcp",
        summary="HighSpeed TCP with Reno's increase while the RTT rises",
        source="Tokuda, Hasegawa, Murata 2003",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **NO_QUEUE,
            "groups": Param(10, "per round", "groups of RTT samples compared (uncertain)", 2),
            "pct_high": Param(0.66, "", "PCT above it: rising (uncertain; pathload)", 0, 1),
            "pct_low": Param(0.54, "", "PCT below it: not rising (uncertain; pathload)", 0, 1),
            "pdt_high": Param(0.55, "", "PDT above it: rising (uncertain; pathload)", -1, 1),
            "pdt_low": Param(0.45, "", "PDT below it: not rising (uncertain; pathload)", -1, 1),
        },
        state={
            "gentle": State(0, "0 or 1", "Reno mode"),
            "total": State(0, "s", "sum of the RTTs in the current group"),
            "weight": State(0, "packets", "number of packets in the current group"),
            "first": State(0, "s", "mean of the round's first group; 0: none yet"),
            "last": State(0, "s", "mean of the last complete group"),
            "pairs": State(0, "", "pairs of groups in this round"),
            "rises": State(0, "", "pairs with a larger later mean"),
            "variation": State(0, "s", "sum of the absolute differences"),
        },
        validate=check,
        look=("sky", "^"),
    )
)
