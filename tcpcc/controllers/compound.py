"""Compound TCP (CTCP) of 2005/2006: Reno's window plus one that grows while the queue is short.

Source: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP approach for high-speed and long
distance networks", MSR-TR-2005-86 and IEEE INFOCOM 2006; draft-sridharan-tcpm-ctcp-02.

The window is W = cwnd_r + dwnd: Reno's window plus a delay-based one. The state has W and dwnd. If
the receiver's window is smaller, it replaces W in (2) and (3) and bounds cwnd_r in (3).

(1)  per newly acknowledged packet:  slow start as Reno, dwnd = 0; then cwnd_r <- cwnd_r + 1/W
(2)  per round trip, diff = W (1 - d/R), with d the smallest RTT and R the round's mean RTT:
         dwnd <- dwnd + max(alpha W^k - 1, 0)     if diff < gamma
         dwnd <- max(dwnd - zeta diff, 0)         otherwise
(3)  loss:     cwnd_r <- max(cwnd_r / 2, 2),   dwnd <- max((1 - beta) W - cwnd_r, 0)
(4)  timeout:  as Reno, dwnd <- 0

Without queueing W grows by alpha W^k per round trip and a loss halves it. Its mean is then
0.2553 / p^0.8 and its peak 0.3504 / p^0.8 packets, where that is above Reno's window.

Differences from the papers
    `gamma` is fixed at 30, as in 2005. Its tuning by the backlog at losses (2006) is left out, as
    is the least window of 41 packets for the delay-based part, which is not in the papers.
    k is 0.75, the value the authors implemented; the papers derive 0.8.

Evidence (constants: paper)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    closed form: 0.255 / p^0.8
        controllers/test_response_functions.py::test_packets_obey_the_closed_form
"""

from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.controllers.reno import reno
from tcpcc.definition import Param, State, register


def set_dwnd(s, dwnd):
    """Set the delay-based window, at least 0, and change W with it. Where W falls below ssthresh,
    ssthresh follows, so that slow start does not begin again."""
    dwnd = max(dwnd, 0.0)
    s.cwnd += dwnd - s.dwnd
    s.dwnd = dwnd
    s.ssthresh = min(s.ssthresh, s.cwnd)


def on_round(s, p, ack):
    if s.cwnd < s.ssthresh:
        return
    diff = ack.window * (1 - ack.base_rtt / ack.round_rtt)
    if diff < p.gamma:
        if ack.limited == 0:
            set_dwnd(s, s.dwnd + max(p.alpha * ack.window**p.k - 1, 0.0))  # (2)
    else:
        set_dwnd(s, s.dwnd - p.zeta * diff)


def on_loss(s, p, ack):
    half = max(min(s.cwnd - s.dwnd, ack.window) / 2, 2.0)
    s.dwnd = max((1 - p.beta) * ack.window - half, 0.0)  # (3)
    s.cwnd = half + s.dwnd
    s.ssthresh = s.cwnd


def on_timeout(s, p, ack):
    reno_on_timeout(s, p, ack)  # (4)
    s.dwnd = 0.0


compound = register(
    reno.variant(
        name="compound",
        summary="Reno's window plus one that grows as W^k while the queue is short",
        source="Tan, Song, Zhang, Sridharan 2006",
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "alpha": Param(0.125, "packets^(1-k)", "increase per round trip is alpha W^k", 0),
            "k": Param(0.75, "", "exponent of that increase", 0, 1),
            "beta": Param(0.5, "", "share of the window that a loss takes", 0, 1),
            "gamma": Param(30, "packets", "backlog at which dwnd starts to shrink", 0),
            "zeta": Param(1, "", "decrease of dwnd as a share of the backlog", 0),
        },
        state={"dwnd": State(0, "packets", "delay-based window, a part of cwnd")},
        look=("green", "v"),
    )
)
