"""FQ-CoDel: one queue per flow, served by deficit round robin, with CoDel's law in each queue.

Source: RFC 8290, section 4; Linux ``sch_fq_codel`` for the drops of a full buffer.

(1)  an arrival joins the queue given by its flow's hash. A queue in neither list joins the end of
     the new queues, with a deficit of one quantum
(2)  a departure is from the first new queue, or from the first old queue if there is no new one. A
     queue without a positive deficit gets a quantum and moves to the end of the old queues. An
     empty queue moves there too if it was new, and leaves the lists if it was old
(3)  CoDel (:mod:`tcpcc.queues.codel`) decides about the packet; packets sent reduce the deficit
(4)  a full buffer drops packets from the head of the queue with the most bytes: half of its
     packets, at most `drop_batch`

The buffer is the link's (the RFC's default is 10240 packets), `flows` at most 1024.

Differences from the RFC
    The hash is 2654435761 (n + m) mod 2^32, with n the flow's number and m drawn at the start.
"""

from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform
from tcpcc.queues.codel import CODEL_PARAMS, CODEL_STATE, apply_codel
from tcpcc.queues.discipline import Discipline

QUEUES = 1024
NONE, NEW, OLD = 0, 1, 2  # the list that a queue is in


def hashed(s, p, flow):
    """The queue of a flow."""
    if s.perturbation == 0:
        s.perturbation = 1 + int(uniform(s) * 2**20)
    scattered = (int(flow) % 2**20 + s.perturbation) * 2654435761 % 2**32
    return scattered * int(p.flows) // 2**32


def append_queue(s, i, kind):
    """Put queue `i` at the end of list `kind`. Links count from 1; 0 is the end."""
    s.next[i] = 0
    s.kind[i] = kind
    if s.first[kind] == 0:
        s.first[kind] = i + 1
    else:
        s.next[s.last[kind] - 1] = i + 1
    s.last[kind] = i + 1


def remove_first(s, kind):
    i = s.first[kind] - 1
    s.first[kind] = s.next[i]
    s.kind[i] = NONE


def fattest(s, p):
    """The queue with the most bytes."""
    found = 0
    for i in range(int(p.flows)):
        if s.backlog[i] > s.backlog[found]:
            found = i
    return found


def on_arrival(s, p, q):
    i = hashed(s, p, q.flow)
    q.inner = float(i)
    s.backlog[i] += q.size
    s.packets[i] += 1
    if s.kind[i] == NONE:
        append_queue(s, i, NEW)
        s.deficit[i] = p.quantum
    if q.full != 0:
        fat = fattest(s, p)
        q.evict = float(fat)
        q.evictions = float(min(max(s.packets[fat] // 2, 1), int(p.drop_batch)))


def on_select(s, p, q):
    """(2). The loop ends: some queue is not empty, and every round adds a quantum to it."""
    while True:
        kind = NEW if s.first[NEW] != 0 else OLD
        i = s.first[kind] - 1
        if s.deficit[i] <= 0:
            s.deficit[i] += p.quantum
            remove_first(s, kind)
            append_queue(s, i, OLD)
        elif s.packets[i] == 0:
            remove_first(s, kind)
            if kind == NEW:
                append_queue(s, i, OLD)
        else:
            q.inner = float(i)
            return


def on_departure(s, p, q):
    i = int(q.inner)
    s.backlog[i] -= q.size
    s.packets[i] -= 1
    if q.evicted != 0:
        return
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
        on_select=on_select,
        inner=QUEUES,
        params={
            "flows": Param(1024, "", "queues that flows are hashed to", 1, QUEUES),
            "quantum": Param(1514, "bytes", "sent by a queue in its turn", 1),
            "drop_batch": Param(64, "packets", "most packets that a full buffer drops at once", 1),
            **CODEL_PARAMS,
        },
        state={
            "perturbation": State(0, "", "m of the hash; 0: not drawn yet", kind=int),
            "first": State(0, "", "first queue of each list, from 1", 3, int),
            "last": State(0, "", "last queue of each list", 3, int),
            "next": State(0, "", "the queue after each queue in its list", QUEUES, int),
            "kind": State(0, "", "list that each queue is in", QUEUES, int),
            "packets": State(0, "packets", "in each queue", QUEUES, int),
            "backlog": State(0, "bytes", "in each queue", QUEUES),
            "deficit": State(0, "bytes", "remaining quantum of each queue", QUEUES),
            **CODEL_STATE,
            **{
                f"each_{name}": State(0, state.unit, f"{state.doc}; of each queue", QUEUES)
                for name, state in CODEL_STATE.items()
            },
        },
    )
)
