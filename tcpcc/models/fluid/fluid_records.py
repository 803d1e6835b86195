"""The records of the fluid model: flows, routes, hops, slots, links.

Fluid is counted in packets, as a real number. A flow may stand for a `count` of identical flows:
its own numbers are those of one flow, and those of links are of all. Every cumulative curve is a
column of the history, which has one row per time step (`history`). A field called a column is the
number of that column.

* A route is the queueing links that some flows pass, with the fixed delays between them. Flows with
  the same delays share a route, so a time in the past is looked up once for all of them.
* A hop is one link of a route.
* A slot is one flow at one hop: the fluid of the flow that the link has accepted so far. The slots
  of a hop, and their columns, are in the order of the route's flows (``member``).
"""

from tcpcc.engine.jit import accessor, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.queue_memory import QUEUE_FIELDS

# Columns of every history: time, 1 / (time since the row before). Columns of a link: bytes
# accepted, arrival time of the fluid that leaves now, packets accepted.
TIME, PER_STEP, FIRST_COLUMN = 0, 1, 2
TAKEN, ARRIVED, TAKEN_PACKETS, LINK_COLUMNS = 0, 1, 2, 3

LOSSES = 64  # separate losses that a slot stores until the sender notices them
EPS = 1e-6  # packets; smaller amounts are rounding error

# Phases of a sender besides those of flow_record (OPEN, RECOVERY, LOSS): during the handshake;
# only a timeout can repair the losses.
OPENING, STUCK = 3, 4

WORLD = record_dtype(
    {
        "now": float, "k": int, "pause": int, "short": int,
        "history": int, "row": int, "mask": int, "columns": int,
        "step": float, "wanted": float, "length": float, "grid": float,
        "coarse": float, "interval": float, "bin": int, "n_bins": int,
        "routes": int, "n_routes": int, "hops": int, "slots": int,
        "flows": int, "active": int, "n_active": int, "wakes": int, "awake": int,
        "links": int, "n_links": int, "by_link": int, "n_words": int,
    }
)  # fmt: skip

# A time in the past: the rows around it and their weights (tcpcc.models.fluid.history.turn).
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
        # at the end of a bin: place in the history of the fluid that reaches the receivers then
        "bin_row": int, "bin_part": float, "bin_column": int,
        # place in the history of the fluid that is acknowledged now, and when it was sent
        **PLACE,
        "sent_at": float, "rtt": float, "last_rtt": float,
        # whether the window of one of its flows is a burst, in this step and in the last one; the
        # row of the fluid that returns some long steps from now, and when it was sent (`clumps`)
        "clumps": int, "in_clumps": int, "ahead": int, "sent_ahead": float,
    }
)  # fmt: skip

HOP = record_dtype(
    {
        "route": int, "place": int, "link": int, "before": float,
        "source": int, "through": int, "behind": int,
        "column": int, "first_slot": int, "n_slots": int,
        # fluid that arrives now: the times when it left, and reached, the stage before
        "left": int, **PLACE,
        # fluid that is acknowledged now: when it arrived here
        "passed": int, "seen": float,
        # some long steps from now: rows of the fluid that then has left the stage before, arrived
        # here, returned
        "left_ahead": int, "ahead": int, "passed_ahead": int,
    }
)  # fmt: skip

SLOT = record_dtype(
    {
        # --- what every step needs
        "active": int,
        # at the present look-up: value of the curve, and the largest correction of it
        "value": float, "leeway": float,
        # so far: arrived, accepted
        "offered": float, "accepted": float,
        # in this step: arrived, accepted; recently arrived (see links.RECENT); weight in a draw
        "fresh": float, "taken": float, "recent": float, "weight": float,
        # number of flows that it stands for; bytes of a packet
        "count": float, "size": float,
        # packets lost but not yet removed from the fluid
        "debt": float,
        # the next slot in a list (-1: none): of the slots that may be corrected while a hop is
        # read, later of the link's slots with recent arrivals
        "next": int,
        # --- the rest; packets lost so far
        "hop": int, "flow": int, "carries_ack": int, "again": int, "dropped": float,
        # share of the arrivals that the link's discipline remembers
        "share": float,
        # losses that the sender has not noticed yet, in a ring
        "losses": int, "first_loss": int, "last_loss": int,
        # first column of the header fields of the input, followed by those of the output (0: no
        # header); packets that have left so far
        "words": int, "left": float,
    },
    whole_lines=True,
)  # fmt: skip

# A loss. `place`, `sent`: packets of the flow that the link had accepted, and that the flow had
# sent, before the lost one; -1: anywhere in its step
LOST = record_dtype({"time": float, "packets": float, "place": float, "sent": float})

LINK = record_dtype(
    [
        *STREAM_FIELDS,
        ("rate", float), ("limit", float), ("in_bytes", int), ("loss", float),
        ("first_hop", int), ("n_hops", int), ("column", int), ("cursor", int),
        ("ahead", int),  # cursor of the fluid that leaves some long steps from now
        # the first slot with recent arrivals; packets owed after this step
        ("first_busy", int), ("owed", float),
        ("taken", float), ("taken_packets", float), ("served", float),
        ("waiting", float), ("size", float), ("idle", float), ("debt", float),
        ("loss_clock", float), ("loss_at", float), ("drop_clock", float), ("drop_at", float),
        # packets that representatives lost before they were due; largest number of flows that one
        # stands for
        ("credit", float), ("unit", float),
        # share of this step's arrivals that came before the dropped packet; -1: unknown
        ("place", float),
        # whether the discipline counts amounts; whether a flow on the link has a header
        ("in_amounts", int), ("headers", int),
        *QUEUE_FIELDS,
        ("bins", int),
    ]
)  # fmt: skip

FLOW = record_dtype(
    {
        # --- what every step needs, even if no fluid returns
        "kind": int, "route": int, "phase": int, "finished": float,
        # slot at the last hop (-1: none); columns of the fluid sent, of the window's growth, and of
        # the fluid that returns
        "last_slot": int, "column": int, "grown_column": int, "back_column": int,
        "acked": float, "next_seq": float, "high_ack": float, "grown": float,
        "repair": float, "holes": float, "deadline": float,
        # s, time in which a burst of its window passes the slowest link (clumps.note_clump)
        "clump": float, "finest": float,  # shortest step during the burst
        # whether it has a header or a pacing rate
        "extras": int,
        # --- identity and addresses
        "open": int, "member": int, "count": float,
        # address of its bins, and distance from one bin to the next; 0: totals only
        "bins": int, "each_bin": int,
        "state": int, "params": int, "sample": int,
        "on_ack": int, "on_round": int, "on_loss": int, "on_timeout": int,
        # --- settings, as in tcpcc.transport.flow_record
        "limit": float, "initial_window": float, "handshake": int, "delay_growth": int,
        "rwnd": float, "window_validation": int,
        "whole_window": int, "carried": float,  # 0: fluid windows are not rounded
        "delivery": int, "every_ack": int, "reads_packets": int,  # 0: there are no packets
        "counted": float, "dupack_threshold": float, "limited_transmit": int,
        "initial_rto": float, "min_rto": float, "max_rto": float, "tick": float,
        "rto_margin": float,
        "clock_phase": float, "coarse_timer": int, "backoff_limit": int, "syn_rtt": int,
        "spacing": float, "syn_shorter": float,
        "impatient": int, "careful": int, "fine": int,
        "holes_per_round": float, "holes_at_most": float,
        "stale_rounds": int, "newest_only": int, "keeps_inflation": int, "proportional": int,
        "selective": int, "repeats": int,
        # --- sender: next_seq is the fluid sent, high_ack the fluid acknowledged or known lost
        "opened_at": float, "unseen": float, "later": float, "dupacks": float, "checked": float,
        "hole_sent_at": float, "hole_at": float, "hole_known": int,
        "fine_rtt8": float, "fine_dev4": float, "fine_rto": float,
        "unreported": float,
        "repaired": float, "repair_lost": int, "recover": float, "partial": int,
        "repair_sent_at": float, "gap": float,
        # fluid sent between these is a retransmission; only the timer detects its loss
        "repairs_from": float, "repairs_end": float,
        # --- proportional rate reduction, as in tcpcc.transport.flow_record
        "prr_delivered": float, "prr_out": float, "flight_at_loss": float,
        # the last loss event and the last timeout: time, and fluid sent before; the first new
        # packet after the last fast retransmit; whether duplicate ACKs never reveal its loss
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
        # --- for some controllers: rules before the first window; place of the pacing rate in the
        # state (0: none), packets that pacing still allows in this step
        "on_start": int, "on_open": int, "pacing_rate": int, "allowance": float,
        # header fields, see `header_layout`; columns of the fields sent and of those returned
        "n_fields": int, "fields": int, "carries": int, "words": int, "words_back": int,
        # the SYN's header: its words; hops passed, whether it waits at a link, time of its last
        # move; its size in bytes
        "syn_words": int, "syn_hop": int, "syn_waits": int, "syn_at": float, "syn_size": float,
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
