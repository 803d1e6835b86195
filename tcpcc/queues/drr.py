"""DRR: deficit round robin, fair queueing in bytes with constant work per packet.

Source: M. Shreedhar, G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995
(IEEE/ACM Transactions on Networking 4(3), 1996), with its names.

Each flow has a queue; the active list has the queues that are not empty. DC_i is the deficit
counter of queue i, in bytes:

(1)  a packet of a queue that is not in the active list puts it at the end, with DC_i = 0
(2)  the first queue of the list gets its turn: DC_i <- DC_i + quantum
(3)  it sends the packet at its head, of b bytes, while b <= DC_i; DC_i <- DC_i - b
(4)  a queue that becomes empty leaves the list, and DC_i <- 0; one that must stop moves to the end
(5)  a full buffer drops a packet of the longest queue, in bytes

The work per packet is O(1) if the quantum is at least the largest packet. Over any time the bytes
that two backlogged queues have sent differ by at most quantum + 2 Max, Max the largest packet
(Theorem 2 with equal quanta).

Differences from the paper
    Flows share the queues that they are hashed to (`flow_queues`); all have the same quantum.
    (5) drops the oldest packet of that queue. The search for the longest queue is linear, at drops
    only.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import Discipline
from tcpcc.queues.flow_queues import (
    ACTIVE,
    FLOWS,
    LIST_STATE,
    NONE,
    QUEUES,
    append_queue,
    hashed,
    longest_queue,
    remove_first,
)


def on_arrival(s, p, q):
    i = hashed(s, p, q.flow)
    q.inner = float(i)
    if s.kind[i] == NONE:
        append_queue(s, i, ACTIVE)  # (1)
    if q.full != 0:
        q.evict = float(longest_queue(p, q.waiting_bytes, i, q.size))  # (5)


def end_turn(s):
    s.in_turn = 0.0
    remove_first(s, ACTIVE)


def leave_round(s, i):
    """(4)."""
    end_turn(s)
    s.deficit[i] = 0.0


def on_select(s, p, q):
    """The loop ends: some queue is not empty, and every turn adds a quantum to it."""
    while True:
        i = s.first[ACTIVE] - 1
        if q.waiting[i] == 0:  # (5) has emptied it
            leave_round(s, i)
            continue
        if s.in_turn == 0:
            s.in_turn = 1.0
            s.deficit[i] += p.quantum  # (2)
        if q.head_size[i] <= s.deficit[i]:
            s.deficit[i] -= q.head_size[i]  # (3)
            q.inner = float(i)
            if q.waiting[i] == 1:
                leave_round(s, i)
            return
        end_turn(s)
        append_queue(s, i, ACTIVE)


DRR = register(
    Discipline(
        name="drr",
        summary="a queue per flow, served in turn for equal numbers of bytes",
        source="Shreedhar, Varghese 1995",
        on_arrival=on_arrival,
        on_select=on_select,
        inner=QUEUES,
        params={
            "flows": FLOWS,
            "quantum": Param(1500, "bytes", "added to a queue's deficit counter in its turn", 1),
        },
        state={
            **LIST_STATE,
            "deficit": State(0, "bytes", "DC: deficit counter of each queue", QUEUES),
            "in_turn": State(0, "0 or 1", "the first queue has got its quantum"),
        },
    )
)
