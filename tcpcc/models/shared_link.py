"""A link that foreground packets and background fluid share.

The queue belongs to the fluid model. An arriving packet waits for the bytes that fluid and packets
have left in the queue. In the next time step it counts as a fluid arrival. Between two steps the
queue is extrapolated: it receives fluid at the rate of the last step and the packets that arrive,
and it drains at the link's rate.

Packet noise: fluid has no packet-level noise. Real packets have it: on an underloaded link their
number in a short time varies like that of independent arrivals. So where the fluid has no queue, a
packet meets the queue of a reflected Brownian motion with this variance and with the free capacity
as drift. It is reflected at the empty and the full buffer and sampled exactly at any time distance
(the minimum of a Brownian bridge is drawn with it). Once the fluid has a queue, the noise decays
within a round trip and does not grow, because a busy link receives packets paced by its own output.

Drops by a queue discipline: the drop probability is that of the last step. Drops are spaced over
all arrivals, foreground and background, as regularly as the discipline spaces them, so RED rarely
drops two packets of a burst. Drops of background arrivals are not communicated; the fluid model
draws its own.

Drops by a full buffer: each fluid step computes how many packets do not fit. The foreground owes a
share of them: its share of the arrivals over a round trip. (Its share of the arrivals in the step
would charge it for its own bursts, while fluid bursts are smeared over steps.) The next foreground
packets are refused until this debt is paid. A packet sent because the window has grown directly
follows another packet, which takes the place freed by the acknowledged one. The packet model
refuses such packets five times as often as others (`OTHERS`).

A full buffer refuses several packets of a burst. Their number is random; its mean is the mean
number that a background flow loses at a time. This mean counts all losses that a sender notices
together, so a flow is drawn once in a round trip. (In the packet model a CUBIC flow that has lost
packets does not lose further packets within the same round trip.)
"""

import math

import numpy as np

from tcpcc.engine.jit import accessor, compiled, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS, uniform

FORGOTTEN = 4  # mean drop gaps after which the next drop is independent of the last one
# Chance that a full buffer refuses a packet, relative to a packet by which a window has just grown.
# Packet model: 0.17 to 0.25 with 10 to 1000 NewReno or 100 CUBIC flows.
OTHERS = 0.2
BURST_TRIPS = 1 / 4  # round trips; packets of a flow within this time belong to one burst
PAID_WITHIN = 20  # owed drops are paid within 1/PAID_WITHIN of a round trip on average

SHARED = record_dtype(
    [
        *STREAM_FIELDS,
        # queue that a packet meets: fluid and packets in bytes, time of this value in s, packet
        # noise in bytes; fluid arrivals and link rate in bytes/s; buffer in bytes
        ("level", float), ("seen", float), ("noise", float),
        ("inflow", float), ("outflow", float), ("limit", float),
        ("size", float), ("trip", float),
        # probability of random loss, and of a drop by the discipline; irregularity of its drops;
        # distance to its next drop in mean gaps, and the time of this value
        ("loss", float), ("prob", float), ("spread", float), ("due", float), ("dropped_at", float),
        # since the last step: packets that arrived, packets by which windows have grown, accepted
        # bytes, refused packets
        ("packets", float), ("extras", float), ("bytes", float), ("refused", float),
        # packets still to be refused; packets promised by bursts of which some were refused; mean
        # number of packets that a background flow loses at a time
        ("owed", float), ("promised", float), ("together", float),
        # address of the flows' `VICTIM` records; time of the last draw
        ("victims", int), ("drawn_at", float),
        # time and flow of the last packet that arrived
        ("met_at", float), ("met", int),
        # decaying counts of foreground packets, of those by which windows have grown, and of
        # background packets; end of the last step
        ("foreground", float), ("extra", float), ("background", float), ("stepped", float),
        # losses and loss events of the background at which its mean loss begins to count
        ("packets_before", float), ("events_before", float),
        # foreground packets that arrived recently; share of the foreground in an overflow
        ("recent", float), ("weight", float),
        # open foreground sources
        ("open", float),
    ]
)  # fmt: skip

# A flow's losses: time of its last draw, packets of the present burst that it has still to lose
VICTIM = record_dtype({"at": float, "left": float})
VICTIMS = 1024  # records, a power of two; flows with equal numbers modulo it share a record

shared_at = accessor(SHARED)
victim_at = accessor(VICTIM)


@compiled
def normal(s):
    """Draw a standard normal number (Box-Muller)."""
    return math.sqrt(-2 * math.log(uniform(s))) * math.cos(2 * math.pi * uniform(s))


@compiled
def least_between(s, first, last, variance):
    """Draw the minimum of a Brownian bridge from `first` to `last`."""
    u = uniform(s)
    return (first + last - math.sqrt((first - last) ** 2 - 2 * variance * math.log(u))) / 2


@compiled
def advance_queue(s, time):
    """Advance the queue that a packet would meet to `time`."""
    passed = time - s.seen
    if passed <= 0:
        return
    s.seen = time
    net = s.inflow - s.outflow
    before = s.level + s.noise
    rest = s.level + net * passed  # below 0: unused capacity
    s.level = max(min(rest, max(s.level, s.limit)), 0.0)
    kept = math.exp(-passed / (s.trip + s.level / s.outflow))
    after = s.level + kept * s.noise + min(rest, 0.0)
    if net < 0 and rest < 0:
        variance = s.inflow * s.size * min(rest / net, passed)
        after += math.sqrt(variance) * normal(s)
        if variance > 0:
            after -= min(least_between(s, before, after, variance), 0.0)
    s.noise = max(min(after, s.limit) - s.level, 0.0)


@compiled
def round_trip(s):
    """The round-trip time with the present queue, s."""
    return s.trip + s.level / s.outflow


def no_victims(links):
    """New `VICTIM` records, shape [link, VICTIMS]: no flow has been drawn yet."""
    victims = np.zeros((links, VICTIMS), VICTIM)
    victims["at"] = -math.inf
    return victims


@compiled
def draw_burst(s):
    """Draw how many packets of a burst a full buffer refuses: a geometric number with mean
    `together`, as in the packet model."""
    more = 1 - 1 / s.together
    return 1 + math.floor(math.log(uniform(s)) / math.log(more)) if more > 0 else 1.0


@compiled
def is_extra(s, flow, time, size):
    """Whether a packet directly follows another one of its flow: the window has grown by it."""
    return flow == s.met and 2 * (time - s.met_at) * s.outflow < size


@compiled
def is_hit(s, flow, time, extra):
    """Whether a full buffer refuses an arriving packet.

    A flow is drawn at most once in a round trip, unless more packets are owed than all open flows
    together lose at a time.
    """
    v = victim_at(s.victims, flow & (VICTIMS - 1))
    trips = (time - v.at) / round_trip(s)
    if v.left >= 1 and trips < BURST_TRIPS:
        v.left -= 1
        s.promised = max(s.promised - 1, 0.0)
        s.owed -= 1
        return True
    s.promised = max(s.promised - v.left, 0.0)  # the burst had fewer packets
    v.left = 0.0
    if trips < 1 and s.owed - s.promised <= s.open * s.together:
        return False
    among = s.extra + OTHERS * (s.foreground - s.extra)
    weight = 1.0 if extra else OTHERS
    if uniform(s) * among * s.together >= weight * PAID_WITHIN * (s.owed - s.promised):
        return False
    v.left = draw_burst(s) - 1
    v.at = s.drawn_at = time
    s.promised += v.left
    s.owed -= 1
    return True


@compiled
def next_drop_gap(s):
    """Draw the distance from one drop of the discipline to the next, in mean distances.

    With a spread of 1 drops are independent, so distances are exponential.
    """
    if s.spread < 1:
        return 1 + s.spread * (2 * uniform(s) - 1)
    return -math.log(uniform(s))


@compiled
def rest_of_one(s):
    """Draw the distance from an arbitrary arrival to the next drop: a uniform part of a gap that is
    chosen with a probability proportional to its length."""
    gap = next_drop_gap(s)
    while s.spread < 1 and uniform(s) * (1 + s.spread) >= gap:
        gap = next_drop_gap(s)
    return gap * uniform(s) if s.spread < 1 else gap


@compiled
def pass_background(s, time):
    """Count the background arrivals until `time`; their drops only move the next drop."""
    s.due -= s.prob * s.inflow / s.size * (time - s.dropped_at) if s.prob > 0 else 0.0
    s.dropped_at = time
    if s.due < -FORGOTTEN:
        s.due = rest_of_one(s)
    while s.due < 0:
        s.due += next_drop_gap(s)


@compiled
def is_dropped(s, time):
    """Whether the discipline drops an arriving packet."""
    if s.prob == 0:
        return False
    pass_background(s, time)
    s.due -= s.prob
    return s.due < 0


@compiled
def meet(s, flow, open_sources, time, size):
    """A packet of `flow` with `size` bytes arrives at `time`.

    Returns the bytes that are queued before it, or -1 if it is refused.
    """
    advance_queue(s, time)
    extra = is_extra(s, flow, time, size)
    s.met_at = time
    s.met = flow
    s.open = open_sources
    s.packets += 1
    s.extras += 1 if extra else 0
    if (
        (s.loss > 0 and uniform(s) < s.loss)
        or is_dropped(s, time)
        or ((s.owed > 0 or s.promised > 0) and is_hit(s, flow, time, extra))
    ):
        s.refused += 1
        return -1.0
    waiting = s.level + s.noise
    s.level += size
    s.bytes += size
    return waiting


@compiled
def update_shared_link(s, now, backlog, inflow, outflow, size, prob, spread):
    """The fluid has taken a step: update the values for packets, and reset their counts."""
    pass_background(s, now)
    kept = math.exp((s.stepped - now) / round_trip(s))
    s.foreground = kept * s.foreground + s.packets
    s.extra = kept * s.extra + s.extras
    s.background = kept * s.background + inflow * (now - s.stepped) / size
    s.stepped = now
    advance_queue(s, now)
    if now - s.met_at > round_trip(s):  # no packets arrive; the fluid drops what still overflows
        s.owed = min(s.owed, 0.0)
    if now - s.drawn_at > round_trip(s):
        s.promised = 0.0
    s.level = backlog
    s.inflow = inflow
    s.outflow = outflow
    s.size = size
    s.prob = prob
    s.spread = spread
    s.packets = s.extras = 0.0
    s.bytes = 0.0
    s.refused = 0.0
