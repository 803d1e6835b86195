"""Strict priority: a queue per traffic class; a lower class sends only while no higher one waits.

Source: IEEE 802.1Q, 8.6.8.1 (strict priority transmission selection); A. Cobham, "Priority
assignment in waiting line problems", Operations Research 2(1), 1954.

(1)  an arrival joins the queue of its class, `Flow.traffic_class`, 0 to 63
(2)  the packet at the head of the highest class that waits is sent next; the packet being sent is
     not interrupted
(3)  full buffer, with `push_out`: an arrival drops the oldest packet of the lowest class that
     waits, if that class is lower than its own; else it is dropped itself

So a class waits for lower ones at most for the packet being sent.

Differences from the source
    All classes share the link's buffer, hence (3). In a switch each has a buffer of its own.
"""

from tcpcc.definition import Flag, register
from tcpcc.queues.discipline import Discipline

CLASSES = 64


def on_arrival(s, p, q):
    q.inner = q.traffic_class  # (1)
    if q.full == 0 or not p.push_out:
        return
    for i in range(int(q.traffic_class)):
        if q.waiting[i] > 0:
            q.evict = float(i)  # (3)
            return


def on_select(s, p, q):
    """(2)."""
    for i in range(CLASSES - 1, -1, -1):
        if q.waiting[i] > 0:
            q.inner = float(i)
            return


StrictPriority = register(
    Discipline(
        name="strict_priority",
        summary="a queue per traffic class; the highest class that waits is sent first",
        source="IEEE 802.1Q; Cobham 1954",
        on_arrival=on_arrival,
        on_select=on_select,
        inner=CLASSES,
        params={"push_out": Flag(True, "a full buffer drops packets of lower classes")},
    )
)
