"""The records of the fluid model, and the tables of what is on its way.

A table has a row for each step of the recent past and the near future (a ring: row ``k & mask`` for
step `k`) and a column for each flow or hop. A hop is a link on the path of one flow. Each link has
tables of its hops with as many rows as its delays need. A set for each row holds the hops and flows
that have something in it: a step costs nothing for others. Columns are contiguous in memory, since
what is active in a step is mostly active in the next one, too.
"""

from tcpcc.engine.jit import accessor, compiled, index_at, number_at, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.bit_sets import put_member, words_for
from tcpcc.models.notes import NOTE_FIELDS
from tcpcc.models.queue_memory import QUEUE_FIELDS

NUMBER = 8  # bytes
LEAST = 1e-12  # packets; less is rounding error
ROUNDING = 1e-9  # packets; rounding error of counts of all that was sent
SPARE = 8  # numbers after a column: columns a power of two apart would compete in the cache
BITS = 8.0  # bits in a byte
BETWEEN = SPARE + 1  # from a ring's mask to the length of a column

#: Status of a flow, and of a place of conversations: none, or one whose packets are to return.
WAITING, OPENING, RUNNING, FINISHED, FREE, DRAINING = range(6)

#: Tables of a link over its hops: packets of fluid, dropped packets and marked packets that arrive
#: at a step, and dropped ACKs, whose news the next ACK has; at the first link of a path the fluid
#: by which a window has grown; which part of the fluid comes after a packet that this link drops.
HOP_COLUMNS = ("fluid", "lost", "marked", "merged", "grown", "after_gap")
#: Single rows over hops: packets of senders that arrive in this step, and their mean of the last
#: second; whole packets that do, and the time of the next one, as a part of the step.
OF_HOPS = ("arrives", "recent", "completes", "next_at")
#: Tables of a link: bits that arrived at a step and have not left, number of gaps and marks among
#: them, the set of hops (numbered from its first one) that have any of it, their header fields, and
#: queueing delays of whole packets. Single rows: header fields of what is no packet yet.
LINK_TABLES = (
    "bits", "gaps", "present", *HOP_COLUMNS, "hop_words", "hop_waits", *OF_HOPS, "carried_words",
)  # fmt: skip
#: Tables over flows: delivered, lost and marked packets of which the sender learns at a step; how
#: many of the delivered ones came before the last of the lost ones.
FLOW_COLUMNS = ("acked", "losses", "marks", "lost_at")
#: Tables of the world: the set of flows that have any of it, and header fields; queueing delays of
#: what leaves the links at the end of a step, s. Single rows: the set of flows that act in this
#: step even if nothing returns; header fields of SYNs, and those that are being written.
WORLD_TABLES = (*FLOW_COLUMNS, "returned", "returned_words", "waits", "awake", "syn_words",
                "own_words")  # fmt: skip
#: Tables that are written at the present step only; others have rows of the near future.
OF_PAST = ("waits", "hop_waits", "history")
#: Totals of a flow at the end of a step: packets sent, and lost ones that were sent again (SACK);
#: those that a controller reads which reads fields of single packets (`OF_PACKETS`).
(SENT_BY, REPAIRED_BY, DELIVERED_BY, PIPE_AT, LOST_BY, LIMITED_AT, FIRST_SENT_AT, N_TOTALS) = range(
    8
)

#: What a world may need: `need` is this, or the number + 1 of a workload that has no free place.
LONGER_TABLES = -1

WORLD = record_dtype(
    {
        "step": float, "per_second": float, "k": int, "end": int,
        "mask": int,  # of tables of the past, and of those over flows
        "steps_per_bin": int, "bin_end": int, "b": int,
        "flows": int, "n_flows": int, "hops": int, "queues": int, "n_queues": int,
        "changes": int, "next_change": int, "n_changes": int, "need": int, "first_place": int,
        "conversations": int, "next_conversation": int, "n_conversations": int, "items": int,
        "kinds": int, "loads": int,
        "n_words": int, **dict.fromkeys(WORLD_TABLES, int),
        # address of the step at which each flow that rests acts if nothing returns; the least one
        "acts_at": int, "soonest": int,
        **dict(STREAM_FIELDS),
    }
)  # fmt: skip

#: Where what leaves a host or a hop goes: address of the table ``fluid`` of a link, or of ``acked``
#: (0: it goes nowhere), the mask of its rows, and the column; in the sets of the rows, the address
#: of the column's word in row 0, the bytes between two rows, and the bit.
TARGET: dict[str, type] = dict.fromkeys(
    ("target", "target_mask", "target_column", "target_set", "target_stride", "target_bit"), int
)
#: Number of a flow, or of a place that connections use one after the other; controller's state and
#: sample; addresses of the columns of its hops, in the order of its path, and of the table of its
#: packet fields. It comes first in FLOW, then DELAYS: a place copies all but PLACE from the kind of
#: its connection (`open_place`), or DELAYS only (`follow_path`).
PLACE: dict[str, type] = {
    "index": int, "state": int, "sample": int, "route": int, "history": int, **TARGET,
}  # fmt: skip
#: Steps to the first hop and from the last one, and delays with empty queues, s.
DELAYS: dict[str, type] = {
    "to_first": int, "to_sender": int, "back": float, "base": float, "one_way": float,
}  # fmt: skip
#: What else `transport.rules` and `transport.sample` read of a flow, with the transport's names.
SENDER: dict[str, type] = {
    "params": int, "on_ack": int, "on_round": int, "on_loss": int,
    "on_timeout": int, "on_mark": int, "on_lost_packet": int, "on_timer": int, "on_start": int,
    "on_open": int, "on_restart": int, "on_undo": int, "on_send": int,
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
#: The last packet by which the window has grown: its place among what was sent, and among what
#: returned in its step, as a part; the window, with its fraction, at the end of the step before;
#: if a round that ended in this step has raised it, the place of this end, else -1.
GROWTH: dict[str, type] = {
    "grown_at": float, "grown_part": float, "window_before": float, "grown_by_round": float,
}  # fmt: skip
#: Lost packets that the sender has noticed: `pending` before a recovery, `fresh` in it, of too few
#: duplicates; `late`, sent during it; `holes`, to be filled; `repair_lost`, sent again and known to
#: the timer only. Places among what was sent: `repairs_from` and `repairs_until` of
#: retransmissions, `first_new` of the first packet that is new after `recover`. `unseen`: duplicate
#: ACKs do not tell of the pending ones. `fine_at`: when a fine timeout of the first of them, or of
#: the retransmission, has passed, s; `cut_to`: window after the last cut; `dups`: duplicate ACKs
#: before it.
RECOVERY: dict[str, type] = {
    "law": int, "impatient": int, "keeps_sack": int, "deflate": int, "limited_transmit": int,
    "dupack_threshold": float,
    "pending": float, "pending_from": float, "detect_at": float, "fresh": float,
    "fresh_until": float, "late": float, "unseen": int, "holes": float, "span": float,
    "recover": float, "first_new": float, "repair_at": float, "repairs_from": float,
    "repairs_until": float, "repair_lost": float, "repair_due": int, "partial": int,
    "flight": float, "inflation": float, "in_recovery": float, "sent_in_recovery": float,
    "new_data": float, "again": float, "tail": float, "fine_at": float, "cut_to": float,
    "dups": float,
}  # fmt: skip
TIMER: dict[str, type] = {
    "timer_from": float, "probe_at": float, "initial_rto": float, "var": float, "backoff": float,
    "min_rto": float, "max_rto": float, "rto_margin": float, "hold_ssthresh": int,
    "flight_ssthresh": int, "backoff_limit": float,
}  # fmt: skip
RECORD: dict[str, type] = {
    "bins": int, "reached": float, "sent_before": float, "repaired_before": float,
    "reached_before": float, "timeouts": int, "loss_events": int,
    **NOTE_FIELDS,
}  # fmt: skip
#: Table of the totals and stamps of a flow; `stamps`: address of the places in its state of each
#: stamp that a packet takes along, and of where it is given back.
HISTORY: dict[str, type] = {
    "reads_packets": int, "n_history": int, "stamps": int, "n_stamps": int,
}  # fmt: skip
#: Header fields, see `header_layout`; and the time that the handshake takes, s.
FIELDS: dict[str, type] = {"fields": int, "n_fields": int, "carries": int, "syn_rtt": float}

FLOW = record_dtype(
    PLACE | DELAYS | SENDER | PATH | APPLICATION | ITEMS | TOTALS | GROWTH | RECOVERY | TIMER
    | RECORD | HISTORY | FIELDS
)  # fmt: skip
#: What a place copies from a kind of conversation: addresses of a FLOW, of HOPs, and of the words
#: of state and sample. `stream`: place of random numbers in the state, or 0. `load`: its workload.
KIND = record_dtype(
    {"flow": int, "hops": int, "memory": int, "words": int, "stream": int, "load": int}
)
LOAD = record_dtype({"free": int, "n_free": int})  # places of a workload that are free

#: A hop: `delay` is the steps to the flow's next hop or to the sender, `before` the exact number of
#: steps to this one; `packets` and `bits` of a unit of its fluid; of a packet `size` in bytes; at a
#: link of whole packets fluid waits for `hold` s for more. It comes first in HOP: a place copies it
#: from the kind of its connection.
OF_KIND: dict[str, type] = {
    "delay": int, "before": float, "packets": float, "bits": float, "size": float,
    "traffic_class": float, "hold": float,
}  # fmt: skip
#: `next`: the flow's next hop, or -1, and `next_link` its link. Of a unit of fluid `draws` packets
#: belong to its sender and the others to the flows that the sender stands for, `count`. Queueing
#: delays are in the column `place` of the table `waits`, which has `stride` columns. `repeats`: the
#: path has crossed its link before.
#: `has_words`: its fluid has header fields; `sees`: the link's discipline reads them.
#: `from_outside`: of a hybrid's packets. `growth`: packets of this step by which its window has
#: grown; `passes_growth`: the next link reads it, too.
HOP_PATH: dict[str, type] = {
    "flow": int, "next": int, "next_link": int, "queue": int, "is_tcp": int, "is_ack": int,
    "repeats": int, "last_data": int, "ect": int, "owed": float, "count": float, "draws": float,
    "growth": float, "passes_growth": int,
    "waits": int, "stride": int, "place": int, "has_words": int, "sees": int, "from_outside": int,
    **TARGET,
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
#: `head_bits`. `until_early`: packets x probability to the next hit. `until_random`: packets
#: that arrive until the next random loss, drawn for the loss rate `drawn_loss`. `draws`:
#: packets of senders that arrive in this step. `owed`: dropped packets that are still to arrive.
#: `reach`: steps of waiting for which the tables have room. `arrived`: packets of this step, of
#: which `outside` are packets of a hybrid; `due`: of these, how many are to be refused next;
#: `departed`: packets that left in this step; `room`: mean backlog of a full buffer. `single`: each
#: sender is one flow; `clocked`: all that cross the link are data of senders with ACKs; `paced`:
#: open flows that pace; `complete`: whole packets of this step; `ahead`: whole packets less their
#: fluid; `noise`: longest random time that the hosts and links of a flow take, s; `alike`: the
#: base RTTs of all flows are equal; `carries`: there are header fields, or the discipline counts
#: amounts.
QUEUE = record_dtype(
    [
        *QUEUE_FIELDS, ("rate", float), ("limit", float), ("in_bytes", int), ("loss", float),
        ("first", int), ("n", int), ("column", int), ("head", int), ("head_bits", float),
        ("backlog", float), ("backlog_bits", float), ("size", float), ("idle", float),
        ("early", float), ("early_l4s", float), ("until_early", float), ("anew", int),
        ("until_random", float), ("drawn_loss", float), ("flows", float), ("bins", int),
        ("packets", int), ("in_amounts", int), ("draws", float), ("owed", float),
        ("reads_concentration", int), ("reach", int), ("outside", float), ("due", float),
        ("mask", int), *((name, int) for name in LINK_TABLES),
        ("arrived", float), ("departed", float), ("room", float), ("single", int),
        ("clocked", int), ("paced", float), ("complete", float), ("ahead", float), ("noise", float),
        ("alike", int), ("carries", int), *STREAM_FIELDS,
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
#: A packet of a hop, which arrived at the time `at`: its fluid, the dropped packets that follow it,
#: and its marks.
PACKET = record_dtype(
    {"hop": int, "next": int, "at": float, "amount": float, "lost": float, "marks": float}
)

#: A change at step `k` of the number at an address: to `value`, or if `is_whole` to `whole`.
CHANGE = record_dtype({"k": int, "address": int, "is_whole": int, "value": float, "whole": int})

world_at, flow_at, hop_at, queue_at, change_at = map(accessor, (WORLD, FLOW, HOP, QUEUE, CHANGE))
packet_link_at, packet_at = map(accessor, (PACKET_LINK, PACKET))
kind_at, load_at = map(accessor, (KIND, LOAD))


@compiled
def hop_cell(x, table, k, hop):
    """The number of a hop in a table of its link at step `k`."""
    return number_at(row_of(x, table, k), (hop - x.first) * (x.mask + BETWEEN))


@compiled
def row_of(x, table, k):
    """Address of the first number of step `k` in a table of a link; the others are a column each
    from it."""
    return table + NUMBER * (k & x.mask)


@compiled
def link_cell(x, table, k):
    """The number in a table of a link at step `k`."""
    return number_at(table, k & x.mask)


@compiled
def wait_at(w, x):
    """The queueing delay of what leaves a link at the end of this step."""
    return number_at(w.waits, (w.k & w.mask) * w.n_queues + x.column)


@compiled
def flow_cell(w, table, k, flow):
    """The number of a flow in a table at step `k`."""
    return number_at(table, flow * (w.mask + BETWEEN) + (k & w.mask))


@compiled
def present(x, k):
    """The set of places of hops that have something in the tables of a link at step `k`."""
    return x.present + NUMBER * words_for(x.n) * (k & x.mask)


@compiled
def returned(w, k):
    """The set of flows to which something returns at step `k`."""
    return w.returned + NUMBER * words_for(w.n_flows) * (k & w.mask)


@compiled
def pass_fluid(w, hop, amount):
    """Let an amount of fluid leave a hop for the next one, or for the sender."""
    if hop.target != 0:
        put_fluid(hop, w.k + hop.delay, amount)


@compiled
def put_fluid(row, k, amount):
    """Let an amount of fluid arrive at step `k` where what leaves `row` goes, a flow or a hop."""
    target_at(row, k).value += amount
    index_at(row.target_set + (k & row.target_mask) * row.target_stride, 0).at |= row.target_bit


@compiled
def target_at(row, k):
    mask = row.target_mask
    return number_at(row.target, row.target_column * (mask + BETWEEN) + (k & mask))


@compiled
def pass_gaps(w, hop, n, marked, behind):
    """As `pass_fluid`, for `n` packets that are dropped, or marked, `behind` units before the end
    of the fluid that has been passed on."""
    k = w.k + hop.delay
    if hop.next >= 0:
        x = queue_at(w.queues, hop.next_link)
        put_gap(x, x.marked if marked else x.lost, k, hop.next, n)
    elif hop.is_tcp != 0:
        flow_cell(w, w.marks if marked else w.losses, k, hop.flow).value += n
        if not marked:
            at = flow_cell(w, w.acked, k, hop.flow).value - behind
            flow_cell(w, w.lost_at, k, hop.flow).value = at
        put_member(returned(w, k), hop.flow)


@compiled
def put_gap(x, table, k, hop, n):
    """Put `n` packets into the table of gaps or marks of a hop of the link `x` at step `k`."""
    hop_cell(x, table, k, hop).value += n
    link_cell(x, x.gaps, k).value += 1
    put_member(present(x, k), hop - x.first)


@compiled
def need_reach(w, x, waits):
    """Something has waited for so many steps at a link; ask for longer tables if it is too long."""
    while waits >= x.reach:
        x.reach *= 2
        w.need = LONGER_TABLES


@compiled
def arrives(x, hop):
    """The packets of its sender that arrive at a hop in this step."""
    return number_at(x.arrives, hop - x.first)


@compiled
def then(w, f, total, at):
    """A total of a flow at step `at`, a real number; interpolated."""
    if at <= 0:
        return 0.0
    at = max(at, float(w.k - w.mask))  # the table reaches back no further
    k = int(at)
    part = at - k
    value = total_at(w, f, total, k).value
    if part == 0.0 or k + 1 >= w.k:
        return value
    return value + part * (total_at(w, f, total, k + 1).value - value)


@compiled
def total_at(w, f, total, k):
    """A total of a flow at the end of step `k`."""
    return number_at(f.history, (k & w.mask) * f.n_history + total)
