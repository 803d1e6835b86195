"""The records of the mean field: the memory of one scenario's integration.

class   identical flows: same controller, parameters, path and start; one flow is integrated and
        stands for `count` flows
slot    a class at one queueing link of its path
row     a row of the history: for every link its backlog and what it drops and marks; for every
        slot the rate at which packets of one flow arrive there; for every class the rate at which
        one flow sends. Row k belongs to the time k x step and is stored at ``k & mask``

Backlogs are in bits, rates in packets per second, times in seconds. Curves are vectors of the
doubles that make up a controller's state.
"""

from tcpcc.engine.jit import accessor, record_dtype
from tcpcc.models.queue_memory import QUEUE_FIELDS

#: Integrals and extremes over the time since ``after``.
LINK_SUMS = ("sum_queue", "sum_bits", "sum_arrived", "sum_dropped", "least_queue", "most_queue")
CLASS_SUMS = ("sum_time", "sum_cwnd", "sum_rtt", "sum_sent", "sum_acked", "sum_lost")

WORLD = record_dtype(
    {
        "step": float, "k": int, "end": int, "interval": float, "bin": int, "n_bins": int,
        "history": int, "mask": int, "columns": int, "after": float,
        "classes": int, "n_classes": int, "slots": int, "links": int, "n_links": int,
        "failed": int,
    }
)  # fmt: skip

LINK = record_dtype(
    [
        ("rate", float), ("limit", float), ("loss", float), ("in_bytes", int), ("size", float),
        ("column", int),
        # backlog: now, one step earlier, predicted for the next step; its drift
        ("backlog", float), ("before", float), ("trial", float), ("drift", float),
        # share that the discipline hits, now and one step earlier; the same of ECT(1) packets;
        # whether ECN-capable packets that it hits are marked, and whether it always does so;
        # largest share of the rate for ECT(1) packets, which then do not wait; 0: they wait
        ("early", float), ("early_before", float), ("early_l4s", float),
        ("early_l4s_before", float), ("marks", float), ("marking", int), ("bypass", float),
        # what leaves the queue, bit/s. Shares of the arrivals: of those accepted by the
        # discipline, what finds the buffer full; of all, dropped in the queue, and lost in any way
        ("room", float), ("over", float), ("refused", float), ("prob", float),
        # arrivals in packets/s; in bit/s, and of these ECN-capable ones that wait and ones that do
        # not; sum of the squared rates of the flows; open flows
        ("arriving", float), ("arriving_bits", float), ("ect_bits", float),
        ("passing_bits", float), ("squares", float), ("flows", float),
        ("inner", int),
        ("bins", int), *((name, float) for name in LINK_SUMS), *QUEUE_FIELDS,
    ]
)  # fmt: skip

SLOT = record_dtype(
    {
        "link": int, "before": float, "size": float, "carries_ack": int,
        "column": int, "cursor": int, "seen": int, "rate": float,
    }
)  # fmt: skip

CLASS = record_dtype(
    {
        # --- identity and addresses
        "kind": int, "count": float, "first_slot": int, "n_slots": int, "n_forward": int,
        "column": int, "n": int, "state": int, "scratch": int, "params": int, "sample": int,
        "first": int, "second": int, "trial": int,
        "on_ack": int, "on_round": int, "on_loss": int, "on_mark": int, "on_timeout": int,
        "settles": int,
        "bins": int,
        # --- settings
        "start": float, "stop": float, "base_rtt": float, "after": float,
        "initial_window": float, "rwnd": float, "rate": float, "quantum": float,
        "ect": int,  # of its packets: 0 not ECN-capable, 1 ECT(0), 2 ECT(1)
        # --- feedback that reaches the sender now: ACKs, losses and marks of one flow, 1/s; the
        # round-trip time of the acknowledged packet; the smallest and the largest so far
        "acks": float, "losses": float, "marks": float, "rtt": float,
        "min_rtt": float, "max_rtt": float,
        # the first class on the same route; its values are shared by the others: position in the
        # history of what returns now, share that passed the last link, du/dD, losses and marks per
        # ACK, sending time; round-trip time of a packet sent now
        "way": int, "back_row": int, "back_part": float, "back_passing": float, "back_pace": float,
        "lost_per_ack": float, "marked_per_ack": float, "sent_at": float, "rtt_ahead": float,
        # --- whether the class sends
        "on": int,
        # --- slow start, before the first loss
        "slow": int, "round_end": float, "lost": float,
        # sending rate; packets sent, delivered and dropped so far
        "now_rate": float, "sent": float, "delivered": float, "dropped": float,
        **dict.fromkeys(CLASS_SUMS, float),
    }
)  # fmt: skip

BYTES = 8  # size of a number in a curve or a row

mean_world_at = accessor(WORLD)
mean_link_at = accessor(LINK)
class_slot_at = accessor(SLOT)
class_at = accessor(CLASS)
