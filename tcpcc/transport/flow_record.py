"""The records of the transport: what a TCP sender and receiver remember.

One :data:`FLOW` record per flow, put together from what its owners need, and a ring of
:data:`SEGMENT` records, indexed by sequence number modulo the ring's size. A loss recovery keeps
what is its own in a record of its own (``recovery_state``), and so does a model's driver. Sequence
numbers count packets from 0. Times are in seconds.
"""

import numpy as np

from tcpcc.engine.jit import accessor, record_dtype

TCP, CBR = 0, 1  # kinds of flow

# Phases of a sender.
OPEN, RECOVERY, LOSS = 0, 1, 2

# ECN: what a connection does, and the bits of a header (RFC 3168; CE and ECT as two flags).
OFF, CLASSIC, ACCURATE = 0, 1, 2
ECT, CE, ECE, CWR = 1, 2, 4, 8

# Flags of a segment.
RECEIVED, SACKED, DEEMED_LOST, RETRANSMITTED, TOLD, PUSHED = 1, 2, 4, 8, 16, 32

#: Packets that one call of a sender's handler may hand over; it asks to be called again for more.
OUTBOX_SIZE = 16

FLAG = np.int32  # a flag, a phase, a small number; four of them take the room of two others

# What an ACK needs comes first, together, so that few cache lines take part; what is seldom needed
# comes last (`SELDOM`), whoever it belongs to.
SENDER: dict[str, type] = {
    "high_ack": int, "next_seq": int, "max_seq": int, "recover": int,
    "phase": FLAG, "dupacks": FLAG, "more": FLAG, "awaits": FLAG, "inflation": int, "untold": int,
    "segments": int, "segment_mask": int, "outbox": int, "outbox_count": int, "delivery": int,
    "burst": float, "max_burst": float, "rwnd": float,
    "to_send": int, "finished": float, "delay_growth": FLAG, "marked": FLAG,
    # the event that is being handled: an ACK of all up to `ack`, caused by segment `trigger`,
    # with the block low <= seq < high
    "now": float, "ack": int, "trigger": int, "low": int, "high": int,
}  # fmt: skip
CONTROLLER: dict[str, type] = {
    "state": int, "params": int, "sample": int, "on_ack": int, "on_round": int,
    # where in the state it is: bytes from its start, 0: there is none
    "pacing_rate": int,
    # marked packets that the controller is to be told of
    "untold_marks": int,
    "gradual_marks": FLAG, "owns_start": FLAG, "whole_window": FLAG, "count_delivered": FLAG,
}  # fmt: skip
LOSS_RECOVERY: dict[str, type] = {
    "address": int, "recovery_state": int, "recovery_params": int, "recovery_on_ack": int,
    "stale_rounds": FLAG, "newest_only": FLAG,
}  # fmt: skip
ROUNDS: dict[str, type] = {
    "last_rtt": float, "recent_rtt": float, "srtt": float, "base_rtt": float, "max_rtt": float,
    "round_seq": int, "round_start": float, "round_sum": float, "round_n": int,
    "round_min": float, "abc_limit": float,
    "gso_segments": int, "handshake": FLAG, "syn_rtt": FLAG, "window_validation": FLAG,
}  # fmt: skip
TIMER: dict[str, type] = {
    "deadline": float, "rto": float, "backoff": int, "timed_seq": int, "timed_at": float,
    "min_rto": float, "max_rto": float, "tick": float, "rto_margin": float,
    "timing": FLAG, "timestamps": FLAG, "coarse_timer": FLAG,
}  # fmt: skip
RECEIVER: dict[str, type] = {
    "held": FLAG, "expected": int, "highest": int, "delayed_ack": float,
    "sack_low": int, "sack_high": int, "held_until": float,
}  # fmt: skip
COUNTERS: dict[str, type] = {
    "sent": int, "acks": int, "timeouts": int, "loss_events": int, "arrived": int,
    "delivered": int,
}  # fmt: skip
SELDOM: dict[str, type] = {
    "retransmitted": int, "duplicates": int,
    # of the controller: rules, and where in the state something is, as above; up to where a window
    # of data was answered a mark
    "on_loss": int, "on_timeout": int,
    "on_delivery": int, "on_lost_packet": int, "on_timer": int, "on_mark": int,
    "on_restart": int, "on_start": int, "on_open": int, "on_undo": int,
    "wake_at": int, "stream": int, "mark_edge": int, "owns_recovery": FLAG,
    "recovery_on_timeout": int, "recovery_resume": int, "recovery_on_alarm": int,
    # packets that do not make a whole one yet; packets of the present piece, and of these still to
    # be sent
    "put_by": float, "piece": int, "in_piece": int,
    "srtt8": int, "rttvar4": int, "initial_rto": float, "clock_phase": float, "backoff_limit": int,
    "ack_every": int, "quick_acks": int, "block_low": int, "block_high": int,
    "initial_window": float, "dupack_threshold": int, "limited_transmit": int, "deflate": int,
    "idle_restart": int, "stamps": int, "stamp_mask": int,
    # whether a repeated timeout keeps ssthresh, and the last segment that the timer has repaired
    "hold_ssthresh": FLAG, "timer_seq": int,
}  # fmt: skip
# Of the sender: whether the connection uses it, the newest count echoed, and whether the next new
# segment is to carry CWR (`marked`, above: packets marked that the ACK being handled tells of, with
# classic ECN 1 for an ACK with ECE); of the receiver: marked packets so far, whether the last one
# was, and whether ECE is to be set.
ECN: dict[str, type] = {
    "ecn": int, "echoed": int, "cwr": int, "marks_seen": int, "mark_last": int, "echoes": int,
}  # fmt: skip

FLOW = record_dtype(
    SENDER | CONTROLLER | LOSS_RECOVERY | ROUNDS | TIMER | RECEIVER | COUNTERS | SELDOM | ECN,
    whole_lines=True,
)
SEGMENT = record_dtype({"sent_at": float, "transmits": FLAG, "flags": FLAG})

# What became of a segment that was sent; a segment in the network stands in the list of those in
# the order of sending, one that is lost in the list of those, until it is sent again.
UNSENT, IN_NETWORK, LOST, DELIVERED = 0, 1, 2, 3

#: Kept of a flow beside FLOW, only if its controller or its loss recovery needs it
#: (``f.delivery``; ``f.stamps`` is then a ring of STAMP beside that of SEGMENT).
DELIVERY = record_dtype(
    [
        ("total", int), ("last_at", float), ("first_sent", float), ("limited_until", int),
        ("lost", int), ("pipe", int), ("next_send", float),
        # what the ACK that is being handled brought; the newest of the packets and its sending
        ("news", int), ("newest", int), ("newest_sent", float), ("rtt", float), ("owd", float),
        ("srtt", float), ("base_rtt", float),
        ("prior", int), ("prior_at", float), ("send_elapsed", float), ("limited", int),
        ("prior_lost", int), ("prior_pipe", int),
        # when pacing lets the next packet go that waits for it; when the loss recovery is to look
        ("release_at", float), ("recheck_at", float),
        # whether answers to losses may be undone, F-RTO is used, D-SACK is used; segments marked
        # lost, not sent again and reported by this ACK. Of the episode that may be undone:
        # its first segment (-1: none), the last one outstanding then, repairs that may have been
        # needed, and the window before
        ("undo", FLAG), ("frto", FLAG), ("dsack", int), ("originals", int), ("undo_from", int),
        ("undo_until", int), ("undo_repairs", int),
        ("undo_cwnd", float), ("undo_ssthresh", float),
        # lists of segments, first and last; -1: empty
        ("first", int, (2,)), ("last", int, (2,)),
        ("n_stamps", int), ("stamped", int, (4,)), ("given_back", int, (4,)),
    ]
)  # fmt: skip
STAMP = record_dtype(
    [
        ("status", int), ("before", int), ("after", int), ("delivered", int),
        ("delivered_at", float), ("first_sent", float), ("limited", int), ("lost", int),
        ("pipe", int), ("received_at", float), ("stamps", float, (4,)),
    ]
)  # fmt: skip
OUT = record_dtype({"seq": int, "again": int})
WINDOW = record_dtype({"cwnd": float, "ssthresh": float})

segment_at = accessor(SEGMENT)
out_at = accessor(OUT)
window_at = accessor(WINDOW)
flow_at = accessor(FLOW)
delivery_at = accessor(DELIVERY)
stamp_at = accessor(STAMP)
number_at = accessor(record_dtype({"value": float}))
