"""FQ-PIE: one queue per flow, served by deficit round robin, with PIE's law in each queue.

Source: RFC 8033 for the law; M. P. Tahiliani, G. Ramakrishnan, "Flow queue PIE: a hybrid packet
scheduler and active queue management algorithm", draft-tahiliani-tsvwg-fq-pie; Linux
``sch_fq_pie``.

(1)  an arrival joins the queue of its flow                      } :mod:`tcpcc.queues.flow_queues`
(2)  new queues are served before old ones, each by its deficit  }
(3)  PIE (:mod:`tcpcc.queues.pie`) decides about an arrival by the state of its own queue
(4)  the delay D of a queue is the waiting time of the newest packet that has left it; 0 if it left
     the queue empty
(5)  every `t_update` the state of each queue is updated
(6)  a full buffer drops the arrival

The buffer is the link's (Linux' default is 10240 packets), `flows` at most 1024.

Differences from Linux
    `drop_prob` is updated also while a queue that is not empty has had no delay yet. The
    probability is not divided by the packet's size (`bytemode`, off in Linux). Constants are those
    of RFC 8033, not Linux' finer table of divisors.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import Discipline
from tcpcc.queues.flow_queues import (
    DEFICIT_STATE,
    FLOWS,
    QUEUES,
    choose,
    hashed,
    join,
    per_queue,
)
from tcpcc.queues.pie import PIE_PARAMS, PIE_STATE, apply_pie, update


def load(s, i):
    """Make the law's state that of queue `i`."""
    s.drop_prob, s.delay = s.each_drop_prob[i], s.each_delay[i]
    s.burst_allowance, s.accumulated = s.each_burst_allowance[i], s.each_accumulated[i]


def save(s, i):
    s.each_drop_prob[i], s.each_delay[i] = s.drop_prob, s.delay
    s.each_burst_allowance[i], s.each_accumulated[i] = s.burst_allowance, s.accumulated


def on_arrival(s, p, q):
    i = hashed(s, p, q.flow)
    q.inner = float(i)
    load(s, i)
    apply_pie(s, p, q, q.waiting[i])  # (3)
    save(s, i)
    if q.drop == 0 and q.full == 0 and (q.mark == 0 or q.ecn != 0):
        join(s, p, i)


def on_departure(s, p, q):
    i = int(q.inner)
    s.deficit[i] -= q.size
    s.sojourn[i] = q.sojourn if q.inner_queue > 0 else 0.0  # (4)


def on_interval(s, p, q):
    """(5)."""
    for i in range(int(p.flows)):
        load(s, i)
        update(s, p, s.sojourn[i])
        save(s, i)
    q.wake = q.now + p.t_update


FQPIE = register(
    Discipline(
        name="fq_pie",
        summary="a queue per flow, served in turn, with PIE's law in each",
        source="RFC 8033; draft-tahiliani-tsvwg-fq-pie",
        on_arrival=on_arrival,
        on_departure=on_departure,
        on_select=choose,
        on_interval=on_interval,
        inner=QUEUES,
        params={
            "flows": FLOWS,
            "quantum": Param(1514, "bytes", "sent by a queue in its turn", 1),
            **PIE_PARAMS,
        },
        state={
            **DEFICIT_STATE,
            "sojourn": State(0, "s", "D: waiting time of each queue's newest departure", QUEUES),
            **PIE_STATE,
            **per_queue(PIE_STATE),
        },
    )
)
