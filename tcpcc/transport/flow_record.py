"""The records of the transport: the state of a TCP sender and receiver.

There is one :data:`TCP_FLOW` record per flow, composed of the fields that each part needs, and
a ring of :data:`SEGMENT` records, indexed by sequence number modulo the ring's size. A loss
recovery keeps its private state in its own record (``recovery_state``), and so does a model's
driver. Sequence numbers count packets from 0. Times are in seconds.
"""

import numpy as np

from tcpcc.engine.jit import accessor, record_dtype

TCP, CBR = 0, 1  # kinds of flow

# Phases of a sender.
OPEN, RECOVERY, LOSS = 0, 1, 2

# ECN: modes of a connection, and header bits (RFC 3168; flags, so that a marked packet has two or
# three: ECT for a capable packet, ECT1 if it is ECT(1), CE if it is marked).
OFF, CLASSIC, ACCURATE, L4S = 0, 1, 2, 3
ECT, CE, ECE, CWR, ECT1 = 1, 2, 4, 8, 16

# Flags of a segment.
RECEIVED, SACKED, MARKED_LOST, RETRANSMITTED, REPORTED, PUSHED = 1, 2, 4, 8, 16, 32

#: Packets that one call of a sender's handler may send; it sets ``f.more`` if there are more.
OUTBOX_SIZE = 16

FLAG = np.int32  # flags, phases and small numbers; half the size of the other fields

# Fields used on every ACK come first, so that an ACK touches few cache lines; rarely used fields
# come last (`RARE`).
SENDER: dict[str, type] = {
    "high_ack": int, "next_seq": int, "max_seq": int, "recover": int,
    "phase": FLAG, "dupacks": FLAG, "more": FLAG, "awaits": FLAG, "inflation": int,
    "unreported": int, "segments": int, "segment_mask": int, "outbox": int, "outbox_count": int,
    "delivery": int, "burst": float, "max_burst": float, "rwnd": float,
    "to_send": int, "finished": float, "delay_growth": FLAG, "marked": FLAG,
    # segments from here on were sent at most once, and no selective acknowledgement reports them
    "once_from": int,
    # whether new segments are sent without a record of each (:func:`.output.send_run`), and how
    # many were sent so since the driver last emptied the outbox
    "coasting": FLAG, "coasts": FLAG, "run": int,
    # the ACK being handled: everything up to `ack` is received, segment `trigger` caused it, and
    # it reports the block low <= seq < high
    "now": float, "ack": int, "trigger": int, "low": int, "high": int,
    # whether it echoes a retransmission's timestamp; whether the next ACK of new data shows if the
    # first retransmission was needed
    "echoes_repair": FLAG, "echo_due": FLAG,
}  # fmt: skip
CONTROLLER: dict[str, type] = {
    "state": int, "params": int, "sample": int, "on_ack": int, "on_round": int,
    # offset in the state, bytes; 0: the controller has no such variable
    "pacing_rate": int,
    # marked packets not yet reported to the controller
    "unreported_marks": int,
    "gradual_marks": FLAG, "owns_window": FLAG, "whole_window": FLAG, "count_delivered": FLAG,
    # `on_ack` is called for every ACK; a rule reads a field of `controller.OF_PACKETS`
    "every_ack": FLAG, "reads_packets": FLAG,
}  # fmt: skip
LOSS_RECOVERY: dict[str, type] = {
    "address": int, "recovery_state": int, "recovery_params": int, "recovery_on_ack": int,
    "stale_rounds": FLAG, "newest_only": FLAG,
}  # fmt: skip
ROUNDS: dict[str, type] = {
    "last_rtt": float, "recent_rtt": float, "srtt": float, "base_rtt": float, "max_rtt": float,
    "round_seq": int, "round_start": float, "round_sum": float, "round_n": int,
    "round_min": float, "abc_limit": float,
    # time for which the application or the receiver limited sending, s; when the last sample was
    # filled
    "paused": float, "sampled_at": float,
    # a smaller receive window, and the right edge of the present one until it is reached
    "next_rwnd": float, "right_edge": float,
    "pieces": int, "handshake": FLAG, "syn_rtt": FLAG, "window_validation": FLAG,
    "window_decay": FLAG,
}  # fmt: skip
TIMER: dict[str, type] = {
    "deadline": float, "interval": float, "rto": float, "backoff": int, "timed_seq": int,
    "timed_at": float, "min_rto": float, "max_rto": float, "tick": float, "rto_margin": float,
    "timing": FLAG, "timestamps": FLAG, "coarse_timer": FLAG,
    "clock_phase": float, "last_tick": float, "last_tick_low": float,
    "settled_from": float, "settled_until": float, "srtt8": int, "rttvar4": int,
}  # fmt: skip
RECEIVER: dict[str, type] = {
    "held": FLAG, "expected": int, "highest": int, "delayed_ack": float,
    "sack_low": int, "sack_high": int, "held_until": float,
    "echo": FLAG,  # whether the timestamp to echo is a retransmission's
}  # fmt: skip
COUNTERS: dict[str, type] = {
    "sent": int, "acks": int, "timeouts": int, "loss_events": int, "arrived": int,
    "delivered": int,
}  # fmt: skip
RARE: dict[str, type] = {
    "retransmitted": int, "duplicates": int,
    # controller: rules, and offsets in the state as above; `mark_edge`: last packet of the window
    # for which a mark has been answered
    "on_loss": int, "on_timeout": int,
    "on_lost_packet": int, "on_timer": int, "on_mark": int,
    "on_restart": int, "on_start": int, "on_open": int, "on_undo": int, "on_send": int,
    "wake_at": int, "stream": int, "mark_edge": int,
    "recovery_on_timeout": int, "recovery_resume": int, "recovery_on_alarm": int,
    "recovery_on_undo": int,
    # `carried`: window growth that is not a whole packet yet; `piece`, `in_piece`: segments of the
    # current piece, and how many of them are still to be sent. `pieces` above: data leave in pieces
    "carried": float, "piece": int, "in_piece": int,
    # size of pieces: packets, s, packets/s, packets; longest wait of a part of one, s
    "gso_segments": int, "gso_time": float, "gso_above": float, "gso_most": float,
    "piece_wait": float, "initial_rto": float, "backoff_limit": int,
    "ack_every": int, "quick_acks": int, "push_acks": FLAG, "block_low": int, "block_high": int,
    "initial_window": float, "dupack_threshold": int, "limited_transmit": int, "deflate": int,
    "idle_restart": int, "stamps": int, "stamp_mask": int,
    # whether a repeated timeout keeps ssthresh; last segment retransmitted by the timer
    "hold_ssthresh": FLAG, "flight_ssthresh": FLAG, "timer_seq": int,
    # `window_decay`: most packets outstanding in the current window of data, the segment after it,
    # whether the congestion window was in full use, `next_seq` when this was noted
    "most_out": int, "usage_seq": int, "was_full": FLAG, "noted_seq": int,
    "resent_at": float,  # time of the last retransmission, s
    # whether window cuts may be undone, the receiver reports duplicates, Eifel detection is used.
    # The episode that may be undone: its first segment (-1: no episode), the last segment
    # outstanding at its start, retransmissions not yet reported as unneeded, the window before
    "undo": FLAG, "dsack": FLAG, "eifel": FLAG, "undo_from": int, "undo_until": int,
    "undo_repairs": int, "undo_cwnd": float, "undo_ssthresh": float,
}  # fmt: skip
# Sender: the mode, whether retransmissions are ECN-capable, the newest count echoed, the field ACE
# of the ACK being handled, and whether the next new segment carries CWR (`marked` above: marked
# packets that the ACK being handled reports; classic ECN: 1 for an ACK with ECE).
# Receiver: marked packets so far, whether the last packet was marked, and whether ACKs carry ECE.
ECN: dict[str, type] = {
    "ecn": FLAG, "ecn_retransmissions": FLAG, "ecn_control": FLAG,
    "echoed": int, "ace": int, "cwr": int,
    "marks_seen": int, "mark_last": int, "echoes": int,
}  # fmt: skip

TCP_FLOW = record_dtype(
    SENDER | CONTROLLER | LOSS_RECOVERY | ROUNDS | TIMER | RECEIVER | COUNTERS | RARE | ECN,
    whole_lines=True,
)
SEGMENT = record_dtype({"sent_at": float, "transmits": FLAG, "flags": FLAG})

# Status of a segment. Segments in the network are in one list, in sending order; lost segments are
# in another list until they are retransmitted.
UNSENT, IN_NETWORK, LOST, DELIVERED = 0, 1, 2, 3

#: A second record per flow, only if its controller or its loss recovery needs it (``f.delivery``;
#: ``f.stamps`` is then a ring of STAMP records, parallel to the ring of SEGMENT records).
DELIVERY = record_dtype(
    [
        ("total", int), ("last_at", float), ("first_sent", float), ("limited_until", int),
        ("lost", int), ("pipe", int), ("next_send", float),
        # packets that the ACK being handled newly reports; the one of them sent last, and when
        ("news", int), ("newest", int), ("newest_sent", float), ("rtt", float), ("owd", float),
        ("srtt", float), ("base_rtt", float),
        # for an `on_ack` that is called later in the ACK's handling
        ("held_acked", float), ("held_limited", float),
        ("prior", int), ("prior_at", float), ("send_elapsed", float), ("limited", int),
        ("prior_lost", int), ("prior_pipe", int),
        # size of a piece at the pacing rate
        ("piece", float),
        # when pacing allows the next waiting packet; when to call the loss recovery's on_alarm
        ("release_at", float), ("recheck_at", float),
        # whether F-RTO is used; segments marked lost, not retransmitted, reported by this ACK
        ("frto", int), ("originals", int),
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
OUTGOING = record_dtype({"seq": int, "again": int})
WINDOW = record_dtype({"cwnd": float, "ssthresh": float})

segment_at = accessor(SEGMENT)
out_at = accessor(OUTGOING)
window_at = accessor(WINDOW)
tcp_at = accessor(TCP_FLOW)
delivery_at = accessor(DELIVERY)
stamp_at = accessor(STAMP)
