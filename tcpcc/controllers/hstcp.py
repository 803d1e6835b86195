"""HighSpeed TCP: increase and decrease depend on the window.

Source: S. Floyd, "HighSpeed TCP for large congestion windows", RFC 3649, 2003.

Equations (per newly acknowledged packet; W = cwnd, in packets). The response function is a straight
line on log-log axes through (low_p, low_window) and (high_p, high_window). From it and from b:

(1)  p(W) = low_p (W / low_window)^(1/S),  S = ln(high_window / low_window) / ln(high_p / low_p)
(2)  b(W) = 1/2 + (high_decrease - 1/2) ln(W / low_window) / ln(high_window / low_window)
(3)  a(W) = 2 W^2 p(W) b(W) / (2 - b(W))
(4)  congestion avoidance:  W <- W + a(W)/W
(5)  loss:      ssthresh <- max((1 - b(W)) W, 2);  W <- ssthresh
(6)  timeout:   ssthresh as in (5);  W <- 1

With the defaults S = -0.835 and W = 0.12/p^0.835. Up to `low_window` a = 1 and b = 1/2, as Reno.
Slow start is standard; the companion RFC's limited slow start is ``Flow(slow_start="limited")``.

With `table` the steps of the RFC's Appendix B replace (2) and (3), as in Linux: for
w_{i-1} < W <= w_i, a = i and b = b(w_i) to two digits. The windows w_i follow from the RFC's
program: w_1 = 38, and w_i is the first whole number at which (3), with p(W) = 1/(12.8 W^1.2),
exceeds its value at w_{i-1} by more than one (at w_1 the value is one). The table is that of the
default parameters; of the others it uses only low_window.

Differences from the RFC
    By (3) a is 0.96 just above low_window, because low_p = 1e-3 is not exactly Reno's loss rate;
    here a is at least 1. Above high_window b stays at high_decrease, as at the end of the table.
    (6): the RFC leaves the timeout to standard TCP; ssthresh = (1 - b) W is from Linux.
    ns-2 has low_p = 1.5/38^2 = 1.039e-3, so that a = 1 at W = 38; its windows are up to 3 % larger.

Evidence (constants: RFC)
    vector: the table of RFC 3649
        controllers/test_highspeed.py::test_hstcp_table_is_the_rfc_s
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    closed form: 0.12 / p^0.835
        controllers/test_response_functions.py::test_packets_obey_the_closed_form
"""

import math
from bisect import bisect_right

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Flag, Param, register


def logarithmic(window, low, high, high_decrease):
    """b(W) of (2) for any limits."""
    return 0.5 + (high_decrease - 0.5) * math.log(window / low) / math.log(high / low)


def decrease(p, window):
    """b(W) of (2), or of the table."""
    if window <= p.low_window:
        return 0.5
    if p.table:
        return math.floor(100 * logarithmic(TABLE[row(window)], 38.0, 83000.0, 0.1) + 0.5) / 100
    clipped = min(window, p.high_window)
    return logarithmic(clipped, p.low_window, p.high_window, p.high_decrease)


def increase(p, window):
    """a(W) of (3), or of the table; packets per round trip."""
    if window <= p.low_window:
        return 1.0
    if p.table:
        return row(window) + 1.0
    slope = math.log(p.high_p / p.low_p) / math.log(p.high_window / p.low_window)  # 1/S
    loss = p.low_p * (window / p.low_window) ** slope  # (1)
    b = decrease(p, window)
    return max(balance(window, loss, b), 1.0)


def balance(window, loss, b):
    """a(W) of (3) from p(W) and b(W)."""
    return 2 * window * window * loss * b / (2 - b)


def row(window):
    """Index of the table's row for W, from 0: the first row with a window of at least W."""
    low, high = 0, len(TABLE) - 1
    while low < high:
        middle = (low + high) // 2
        if TABLE[middle] < window:
            low = middle + 1
        else:
            high = middle
    return low


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    else:
        s.cwnd += increase(p, s.cwnd) / s.cwnd * ack.acked  # (4)


def on_loss(s, p, ack):
    s.ssthresh = max((1 - decrease(p, ack.window)) * ack.window, 2.0)
    s.cwnd = s.ssthresh  # (5)


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.cwnd = 1.0  # (6)


def check_range(p):
    if p["low_window"] >= p["high_window"]:
        return f"low_window = {p['low_window']:g}: must be below high_window = {p['high_window']:g}"
    if p["high_p"] >= p["low_p"]:
        return f"high_p = {p['high_p']:g}: must be below low_p = {p['low_p']:g}"
    return None


PARAMS = {
    "low_window": Param(38, "packets", "Low_Window: Reno up to it (RFC 3649, section 5)", 1),
    "high_window": Param(83000, "packets", "High_Window (RFC 3649, section 5)", 2),
    "low_p": Param(1e-3, "", "loss rate at low_window (RFC 3649, section 5)", 1e-12, 1),
    "high_p": Param(1e-7, "", "High_P, loss rate at high_window (RFC 3649, section 5)", 1e-12, 1),
    "high_decrease": Param(0.1, "", "High_Decrease, b at high_window (RFC 3649)", 0.01, 0.5),
    "table": Flag(False, "steps of the table in Appendix B, as in Linux"),
}


def make_table(top=100_000):
    """Windows w_i of the rows up to `top`, as in the RFC's program."""
    low, high, b = (PARAMS[name].default for name in ("low_window", "high_window", "high_decrease"))

    def a(window):
        loss = 1 / (12.8 * window**1.2)
        return balance(window, loss, logarithmic(window, low, high, b))

    windows, last = [low], 1.0
    while (window := bisect_right(range(top), last + 1, lo=int(windows[-1]), key=a)) < top:
        windows.append(window)
        last = a(window)
    return tuple(float(w) for w in windows)


TABLE = make_table()

hstcp = register(
    Controller(
        name="hstcp",
        summary="increase and decrease depend on the window; Reno at small windows",
        source="RFC 3649",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=PARAMS,
        slow_start="hystart++",
        validate=check_range,
        look=("purple", "^"),
    )
)
