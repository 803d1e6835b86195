"""The records of the fluid model, and the tables of what is on its way.

A table has a row for each step of the recent past and the near future (a ring: row ``k & mask`` for
step `k`) and a column for each flow or hop. A hop is a link on the path of one flow; the hops of a
link are neighbouring columns, so that a link reads one stretch of memory for each step.
"""

from tcpcc.engine.jit import accessor, compiled, number_at, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.notes import NOTE_FIELDS
from tcpcc.models.queue_memory import QUEUE_FIELDS

NUMBER = 8  # bytes
LEAST = 1e-12  # packets; less is rounding error

#: Status of a flow, and of a place of conversations: none, or one whose packets are to return.
WAITING, OPENING, RUNNING, FINISHED, FREE, DRAINING = range(6)

#: Tables over hops: packets of fluid, dropped packets and marked packets that arrive at a step, and
#: dropped ACKs, whose news the next ACK has; queueing delays at links of whole packets.
HOP_TABLES = ("fluid", "lost", "marked", "merged", "hop_waits")
#: Tables of header fields over hops: of what arrives at a step, and of what is no packet yet.
WORDS_OF_HOPS = ("words", "carried_words")
#: Rows over hops: packets of senders that arrive in this step, and their mean of the last second;
#: whole packets that do, and the time of the next one, as a part of the step.
OF_HOPS = ("arrives", "recent", "completes", "next_at")
#: Tables over links: queueing delay of what leaves at the end of a step, s; bits that arrived at a
#: step and have not left; number of gaps and marks among them.
QUEUE_TABLES = ("waits", "bits", "gaps")
#: Tables over flows: delivered, lost and marked packets of which the sender learns at a step;
#: totals at its end: packets sent, retransmitted, and known to be delivered.
FLOW_TABLES = ("acked", "losses", "marks", "sent_by", "repaired_by", "delivered_by")
#: Further totals, of flows whose controller reads fields of single packets (`OF_PACKETS`).
PACKET_FIELDS = ("pipe_at", "lost_by", "limited_at", "first_sent_at")
#: Tables that are written at the present step only; others have rows of the near future.
OF_PAST = ("waits", "hop_waits", "bits", "sent_by", "repaired_by", "delivered_by")

#: What a world may need: `need` is this, or the number + 1 of a workload that has no free place.
LONGER_TABLES = -1

WORLD = record_dtype(
    {
        "step": float, "per_second": float, "k": int, "end": int, "mask": int,
        "steps_per_bin": int, "b": int,
        "flows": int, "n_flows": int, "hops": int, "n_hops": int, "queues": int, "n_queues": int,
        "changes": int, "next_change": int, "n_changes": int, "need": int, "first_place": int,
        "conversations": int, "next_conversation": int, "n_conversations": int, "items": int,
        "kinds": int, "loads": int,
        "nowhere": int,  # address of a number that is of no meaning
        "n_words": int, "words": int, "returned_words": int, "own_words": int, "syn_words": int,
        "carried_words": int,
        **{name: int for name in (*HOP_TABLES, *OF_HOPS, *QUEUE_TABLES, *FLOW_TABLES)},
        "acts_at": int,  # address of the step at which each flow acts if nothing returns
        **dict(STREAM_FIELDS),
    }
)  # fmt: skip

#: Number of a flow, or of a place that connections use one after the other; controller's state and
#: sample; addresses of the columns of its hops, in the order of its path, and of the table of its
#: packet fields. It comes first in FLOW, then DELAYS: a place copies all but PLACE from the kind of
#: its connection (`open_place`), or DELAYS only (`follow_path`).
PLACE: dict[str, type] = {"index": int, "state": int, "sample": int, "route": int, "history": int}
#: Steps to the first hop and from the last one, and delays with empty queues, s.
DELAYS: dict[str, type] = {
    "to_first": int, "to_sender": int, "back": float, "base": float, "one_way": float,
}  # fmt: skip
#: What else `transport.rules` reads of a flow, with the transport's names.
SENDER: dict[str, type] = {
    "params": int, "on_ack": int, "on_round": int, "on_loss": int,
    "on_timeout": int, "on_mark": int, "on_lost_packet": int, "on_timer": int, "on_start": int,
    "on_open": int, "on_restart": int, "on_undo": int,
    "every_ack": int, "owns_window": int, "whole_window": int, "gradual_marks": int,
    "window_validation": int, "carried": float, "high_ack": float, "mark_edge": float,
    "phase": int, "rwnd": float, "srtt": float, "base_rtt": float, "max_rtt": float,
    "counted": float, "per_ack": float, "paused": float, "sampled_at": float,
    "next_rwnd": float, "right_edge": float, "window_decay": int,
    "gso_segments": int, "gso_time": float, "gso_above": float, "gso_most": float,
}  # fmt: skip
#: `noise`: mean of the random delays on the path, s; each is between 0 and twice that.
PATH: dict[str, type] = {"kind": int, "n_hops": int, "noise": float, "count": float}
#: `open`: 1 from start to stop or finish. `most`: packets above which a window is refused.
#: `acted`: the last step in which the sender acted.
APPLICATION: dict[str, type] = {
    "status": int, "acted": int, "open": float, "start": float, "stop": float, "size": float,
    "finished": float, "handshake": int, "initial_window": float, "most": float, "rate": float,
    "on": int, "n_on": int,
}  # fmt: skip
#: Of a conversation (its number + 1) or a flow with items: the next one, the first not done, one
#: past the last one; what the time of the next one counts from (`conversation_records`), and this
#: time. `sent_at`: time of the newest packet; `first_sent`: of the newest one that has returned.
#: `limited_until`: packets delivered before samples no longer measure the application.
ITEMS: dict[str, type] = {
    "conversation": int, "item": int, "undone": int, "last_item": int, "waits": int,
    "write_at": float, "idle_restart": int, "sent_at": float, "first_sent": float,
    "limited_until": float,
}  # fmt: skip
#: Totals in packets; of those sent, `stale` were on the way at a timeout, `duplicates` are on the
#: way for the second time, and `useless` is the total of the latter.
TOTALS: dict[str, type] = {
    "sent": float, "delivered": float, "stale": float, "lost": float, "retransmitted": float,
    "duplicates": float, "useless": float, "unreported": float, "unreported_marks": float,
    "tokens": float, "pacing": int, "wake": int, "rtt": float, "owd": float,
    "round_end": float, "round_start": float, "round_sum": float, "round_n": float,
    "round_min": float,
}  # fmt: skip
#: Lost packets that the sender has noticed: `pending` before a recovery, `fresh` in it, of too few
#: duplicates; `late`, sent during it; `holes`, to be filled.
RECOVERY: dict[str, type] = {
    "law": int, "impatient": int, "keeps_sack": int, "deflate": int, "dupack_threshold": float,
    "pending": float, "pending_from": float, "detect_at": float, "fresh": float,
    "fresh_until": float, "late": float, "holes": float, "span": float, "recover": float,
    "repair_at": float, "repairs_until": float, "repair_lost": int, "repair_due": int,
    "partial": int, "flight": float, "inflation": float, "in_recovery": float,
    "sent_in_recovery": float, "new_data": float, "again": float, "tail": float,
}  # fmt: skip
TIMER: dict[str, type] = {
    "timer_from": float, "probe_at": float, "initial_rto": float, "var": float, "backoff": float,
    "min_rto": float, "max_rto": float, "rto_margin": float, "hold_ssthresh": int,
    "backoff_limit": float,
}  # fmt: skip
RECORD: dict[str, type] = {
    "bins": int, "reached": float, "sent_before": float, "repaired_before": float,
    "reached_before": float, "timeouts": int, "loss_events": int,
    **NOTE_FIELDS,
}  # fmt: skip
#: Table of the packet fields and stamps of a flow; `stamps`: address of the places in its state of
#: each stamp that a packet takes along, and of where it is given back.
HISTORY: dict[str, type] = {
    "reads_packets": int, "n_history": int, "stamps": int, "n_stamps": int,
}  # fmt: skip
#: Header fields, see `header_layout`; and the time that the handshake takes, s.
FIELDS: dict[str, type] = {"fields": int, "n_fields": int, "carries": int, "syn_rtt": float}

FLOW = record_dtype(
    PLACE | DELAYS | SENDER | PATH | APPLICATION | ITEMS | TOTALS | RECOVERY | TIMER | RECORD
    | HISTORY | FIELDS
)  # fmt: skip
#: What a place copies from a kind of conversation: addresses of a FLOW, of HOPs, and of the words
#: of state and sample. `stream`: place of random numbers in the state, or 0. `load`: its workload.
KIND = record_dtype(
    {
        "flow": int, "hops": int, "memory": int, "words": int, "state_words": int, "stream": int,
        "load": int,
    }
)  # fmt: skip
LOAD = record_dtype({"free": int, "n_free": int})  # places of a workload that are free

#: A hop: `delay` is the steps to the flow's next hop or to the sender, `before` the exact number of
#: steps to this one; `packets` and `bits` of a unit of its fluid; of a packet `size` in bytes; at a
#: link of whole packets fluid waits for `hold` s for more. It comes first in HOP: a place copies it
#: from the kind of its connection.
OF_KIND: dict[str, type] = {
    "delay": int, "before": float, "packets": float, "bits": float, "size": float,
    "traffic_class": float, "hold": float,
}  # fmt: skip
#: `next`: the flow's next hop, or -1. Of a unit of fluid `draws` packets belong to its sender and
#: the others to the flows that the sender stands for, `count`. Queueing delays are in the column
#: `place` of the table `waits`, which has `stride` columns; fluid goes to the column at the address
#: `into`, of a table with `wide` columns. `repeats`: the path has crossed its link before.
#: `has_words`: its fluid has header fields; `sees`: the link's discipline reads them.
#: `from_outside`: of a hybrid's packets.
HOP_PATH: dict[str, type] = {
    "flow": int, "next": int, "queue": int, "is_tcp": int, "is_ack": int, "repeats": int,
    "last_data": int, "ect": int, "owed": float, "count": float, "draws": float,
    "waits": int, "stride": int, "place": int, "into": int, "wide": int, "has_words": int,
    "sees": int, "from_outside": int,
}  # fmt: skip
#: A hop at a link of whole packets (`fluid_packets`): fluid that is no packet yet, and the time of
#: its last arrival; fluid of dropped ACKs, which the next ACK acknowledges, and marks for the next
#: packet; its newest packet in the queue; packets that enter in this step; the waiting time of the
#: packet that left last.
HOP_OF_PACKETS: dict[str, type] = {
    "carry": float, "fed_at": float, "held": float, "marks": float, "newest": int, "due": int,
    "waited": float,
}  # fmt: skip
HOP = record_dtype(OF_KIND | HOP_PATH | HOP_OF_PACKETS)

#: A link with a queue. `head`: the step at which the fluid now leaving has arrived, with
#: `head_bits`. `until_early`, `until_random`: packets x probability to the next hit. `draws`:
#: packets of senders that arrive in this step. `owed`: dropped packets that are still to arrive.
#: `reach`: steps of waiting for which the tables have room. `arrived`: packets of this step, of
#: which `outside` are packets of a hybrid; `due`: of these, how many are to be refused next;
#: `room`: mean backlog of a full buffer. `ordered`: at a full buffer packets arrive one by one;
#: `complete`: those of this step; `ahead`: whole packets that have arrived less their fluid.
QUEUE = record_dtype(
    [
        *QUEUE_FIELDS, ("rate", float), ("limit", float), ("in_bytes", int), ("loss", float),
        ("first", int), ("n", int), ("column", int), ("head", int), ("head_bits", float),
        ("backlog", float), ("backlog_bits", float), ("size", float), ("idle", float),
        ("early", float), ("early_l4s", float), ("until_early", float), ("anew", int),
        ("until_random", float), ("flows", float), ("bins", int), ("packets", int),
        ("in_amounts", int), ("draws", float), ("owed", float), ("reads_concentration", int),
        ("reach", int), ("outside", float), ("due", float),
        ("arrived", float), ("room", float), ("ordered", int), ("complete", float),
        ("ahead", float), *STREAM_FIELDS,
    ]
)  # fmt: skip

#: What a link of whole packets has in addition (``x.packets``). Packets are in `pool`, those of an
#: inner queue linked from the first to the last; place 0 is none, and `spare` the first free one.
#: `serve_at`: when the next packet may be chosen; `words`: the header fields of each place.
PACKET_LINK = record_dtype(
    {
        "pool": int, "spare": int, "inner": int, "n_inner": int, "stored": float, "bytes": float,
        "busy_until": float, "sending_bytes": float, "serve_at": float, "counted_until": float,
        "words": int,
    }
)  # fmt: skip
INNER = record_dtype({"first": int, "last": int, "count": float, "bytes": float})
#: A packet of a hop, which arrived at the time `at`: its fluid, the dropped packets that follow it,
#: and its marks.
PACKET = record_dtype(
    {"hop": int, "next": int, "at": float, "amount": float, "lost": float, "marks": float}
)

#: A change at step `k` of the number at an address: to `value`, or if `is_whole` to `whole`.
CHANGE = record_dtype({"k": int, "address": int, "is_whole": int, "value": float, "whole": int})

world_at, flow_at, hop_at, queue_at, change_at = map(accessor, (WORLD, FLOW, HOP, QUEUE, CHANGE))
packet_link_at, inner_at, packet_at = map(accessor, (PACKET_LINK, INNER, PACKET))
kind_at, load_at = map(accessor, (KIND, LOAD))


@compiled
def hop_cell(w, table, k, hop):
    """The number of a hop in a table at step `k`."""
    return number_at(table, (k & w.mask) * w.n_hops + hop)


@compiled
def queue_cell(w, table, k, x):
    """The number of a link in a table at step `k`."""
    return number_at(table, (k & w.mask) * w.n_queues + x.column)


@compiled
def flow_cell(w, table, k, f):
    """The number of a flow in a table at step `k`."""
    return number_at(table, (k & w.mask) * w.n_flows + f.index)


@compiled
def pass_fluid(w, hop, amount):
    """Add an amount of fluid to the table of the next hop, or of the sender, as late as it gets
    there."""
    number_at(hop.into, ((w.k + hop.delay) & w.mask) * hop.wide).value += amount


@compiled
def pass_gaps(w, hop, amount, hops, flows):
    """As `pass_fluid`, for dropped and marked packets."""
    row = (w.k + hop.delay) & w.mask
    if hop.next >= 0:
        number_at(hops, row * w.n_hops + hop.next).value += amount
        number_at(w.gaps, row * w.n_queues + hop_at(w.hops, hop.next).queue).value += 1
    elif hop.is_tcp != 0:
        number_at(flows, row * w.n_flows + hop.flow).value += amount


@compiled
def need_reach(w, x, waits):
    """Something has waited for so many steps at a link; ask for longer tables if it is too long."""
    while waits >= x.reach:
        x.reach *= 2
        w.need = LONGER_TABLES


@compiled
def arrives(w, hop):
    """The packets of its sender that arrive at a hop in this step."""
    return number_at(w.arrives, hop)


@compiled
def completes(w, hop):
    """The whole packets of its sender that arrive at a hop in this step."""
    return number_at(w.completes, hop)


@compiled
def next_at(w, hop):
    """When the next of them does, as a part of the step."""
    return number_at(w.next_at, hop)


@compiled
def then(w, table, f, at):
    """The value that a flow had in a table of totals at step `at`, a real number; interpolated."""
    if at <= 0:
        return 0.0
    at = max(at, float(w.k - w.mask))  # the table reaches back no further
    k = int(at)
    part = at - k
    here = flow_cell(w, table, k, f).value
    if part == 0.0 or k + 1 >= w.k:
        return here
    return here + part * (flow_cell(w, table, k + 1, f).value - here)
