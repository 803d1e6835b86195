"""The records of the packet model: links, packets, events, what is recorded.

Rings (queues, packets in flight) are indexed modulo a power of two; ``head`` and ``tail`` only
grow. A ring that runs short of room sets ``w.need``; the driver then enlarges it between events.
"""

import numpy as np

from tcpcc.engine.jit import accessor, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.queue_memory import QUEUE_FIELDS

INT32, INT16 = np.int32, np.int16  # kinds of number: below 2**31 (a flow, a hop); flags and kinds

BEHIND = 2**36  # weight of a packet's place in its busy period, above all other orders
FAR_BEHIND = 2**26  # places beyond this count as this
MARGIN = 24  # free places a ring keeps, so that no event can overrun it
FIRST_RING = 64
FIRST_HEADERS = 256

# Kinds of event. (NumPy integers: a Python literal would be a type of its own for the compiler,
# and each function that it is handed to would be compiled once per constant.)
ARRIVAL, RETRANSMISSION_TIMER, FLOW_START, FLOW_STOP, CBR_PACKET, CHANGE, ACK_TIMER = np.arange(7)
BEGINNING, WRITE = np.arange(7, 9)  # of the next conversation; of an item of one
QUEUE_TIMER = np.int64(9)
RELEASE, ALARM = np.arange(10, 12)  # pacing; what a controller or a loss recovery asked for
ALONE = np.int64(-1)  # arrival of a packet that others may overtake
DEPARTURE = np.int64(20)  # of a packet from a scheduled link: the next one's turn
QUEUE_RELEASE = np.int64(21)  # the time before which a discipline lets nothing be sent

# What follows a hop: an event, the next link at once, the receiver at once; an event of its own for
# each packet, which others may overtake.
BY_EVENT, NEXT_LINK, RECEIVER, OVERTAKEN = range(4)

# Whether a link keeps its queue: no (nothing hangs on it), yes, it is not a queue or not its own.
UNTRACKED, TRACKED, ELSEWHERE = range(3)

# Kinds of trace entry, in the order of tcpcc.results.recording.EVENTS.
SEND, RETRANSMIT, ACK, DUPACK, LOSS_EVENT, TIMEOUT, DELIVER, DROP = np.arange(8)

WORLD = record_dtype(
    {
        "now": float, "since": float, "order": int, "need": int, "pending": int, "flow": int,
        "events": int, "pause": int,
        # whether a sender acts in this event, and how often it had timed out and lost before
        "turn": int, "timeouts": int, "losses": int,
        "flows": int, "tcp": int, "cbr": int, "n_flows": int,
        "links": int, "n_links": int, "lanes": int, "hops": int,
        "heap": int, "heap_size": int, "heap_room": int,
        "changes": int,
        "duration": float, "interval": float, "per_second": float, "n_bins": int,
        "trace": int, "trace_count": int, "trace_room": int,
        "trace_values": int, "trace_columns": int, "n_rows": int,
        "conversations": int, "n_conversations": int, "next_conversation": int, "items": int,
        "kinds": int, "free": int, "free_places": int,
        "state_words": int, "sample_words": int, "delivery_word": int, "memory_words": int,
        "headers": int, "spare_headers": int, "n_spare_headers": int,
        # places for packets that are in no lane, the first free place, and how many are free
        "pool": int, "first_free": int, "n_free": int,
    }
)  # fmt: skip

# The packet model's part of a flow. In the row of the same number the TCP sender has a
# transport.flow_record.TCP_FLOW, and a source of constant bit rate a CBR.
FLOW = record_dtype(
    {
        # in the order in which a packet needs them: its place in the arrays, and its number to
        # queues and in traces (a place goes from hand to hand among conversations)
        "index": int, "path": int, "n_hops": int, "n_forward": int,
        "bins": int, "bin": int, "size": float, "ack_size": float,
        # whether it is traced; whether its packets carry headers
        "kind": INT32, "handshake": INT32, "traced": INT32, "has_header": INT32,
        "conversation": int, "inbound": int, "acks_sent": int,
        # the entry of the retransmission timer on the event list
        "timer_at": float, "timer_order": int,
        "ident": int, "open": int, "dropped": int,
        # the state variables of its controller that are noted if it is traced, and one more than
        # the newest packet that was sent
        "notes": int, "n_notes": int, "sent_to": int,
        # the entries of pacing, of what a controller or a loss recovery asked for, of the ACK
        # held back, and the header of the packet whose ACK that is
        "release_at": float, "release_order": int, "alarm_at": float, "alarm_order": int,
        "held_since": float, "held_order": int, "ack_timer": int, "held_header": int,
        # the state variables that go out as header fields
        "fields": int, "n_fields": int,
        # of a conversation (its number + 1): the next item, the first not done, one past the last;
        # whether an item waits for the one before
        "item": int, "undone": int, "last_item": int, "waits": int,
        "traffic_class": int,
    },
    whole_lines=True,
)  # fmt: skip
CBR = record_dtype({"interval": float, "is_on": int, "order": int, "sent": int, "arrived": int})

LINK = record_dtype(
    [
        # in the order in which a packet needs them
        ("busy_until", float), ("begin", float),
        ("size", float), ("duration", float),  # of the newest packet: its transmission
        ("rate", float), ("delay", float), ("arrived", int),
        ("behind", INT32), ("tracked", INT16), ("scheduled", INT16),
        ("lane", int), ("joint", int), ("ident", int),
        ("queue", int), ("queue_mask", int), ("queue_head", int), ("queue_tail", int),
        ("recorded", INT32), ("in_bytes", INT32),
        ("sending_since", float), ("sending_bytes", float), ("queue_bytes", float),
        ("capacity", float), ("loss", float), ("bins", int),
        ("resumes", float), ("shared", int),  # address of what it shares with fluid
        *QUEUE_FIELDS, ("open", int), ("dropped", int), ("marked", int),
        *STREAM_FIELDS,
        # of a scheduled link: how many packets wait, its inner queues, whether it is sending, the
        # time before which its discipline sends nothing
        ("stored", int), ("inner", int), ("n_inner", int), ("sending", int), ("release_at", float),
        ("counted_until", float), ("newest", float),
        # of a stage of jitter: most that a packet takes, the share that takes any time at all; of
        # one that lets packets go together, how often
        ("jitter", float), ("share", float), ("reorders", int), ("period", float),
    ],
    whole_lines=True,
)  # fmt: skip

# Packets under way that come out at a link's far end, in that order; `time`, `since` and `order` of
# the newest one. A link has a lane of its own, and may have a joint one.
LANE = record_dtype(
    {
        "flight": int, "flight_mask": int, "flight_head": int, "flight_tail": int,
        "time": float, "since": float, "order": int, "ident": int,
    }
)  # fmt: skip
HOP = record_dtype({"link": int, "then": INT32, "again": INT32})  # link: its address
QUEUED = record_dtype({"leaves": float, "size": float})
# A packet under way (see packets.Packet), one cache line. `time`, `since` and `order` say when it
# arrives and where it stands among arrivals at that instant. In the pool `time` is its arrival at
# the queue, and `order` the place of the next packet of its inner queue, or the next free place.
PACKET = record_dtype(
    {
        "time": float, "since": float, "order": int, "seq": int, "trigger": int, "low": int,
        "span": INT32, "flow": INT32, "hop": INT32, "header": INT32,
    }
)  # fmt: skip
# What few packets carry: a place of it goes with the packet, and back with its ACK (headers).
HEADER = record_dtype(
    {
        "back": int,
        "ecn": int,
        "echo": int,
        "word0": float,
        "word1": float,
        "word2": float,
        "word3": float,
    }
)
EVENT = record_dtype({"time": float, "since": float, "order": int, "kind": INT32, "id": INT32})
# An inner queue of a scheduled link: places in the pool; place 0 stands for no packet.
INNER = record_dtype({"first": int, "last": int, "count": int, "bytes": float})
CHANGES = record_dtype(
    {
        "link": int, "rate": float, "delay": float, "capacity": float, "loss": float,
        "jitter": float, "share": float,
        "param": int, "value": float,
    }
)  # fmt: skip
TRACE = record_dtype({"time": float, "flow": int, "event": int, "seq": int, "value": float})
NOTE = record_dtype({"place": int, "column": int})  # of a state variable; in the trace's values
CONVERSATION = record_dtype(
    {
        "start": float, "kind": int, "first": int, "items": int,
        "place": int, "timeouts": int, "loss_events": int,
    }
)  # fmt: skip
ITEM = record_dtype({"limit": int, "gap": float, "begun": float, "done": float})
KIND = record_dtype({"flow": int, "tcp": int, "memory": int})

world_at = accessor(WORLD)
flow_at = accessor(FLOW)
cbr_at = accessor(CBR)
link_at = accessor(LINK)
lane_at = accessor(LANE)
hop_at = accessor(HOP)
queued_at = accessor(QUEUED)
packet_at = accessor(PACKET)
header_at = accessor(HEADER)
inner_at = accessor(INNER)
event_at = accessor(EVENT)
change_at = accessor(CHANGES)
trace_at = accessor(TRACE)
note_at = accessor(NOTE)
conversation_at = accessor(CONVERSATION)
item_at = accessor(ITEM)
kind_at = accessor(KIND)
