"""RED with thresholds proportional to the number of connections, for Vegas beside Reno.

Source: C.-W. Chang, "TCP performance analysis and fairness improvement in different congestion
control methods", thesis, National Chiao Tung University, 2004, section 3.4.

(1)  MinThresh = min(beta n, B),    MaxThresh = min((beta + 1) n, B)       at every arrival

with the drop law of :mod:`tcpcc.queues.red`. Every Vegas connection keeps up to beta packets in the
queue, so n Vegas connections need an average queue of up to beta n; packets above that belong to
other flows.

n is the number of open sources on the link (`estimator` 0), at least 1, or SRED's estimate from the
arrivals (`estimator` 1; :mod:`tcpcc.queues.flow_count`). It is multiplied by 1 + `error`. B counts
the packets that can wait, as the average does: one less than the link's buffer, which counts the
packet being sent.

Differences from the paper
    These two replace the paper's own estimator, which follows a paper that was not available. The
    first example (section 3.3, n = 2) has the thresholds 4 and 6, not the 6 and 8 of (1): use
    :mod:`tcpcc.queues.red` for it.
    With MinThresh = MaxThresh = B no average lies between them, and there is no division by zero.
Differences from ns-2
    A script that changes ``thresh_queue_`` and ``maxthresh_queue_`` moves the limits between the
    branches of the drop law, but not its lines, which are set when the queue is reset. Here, as in
    the paper, the lines follow the current thresholds; `slope_flows` gives ns-2's behaviour.
"""

from tcpcc.definition import Flag, Param, State, register
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
    RED_PARAMS,
    RED_STATE,
    average,
    average_fluid,
    decide_arrival,
    decide_fluid,
    validate_weight,
)


def set_thresholds(s, p, q):
    """(1)."""
    n = max(q.flows, 1.0)
    if p.estimator:
        n = estimated_flows(s, p)
    s.flows = n * (1 + p.error)
    s.min_thresh = threshold(p, q, p.beta, s.flows)
    s.max_thresh = threshold(p, q, p.beta + 1, s.flows)


def threshold(p, q, packets, flows):
    """One threshold of (1)."""
    return min(packets * flows, max(q.limit - 1, 0.0))


def slope(s, p, q):
    """Thresholds between which the drop law's line runs."""
    if p.slope_flows == 0:
        return s.min_thresh, s.max_thresh
    flows = p.slope_flows * (1 + p.error)
    return threshold(p, q, p.beta, flows), threshold(p, q, p.beta + 1, flows)


def on_arrival(s, p, q):
    if p.estimator:
        compare(s, p, q)
    set_thresholds(s, p, q)
    start, end = slope(s, p, q)
    average(s, p, q)
    decide_arrival(s, p, q, s.min_thresh, s.max_thresh, start, end, p.max_p)


def on_fluid(s, p, q):
    if p.estimator:
        compare_fluid(s, p, q)
    set_thresholds(s, p, q)
    start, end = slope(s, p, q)
    average_fluid(s, p, q)
    decide_fluid(s, p, q, s.min_thresh, s.max_thresh, start, end, p.max_p)


ConnectionRED = register(
    Discipline(
        name="connection_red",
        summary="RED with thresholds of beta and beta + 1 packets per connection",
        source="Chang 2004, section 3.4",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        params={
            "beta": Param(
                3, "packets", "average queue per connection at which early drops begin", 0
            ),
            "estimator": Flag(False, "n is SRED's estimate 1/P, not the true number"),
            "error": Param(0, "", "relative error of n; -0.2: n is a fifth too small", -0.99),
            "slope_flows": Param(
                0, "", "number of connections for the slope of the drop law; 0: n", 0
            ),
            **RED_PARAMS,
            **ESTIMATOR_PARAMS,
        },
        state={
            **RED_STATE,
            "flows": FLOWS,
            "min_thresh": State(0, "packets", "average queue at which early drops begin"),
            "max_thresh": State(0, "packets", "average queue at which p_b reaches max_p"),
            **ESTIMATOR_STATE,
        },
        validate=validate_weight,
        record=("avg", "flows", "min_thresh", "max_thresh"),
    )
)
