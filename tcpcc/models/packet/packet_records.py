"""The records of the packet model: links, packets, events, what is recorded.

Rings (queues, packets in flight) are indexed modulo a power of two; ``head`` and ``tail`` only
grow. A ring that runs short of room sets ``w.need``; the driver then enlarges it between events.
"""

import numpy as np

from tcpcc.engine.jit import accessor, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.queue_memory import FIELDS as QUEUE_FIELDS

BEHIND = 2**36  # weight of a packet's place in its busy period, above all other orders
FAR_BEHIND = 2**26  # places beyond this count as this
MARGIN = 24  # free places a ring keeps, so that no event can overrun it
FIRST_RING = 64

# Kinds of event. (NumPy integers: a Python literal would be a type of its own for the compiler,
# and each function that it is handed to would be compiled once per constant.)
ARRIVAL, RETRANSMISSION_TIMER, FLOW_START, FLOW_STOP, CBR_PACKET, CHANGE, ACK_TIMER = np.arange(7)

# What follows a hop: an event, the next link at once, the receiver at once.
BY_EVENT, NEXT_LINK, RECEIVER = range(3)

# Kinds of trace entry, in the order of tcpcc.results.recording.EVENTS.
SEND, RETRANSMIT, ACK, DUPACK, LOSS_EVENT, TIMEOUT, DELIVER, DROP = np.arange(8)

WORLD = record_dtype(
    {
        "now": float, "since": float, "order": int, "need": int, "pending": int, "flow": int,
        "events": int, "pause": int,
        "flows": int, "n_flows": int, "links": int, "n_links": int, "hops": int,
        "heap": int, "heap_size": int, "heap_room": int,
        "changes": int,
        "duration": float, "interval": float, "per_second": float, "n_bins": int,
        "trace": int, "trace_count": int, "trace_room": int,
    }
)  # fmt: skip

LINK = record_dtype(
    [
        *STREAM_FIELDS,
        ("rate", float), ("delay", float), ("limit", float), ("in_bytes", int), ("loss", float),
        ("tracked", int), ("changing", int), ("recorded", int),
        ("busy_until", float), ("begin", float), ("behind", int), ("resumes", float),
        ("queue", int), ("queue_mask", int), ("queue_head", int), ("queue_tail", int),
        ("queue_bytes", float), ("sending_bytes", float), ("sending_since", float),
        ("flight", int), ("flight_mask", int), ("flight_head", int), ("flight_tail", int),
        *QUEUE_FIELDS, ("open", int),
        ("arrived", int), ("dropped", int), ("passed", int), ("sent_bits", float),
        ("bins", int),
    ]
)  # fmt: skip

HOP = record_dtype({"link": int, "then": int, "again": int})
QUEUED = record_dtype({"leaves": float, "size": float})
PACKET = record_dtype(
    {
        "time": float, "since": float, "order": int, "flow": int, "hop": int, "size": float,
        "seq": int, "trigger": int, "low": int, "high": int,
    }
)  # fmt: skip
EVENT = record_dtype({"time": float, "since": float, "order": int, "kind": int, "id": int})
CHANGES = record_dtype(
    {
        "link": int, "rate": float, "delay": float, "limit": float, "loss": float,
        "param": int, "value": float,
    }
)  # fmt: skip
TRACE = record_dtype({"time": float, "flow": int, "event": int, "seq": int, "value": float})

world_at = accessor(WORLD)
link_at = accessor(LINK)
hop_at = accessor(HOP)
queued_at = accessor(QUEUED)
packet_at = accessor(PACKET)
event_at = accessor(EVENT)
change_at = accessor(CHANGES)
trace_at = accessor(TRACE)
