"""RED whose thresholds follow the number of connections, so that Vegas keeps its share beside Reno.

Source: C.-W. Chang, "TCP performance analysis and fairness improvement in different congestion
control methods", thesis, National Chiao Tung University, 2004, section 3.4.

(1)  MinThresh = min(beta n, B),    MaxThresh = min((beta + 1) n, B)       at every arrival

with the drop law of :mod:`tcpcc.queues.red`. Every Vegas connection keeps up to beta packets in the
queue; an average of beta n is what n of them need, and what is above it is not theirs.

n is the number of sources that are open on the link (`estimator` 0), at least 1, or what SRED
(:mod:`tcpcc.queues.flow_count`) makes of the arrivals (`estimator` 1); n x (1 + `error`) takes the
place of either. B counts the packets that can wait, as the average does: one less than the link's
buffer, which counts the packet being sent.

Differences from the paper
    Its own estimator, after a paper that is not at hand, is replaced by these two. Its first
    example (section 3.3, n = 2) has 4 and 6 for the thresholds, not the 6 and 8 of (1): take
    :mod:`tcpcc.queues.red` for that.
    With MinThresh = MaxThresh = B no average lies between them, and nothing is divided.
Differences from ns-2
    A script that moves ``thresh_queue_`` and ``maxthresh_queue_`` moves the limits between the
    branches of the drop law, whose lines stay as they were when the queue was reset. Here, as in
    the paper, the law is that of the present thresholds; with `slope_flows` it is ns-2's.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import Discipline
from tcpcc.queues.flow_count import (
    ESTIMATOR_PARAMS,
    ESTIMATOR_STATE,
    FLOWS,
    compare,
    compare_fluid,
    estimated_flows,
)
from tcpcc.queues.red import (
    LAW_PARAMS,
    LAW_STATE,
    drop_early_along,
    drop_early_fluid,
    validate_weight,
)


def set_thresholds(s, p, q):
    """(1)."""
    n = max(q.flows, 1.0)
    if p.estimator != 0:
        n = estimated_flows(s, p)
    s.flows = n * (1 + p.error)
    s.min_thresh = threshold(p, q, p.beta, s.flows)
    s.max_thresh = threshold(p, q, p.beta + 1, s.flows)


def threshold(p, q, packets, flows):
    """One of (1)."""
    return min(packets * flows, max(q.limit - 1, 0.0))


def slope(s, p, q):
    """Thresholds between which the drop law's line runs."""
    if p.slope_flows == 0:
        return s.min_thresh, s.max_thresh
    flows = p.slope_flows * (1 + p.error)
    return threshold(p, q, p.beta, flows), threshold(p, q, p.beta + 1, flows)


def on_arrival(s, p, q):
    if p.estimator != 0:
        compare(s, p, q)
    set_thresholds(s, p, q)
    start, end = slope(s, p, q)
    drop_early_along(s, p, q, s.min_thresh, s.max_thresh, start, end)


def on_fluid(s, p, q):
    if p.estimator != 0:
        compare_fluid(s, p, q)
    set_thresholds(s, p, q)
    start, end = slope(s, p, q)
    drop_early_fluid(s, p, q, s.min_thresh, s.max_thresh, start, end)


ConnectionRED = register(
    Discipline(
        name="connection_red",
        summary="RED with thresholds of beta and beta + 1 packets per connection",
        source="Chang 2004, section 3.4",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        params={
            "beta": Param(3, "packets", "per connection, at which early drops begin", 0),
            "estimator": Param(0, "0 or 1", "n is 0: the true number; 1: SRED's 1/P", 0, 1),
            "error": Param(0, "", "relative error of n: -0.2 takes a fifth too few", -0.99),
            "slope_flows": Param(0, "", "connections that the law's slope is for; 0: for n", 0),
            **LAW_PARAMS,
            **ESTIMATOR_PARAMS,
        },
        state={
            **LAW_STATE,
            "flows": FLOWS,
            "min_thresh": State(0, "packets", "average queue at which early drops begin"),
            "max_thresh": State(0, "packets", "average queue at which p_b reaches max_p"),
            **ESTIMATOR_STATE,
        },
        validate=validate_weight,
        record=("avg", "flows", "min_thresh", "max_thresh"),
    )
)
