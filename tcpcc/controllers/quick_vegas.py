"""Quick Vegas: Vegas with steps that depend on the backlog and on consecutive increases.

Source: Y.-C. Chan, C.-L. Lin, C.-T. Chan, C.-Y. Ho, "Improving performance of TCP Vegas for high
bandwidth-delay product networks", section III-B. Delta as in Vegas' (1).

Congestion avoidance, every other round (the round between is frozen); mid = (alpha + beta)/2:

(3)  Delta < alpha:   succ <- succ + 1,  W <- W + (beta - Delta) x succ, at most 2W
(4)  Delta > beta:    W <- W - (Delta - mid),                             succ <- 0
(5)  otherwise:       W - 1 if Delta > mid, W + 1 if Delta < mid, else W; succ <- 0

Increases are spread over the ACKs of the next round, decreases are immediate. Slow start, loss and
timeout are Vegas'.

Differences from the paper
    The listing never clears `incr` for the frozen round although updates happen every other round
    (erratum A2); here it is cleared. The text calls the convergence logarithmic; since succ grows
    by one, the window grows with the square of the number of updates (erratum A1).
    Delta is the paper's real number or ns-2's integer: `integer_delta` chooses. The default, 1,
    gives the paper's 27 s ramp and 540-packet peak; 0 gives 24 s and a permanent oscillation by one
    packet.
    The paper does not define succ after a loss; here a loss or timeout sets it to 0, since the
    increases are then no longer consecutive. Otherwise the window would double right after a cut.
Differences from ns-2
    ns-2's Vegas sender, patched with this listing, never doubles the window: ns-2 takes
    ``incr == 1`` for slow start and clears it. Here the cap of (3) doubles W, as the paper says.

Evidence (constants: paper)
    vector: the paper's listing
        controllers/test_controllers.py::test_quick_vegas_follows_the_paper
    closed form: queue and ramp
        models/packet/test_closed_forms.py::test_quick_vegas_needs_the_square_root_of_the_rounds
    published value: its paper's tables and figures
        papers/test_reproduction.py
"""

from tcpcc.controllers.vegas import PARAMS, backlog, decrease, increase, slow_start, vegas
from tcpcc.controllers.vegas import on_loss as vegas_on_loss
from tcpcc.controllers.vegas import on_timeout as vegas_on_timeout
from tcpcc.definition import State, register


def on_round(s, p, ack):
    delta = backlog(s, p, ack)
    if s.cwnd < s.ssthresh:
        slow_start(s, p, delta)
        return
    s.ssthresh = 2.0  # slow start is over, also the one after a timeout
    s.frozen = 1.0 - s.frozen
    s.incr = 0.0
    if s.frozen != 0:
        return
    middle = (p.alpha + p.beta) / 2
    if delta < p.alpha:  # (3)
        s.succ += 1 - ack.limited
        s.incr = min((p.beta - delta) * s.succ / s.cwnd, 1.0)
        return
    s.succ = 0.0
    if delta > p.beta:  # (4)
        s.cwnd = max(s.cwnd - (delta - middle), 2.0)
    elif delta > middle:  # (5)
        decrease(s)
    elif delta < middle:
        increase(s)


def on_loss(s, p, ack):
    vegas_on_loss(s, p, ack)
    s.succ = 0.0


def on_timeout(s, p, ack):
    vegas_on_timeout(s, p, ack)
    s.succ = 0.0


quick_vegas = register(
    vegas.variant(
        name="quick_vegas",
        summary="Vegas with steps that grow while they succeed",
        source="Chan, Lin, Chan, Ho: Quick Vegas",
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "alpha": PARAMS["alpha"].replace(default=2),
            "beta": PARAMS["beta"].replace(default=4),
        },
        state={"succ": State(0, "", "consecutive increases because Delta < alpha")},
        look=("green", "^"),
    )
)
