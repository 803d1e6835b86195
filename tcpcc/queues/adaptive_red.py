"""Adaptive RED: RED that adapts max_p until the average queue stays mid-way between the thresholds.

Source: S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: an algorithm for increasing the robustness
of RED's active queue management", 2001; ns-2.35's ``adaptive_``.

RED's equations, and in addition, at an arrival more than `interval` after the last change, with avg
the average queue and m = 0.4 (max_thresh - min_thresh):

(1)  avg < min_thresh + m and max_p > bottom:  max_p <- beta max_p
(2)  avg > max_thresh - m and max_p < top:     max_p <- max_p + min(alpha, max_p/4)

`bottom` 0 is ns-2's automatic value: 1 / (number of 1000-byte packets sent in 0.1 s), at most 0.01.

Differences from the paper
    As in ns-2, the line above max_thresh (`gentle`) uses the initial max_p.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.red import RED, average, average_fluid, decide_arrival, decide_fluid


def least(p, q):
    """`bottom`, or its automatic value."""
    return p.bottom if p.bottom > 0 else min(0.01, 8000 / (0.1 * q.rate))


def adapt(s, p, q):
    """(1) and (2)."""
    if s.max_p == 0:
        s.max_p = p.max_p
    if q.now > s.changed + p.interval:
        margin = 0.4 * (p.max_thresh - p.min_thresh)
        if s.avg < p.min_thresh + margin and s.max_p > least(p, q):
            s.max_p *= p.beta
            s.changed = q.now
        elif s.avg > p.max_thresh - margin and p.top > s.max_p:
            s.max_p += min(p.alpha, s.max_p / 4)
            s.changed = q.now


def on_arrival(s, p, q):
    average(s, p, q)
    adapt(s, p, q)
    decide_arrival(s, p, q, p.min_thresh, p.max_thresh, p.min_thresh, p.max_thresh, s.max_p)


def on_fluid(s, p, q):
    average_fluid(s, p, q)
    adapt(s, p, q)
    decide_fluid(s, p, q, p.min_thresh, p.max_thresh, p.min_thresh, p.max_thresh, s.max_p)


AdaptiveRED = register(
    RED.variant(
        name="adaptive_red",
        summary="RED that sets its own max_p",
        source="Floyd, Gummadi, Shenker 2001",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        params={
            "alpha": Param(0.01, "", "largest step up of max_p", 0, 1),
            "beta": Param(0.9, "", "factor of a step down", 0, 1),
            "interval": Param(0.5, "s", "least time between steps", 0),
            "top": Param(0.5, "", "largest max_p", 0, 1),
            "bottom": Param(0, "", "smallest max_p; 0: automatic", 0, 1),
        },
        state={
            "max_p": State(0, "", "current p_b at max_thresh; 0: no packet has arrived"),
            "changed": State(0, "s", "time of the last change of max_p"),
        },
        record=("avg", "max_p"),
    )
)
