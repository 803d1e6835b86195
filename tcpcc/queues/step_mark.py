"""A threshold: every packet that arrives at a longer queue is marked.

Source: RFC 8257 (DCTCP), section 3.1; M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010.

(1)  mark an arrival that finds more than `threshold` packets waiting; with `byte_queue` more bytes
     than those of `threshold` packets of `mean_packet`, as a switch that counts bytes

Packets that are not ECN-capable are dropped instead: to other flows a switch that marks for DCTCP
is a short buffer (RFC 8257, section 5).

Fluid
    In amounts, all arrivals above the threshold are dropped.
"""

from tcpcc.definition import Flag, Param, register
from tcpcc.queues.discipline import Discipline


def is_above(p, q):
    queue = q.queue_bytes / p.mean_packet if p.byte_queue else q.queue
    return queue > p.threshold


def on_arrival(s, p, q):
    if is_above(p, q):
        q.mark = 1.0


def on_fluid(s, p, q):
    q.prob = 1.0 if is_above(p, q) else 0.0
    q.marks = 1.0


StepMark = register(
    Discipline(
        name="step_mark",
        summary="marks every packet that arrives at a queue above a threshold",
        source="RFC 8257",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        params={
            "threshold": Param(20, "packets", "queue above which arrivals are marked (K)", 0),
            "byte_queue": Flag(False, "measure the queue in bytes"),
            "mean_packet": Param(1500, "bytes", "packet size that byte mode refers to", 1),
        },
    )
)
