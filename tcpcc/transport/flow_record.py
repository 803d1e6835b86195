"""The records of the transport: what a TCP sender and receiver remember.

One :data:`FLOW` record per flow and a ring of :data:`SEGMENT` records, indexed by sequence number
modulo the ring's size. Sequence numbers count packets from 0. Times are in seconds.
"""

from tcpcc.engine.jit import accessor, record_dtype

TCP, CBR = 0, 1  # kinds of flow

# Families of loss recovery and the phases of a sender.
CLASSIC, SCOREBOARD, FINE_GRAINED, FINE_GRAINED_NS2 = 0, 1, 2, 3
OPEN, RECOVERY, LOSS = 0, 1, 2

# Flags of a segment.
RECEIVED, SACKED, DEEMED_LOST, RETRANSMITTED, TOLD = 1, 2, 4, 8, 16

#: Packets that one call of a sender's handler may hand over; it asks to be called again for more.
OUTBOX_SIZE = 16

FLOW = record_dtype(
    {
        # --- identity, path and addresses, set by the driver
        "index": int, "kind": int, "open": int, "path": int, "n_forward": int, "n_hops": int,
        "segments": int, "segment_mask": int, "outbox": int, "bins": int,
        "state": int, "params": int, "sample": int,
        "on_ack": int, "on_round": int, "on_loss": int, "on_timeout": int,
        # --- settings
        "size": float, "syn_size": float, "ack_size": float,
        "start": float, "stop": float, "limit": int,
        "family": int, "go_back": int, "stay": int, "impatient": int, "deflate": int,
        "stale_rounds": int, "proportional": int, "recovery_burst": float,
        "initial_window": float, "handshake": int, "rwnd": float, "abc_limit": float,
        "dupack_threshold": int, "limited_transmit": int, "max_burst": float, "timestamps": int,
        "initial_rto": float, "min_rto": float, "max_rto": float, "tick": float,
        "clock_phase": float, "backoff_limit": int,
        "delayed_ack": float, "ack_every": int,
        "interval": float,
        # --- the application: whether more data will come; the items of a conversation
        "awaits": int, "idle_restart": int,
        "conversation": int, "ident": int, "item": int, "undone": int, "last_item": int,
        "waits": int, "traced": int,
        # --- sender
        "next_seq": int, "max_seq": int, "high_ack": int, "dupacks": int, "recover": int,
        "phase": int, "inflation": int, "first_partial": int, "untold": int,
        "outbox_count": int, "more": int, "burst": float,
        # --- SACK scoreboard (RFC 6675)
        "pipe": int, "lost_edge": int, "next_repair": int, "sack1": int, "sack2": int, "sack3": int,
        # --- proportional rate reduction (RFC 6937)
        "known": int, "known_at_loss": int, "flight_at_loss": int, "prr_out": int,
        # --- Vegas' fine-grained retransmission
        "fine_rtt8": float, "fine_dev4": float, "fine_rto": float, "worried": int,
        "cut_at": float, "cut_to": float,
        # --- round-trip times, coarse timer
        "srtt8": int, "rttvar4": int, "rto": float, "backoff": int,
        "timing": int, "timed_seq": int, "timed_at": float,
        "deadline": float, "timer_at": float, "timer_order": int,
        "last_rtt": float, "recent_rtt": float, "min_rtt": float, "max_rtt": float, "srtt": float,
        # --- rounds
        "round_seq": int, "round_start": float, "round_sum": float, "round_n": int,
        "round_min": float,
        # --- receiver
        "expected": int, "highest": int, "held": int, "held_until": float,
        "held_since": float, "held_order": int, "ack_timer": int,
        "ack_due": int, "sack_low": int, "sack_high": int, "block_low": int, "block_high": int,
        # --- counters
        "sent": int, "retransmitted": int, "arrived": int, "delivered": int, "dropped": int,
        "duplicates": int, "acks": int, "timeouts": int, "loss_events": int, "finished": float,
        "inbound": int, "acks_sent": int, "bin": int,
    }
)  # fmt: skip

SEGMENT = record_dtype({"sent_at": float, "transmits": int, "flags": int})
OUT = record_dtype({"seq": int, "again": int})
WINDOW = record_dtype({"cwnd": float, "ssthresh": float})

segment_at = accessor(SEGMENT)
out_at = accessor(OUT)
window_at = accessor(WINDOW)
flow_at = accessor(FLOW)
