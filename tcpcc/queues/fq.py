"""FQ: a queue per flow without an AQM; packets that have waited too long are marked.

Source: Linux ``sch_fq`` (net/sched/sch_fq.c) on a router: packets that it forwards have no socket,
so that it paces none.

(1)  an arrival joins the queue of its flow                      } :mod:`tcpcc.queues.flow_queues`
(2)  new queues are served before old ones, each by its deficit  }
(3)  a packet sent that has waited longer than `ce_threshold` is marked if it is ECN-capable; no
     other packet is marked or dropped by it
(4)  a full buffer drops the packet that arrives, and so does a flow's queue of `flow_limit` packets

``flows = 1`` is a single queue that marks above a threshold of the delay.

Differences from Linux
    The hash is that of `flow_queues`. ``flow_limit`` has no limit by default (Linux: 100), and a
    flow's first turn has one quantum too (``initial_quantum`` is larger).
"""

import math

from tcpcc.definition import Param, register
from tcpcc.queues.discipline import Discipline
from tcpcc.queues.flow_queues import DEFICIT_STATE, FLOWS, QUEUES, choose, hashed, join


def on_arrival(s, p, q):
    i = hashed(s, p, q.flow)
    q.inner = float(i)
    if q.waiting[i] >= p.flow_limit:
        q.drop = 1.0  # (4)
    elif q.full == 0:
        join(s, p, i)


def on_departure(s, p, q):
    if q.sojourn > p.ce_threshold and q.ect != 0:
        q.mark = 1.0  # (3)
    s.deficit[int(q.inner)] -= q.size


FQ = register(
    Discipline(
        name="fq",
        summary="a queue per flow, served in turn, that marks packets above a threshold of delay",
        source="Linux sch_fq",
        on_arrival=on_arrival,
        on_departure=on_departure,
        on_select=choose,
        inner=QUEUES,
        params={
            "flows": FLOWS,
            "flow_limit": Param(math.inf, "packets", "that wait in the queue of a flow", 1),
            "quantum": Param(3028, "bytes", "sent by a queue in its turn", 1),
            "ce_threshold": Param(
                math.inf, "s", "sojourn time above which each ECN-capable packet is marked", 0
            ),
        },
        state=DEFICIT_STATE,
    )
)
