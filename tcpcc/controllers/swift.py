"""Swift: AIMD on the RTT against a target, with windows below one packet.

Source: G. Kumar et al., "Swift: delay is simple and effective for congestion control in the
datacenter", SIGCOMM 2020, algorithm 1 and section 3.5. Constants: Broadcom/csg-htsim,
sim/swift.cpp.

(1)  target delay  T = B (1 + h hops + min(max(alpha/sqrt(w) + beta, 0), r)),
     alpha = r / (1/sqrt(w_min) - 1/sqrt(w_max)),  beta = -alpha/sqrt(w_max)
(2)  RTT < T, n packets acknowledged:  w <- w + a n/w  if w >= 1, else w + a n
(3)  RTT >= T, at most once per RTT:   w <- w max(1 - b (RTT - T)/RTT, 1 - m)
(4)  loss, at most once per RTT:       w <- w (1 - m)
(5)  timeout: as (4);  from the `resets`-th in a row:  w <- least_window
(6)  w < 1: packets are paced, one per RTT/w

B is `base_target`, the RTT of a path with a single hop and some queue. If it is 0, B is BaseRTT:
the flow then runs on any path, and takes the smallest queue that it has seen for no queue. The
small windows of many flows raise T, which makes their shares equal sooner.

Differences from the paper
    Hosts take no time here, so there is no second window for their delay.
    The paper gives h and r in seconds, and no values. Here they are shares of B, as in htsim.
    There is no largest window: `Flow(rwnd=...)` sets one.
    RTT in (3) to (5), "once per RTT", and in (6) is the smoothed one, as in htsim.

Evidence (constants: htsim)
    vector: target, increase, decrease, resets
        controllers/test_swift.py::test_the_target_grows_with_hops_and_shrinks_with_the_window
    claim: queue near the target, also below a packet per RTT
        controllers/test_swift.py::test_the_queue_stays_near_the_target_also_below_a_packet_per_round_trip
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, register


def flow_scaling(p, window):
    """The last term of (1)."""
    least = 1 / math.sqrt(p.fs_max_cwnd)
    alpha = p.fs_range / (1 / math.sqrt(p.fs_min_cwnd) - least)
    return min(max(alpha * (1 / math.sqrt(window) - least), 0.0), p.fs_range)


def target_delay(s, p, a):
    """(1)."""
    base = p.base_target if p.base_target > 0 else a.base_rtt
    return base * (1 + p.hop_share * a.hops + flow_scaling(p, s.window))


def begin(s):
    """The first window is the transport's."""
    if s.window == 0:
        s.window = s.cwnd


def set_window(s, p, a, window):
    """Set w, and cwnd and the pacing rate accordingly."""
    if window < s.window:
        s.cut_at = a.now
    s.window = max(window, p.least_window)
    s.cwnd = max(s.window, 1.0)
    s.pacing_rate = s.window / a.srtt if s.window < 1 and a.srtt > 0 else math.inf  # (6)


def cut(s, p, a, factor):
    """Reduce w, if it has not been reduced for an RTT."""
    if a.now - s.cut_at >= a.srtt:
        set_window(s, p, a, s.window * factor)


def on_ack(s, p, a):
    begin(s)
    s.timeouts = 0.0
    if a.rtt <= 0:
        return
    target = target_delay(s, p, a)
    if a.rtt < target:
        set_window(s, p, a, s.window + p.increase * a.growing / max(s.window, 1.0))  # (2)
    else:
        excess = (a.rtt - target) / a.rtt
        cut(s, p, a, max(1 - p.decrease * excess, 1 - p.largest_cut))  # (3)


def on_loss(s, p, a):
    begin(s)
    cut(s, p, a, 1 - p.largest_cut)  # (4)


def on_timeout(s, p, a):
    begin(s)
    s.timeouts += 1
    if s.timeouts >= p.resets:
        set_window(s, p, a, p.least_window)  # (5)
    else:
        cut(s, p, a, 1 - p.largest_cut)


def check(p):
    low, high = p["fs_min_cwnd"], p["fs_max_cwnd"]
    if low >= high:
        return f"fs_min_cwnd = {low:g} is not below fs_max_cwnd = {high:g}"
    return None


swift = register(
    Controller(
        name="swift",
        summary="keeps the RTT at a target, with windows below one packet",
        source="Kumar et al. 2020; csg-htsim",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "base_target": Param(0, "s", "B, base target delay; 0: BaseRTT", 0),
            "hop_share": Param(1 / 6.55, "", "h: target per hop, as a share of B (htsim)", 0),
            "fs_range": Param(5, "", "r: largest flow scaling, as a share of B (htsim)", 0),
            "fs_min_cwnd": Param(
                0.1, "packets", "w_min: window of the largest scaling (htsim)", 1e-6
            ),
            "fs_max_cwnd": Param(100, "packets", "w_max: window without scaling (htsim)", 1e-6),
            "increase": Param(1, "packets", "a: increase per RTT (htsim)", 0),
            "decrease": Param(0.8, "", "b: decrease per share of delay above T (htsim)", 0, 1),
            "largest_cut": Param(0.5, "", "m: largest decrease (htsim)", 0, 0.99),
            "least_window": Param(0.01, "packets", "smallest window", 1e-6, 1),
            "resets": Param(5, "", "timeouts in a row that leave the smallest window (htsim)", 1),
        },
        state={
            "window": State(0, "packets", "w; 0: not yet set"),
            "pacing_rate": State(math.inf, "packets/s", "pacing rate; infinite from a packet on"),
            "cut_at": State(-math.inf, "s", "when w was last reduced"),
            "timeouts": State(0, "", "timeouts in a row"),
        },
        validate=check,
        recovery="rack-tlp",
        window="own",
        record=("window", "pacing_rate"),
        look=("blue", "8"),
    )
)
