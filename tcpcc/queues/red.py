"""Random Early Detection: drops with a probability that grows with the average queue.

Source: S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM
ToN 1(4), 1993; gentle variant and automatic weight: S. Floyd, notes of 2000 and "Adaptive RED",
2001.

(1)  avg <- (1 - w) avg + w q                            per arrival, q packets waiting
     w = 1 - exp(-1/C)                                   `weight` 0 (ns-2's ``q_weight_ 0``)
     w = 1 - exp(-1/(10 R C)), R = max(0.1 s, 3 (delay + 1/C))         `weight` -1 (likewise)
(2)  after an idle time first avg <- (1 - w)^m avg,  m = C x idle packets could have been sent
(3)  p_b = max_p (avg - min) / (max - min)               min <= avg < max
     p_b = max_p + (1 - max_p)(avg - max) / max          max <= avg < 2 max, gentle; else 1
(4)  p_a = p_b / (1 - count p_b)                         a drop every 1 .. 1/p_b - 1 arrivals
     p_a = 0 if count p_b < 1, else p_b / (2 - count p_b)       `wait`: every 1/p_b .. 2/p_b - 1
(5)  byte mode: p_a x size / mean_packet

`count` is the number of arrivals since the last drop, or since avg crossed min from below,
including the current one (as in the paper's listing; in its text the spacing ends at 1/p_b).

Differences from the paper
    `wait` and `gentle` are later additions, both on by default as in ns-2. C in (2) is the rate in
    packets of `mean_packet` bytes.
Taken from ns-2
    No early drop while fewer than two packets wait. The first arrival that finds avg >= min only
    starts the count. A drop by a full buffer restarts the count.
Differences from ns-2
    A link's buffer counts the packet being sent, as in ns-2's DropTail; ns-2's RED holds one packet
    more. With a buffer larger by one and ns-2's random numbers every drop is the same as in ns-2.
    "Fewer than two" counts packets in byte mode too.
"""

import math

from tcpcc.definition import Flag, Param, State, register
from tcpcc.engine.streams import uniform
from tcpcc.queues.discipline import ECN, Discipline, notify

NEVER = 1e-12  # on_fluid treats a smaller p_b as 0


def service_rate(p, q):
    """C of (2): packets of the mean size per second."""
    return q.rate / (8 * p.mean_packet)


def queue_weight(p, q):
    """w of (1); `weight` 0 and -1 are ns-2's automatic values."""
    if p.weight > 0:
        return p.weight
    packets = service_rate(p, q)
    if p.weight < 0:
        packets *= 10 * max(0.1, 3 * (q.delay + 1 / packets))
    return 1 - math.exp(-1 / packets)


def length(p, q):
    """The queue in the unit of the thresholds: packets, or mean packets in byte mode."""
    if p.byte_queue:
        return q.queue_bytes / p.mean_packet
    return q.queue


def base_probability(avg, low, high, p):
    """(3), with the thresholds `low` and `high`."""
    return base_probability_along(avg, low, high, low, high, p, p.max_p)


def base_probability_along(avg, low, high, start, end, p, max_p):
    """(3) with the branch limits `low`, `high`, and the lines of the thresholds `start`, `end`.

    The line below `high` rises to `max_p`, the one above starts at the parameter `max_p`.
    """
    if avg < low:
        return 0.0
    if avg < high:
        return max(max_p * (avg - start) / max(end - start, 1e-9), 0.0)
    if not p.gentle or avg >= 2 * high:
        return 1.0
    return min(max(p.max_p + (1 - p.max_p) * (avg - end) / end, 0.0), 1.0)


def spaced_probability(s, p, q, p_b):
    """(4) and (5)."""
    count = s.count
    if p.byte_drop:
        count = math.floor(s.count_bytes / p.mean_packet)
    if p.wait:
        if count * p_b < 1:
            return 0.0
        p_a = p_b / (2 - count * p_b) if count * p_b < 2 else 1.0
    else:
        p_a = p_b / (1 - count * p_b) if count * p_b < 1 else 1.0
    if p.byte_drop and p_a < 1:
        p_a *= q.size / p.mean_packet
    return p_a


def average(s, p, q):
    """(1) and (2), at an arrival."""
    w = queue_weight(p, q)
    if q.idle > 0:
        s.avg *= (1 - w) ** float(math.floor(service_rate(p, q) * q.idle))  # (2)
    s.avg = (1 - w) * s.avg + w * length(p, q)  # (1)


def decide_arrival(s, p, q, low, high, start, end, max_p):
    """(3) to (5), at an arrival, as :func:`base_probability_along`."""
    s.count += 1
    s.count_bytes += q.size
    q.drop = 0.0
    q.mark = 0.0
    if s.avg < low or q.queue < 2:
        s.above = 0.0
    elif s.above == 0:
        s.above = 1.0
        s.count = 1.0
        s.count_bytes = q.size
    else:
        p_b = base_probability_along(s.avg, low, high, start, end, p, max_p)
        if uniform(s) <= spaced_probability(s, p, q, p_b):
            if p_b < 1:
                notify(p, q)
            else:
                q.drop = 1.0
    if q.drop != 0 or q.mark != 0 or q.full != 0:
        s.count = 0.0
        s.count_bytes = 0.0


def on_arrival(s, p, q):
    average(s, p, q)
    decide_arrival(s, p, q, p.min_thresh, p.max_thresh, p.min_thresh, p.max_thresh, p.max_p)


def spacing(p, p_b):
    """Least and mean number of arrivals from one drop to the next, by (4).

    The product of 1 - p_a telescopes: the probability of no drop up to arrival k is
    (end - k - 1) / (end - first). Its sum over k >= first is the mean minus `first`.
    """
    first = 1.0
    end = 1 / p_b
    if p.wait:
        first = float(math.ceil(end))
        end = 2 / p_b
    span = end - first
    if span < 1:
        return first, first
    whole = math.floor(span)
    return first, first + whole - whole * (whole + 1) / (2 * span)


def average_fluid(s, p, q):
    """As :func:`average`, for `q.arrivals` packets."""
    w = queue_weight(p, q)
    s.avg *= (1 - w) ** (service_rate(p, q) * q.idle)
    s.avg += (1 - (1 - w) ** q.arrivals) * (length(p, q) - s.avg)


def decide_fluid(s, p, q, low, high, start, end, max_p):
    """As :func:`decide_arrival`, for `q.arrivals` packets."""
    q.prob = 0.0
    q.spread = 0.0
    if s.avg < low or q.queue < 2:
        q.anew = 1.0
        return
    p_b = base_probability_along(s.avg, low, high, start, end, p, max_p)
    if p.byte_drop:
        p_b = min(p_b * q.size / p.mean_packet, 1.0)  # (5)
    if p_b > NEVER:
        first, mean = spacing(p, p_b)
        q.prob = 1 / mean
        q.spread = 1 - first / mean
        q.marks = 1.0 if p.ecn and p_b < 1 else 0.0


def on_fluid(s, p, q):
    average_fluid(s, p, q)
    decide_fluid(s, p, q, p.min_thresh, p.max_thresh, p.min_thresh, p.max_thresh, p.max_p)


def validate_weight(p):
    if -1 < p["weight"] < 0:
        return f"weight = {p['weight']:g} must be in [0, 1], or -1"
    return None


def validate_thresholds(p):
    if p["min_thresh"] >= p["max_thresh"]:
        return (
            f"min_thresh = {p['min_thresh']:g} must be below max_thresh = {p['max_thresh']:g}"
            " (packets)"
        )
    return validate_weight(p)


THRESHOLDS = {
    "min_thresh": Param(5, "packets", "average queue at which early drops begin", 0),
    "max_thresh": Param(15, "packets", "average queue at which p_b reaches max_p", 0),
}
#: Parameters and state of the drop law, without the thresholds.
RED_PARAMS = {
    "max_p": Param(0.1, "", "p_b at max_thresh (ns-2: 1/linterm_)", 1e-12, 1),
    "weight": Param(0, "", "gain w of the average; 0, -1: automatic", -1, 1),
    "gentle": Flag(True, "p_b grows from max_p to 1 over max .. 2 max"),
    "wait": Flag(True, "at least 1/p_b arrivals between drops"),
    "byte_queue": Flag(False, "average the queue in bytes"),
    "byte_drop": Flag(False, "drop probability proportional to the packet size"),
    "mean_packet": Param(500, "bytes", "packet size that C and byte mode refer to", 1),
    "ecn": ECN,
}
RED_STATE = {
    "avg": State(0, "packets", "average queue"),
    "count": State(0, "packets", "arrivals since the last drop"),
    "count_bytes": State(0, "bytes", "the same in bytes"),
    "above": State(0, "0 or 1", "the last arrival found avg at or above min_thresh"),
}

RED = register(
    Discipline(
        name="red",
        summary="drop early, with a probability that grows with the average queue",
        source="Floyd, Jacobson 1993",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        params={**THRESHOLDS, **RED_PARAMS},
        state=RED_STATE,
        record=("avg",),
        validate=validate_thresholds,
    )
)
