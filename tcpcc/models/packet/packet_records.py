"""The records of the packet model: links, packets, events, traces.

Rings (queues, packets in flight) are indexed modulo a power of two; ``head`` and ``tail`` only
grow. A nearly full ring sets ``w.need``, and the driver enlarges it between events.
"""

import numpy as np

from tcpcc.engine.jit import accessor, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.notes import NOTE_FIELDS
from tcpcc.models.queue_memory import QUEUE_FIELDS

INT32, INT16 = np.int32, np.int16  # for numbers of flows and hops; for flags and kinds

BEHIND = 2**36  # weight of a packet's place in its busy period; larger than any other order
FAR_BEHIND = 2**26  # largest place in a busy period; later packets have this place too
MARGIN = 24  # free places that a ring keeps, so that no event can overrun it
FIRST_RING = 64  # entries of a new ring
FIRST_HEADERS = 256  # places for headers at the beginning

# Kinds of event. (NumPy integers: the compiler gives each Python literal its own type, and would
# compile a function once for each constant passed to it.)
ARRIVAL, FLOW_START, FLOW_STOP, CBR_PACKET, CHANGE, ACK_TIMER = np.arange(6)
BEGINNING, WRITE = np.arange(7, 9)  # of the next conversation; of an item of a conversation
QUEUE_TIMER = np.int64(9)
# a sender's timers: of retransmission, of pacing, of a controller or a loss recovery
RETRANSMISSION_TIMER, RELEASE, ALARM = np.arange(10, 13)
ALONE = np.int64(-1)  # arrival of a packet that others may overtake
DEPARTURE = np.int64(20)  # of a packet from a scheduled link, which then serves the next one
QUEUE_RELEASE = np.int64(21)  # end of the time in which a discipline sends no packet
FLUID_STEP = np.int64(22)  # of the fluid beside the packets (hybrid)

# What follows a hop: an event, the next link at once, the receiver at once, or a separate event for
# each packet, because packets may overtake each other.
BY_EVENT, NEXT_LINK, RECEIVER, OVERTAKEN = range(4)

# Whether a link keeps its queue: no (nothing depends on it); yes; it is a stage of jitter; the
# fluid model keeps it.
UNTRACKED, TRACKED, ELSEWHERE, IN_FLUID = range(4)

# Kinds of trace entry, in the order of tcpcc.results.recording.EVENTS.
SEND, RETRANSMIT, ACK, DUPACK, LOSS_EVENT, TIMEOUT, DELIVER, DROP = np.arange(8)

WORLD = record_dtype(
    {
        "now": float, "since": float, "order": int, "need": int, "pending": int, "flow": int,
        "events": int, "at_once": int, "following": float,
        # whether a sender acts in this event; its timeouts and loss events before it
        "turn": int, "timeouts": int, "losses": int,
        "flows": int, "tcp": int, "cbr": int, "n_flows": int,
        "links": int, "n_links": int, "lanes": int, "hops": int,
        "heap": int, "heap_size": int, "heap_room": int, "vacant": int, "in_order": int,
        "changes": int,
        "duration": float, "interval": float, "per_second": float, "n_bins": int,
        "trace": int, "trace_count": int, "trace_room": int,
        "trace_values": int, "trace_columns": int, "n_rows": int,
        "conversations": int, "n_conversations": int, "next_conversation": int, "items": int,
        "free": int, "free_places": int,
        # of each kind of conversation the records that a place copies; `memory`: state, sample, ...
        "kind_flows": int, "kind_tcp": int, "kind_memory": int,
        "state_words": int, "sample_words": int, "delivery_word": int, "memory_words": int,
        "headers": int, "spare_headers": int, "n_spare_headers": int,
        "words": int, "n_words": int,
        # places for packets that are in no lane, the first free place, the number of free places
        "pool": int, "first_free": int, "n_free": int,
        # of the hybrid: the entry that advances the fluid by a step, its argument, the step in s;
        # for each hop the place of its packets in the tables of the fluid's link
        "advance_fluid": int, "coupling": int, "step": float, "columns": int,
        # of trains: they are shorter than srtt / `per_rtt`. `trains`: their places; `free_train`:
        # the first that a train has left; `unused_train`: the first that none has had;
        # `n_free_trains` are free, of which an event may take `train_margin`. `lines` to
        # `open_trains`: addresses of these records. `want`: the flow, plus one, whose ring of
        # segments is too short; `reaching`: whether a train of the flow that sends reaches a link
        # now
        "per_rtt": float, "trains": int, "free_train": int, "unused_train": int,
        "n_free_trains": int, "train_margin": int, "lines": int, "ack_lines": int, "pools": int,
        "open_trains": int, "want": int, "reaching": int,
    }
)  # fmt: skip

# The packet model's part of a flow. The row of the same number holds a TCP sender's
# transport.flow_record.TCP_FLOW, or the CBR record of a source of constant bit rate.
FLOW = record_dtype(
    [
        # in the order in which a packet needs them; `index` is the flow's place in the arrays,
        # `ident` its number for queues and traces (conversations reuse places)
        ("index", int), ("path", int), ("n_hops", int), ("n_forward", int),
        ("bins", int), ("bin", int), ("bin_end", float), ("size", float), ("ack_size", float),
        # whether it is traced; whether its packets carry headers
        ("kind", INT32), ("handshake", INT32), ("traced", INT32), ("has_header", INT32),
        ("conversation", int), ("inbound", int), ("acks_sent", int),
        # the entries of its timers on the event list, from RETRANSMISSION_TIMER on
        ("timer_at", float, (3,)), ("timer_order", int, (3,)),
        ("ident", int), ("open", int), ("dropped", int),
        # its FLOW_NOTES; the newest packet sent, plus one
        ("noted", int), ("sent_to", int),
        # the entry of the delayed ACK, and the header of the packet that it acknowledges
        ("held_since", float), ("held_order", int), ("ack_timer", int), ("held_header", int),
        # of header fields, see `header_layout`
        ("fields", int), ("n_fields", int), ("carries", int),
        # of a conversation (its number + 1) or a flow with items: the next one, the first one not
        # done, one past the last one; when the next one is handed over (`conversation_records`)
        ("item", int), ("undone", int), ("last_item", int), ("waits", int),
        ("traffic_class", int),
        # number of flows that it stands for
        ("count", int),
    ],
    whole_lines=True,
)  # fmt: skip
# State variables of a flow's controller: series (`notes`), and those that a trace records.
FLOW_NOTES = record_dtype({**NOTE_FIELDS, "in_trace": int, "n_in_trace": int})
# `train`: packets that it sends at once; `off_at`: if they are several, when it is switched off, s
CBR = record_dtype(
    {
        "interval": float, "is_on": int, "order": int, "sent": int, "arrived": int, "train": int,
        "off_at": float,
    }
)  # fmt: skip

LINK = record_dtype(
    [
        # in the order in which a packet needs them
        ("busy_until", float), ("begin", float),
        ("size", float), ("duration", float),  # of the newest packet and its transmission
        ("rate", float), ("delay", float), ("arrived", int),
        ("behind", INT32), ("tracked", INT16), ("scheduled", INT16),
        ("lane", int), ("joint", int), ("ident", int),
        ("queue", int), ("queue_mask", int), ("queue_head", int), ("queue_tail", int),
        ("recorded", INT32), ("in_bytes", INT32),
        ("sending_since", float), ("sending_bytes", float), ("queue_bytes", float),
        ("capacity", float), ("loss", float), ("bins", int),
        ("left", float),  # bits of a packet that rate 0 stopped while it was being sent
        *QUEUE_FIELDS, ("open", int), ("dropped", int), ("marked", int),
        *STREAM_FIELDS,
        # of a scheduled link: number of waiting packets, its inner queues, whether it is sending,
        # the time before which its discipline sends no packet
        ("stored", int), ("inner", int), ("n_inner", int), ("sending", int), ("release_at", float),
        ("counted_until", float), ("newest", float),
        # places that its queue keeps free
        ("margin", int),
        # of a stage: largest jitter of a packet, share of packets with jitter, whether packets may
        # overtake, period of the aggregation (0: none)
        ("jitter", float), ("share", float), ("reorders", int), ("period", float),
        ("fluid", int),  # address of its FLUID_LINK, or 0
    ],
    whole_lines=True,
)  # fmt: skip

# What packets see of a link with fluid in it, in the present step: from `begin` on `bits` wait,
# growing by `slope` a second; `added` bits are of packets that have arrived in this step.
# `refused`: probability that a full buffer refuses a packet; `due`: how many it is to refuse if no
# fluid comes. `early`: probability that the discipline hits a packet (one with ECT(1):
# `early_l4s`); `marks`: it marks what can be marked. `arrivals`: address of the arrivals of the
# fluid's next step at the first place, `stride` numbers from the next one; `present`: of the set
# of places. `queue`, `link`: its number in both models; `open`: flows of packets that the fluid
# counts.
FLUID_LINK = record_dtype(
    {
        "begin": float, "bits": float, "slope": float, "added": float, "due": float,
        "refused": float,
        "early": float, "early_l4s": float, "marks": float, "arrivals": int, "stride": int,
        "present": int, "queue": int, "link": int, "open": int,
    }
)  # fmt: skip

# Packets in flight, in the order of their arrival at a link's far end; `time`, `since` and `order`
# are those of the newest packet. A link has its own lane, and may have a joint one.
LANE = record_dtype(
    {
        "flight": int, "flight_mask": int, "flight_head": int, "flight_tail": int,
        "time": float, "since": float, "order": int, "ident": int,
    }
)  # fmt: skip
# link: its address; count: packets that a packet of the flow stands for there
HOP = record_dtype({"link": int, "then": INT16, "again": INT16, "count": INT32})
QUEUED = record_dtype({"leaves": float, "size": float})
# A packet in flight (see packets.Packet), one cache line. `time` is its arrival; `since` and
# `order` are its rank among simultaneous arrivals. In the pool `time` is its arrival at the queue,
# and `order` is the place of the next packet of its inner queue, or the next free place.
PACKET = record_dtype(
    {
        "time": float, "since": float, "order": int, "seq": int, "trigger": int, "low": int,
        "span": INT32, "flow": INT32, "hop": INT32, "header": INT32,
    }
)  # fmt: skip
# A packet's header: its place goes with the packet, and back with its ACK (see headers). The words
# of its fields are in an array, `w.n_words` for each place.
HEADER = record_dtype({"back": int, "ecn": int, "echo": int})
EVENT = record_dtype({"time": float, "since": float, "order": int, "kind": INT32, "id": INT32})
CHANGES = record_dtype(
    {
        "link": int, "rate": float, "delay": float, "capacity": float, "loss": float,
        "jitter": float, "share": float, "flow": int, "rwnd": float,
        "param": int, "value": float,
    }
)  # fmt: skip
TRACE = record_dtype({"time": float, "flow": int, "event": int, "seq": int, "value": float})
TRACED = record_dtype({"place": int, "column": int})  # place in the state; column of the trace

world_at = accessor(WORLD)
flow_at = accessor(FLOW)
flow_notes_at = accessor(FLOW_NOTES)
cbr_at = accessor(CBR)
link_at = accessor(LINK)
fluid_link_at = accessor(FLUID_LINK)
lane_at = accessor(LANE)
hop_at = accessor(HOP)
queued_at = accessor(QUEUED)
packet_at = accessor(PACKET)
header_at = accessor(HEADER)
event_at = accessor(EVENT)
change_at = accessor(CHANGES)
trace_at = accessor(TRACE)
traced_at = accessor(TRACED)
