"""A threshold: every packet that arrives at a longer queue is marked.

Source: RFC 8257 (DCTCP), section 3.1; M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010.

(1)  mark an arrival that finds more than `threshold` packets waiting

Packets that are not ECN-capable are dropped instead: to other flows a switch that marks for DCTCP
is a short buffer (RFC 8257, section 5).

Fluid
    In amounts, all arrivals above the threshold are dropped.
"""

from tcpcc.definition import Param, register
from tcpcc.queues.discipline import Discipline


def on_arrival(s, p, q):
    if q.queue > p.threshold:
        q.mark = 1.0


def on_fluid(s, p, q):
    q.prob = 1.0 if q.queue > p.threshold else 0.0
    q.marks = 1.0


StepMark = register(
    Discipline(
        name="step_mark",
        summary="marks every packet that arrives at a queue above a threshold",
        source="RFC 8257",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        params={"threshold": Param(20, "packets", "queue above which arrivals are marked (K)", 0)},
    )
)
