"""The records of the fluid model: flows, routes, hops, slots, links, what is recorded.

Fluid is counted in packets, a real number. A flow may stand for a `count` of flows that do what it
does: its own numbers are those of one, those of links are of all. Every cumulative curve is a
column of the history, one row per time step (`history`); what a record calls a column is its place
there.

route   the queueing links that some flows pass, with the fixed delays between them; flows with the
        same delays share one, so that the moments looked up in the past are found once for all
hop     one link of a route
slot    one flow at one hop: its fluid that the link has taken in, so far; the slots of a hop, and
        their columns, stand in the order of the route's flows (``member``)
"""

from tcpcc.engine.jit import accessor, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.queue_memory import QUEUE_FIELDS

# Columns that every history has: time, 1 / (time since the row before). Columns of a link: bytes
# taken in, when the fluid that leaves now had arrived, packets taken in.
TIME, PER_STEP, FIRST_COLUMN = 0, 1, 2
TAKEN, ARRIVED, TAKEN_PACKETS, LINK_COLUMNS = 0, 1, 2, 3
WORDS = 4  # of a header; columns of what a flow writes, and twice of what a slot carries

LOSSES = 64  # losses of one slot that are remembered apart until the sender learns of them
EPS = 1e-6  # packets: less is rounding

# Phases of a sender beside those of flow_record (OPEN, RECOVERY, LOSS): the handshake
# is under way; only the timer helps.
OPENING, STUCK = 3, 4

WORLD = record_dtype(
    {
        "now": float, "k": int, "pause": int, "short": int,
        "history": int, "row": int, "mask": int, "columns": int,
        "step": float, "wanted": float, "length": float, "grid": float,
        "coarse": float, "interval": float, "bin": int, "n_bins": int,
        "routes": int, "n_routes": int, "hops": int, "slots": int,
        "flows": int, "active": int, "n_active": int, "wakes": int, "awake": int,
        "links": int, "n_links": int, "by_link": int,
    }
)  # fmt: skip

# A moment of the past: the rows around it and how to weigh them (tcpcc.models.fluid.history.turn).
PLACE: dict[str, type] = {
    "cursor": int, "part": float, "four": int, "row0": int, "row1": int, "row2": int, "row3": int,
    "earlier": int,  # row1 of the step before
    "w0": float, "w1": float, "w2": float, "w3": float, "onward": float, "back": float,
}  # fmt: skip

ROUTE = record_dtype(
    {
        "active": int, "first_hop": int, "n_hops": int, "n_forward": int,
        "column": int, "grown": int,
        "after": float, "to_receiver": float, "base_rtt": float,
        # of the end of a bin: where what reaches the receivers then stands in the history
        "bin_row": int, "bin_part": float, "bin_column": int,
        # where the fluid that is acknowledged now stands in the history, and when it was sent
        **PLACE,
        "sent_at": float, "rtt": float, "last_rtt": float,
        # whether the window of one of its flows is a clump, in this step and in the last; the row
        # of what will have come back some long steps from now, and when that was sent (`clumps`)
        "clumps": int, "in_clumps": int, "ahead": int, "sent_ahead": float,
    }
)  # fmt: skip

HOP = record_dtype(
    {
        "route": int, "place": int, "link": int, "before": float,
        "source": int, "through": int, "behind": int,
        "column": int, "first_slot": int, "n_slots": int,
        # fluid that arrives now: the moments when it left, and reached, the stage before
        "left": int, **PLACE,
        # fluid that is acknowledged now: when it arrived here
        "passed": int, "seen": float,
        # the same some long steps from now: rows of what will have left the stage before, arrived
        # here, come back
        "left_ahead": int, "ahead": int, "passed_ahead": int,
    }
)  # fmt: skip

SLOT = record_dtype(
    {
        # --- what every step needs
        "active": int,
        # at the place looked at: value of the curve, and how far it may be moved
        "value": float, "leeway": float,
        # so far: arrived, taken in
        "offered": float, "accepted": float,
        # in this step: arrived, taken in; arrived in the time of some packets; weight in a draw
        "fresh": float, "taken": float, "recent": float, "weight": float,
        # flows that it stands for, all with its curves; bytes of a packet
        "count": float, "size": float,
        # still to be taken out for packets lost
        "debt": float,
        # number of the next one in a list (-1: none): while a hop is read of those that may be
        # moved, then of those of the link of which something has come of late
        "next": int,
        # --- the rest; lost so far
        "hop": int, "flow": int, "carries_ack": int, "again": int, "dropped": float,
        # share of the arrivals that the link's discipline remembers
        "share": float,
        # losses that the sender has not noticed yet, in a ring
        "losses": int, "first_loss": int, "last_loss": int,
        # first column of the header words of what comes in and, after these, of what goes out
        # (0: no header); what has left so far, in packets
        "words": int, "left": float,
    },
    whole_lines=True,
)  # fmt: skip

# after how many of its packets that the link took in, and that the flow had sent, it came;
# -1: at any place in its step
LOST = record_dtype({"time": float, "packets": float, "place": float, "sent": float})

LINK = record_dtype(
    [
        *STREAM_FIELDS,
        ("rate", float), ("limit", float), ("in_bytes", int), ("loss", float),
        ("first_hop", int), ("n_hops", int), ("column", int), ("cursor", int),
        ("ahead", int),  # the same of what will leave some long steps from now
        # the first slot of those of which something has come of late; packets owed after this step
        ("first_busy", int), ("owed", float),
        ("taken", float), ("taken_packets", float), ("served", float),
        ("waiting", float), ("size", float), ("idle", float), ("debt", float),
        ("loss_clock", float), ("loss_at", float), ("drop_clock", float), ("drop_at", float),
        # packets that a representative lost for others before they were due; address of what is
        # shared with packets; most flows that one stands for
        ("credit", float), ("shared", int), ("unit", float),
        # how much of this step's arrivals came before the packet that is dropped; -1: unknown
        ("place", float),
        # whether the discipline counts amounts; whether some flow on it has a header
        ("in_amounts", int), ("headers", int),
        *QUEUE_FIELDS,
        ("bins", int),
    ]
)  # fmt: skip

FLOW = record_dtype(
    {
        # --- what every step needs, also one in which nothing comes back
        "kind": int, "route": int, "phase": int, "finished": float,
        # slot at the last hop (-1: there is none); columns of what it sent, of its growth, and of
        # what comes back
        "last_slot": int, "column": int, "grown_column": int, "back_column": int,
        "acked": float, "next_seq": float, "high_ack": float, "grown": float,
        "repair": float, "holes": float, "deadline": float,
        # s, how long its first window takes to pass the narrowest link (senders.note_clump)
        "clump": float, "finest": float,  # the shortest steps meanwhile
        # whether it has a header or a pacing rate
        "extras": int,
        # --- identity and addresses
        "open": int, "member": int, "count": float,
        # where it is written down, and how far one bin is from the next; 0: only what it sums up to
        "bins": int, "each_bin": int,
        "state": int, "params": int, "sample": int,
        "on_ack": int, "on_round": int, "on_loss": int, "on_timeout": int,
        # --- settings, as in tcpcc.transport.flow_record
        "limit": float, "initial_window": float, "handshake": int, "delay_growth": int,
        "rwnd": float, "window_validation": int,
        "whole_window": int, "carried": float,  # 0: a window of fluid is not whole
        "counted": float, "dupack_threshold": float, "limited_transmit": int,
        "initial_rto": float, "min_rto": float, "max_rto": float, "tick": float,
        "rto_margin": float,
        "clock_phase": float, "coarse_timer": int, "backoff_limit": int, "syn_rtt": int,
        "spacing": float, "syn_shorter": float,
        "impatient": int, "careful": int, "fine": int,
        "holes_per_round": float, "holes_at_most": float,
        "stale_rounds": int, "newest_only": int, "keeps_inflation": int, "proportional": int,
        "selective": int, "repeats": int,
        # --- sender: next_seq is what it sent, high_ack what has left the network, acked or lost
        "opened_at": float, "unseen": float, "later": float, "dupacks": float, "checked": float,
        "hole_sent_at": float, "hole_at": float, "hole_known": int,
        "fine_rtt8": float, "fine_dev4": float, "fine_rto": float,
        "unreported": float,
        "repaired": float, "repair_lost": int, "recover": float, "partial": int,
        "repair_sent_at": float, "gap": float,
        # what goes out between these is a retransmission, whose loss only the timer finds
        "repairs_from": float, "repairs_end": float,
        # --- proportional rate reduction, as in tcpcc.transport.flow_record
        "prr_delivered": float, "prr_out": float, "flight_at_loss": float,
        # the last cut and the last timeout: when, and what had been sent by then; where the first
        # new packet after the last fast retransmit is, and whether duplicate ACKs never tell of it
        "event_at": float, "expired_at": float, "event_seq": float, "expired_seq": float,
        "first_new": float, "blind": int,
        "given_up": float, "to_repair": float,
        "known_lost": float, "retransmitted": float,
        # --- coarse timer (tcpcc.transport.rto) and round-trip times
        "srtt8": int, "rttvar4": int, "rto": float, "backoff": int,
        "timing": int, "timed_seq": int, "timed_at": float,
        "recent_rtt": float, "base_rtt": float, "max_rtt": float, "srtt": float,
        # --- rounds
        "round_seq": float, "round_start": float, "round_sum": float, "round_n": float,
        "round_min": float, "round_lost": float, "stale_packets": float,
        # --- what few controllers have: rules before the first window; where in the state the
        # pacing rate is (0: nowhere), what may still go in this step
        "on_start": int, "on_open": int, "pacing_rate": int, "allowance": float,
        # places in the state of header words, columns of what is written and of what comes back
        "n_words": int, "places": int, "words": int, "words_back": int,
        # the SYN's header: stages passed, whether it waits at a link, since when; its bytes
        "syn_hop": int, "syn_waits": int, "syn_at": float, "syn_size": float,
        # --- constant bit rate
        "rate": float,
        # --- counters
        "timeouts": int, "loss_events": int,
    },
    whole_lines=True,
)  # fmt: skip

fluid_world_at = accessor(WORLD)
route_at = accessor(ROUTE)
fluid_hop_at = accessor(HOP)
slot_at = accessor(SLOT)
lost_at = accessor(LOST)
fluid_link_at = accessor(LINK)
fluid_flow_at = accessor(FLOW)
