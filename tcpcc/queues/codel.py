"""CoDel: drops at the head of the queue once packets have waited too long for an interval.

Source: RFC 8289, section 5, with its names; ECN as in RFC 8290 and Linux.

At a departure, with the packet's sojourn time and C(t) = t + interval/sqrt(count). `first_above` is
the time at which the sojourn time will have been too long for an interval:

(1)  sojourn < target, or at most `mtu` bytes left:  first_above is unset
     otherwise, if it is unset:                      first_above <- now + interval
     a packet may be dropped if first_above is set and now >= first_above
(2)  dropping, and the packet may not be dropped:  stop dropping
(3)  dropping, now >= drop_next:  drop, count + 1, drop_next <- C(drop_next) if the next may be too
(4)  not dropping, and the packet may be dropped:  drop, start dropping; count <- count - last_count
     if that is above 1 and drop_next is less than 16 intervals ago, else 1; drop_next <- C(now);
     last_count <- count

With `ecn` an ECN-capable packet is marked and sent instead of dropped. An ECN-capable packet that
has waited longer than `ce_threshold` is marked in any case, as in Linux, for DCTCP.

With small windows the queue is longer than the target: small windows need a drop probability that
(3) reaches only after long dropping without (2).

Differences from the RFC
    None. The link runs the RFC's loops over packets (a dropped packet's successor follows,
    `q.again`); `maxpacket` is `mtu`. Linux approximates the square root in integers; this one is
    exact.
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
    marks = p.ecn and q.ect != 0
    first = q.again != 0 and s.entered != 0  # the packet after the one that (4) dropped
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


def apply_codel(s, p, q):
    """(1) to (4), and the marks of `ce_threshold`."""
    drop_or_mark(s, p, q)
    if q.sojourn > p.ce_threshold and q.ect != 0 and q.drop == 0:
        q.mark = 1.0


def on_departure(s, p, q):
    apply_codel(s, p, q)
    s.sojourn = q.sojourn


#: Parameters and state of the law, for disciplines that apply it to several queues.
CODEL_PARAMS = {
    "target": Param(0.005, "s", "acceptable sojourn time (TARGET)", 0),
    "interval": Param(0.1, "s", "time for which it may be exceeded before drops (INTERVAL)", 1e-6),
    "mtu": Param(1500, "bytes", "a queue of at most this size causes no drop (maxpacket)", 0),
    "ecn": ECN,
    "ce_threshold": Param(
        math.inf, "s", "sojourn time above which each ECN-capable packet is marked", 0
    ),
}
CODEL_STATE = {
    "first_above": State(
        0, "s", "when the sojourn time will have been too long for an interval; 0: unset"
    ),
    "drop_next": State(0, "s", "time of the next drop"),
    "count": State(0, "packets", "dropped since dropping began"),
    "last_count": State(0, "packets", "count when dropping last began"),
    "dropping": State(0, "0 or 1", "packets are being dropped"),
    "entered": State(0, "0 or 1", "dropping began with the previous packet"),
}

CoDel = register(
    Discipline(
        name="codel",
        summary="drops at departure, ever more often, while packets wait longer than a target",
        source="RFC 8289",
        on_departure=on_departure,
        params=CODEL_PARAMS,
        state={**CODEL_STATE, "sojourn": State(0, "s", "sojourn time of the newest departure")},
        record=("sojourn", "count"),
    )
)
