"""Stabilized RED: drops by the queue's length and by the estimated number of flows.

Source: T. J. Ott, T. V. Lakshman, L. H. Wong, "SRED: stabilized RED", INFOCOM 1999; the estimate P
of 1/flows is in :mod:`tcpcc.queues.flow_count`.

(1)  p_sred = max_p           q >= B/3
     p_sred = max_p / 4       B/6 <= q < B/3
     p_sred = 0               q < B/6
(2)  p_zap = p_sred min(1, 1 / (256 P)^2)                   simple
(3)  p_zap = p_sred min(1, 1 / (256 P)^2) (1 + hit / P)     full: hits are dropped more often

(2) grows with the square of the number of flows n, up to 256 flows. This keeps the queue constant:
n Reno flows need p ~ n^2 for the same sum of their windows.

q is the number of packets waiting. B is the number that can wait: one less than the link's buffer,
which counts the packet being sent. An arriving packet is compared first, then dropped or not.

Differences from the paper
    Those of the estimate. The text of the paper was not available: constants and steps are as
    commonly described, and the constants are parameters.
Fluid
    The drop probability is the mean of (3) over hits and misses. Flows with a larger share hit more
    often and are dropped more than in proportion; the fluid omits this. Drop spacing is uniform
    with the largest spread; independent drops are more irregular.
"""

from tcpcc.definition import Flag, Param, register
from tcpcc.engine.streams import uniform
from tcpcc.queues.discipline import Discipline
from tcpcc.queues.flow_count import (
    ESTIMATOR_PARAMS,
    ESTIMATOR_STATE,
    FLOWS,
    compare,
    compare_fluid,
    estimated_flows,
)


def queue_probability(p, q):
    """(1)."""
    room = max(q.limit - 1, 0.0)
    if q.queue >= room / 3:
        return p.max_p
    if q.queue >= room / 6:
        return p.max_p / 4
    return 0.0


def drop_probability(s, p, q, hit):
    """(2) or (3), with n = 1/P flows."""
    p_zap = queue_probability(p, q) * min(s.flows / p.most_flows, 1.0) ** 2
    if p.full:
        p_zap *= 1 + hit * s.flows
    return min(p_zap, 1.0)


def on_arrival(s, p, q):
    compare(s, p, q)
    s.flows = estimated_flows(s, p)
    q.drop = 1.0 if uniform(s) < drop_probability(s, p, q, s.hit) else 0.0


def on_fluid(s, p, q):
    compare_fluid(s, p, q)
    s.flows = estimated_flows(s, p)
    miss, hit = drop_probability(s, p, q, 0.0), drop_probability(s, p, q, 1.0)
    q.prob = miss + q.concentration * (hit - miss)
    q.spread = 1.0


SRED = register(
    Discipline(
        name="sred",
        summary="drop by the queue's length and the number of flows estimated from hits",
        source="Ott, Lakshman, Wong 1999",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        params={
            "max_p": Param(0.15, "", "drop probability from a third of the buffer upwards", 0, 1),
            "most_flows": Param(256, "", "number of flows up to which drops grow with n^2", 1),
            "full": Flag(True, "(3), drop hits more often; false: (2)"),
            **ESTIMATOR_PARAMS,
        },
        state={"flows": FLOWS, **ESTIMATOR_STATE},
        record=("flows",),
    )
)
