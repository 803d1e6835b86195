"""The records of the model: world, curves of flows, routes, stages, slots, links.

A flow numbers what it sends by *orders* 0, 1, 2, ...: packets in the order of sending,
retransmissions included. Its sent curve S(t) is the number of orders sent by t, a real number:
order `o` has left when S passes o + 1. A sender stands at its first link, so S is also the arrival
curve there: the delay before that link is part of the way back.

The history is a ring of rows, one per time step: the time, for each link when the bits that arrive
then begin to leave, S of every flow, and with later stages the growth of every flow's window. What
arrives at any link, or is acknowledged, is S at an earlier time (`routes`): nothing is copied from
link to link.
"""

import numpy as np

from tcpcc.engine.jit import accessor, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.queue_memory import QUEUE_FIELDS

OFF, EPISODE, COAST, STEADY = 0, 1, 2, 3  # modes of a flow; STEADY: constant bit rate
EPS = 1e-9  # packets; rounding error of a curve

#: What happens to an order: its data or its ACK is lost, or its data is marked.
DATA_LOST, ACK_LOST, MARKED = 0, 1, 2

WORLD = record_dtype(
    {
        "now": float, "before": float, "step": float, "k": int, "pause": int, "need": int,
        "history": int, "mask": int, "columns": int, "row": int, "last": int,
        "usual": float, "reach": float, "finest": float, "starting": int, "busy": int, "far": int,
        "n_flows": int, "active": int, "n_active": int, "curves": int, "tcp": int,
        "routes": int, "n_routes": int, "stages": int, "slots": int,
        "links": int, "n_links": int, "by_link": int,
        "wakes": int, "packets": int, "room": int, "emitted": int, "n_emitted": int,
        "episodes": int,
        "interval": float, "bin": int, "n_bins": int, "part": float, "small": float,
        "others": float,
    }
)  # fmt: skip

CURVE = record_dtype(
    {
        # --- what every step needs
        "mode": int, "route": int, "place": int, "link": int, "slot": int,
        "acked": float, "sent": float, "window": float, "pend": float, "part": float,
        "round_end": float,
        "deadline": float, "next_event": float, "limit": float, "size": float,
        # --- of an episode: the next order, the last that was a retransmission; orders less
        # sequence numbers while coasting; a ring of ORDER records
        "next_order": int, "repeat": int, "offset": int, "orders": int, "order_mask": int,
        # a ring of EVENT records in order: losses and marks on the way
        "events": int, "event_mask": int, "first": int, "last": int,
        # the last ACK's time from receiver to sender; the first order not yet at its first link
        "back": float, "emitted": int,
        # whether it may coast; the settings that coasting replaces; where coasting began
        "may_coast": int, "abc_limit": float, "rejoin": int, "begun": float,
        # the window a round trip ago, and round trips since it grew fast
        "seen_at": float, "seen": float, "slow": int, "starting": int,
        "opens": float, "noise": float, "processed": float,
        "rate": float, "dropped": int, "is_open": int,
        "bins": int, "sent_before": float, "repeated_before": float, "got_before": float,
        "dropped_before": float,
        "entered": int, "packets": int,
    },
    whole_lines=True,
)  # fmt: skip
# `left`: when it was sent; from the end of that step on, when it left the first link.
# `received`: when it reaches the receiver, once it has left the last link that carries data.
ORDER = record_dtype(
    {"left": float, "received": float, "seq": int, "again": np.int32, "bits": np.int32}
)
LOST = 2**20  # a bit of an order: its data or its ACK is lost
EVENT = record_dtype({"order": int, "kind": int})

ROUTE = record_dtype(
    {
        "active": int, "coasting": int, "first_stage": int, "n_hops": int, "n_forward": int,
        "to_receiver": float, "rtt": float, "back": float, "first_flow": int, "n_flows": int,
    }
)  # fmt: skip
# A place on a route: before a link, or (the last stage) back at the sender.
STAGE = record_dtype(
    {
        "route": int, "place": int, "link": int, "before": float, "cursors": int,
        "first_slot": int,
        # what arrives now: row of the history, share of the way to the next, when it was sent; the
        # same a step before; the last row in which it was traced
        "row": int, "share": float, "sent_at": float, "row0": int, "share0": float, "traced": int,
    }
)  # fmt: skip
# A flow at a stage: orders that have arrived, and had a step before; the growth among them; orders
# still to be lost; the next event of the flow beyond `at`.
SLOT = record_dtype(
    {
        "flow": int, "at": float, "was": float, "fresh": float, "grown": float, "owed": int,
        "event": int, "size": float, "ack": int, "left": float, "cursor": int, "order": int,
        "next": int, "stage": int,
    }
)  # fmt: skip

LINK = record_dtype(
    [
        *STREAM_FIELDS,
        ("rate", float), ("limit", float), ("in_bytes", int), ("loss", float), ("column", int),
        ("first_stage", int), ("n_stages", int), ("open", float),
        # arriving in this step: the first slot, amounts, those of coasting flows, weights of late
        ("arriving", int), ("in_bits", float), ("in_packets", float), ("coasting", float),
        ("smooth", float), ("of_coasting", float), ("of_packets", float),
        # the queue: bits, their integral over the step, bits that found no room, mean packet size,
        # longest wait so far; packets dropped in this step
        ("bits", float), ("area", float), ("excess", float), ("in_queue", float),
        ("longest", float), ("dropped", int),
        ("size", float), ("waiting", float), ("idle", float), ("debt", int), ("ecn", int),
        ("loss_at", float), ("loss_clock", float), ("drop_at", float), ("drop_clock", float),
        *QUEUE_FIELDS, ("bins", int), ("marks", float),
    ]
)  # fmt: skip

#: A packet that reaches its first link in this step.
PACKET = record_dtype({"time": float, "flow": int, "order": int, "place": int})

packet_of = accessor(PACKET)
coast_world_at = accessor(WORLD)
curve_at = accessor(CURVE)
order_at = accessor(ORDER)
fate_at = accessor(EVENT)
way_at = accessor(ROUTE)
stage_at = accessor(STAGE)
place_at = accessor(SLOT)
pipe_at = accessor(LINK)
