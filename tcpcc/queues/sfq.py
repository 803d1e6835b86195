"""SFQ: stochastic fairness queueing, a round robin of packets over hashed queues.

Source: P. E. McKenney, "Stochastic fairness queueing", INFOCOM 1990 (Internetworking: Research and
Experience 2, 1991).

(1)  an arrival joins the queue given by the hash of its flow; flows in one queue share its part
(2)  the queues that are not empty send one packet each in turn
(3)  a full buffer drops a packet of the longest queue, in packets (buffer stealing)
(4)  every `perturb` seconds the hash changes, so that two flows share a queue for a time only.
     Packets that wait stay where they are and may be overtaken

Differences from the paper
    (3) drops the oldest packet of that queue, the paper the newest one: a sender learns of it
    sooner. The hash is `scattered` of `flow_queues`.
Differences from Linux
    ``sch_sfq`` sends a quantum of bytes in a turn; :mod:`tcpcc.queues.drr` does so. Linux perturbs
    only if `perturb` is given, and moves packets that wait to their new queues.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import Discipline
from tcpcc.queues.flow_queues import (
    ACTIVE,
    FLOWS,
    LIST_STATE,
    NONE,
    QUEUES,
    append_queue,
    longest_queue,
    remove_first,
    scattered,
)


def on_arrival(s, p, q):
    if p.perturb > 0 and q.now - s.perturbed_at >= p.perturb:
        s.perturbed_at = q.now
        s.perturbation = 0  # (4): drawn anew below
    i = scattered(s, p, q.flow)
    q.inner = float(i)
    if s.kind[i] == NONE:
        append_queue(s, i, ACTIVE)
    if q.full != 0:
        q.evict = float(longest_queue(p, q.waiting, i, 1.0))  # (3)


def on_select(s, p, q):
    """(2)."""
    while True:
        i = s.first[ACTIVE] - 1
        remove_first(s, ACTIVE)
        if q.waiting[i] > 1:
            append_queue(s, i, ACTIVE)
        if q.waiting[i] > 0:  # 0: (3) has emptied it
            q.inner = float(i)
            return


SFQ = register(
    Discipline(
        name="sfq",
        summary="a queue per flow, served in turn packet by packet; the hash changes with time",
        source="McKenney 1990",
        on_arrival=on_arrival,
        on_select=on_select,
        inner=QUEUES,
        params={
            "flows": FLOWS,
            "perturb": Param(10, "s", "time between changes of the hash; 0: no change", 0),
        },
        state={
            **LIST_STATE,
            "perturbed_at": State(0, "s", "time of the last change of the hash"),
        },
    )
)
