"""FQ-CoDel: one queue per flow, served by deficit round robin, with CoDel's law in each queue.

Source: RFC 8290, section 4; Linux ``sch_fq_codel`` for the drops of a full buffer.

(1)  an arrival joins the queue of its flow                      } :mod:`tcpcc.queues.flow_queues`
(2)  new queues are served before old ones, each by its deficit  }
(3)  CoDel (:mod:`tcpcc.queues.codel`) decides about the packet; packets sent reduce the deficit
(4)  a full buffer drops packets from the head of the queue with the most bytes: half of its
     packets, at most `drop_batch`

The buffer is the link's (the RFC's default is 10240 packets), `flows` at most 1024.

Differences from the RFC
    The hash is that of `flow_queues`.
"""

from tcpcc.definition import Param, register
from tcpcc.queues.codel import CODEL_PARAMS, CODEL_STATE, apply_codel
from tcpcc.queues.discipline import Discipline
from tcpcc.queues.flow_queues import (
    DEFICIT_STATE,
    FLOWS,
    QUEUES,
    choose,
    hashed,
    join,
    longest_queue,
    per_queue,
)


def on_arrival(s, p, q):
    i = hashed(s, p, q.flow)
    q.inner = float(i)
    join(s, p, i)
    if q.full != 0:
        fat = longest_queue(p, q.waiting_bytes, i, q.size)
        packets = int(q.waiting[fat]) + (1 if fat == i else 0)
        q.evict = float(fat)
        q.evictions = float(min(max(packets // 2, 1), int(p.drop_batch)))


def on_departure(s, p, q):
    if q.evicted != 0:
        return
    i = int(q.inner)
    s.first_above, s.drop_next = s.each_first_above[i], s.each_drop_next[i]
    s.count, s.last_count = s.each_count[i], s.each_last_count[i]
    s.dropping, s.entered = s.each_dropping[i], s.each_entered[i]
    apply_codel(s, p, q)  # (3)
    s.each_first_above[i], s.each_drop_next[i] = s.first_above, s.drop_next
    s.each_count[i], s.each_last_count[i] = s.count, s.last_count
    s.each_dropping[i], s.each_entered[i] = s.dropping, s.entered
    if q.drop == 0:
        s.deficit[i] -= q.size


FQCoDel = register(
    Discipline(
        name="fq_codel",
        summary="a queue per flow, served in turn, with CoDel's law in each",
        source="RFC 8290",
        on_arrival=on_arrival,
        on_departure=on_departure,
        on_select=choose,
        inner=QUEUES,
        params={
            "flows": FLOWS,
            "quantum": Param(1514, "bytes", "sent by a queue in its turn", 1),
            "drop_batch": Param(64, "packets", "most packets that a full buffer drops at once", 1),
            **CODEL_PARAMS,
        },
        state={**DEFICIT_STATE, **CODEL_STATE, **per_queue(CODEL_STATE)},
    )
)
