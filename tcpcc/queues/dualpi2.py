"""DualPI2: two coupled queues, a short one for L4S flows and one with PI2 for all others.

Source: RFC 9332, appendix A; Linux ``sch_dualpi2``.

ECT(1) and CE packets join queue L, all others queue C. D is the longer of the waiting times of the
packets at the head of the two queues, and D_old the previous one.

(1)  every `t_update`:  p' <- p' + alpha (D - target) + beta (D - D_old),  within [0, 1]
(2)  a packet leaving C is dropped, or marked if it is ECN-capable, with probability  p_C = p'^2
(3)  a packet leaving L after a waiting time d is marked with probability  max(p_CL, p_L):
     p_CL = k p',  p_L = (d - min_thresh)/range within [0, 1], or 0 while at most `mtu` bytes are
     left in L. ``range = 0`` is a step
(4)  overload, p_CL > 1 (p_C > 25 % with k = 2):  a packet leaving L is dropped with probability
     p_C and otherwise marked; packets leaving C are never marked instead of dropped
(5)  weighted round robin of bytes: while both wait, C gets a share `classic_weight` of the link
     and L the rest. With ``shift > 0`` a time-shifted FIFO instead: L goes first unless the head of
     C has waited `shift` longer than the head of L

Prague's window is 2/p_CL, and CUBIC's 1.68/sqrt(p_C) while it grows as Reno's: with equal RTTs
equal rates need k = 1.19. k = 2 because packets of C wait longer (RFC 9332, appendix C).

Differences from the RFC
    Chance decides in (2) to (4), as in Linux; the RFC spaces marks and drops evenly. As in Linux, D
    includes L, nothing is dropped or marked by p' while less than two `mtu` wait, and beta is 3.2;
    the RFC's formula gives 3. Drops by a full buffer are those of packets that arrive.
"""

from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform
from tcpcc.queues.discipline import Discipline

C, L = 0, 1
NOT_ECT, ECT1, CE = 0, 1, 3


def waited(q, i):
    """Waiting time of the packet at the head of queue `i`; 0 if it is empty."""
    return q.now - q.head_at[i] if q.waiting[i] > 0 else 0.0


def on_interval(s, p, q):
    """(1)."""
    delay = max(waited(q, C), waited(q, L))
    prob = s.prob + p.alpha * (delay - p.target) + p.beta * (delay - s.delay)
    s.prob = min(max(prob, 0.0), 1.0)
    s.delay = delay
    q.wake = q.now + p.t_update


def on_arrival(s, p, q):
    q.inner = float(L if q.ecn == ECT1 or q.ecn == CE else C)
    if q.idle > 0:
        s.credit = 0.0


def on_select(s, p, q):
    """(5)."""
    if q.waiting[C] == 0 or q.waiting[L] == 0:
        q.inner = float(L if q.waiting[L] > 0 else C)
    elif p.shift > 0:
        q.inner = float(L if waited(q, L) + p.shift >= waited(q, C) else C)
    else:
        q.inner = float(L if s.credit <= 0 else C)


def on_fluid(s, p, q):
    """(2) and (3) with an empty L, whose packets leave at once: p_L = 0."""
    if q.queue_bytes >= 2 * p.mtu:
        q.prob = s.prob**2
        q.prob_l4s = min(p.coupling * s.prob, 1.0)
    q.spread = 1.0
    q.marks = 1.0 if p.coupling * s.prob <= 1 else 0.0
    q.bypass = 1 - p.classic_weight


def native(p, q):
    """p_L of (3)."""
    if q.inner_bytes <= p.mtu or q.sojourn <= p.min_thresh:
        return 0.0
    if q.sojourn >= p.min_thresh + p.range:
        return 1.0
    return (q.sojourn - p.min_thresh) / p.range


def decide_classic(s, p, q):
    """(2)."""
    if uniform(s) < s.prob**2:
        if q.ect != 0 and p.coupling * s.prob <= 1:
            q.mark = 1.0
        else:
            q.drop = 1.0


def decide_l4s(s, p, q, coupled):
    """(3) and (4)."""
    if coupled > 1:
        if uniform(s) < s.prob**2:
            q.drop = 1.0
        else:
            q.mark = 1.0
    elif uniform(s) < max(coupled, native(p, q)):
        q.mark = 1.0


def on_departure(s, p, q):
    enough = q.queue_bytes >= 2 * p.mtu
    if q.inner == L:
        decide_l4s(s, p, q, p.coupling * s.prob if enough else 0.0)
        s.l_delay = q.sojourn
    else:
        if enough:
            decide_classic(s, p, q)
        s.c_delay = q.sojourn
    other = C if q.inner == L else L
    if q.drop == 0 and q.waiting[other] > 0:
        s.credit += q.size * (p.classic_weight if q.inner == L else p.classic_weight - 1)


DualPI2 = register(
    Discipline(
        name="dualpi2",
        summary="two coupled queues: a short one for L4S, and one with PI2 for classic flows",
        source="RFC 9332",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        on_interval=on_interval,
        on_departure=on_departure,
        on_select=on_select,
        inner=2,
        params={
            "target": Param(0.015, "s", "target of the delay of C", 1e-6),
            "t_update": Param(0.016, "s", "time between updates (Tupdate)", 1e-6),
            "alpha": Param(0.16, "1/s", "integral gain", 0),
            "beta": Param(3.2, "1/s", "proportional gain", 0),
            "coupling": Param(2, "", "k: coupling factor", 0),
            "min_thresh": Param(800e-6, "s", "delay of L from which packets are marked (minTh)", 0),
            "range": Param(400e-6, "s", "from there to the delay at which all are; 0: a step", 0),
            "classic_weight": Param(0.1, "", "share of the link that C gets while both wait", 0, 1),
            "shift": Param(0, "s", "advantage of L in the time-shifted FIFO (tshift); 0: WRR", 0),
            "mtu": Param(1500, "bytes", "largest packet", 0),
        },
        state={
            "prob": State(0, "", "p', base probability"),
            "delay": State(0, "s", "D at the last update"),
            "credit": State(0, "bytes", "sent by L beyond its share"),
            "l_delay": State(0, "s", "waiting time of the newest packet from L"),
            "c_delay": State(0, "s", "waiting time of the newest packet from C"),
        },
        record=("prob", "l_delay", "c_delay"),
    )
)
