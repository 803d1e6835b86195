"""YeAH-TCP: Scalable TCP while the queue is short, otherwise Reno that drains the queue.

Source: A. Baiocchi, A. Castellani, F. Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007;
Linux ``tcp_yeah``.

Equations (once per round trip; R: its smallest RTT, d: smallest RTT so far, W = cwnd)

(1)  Q = W (R - d)/R,   L = (R - d)/d
(2)  fast mode, Q <= alpha and L <= 1/phi:  per newly acknowledged packet  W <- W + 1/min(W, 100)
(3)  slow mode, else:                       per newly acknowledged packet  W <- W + 1/W
(4)  in slow mode, Q > alpha and W > reno_count:  W <- max(W - min(Q/gamma, W/2^epsilon),
     reno_count),  ssthresh <- W
(5)  reno_count, an estimate of Reno's window: in slow mode max(W/2, 2) at first, then + 1 per round
     trip; reset to 2 after more than zeta fast rounds since a loss or the last reset
(6)  loss:  W <- W - max(min(Q, W/2), W/2^delta)    after fewer than rho slow rounds in a row
            W <- W/2                                 else;   reno_count <- max(reno_count/2, 2)
(7)  timeout:  ssthresh as in (6), then W <- 1

Differences from the paper
    The parameter values are those of Linux. The increase in (2) is Scalable's in the form of Linux.

Evidence (constants: Linux)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    vector: both modes, precautionary decongestion
        controllers/test_linux_controllers.py::test_yeah_is_scalable_without_a_queue_and_reno_with_one
"""

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, register

LEAST = 2.0  # packets; smallest reno_count, which means that it is not in use
ENOUGH = 2  # packets; a round with no more packets is ignored


def early_decongestion(s, p, queue):
    """(4)."""
    if queue > p.alpha and s.cwnd > s.reno_count:
        cut = min(queue / p.gamma, s.cwnd / 2**p.epsilon)
        s.cwnd = max(s.cwnd - cut, s.reno_count)
        s.ssthresh = s.cwnd


def on_round(s, p, ack):
    if ack.round_packets <= ENOUGH:
        return
    waiting = max(ack.round_min_rtt - ack.base_rtt, 0.0)
    queue = s.cwnd * waiting / ack.round_min_rtt  # (1)
    if queue > p.alpha or waiting > ack.base_rtt / p.phi:
        early_decongestion(s, p, queue)
        s.reno_count = max(s.cwnd / 2, LEAST) if s.reno_count <= LEAST else s.reno_count + 1  # (5)
        s.slow_rounds += 1
    else:
        s.fast_rounds += 1
        if s.fast_rounds > p.zeta:
            s.reno_count = LEAST
            s.fast_rounds = 0.0
        s.slow_rounds = 0.0
    s.queue = queue


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    elif s.slow_rounds == 0:
        s.cwnd += ack.acked / min(s.cwnd, p.ai_limit)  # (2)
    else:
        s.cwnd += ack.acked / s.cwnd  # (3)


def on_loss(s, p, ack):
    cut = max(ack.window / 2, LEAST)
    if s.slow_rounds < p.rho:
        cut = max(min(s.queue, cut), ack.window / 2**p.delta)
    s.fast_rounds = 0.0
    s.reno_count = max(s.reno_count / 2, LEAST)
    s.ssthresh = max(ack.window - cut, 2.0)  # (6)
    s.cwnd = s.ssthresh


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.cwnd = 1.0  # (7)


yeah = register(
    Controller(
        name="yeah",
        summary="Scalable TCP on short queues; on long queues Reno that drains them before a loss",
        source="Baiocchi, Castellani, Vacirca 2007; Linux",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "alpha": Param(80, "packets", "most packets to keep queued", 0),
            "gamma": Param(1, "", "share 1/gamma of the queue is removed at once", 1e-3),
            "delta": Param(3, "", "a loss removes at least W/2^delta", 0),
            "epsilon": Param(1, "", "(4) removes at most W/2^epsilon", 0),
            "phi": Param(8, "", "a queueing delay above d/phi is congestion", 1e-3),
            "rho": Param(16, "rounds", "in slow mode in a row, after which a loss halves W", 0),
            "zeta": Param(50, "rounds", "in fast mode, after which reno_count is reset", 0),
            "ai_limit": Param(100, "packets", "of (2) (Linux: TCP_SCALABLE_AI_CNT)", 1),
        },
        state={
            "queue": State(0, "packets", "Q of the last round"),
            "slow_rounds": State(0, "rounds", "in slow mode, in a row"),
            "fast_rounds": State(0, "rounds", "in fast mode"),
            "reno_count": State(2, "packets", "estimate of Reno's window"),
        },
        look=("black", "p"),
    )
)
