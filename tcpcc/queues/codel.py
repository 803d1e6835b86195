"""CoDel: drops at the head of the queue once packets have waited too long for an interval.

Source: RFC 8289, section 5, whose names these are; ECN as in RFC 8290 and Linux.

At a departure, with the packet's sojourn time, `first_above` the time from which on the queue has
been bad for an interval, and C(t) = t + interval/sqrt(count):

(1)  sojourn < target, or at most one packet of `mtu` bytes left:  first_above <- none
     otherwise, if there is none:                                  first_above <- now + interval
     a packet may be dropped where now >= first_above
(2)  dropping, and it may not be dropped:  not dropping any more
(3)  dropping, now >= drop_next:  drop, count + 1, drop_next <- C(drop_next) if the next may be too
(4)  not dropping, and it may be:  drop, begin dropping; count <- count - last_count if that is
     above 1 and drop_next is less than 16 intervals ago, else 1; drop_next <- C(now);
     last_count <- count

With `ecn` a packet that can be is marked where it would be dropped, and sent. One that has waited
longer than `ce_threshold` is marked in any case, as in Linux, for DCTCP.

Where windows are small the queue is longer than the target. 20 Reno flows at 20 Mb/s over 20 ms
would have to lose a packet in seven for windows of 3 (p = 1.5/W^2); by (3) it takes drops for 7 s
on end, without (2) between them, to lose as many. They keep 14 ms.

Differences from the RFC
    None. Its loops over packets are the link's (a dropped packet's successor follows, `q.again`),
    its `maxpacket` is `mtu`. Linux' square root is an integer approximation, this one is exact.
"""

import math

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import ECN, Discipline


def may_drop(s, p, q):
    """(1)."""
    if q.sojourn < p.target or q.inner_bytes <= p.mtu:
        s.first_above = 0.0
        return False
    if s.first_above == 0:
        s.first_above = q.now + p.interval
        return False
    return q.now >= s.first_above


def control_law(s, p, t):
    """C(t)."""
    return t + p.interval / math.sqrt(s.count)


def drop_or_mark(s, p, q):
    """(1) to (4) for one packet."""
    bad = may_drop(s, p, q)
    marks = p.ecn != 0 and q.ect != 0
    first = q.again != 0 and s.entered != 0  # the packet after the one that (4) has dropped
    s.entered = 0.0
    if first:
        return
    if s.dropping != 0:
        if not bad:
            s.dropping = 0.0  # (2)
            return
        if q.again != 0:
            s.drop_next = control_law(s, p, s.drop_next)
        if q.now >= s.drop_next:  # (3)
            s.count += 1
            if marks:
                q.mark = 1.0
                s.drop_next = control_law(s, p, s.drop_next)
            else:
                q.drop = 1.0
    elif bad:  # (4)
        s.dropping = 1.0
        recent = s.count - s.last_count
        lately = recent > 1 and q.now - s.drop_next < 16 * p.interval
        s.count = recent if lately else 1.0
        s.last_count = s.count
        s.drop_next = control_law(s, p, q.now)
        if marks:
            q.mark = 1.0
        else:
            q.drop = 1.0
            s.entered = 1.0


def decide(s, p, q):
    """(1) to (4), and what `ce_threshold` adds."""
    drop_or_mark(s, p, q)
    if q.sojourn > p.ce_threshold and q.ect != 0 and q.drop == 0:
        q.mark = 1.0


def on_departure(s, p, q):
    decide(s, p, q)
    s.sojourn = q.sojourn


#: Parameters and state of the law, for disciplines that hold several queues to it.
LAW_PARAMS = {
    "target": Param(0.005, "s", "sojourn time that is good enough (TARGET)", 0),
    "interval": Param(0.1, "s", "for how long it may be worse (INTERVAL)", 1e-6),
    "mtu": Param(1500, "bytes", "a queue of so much is never bad (maxpacket)", 0),
    "ecn": ECN,
    "ce_threshold": Param(math.inf, "s", "sojourn time above which each packet is marked", 0),
}
LAW_STATE = {
    "first_above": State(
        0, "s", "when the queue will have been bad for an interval; 0: it is good"
    ),
    "drop_next": State(0, "s", "when the next packet is dropped"),
    "count": State(0, "packets", "dropped since dropping began"),
    "last_count": State(0, "packets", "count when dropping began the last time"),
    "dropping": State(0, "0 or 1", "packets are being dropped"),
    "entered": State(0, "0 or 1", "dropping began with the packet before"),
}

CoDel = register(
    Discipline(
        name="codel",
        summary="drops at departure, ever more often, while packets wait longer than a target",
        source="RFC 8289",
        on_departure=on_departure,
        params=LAW_PARAMS,
        state={**LAW_STATE, "sojourn": State(0, "s", "sojourn time of the newest departure")},
        record=("sojourn", "count"),
    )
)
