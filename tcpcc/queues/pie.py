"""PIE: a proportional-integral controller of the queueing delay.

Source: RFC 8033, sections 4, 5 and appendix A.

Every `t_update`, with D the current queueing delay and D_old the previous one:

(1)  p = alpha (D - target) + beta (D - D_old), divided by 2048, 512, 128, 32, 8, 2 for a drop_prob
     below 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1;  at most 0.02 from a drop_prob of 0.1 on
(2)  drop_prob <- drop_prob + p, times 0.98 if D = D_old = 0,   within [0, 1]
(3)  burst_allowance <- max(burst_allowance - t_update, 0); max_burst if drop_prob = 0 and
     D, D_old < target/2
(4)  an arrival is admitted if burst_allowance > 0, if D_old < target/2 and drop_prob < 0.2, or if
     at most two packets wait; otherwise it is dropped with probability drop_prob
(5)  the sum of drop_prob over the arrivals since the last drop spaces drops: no drop while it is
     below 0.85, a certain drop from 8.5 on

Differences from the RFC
    D is the queue divided by the link's rate, as its section 5.2 allows if the rate is known; the
    departure rate is not estimated. Drops by a full buffer do not count in (5).
"""

from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform
from tcpcc.queues.discipline import ECN, Discipline, notify

NEVER_DROPS = 1e-12  # on_fluid treats a smaller probability as 0


def scaled(change, drop_prob):
    """(1): the step `change`, scaled to the current drop probability."""
    if drop_prob >= 0.1:
        return min(change, 0.02)
    limit, divisor = 1e-6, 2048.0
    while drop_prob >= limit and divisor > 2:
        limit *= 10
        divisor /= 4
    return change / divisor


def update(s, p, delay):
    """(1) to (3)."""
    change = p.alpha * (delay - p.target) + p.beta * (delay - s.delay)
    prob = s.drop_prob + scaled(change, s.drop_prob)
    if delay == 0 and s.delay == 0:
        prob *= 0.98
    s.drop_prob = min(max(prob, 0.0), 1.0)  # (2)
    s.burst_allowance = max(s.burst_allowance - p.t_update, 0.0)
    if s.drop_prob == 0 and delay < p.target / 2 and s.delay < p.target / 2:
        s.burst_allowance = p.max_burst  # (3)
    s.delay = delay


def on_interval(s, p, q):
    update(s, p, 8 * q.queue_bytes / q.rate)
    q.wake = q.now + p.t_update


def spares(s, p, waiting):
    """(4): whether an arrival is admitted whatever the drop probability."""
    if s.burst_allowance > 0 or (s.delay < p.target / 2 and s.drop_prob < 0.2):
        return True
    return waiting <= 2


def apply_pie(s, p, q, waiting):
    """(4) and (5) for an arrival that finds `waiting` packets."""
    if q.full != 0 or spares(s, p, waiting):
        return
    s.accumulated = s.accumulated + s.drop_prob if s.drop_prob > 0 else 0.0
    if s.accumulated < 0.85:
        return
    if s.accumulated >= 8.5 or uniform(s) < s.drop_prob:
        s.accumulated = 0.0
        if s.drop_prob <= p.mark_ecnth:
            notify(p, q)
        else:
            q.drop = 1.0


def on_arrival(s, p, q):
    apply_pie(s, p, q, q.queue)


def on_fluid(s, p, q):
    if spares(s, p, q.queue) or s.drop_prob < NEVER_DROPS:
        q.anew = 1.0
        return
    # the first 0.85/drop_prob arrivals are admitted, each later one is dropped with drop_prob
    first, mean = 0.85 / s.drop_prob, 1.85 / s.drop_prob
    q.prob = 1 / max(mean, 1.0)
    q.spread = 1 - first / mean
    q.marks = 1.0 if p.ecn and s.drop_prob <= p.mark_ecnth else 0.0


#: Parameters and state of the law, for disciplines that apply it to several queues.
PIE_PARAMS = {
    "target": Param(0.015, "s", "target of the queueing delay (QDELAY_REF)", 1e-6),
    "t_update": Param(0.015, "s", "time between updates (T_UPDATE)", 1e-6),
    "alpha": Param(0.125, "1/s", "gain of the delay", 0),
    "beta": Param(1.25, "1/s", "gain of the change of the delay", 0),
    "max_burst": Param(0.15, "s", "largest burst_allowance (MAX_BURST)", 0),
    "ecn": ECN,
    "mark_ecnth": Param(0.1, "", "largest drop_prob with which packets are marked", 0, 1),
}
PIE_STATE = {
    "drop_prob": State(0, "", "drop probability"),
    "delay": State(0, "s", "queueing delay at the last update"),
    "burst_allowance": State(0.15, "s", "remaining time without early drops"),
    "accumulated": State(0, "", "sum of drop_prob since the last drop"),
}

PIE = register(
    Discipline(
        name="pie",
        summary="drops with a probability that holds the queueing delay at a target",
        source="RFC 8033",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        on_interval=on_interval,
        params=PIE_PARAMS,
        state=PIE_STATE,
        record=("drop_prob",),
    )
)
