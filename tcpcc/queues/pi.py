"""PI: a proportional-integral controller of the queue's length.

Source: C. Hollot, V. Misra, D. Towsley, W. Gong, "On designing improved controllers for AQM routers
supporting TCP flows", IEEE INFOCOM 2001; ns-2.35's ``Queue/PI``.

w times per second, with q packets waiting and q_old at the previous sample:

(1)  prob <- prob + a (q - qref) - b (q_old - qref),   within [0, 1]

Every arriving packet is dropped with probability prob. a and b come from the continuous controller
K (s/z + 1)/s by the bilinear transform. The defaults are for 15 Mb/s, 500-byte packets, 60 flows or
more and RTTs of up to 246 ms, at 170 Hz.

Differences from ns-2
    A link's buffer counts the packet being sent; with ns-2's PI one packet more fits.
"""

from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform
from tcpcc.queues.discipline import ECN, Discipline, notify


def on_interval(s, p, q):
    prob = p.a * (q.queue - p.qref) - p.b * (s.q_old - p.qref) + s.prob  # (1)
    s.prob = min(max(prob, 0.0), 1.0)
    s.q_old = q.queue
    q.wake = q.now + 1 / p.w


def on_arrival(s, p, q):
    if q.full == 0 and uniform(s) <= s.prob:
        notify(p, q)


def on_fluid(s, p, q):
    q.prob = s.prob
    q.spread = 1.0
    q.marks = 1.0 if p.ecn else 0.0


PI = register(
    Discipline(
        name="pi",
        summary="drops with a probability from a PI controller of the queue length",
        source="Hollot, Misra, Towsley, Gong 2001",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        on_interval=on_interval,
        params={
            "qref": Param(50, "packets", "target queue", 0),
            "a": Param(1.822e-5, "1/packets", "gain of the queue"),
            "b": Param(1.816e-5, "1/packets", "gain of the queue at the previous sample"),
            "w": Param(170, "Hz", "samples per second", 1e-3),
            "ecn": ECN,
        },
        state={
            "prob": State(0, "", "drop probability"),
            "q_old": State(0, "packets", "queue at the last sample"),
        },
        record=("prob",),
    )
)
