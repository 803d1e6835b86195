"""A queue per flow: the hash, lists of queues, deficit round robin, the longest queue.

Source: RFC 8290, section 4.1 and 4.2, for the lists of new and old queues; P. McKenney, "Stochastic
fairness queueing", INFOCOM 1990, for the hash.

(1)  an arrival joins the queue given by its flow's hash. A queue in neither list joins the end of
     the new queues, with a deficit of one quantum
(2)  a departure is from the first new queue, or from the first old queue if there is no new one. A
     queue without a positive deficit gets a quantum and moves to the end of the old queues. An
     empty queue moves there too if it was new, and leaves the lists if it was old

The hash is 2654435761 (n + m) mod 2^32, with n the flow's number and m drawn at the start. It
keeps neighbouring numbers apart, whatever m is; SFQ has a hash in which m decides.
"""

from tcpcc.definition import Param, State
from tcpcc.engine.streams import uniform

QUEUES = 1024
NONE, NEW, OLD = 0, 1, 2  # the list that a queue is in
ACTIVE = OLD  # the list of a discipline that has only one


def hashed(s, p, flow):
    """The queue of a flow."""
    if s.perturbation == 0:
        s.perturbation = 1 + int(uniform(s) * 2**20)
    scattered = (int(flow) % 2**20 + s.perturbation) * 2654435761 % 2**32
    return scattered * int(p.flows) // 2**32


def mixed(x):
    """A 32-bit number in which each bit depends on all bits of `x` (xor-shifts and products)."""
    x = (x ^ (x >> 16)) * 2146121005 % 2**32
    x = (x ^ (x >> 15)) * 739982445 % 2**32
    return x ^ (x >> 16)


def scattered(s, p, flow):
    """The queue of a flow; another m puts any two flows into one queue with probability 1/flows."""
    if s.perturbation == 0:
        s.perturbation = 1 + int(uniform(s) * 2**31)
    return mixed(mixed(int(flow) + 1) ^ s.perturbation) * int(p.flows) // 2**32


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


def join(s, p, i):
    """(1)."""
    if s.kind[i] == NONE:
        append_queue(s, i, NEW)
        s.deficit[i] = p.quantum


def choose(s, p, q):
    """(2). The loop ends: some queue is not empty, and every round adds a quantum to it."""
    while True:
        kind = NEW if s.first[NEW] != 0 else OLD
        i = s.first[kind] - 1
        if s.deficit[i] <= 0:
            s.deficit[i] += p.quantum
            remove_first(s, kind)
            append_queue(s, i, OLD)
        elif q.waiting[i] == 0:
            remove_first(s, kind)
            if kind == NEW:
                append_queue(s, i, OLD)
        else:
            q.inner = float(i)
            return


def longest_queue(p, backlogs, own, more):
    """The queue with the largest of the `backlogs`, if `more` joins queue `own`."""
    largest, most = 0, -1.0
    for i in range(int(p.flows)):
        backlog = backlogs[i] + (more if i == own else 0.0)
        if backlog > most:
            largest, most = i, backlog
    return largest


FLOWS = Param(1024, "", "queues that flows are hashed to", 1, QUEUES)
LIST_STATE = {
    "perturbation": State(0, "", "m of the hash; 0: not drawn yet", kind=int),
    "first": State(0, "", "first queue of each list, from 1", 3, int),
    "last": State(0, "", "last queue of each list", 3, int),
    "next": State(0, "", "the queue after each queue in its list", QUEUES, int),
    "kind": State(0, "", "list that each queue is in", QUEUES, int),
}
DEFICIT_STATE = LIST_STATE | {
    "deficit": State(0, "bytes", "remaining quantum of each queue", QUEUES)
}


def per_queue(law_state):
    """The state of a law for one queue, as arrays over all queues."""
    return {
        f"each_{name}": State(v.initial, v.unit, f"{v.doc}; of each queue", QUEUES)
        for name, v in law_state.items()
    }
