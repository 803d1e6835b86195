"""The records of trains: several packets of one flow, in order, equally spaced."""

from typing import NamedTuple

import numpy as np

from tcpcc.engine.jit import accessor, compiled, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.models.packet.packet_records import INT16, INT32
from tcpcc.models.packet.packets import Packet

#: Kinds of event beside the packet model's: a train reaches a link or has wholly reached it; a
#: train of ACKs reaches its sender.
AT_LINK, AT_SENDER = np.arange(30, 32)

TRAIN = record_dtype(
    {
        "first": float, "last": float, "seq": int, "trigger": int, "low": int,
        "span": INT32,  # from `low` to `high`
        "count": INT32, "after": INT32, "header": INT32, "flow": INT32,
        "step": INT16, "again": INT16,
    },
    whole_lines=True,
)  # fmt: skip

# One for each hop of each path, and one for the ACKs that travel to each sender.
LINE = record_dtype(
    {
        "head": int, "tail": int,  # the trains on their way, in the pool; 0: none
        "kind": INT32,  # OWN, SHARED, STAGE, FREE, SINGLE or LONE
        "arriving": INT32,  # whether the first train is arriving
        "rate": float,  # of the arriving train, bytes/s
        "wait": float, "excess": float,  # at its beginning: s to wait; the queue's `excess`
        # (where packets stand for several, `excess` is what its flow's next packet meets of
        # them, packets, and `rate` the time of this value; see `admit`)
        "busy": float,  # when the flow's last packet has left
    },
    whole_lines=True,
)  # fmt: skip
#: A link where its flow meets no other; one with a queue; a stage of jitter; one that never queues;
#: a link of the packet model, which trains cross packet by packet; the first link with a queue on a
#: path, if no other flow crosses it: the queue is known when a packet is sent, without an event.
OWN, SHARED, STAGE, FREE, SINGLE, LONE = range(6)

# The queue of a link as a fluid, bytes. `excess`: time integral of the share of arriving bytes
# that overflow; `over`: packets that have overflowed and are not dropped yet; `idle`: time without
# a packet since the discipline's last arrival, s; `since`: when the buffer was last full; `size`:
# mean size of the waiting packets; `flow_in`: packets/s that arrive. `noise`: packets that wait
# beyond those of the fluid; `variance`: that of the noise. `unused`: the link has a queue of the
# packet model. `each`: packets that a packet stands for, on average; `rule`: the discipline's rule
# for amounts, if that is more than 1 (-1: it counts amounts on arrival); `due`: distance to its
# next drop in mean distances; `due_of_many`: the same among the packets that stand for several.
# `pending`: bytes that are still to arrive of packets that stand for several. `owed`: bytes
# that the link has sent and the record lacks; negative: that were dropped after all.
POOL = record_dtype(
    [
        ("at", float), ("backlog", float), ("inflow", float), ("trains", int), ("excess", float),
        ("over", float), ("idle", float), ("since", float), ("noise", float), ("variance", float),
        ("mixed", int), ("flow_in", float), ("size", float), ("unused", int),
        ("each", float), ("rule", int), ("due", float), ("due_of_many", float),
        ("pending", float), ("owed", float), *STREAM_FIELDS,
    ],
    whole_lines=True,
)  # fmt: skip

# Of a flow: the data train that it is sending. `single`: its packets are trains of their own.
# `log`: the trains sent while coasting, a ring of SENT from place `log_first` to `log_end`;
# `coast_from`: the first segment in it. `extra`: how many of its packets growth of the window has
# released, or GROWTH: it has released all. `meets`: the first hop whose link is SHARED or LONE, or
# -1; `lag`: if it is LONE, how long before a packet gets there its last transmission began, s.
OPEN_TRAIN = record_dtype(
    {
        "count": int, "first": float, "last": float, "seq": int, "again": int, "extra": int,
        "single": int, "meets": int, "lag": float,
        "header": int, "log": int, "log_first": int, "log_end": int, "coast_from": int,
    },
    whole_lines=True,
)  # fmt: skip
SENT = record_dtype({"seq": int, "count": int, "first": float, "last": float})
LOG_SIZE = 256  # trains; more than are outstanding

train_at = accessor(TRAIN)
line_at = accessor(LINE)
pool_at = accessor(POOL)
open_at = accessor(OPEN_TRAIN)
logged_at = accessor(SENT)


GROWTH = -2  # trigger of packets that are sent because the window has grown; of other data: -1


class Train(NamedTuple):
    """Packets of a flow: `count` of them, from `first` to `last` (s), equally spaced.

    Packet k of a data train is number ``seq + k``. In a train of ACKs the k-th one acknowledges
    ``seq + k * step`` and was caused by packet ``trigger + k * step``; if `step` is 0, by packet
    ``trigger + k``, and it reports the block from `low` to ``high + k``. A train with a `header`
    has one packet.
    """

    first: float
    last: float
    seq: int
    count: int  # type: ignore[assignment]
    step: int
    again: int
    trigger: int
    low: int
    high: int
    header: int


@compiled
def at_times(p, first, last):
    return Train(first, last, p.seq, p.count, p.step, p.again, p.trigger, p.low, p.high, p.header)


@compiled
def gap_of(p):
    """Time between two packets of a train, s; 0 if it has only one."""
    return (p.last - p.first) / (p.count - 1) if p.count > 1 else 0.0


@compiled
def trigger_of(p, k):
    """The packet that caused ACK `k` of a train."""
    return p.trigger + k * max(p.step, 1)


@compiled
def part(p, a, b, first, last):
    """Packets `a` to `b` of a train."""
    more = a if p.step == 0 else 0
    trigger = trigger_of(p, a) if p.trigger >= 0 else p.trigger
    return Train(
        first, last, p.seq + a * p.step, b - a + 1, p.step, p.again, trigger, p.low, p.high + more,
        p.header,
    )  # fmt: skip


@compiled
def read_train(record):
    return Train(
        record.first, record.last, record.seq, np.int64(record.count), np.int64(record.step),
        np.int64(record.again), record.trigger, record.low, record.low + np.int64(record.span),
        np.int64(record.header),
    )  # fmt: skip


@compiled
def write_train(p, record):
    """Write a train into a record; its `flow` and `after` do not change."""
    record.first = p.first
    record.last = p.last
    record.seq = p.seq
    record.count = p.count
    record.step = p.step
    record.again = p.again
    record.trigger = p.trigger
    record.low = p.low
    record.span = p.high - p.low
    record.header = p.header


@compiled
def drop_first_packet(p, record):
    """Leave train `p` in its record without its first packet."""
    write_train(part(p, 1, p.count - 1, p.first + gap_of(p), p.last), record)


@compiled
def packet_of(flow, hop, p):
    """The first packet of a train, in the packet model."""
    trigger = p.again if p.trigger < 0 else (~p.trigger if p.again != 0 else p.trigger)
    return Packet(flow.index, hop, p.seq, trigger, p.low, p.high - p.low, p.header)


@compiled
def train_of(p, is_ack, time):
    """A packet as a train."""
    if not is_ack:
        return Train(time, time, p.seq, 1, 1, p.trigger, -1, 0, 0, p.header)
    again = 1 if p.trigger < 0 else 0
    trigger = ~p.trigger if p.trigger < 0 else p.trigger
    return Train(time, time, p.seq, 1, 1, again, trigger, p.low, p.low + p.span, p.header)
