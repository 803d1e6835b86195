"""A link that packets and fluid share: what each tells the other of itself.

The fluid has the queue. A packet that arrives finds the bytes that fluid and packets have left
there, follows them, and is fluid's arrival like any other by the next time step. Between two
steps the queue goes on as it did: it takes in fluid at the rate of the last step and the packets
that come, and it drains.

Fluid has no grain. Flows' packets have: where the link has capacity left, their number in a short
time scatters as that of independent arrivals. So where fluid finds no queue a packet meets that of
a diffusion with this variance and the drift of the free capacity, reflected where it is empty or
full and sampled exactly at any distance of times (a bridge's least value is drawn with it). It
returns to nothing within a round trip once there is a queue, and nothing is added to it: what comes
to a busy link are the answers to what it has sent at an even pace. (With 100 flows under RED the
numbers of packets in 1 to 100 ms have a variance of 0.5 to 3 times their mean; fluid by itself has
0.8 to 0.9 of it, the rest in less than a step.)

Losses: a queue discipline drops of all that come, in front and behind, as often as in the last step
and as regularly as it does: of a clump RED takes one packet, seldom two. (What is dropped behind is
not told to the fluid, which drops its own.) A full buffer decides by the step how many packets it
has no room for; those in front owe as many of these as they have of what came in a round trip. (Of
what came in the step they would pay for the overflow that their own clumps make, while those of
fluid, smeared over steps, make none.) What is owed the next packets to come pay. A packet that a
window has grown by follows on another at once, and finds the place taken that the ACK has told of:
in packets it is refused five times as often as others (of 10 to 1000 NewReno flows or 100 CUBIC
flows others have 0.17 to 0.25 of its chance). A full buffer refuses
several packets of a clump, of each a number with the mean of those behind. That is the mean of all
that a sender notices together, so a flow is drawn once in a round trip. (In packets, of 100 CUBIC
flows with round trips of 105 ms, one that has lost some loses no more 20 to 80 ms later, while
others do. Drawn again, those in front lost 7 % more at a time than those behind, so less often.)
"""

import math

import numpy as np

from tcpcc.engine.jit import accessor, compiled, record_dtype
from tcpcc.engine.streams import STREAM_FIELDS, uniform

FORGOTTEN = 4  # gaps between drops, after which the first of them tells nothing of the last
OTHERS = 0.2  # chance to be refused by a full buffer, if the window has not just grown by a packet
CLUMP = 1 / 4  # of a round trip: so long a flow's packets that follow each other are one clump
SOON = 20  # what is owed is paid by the packets of such a part of a round trip, in the mean

SHARED = record_dtype(
    [
        *STREAM_FIELDS,
        # what a packet meets: bytes and the time of which they are; the grain's bytes; bytes/s of
        # fluid coming in, and going out; room in packets or bytes
        ("level", float), ("seen", float), ("grain", float),
        ("inflow", float), ("outflow", float), ("limit", float),
        ("size", float), ("trip", float),
        # probability that the link loses a packet, and that its discipline drops one; how irregular
        # its drops are; when the next is due, as part of the mean gap, and when that was told
        ("loss", float), ("prob", float), ("spread", float), ("due", float), ("dropped_at", float),
        # since the last step: packets that came, and by which windows have grown, bytes taken in,
        # packets refused
        ("packets", float), ("extras", float), ("bytes", float), ("refused", float),
        # to be refused, and how many of these of clumps that have begun to be; how many a flow
        # behind loses at a time, in the mean
        ("owed", float), ("promised", float), ("together", float),
        # address of the flows' `VICTIM`; when one was last drawn
        ("victims", int), ("drawn_at", float),
        # when a packet came, and of which flow
        ("met_at", float), ("met", int),
        # packets that came in front, those by which windows have grown, and behind, older ones
        # weighing less; the last step's end
        ("front", float), ("extra", float), ("behind", float), ("stepped", float),
        # where the count of what the fluid behind loses at a time begins
        ("packets_before", float), ("events_before", float),
        # those that came in the time of some packets; weight in a draw
        ("recent", float), ("weight", float),
        # sources of packets that are open
        ("open", float),
    ]
)  # fmt: skip

# Of a flow: when it was last drawn to lose packets, how many it is to lose still
VICTIM = record_dtype({"at": float, "left": float})
VICTIMS = 1024  # a power of two: of so many flows numbers differ, later ones share a record

shared_at = accessor(SHARED)
victim_at = accessor(VICTIM)


@compiled
def normal(s):
    """A number of the standard normal distribution."""
    return math.sqrt(-2 * math.log(uniform(s))) * math.cos(2 * math.pi * uniform(s))


@compiled
def least_between(s, first, last, variance):
    """The least value on its way of a Brownian motion from `first` to `last`."""
    u = uniform(s)
    return (first + last - math.sqrt((first - last) ** 2 - 2 * variance * math.log(u))) / 2


@compiled
def move(s, time):
    """Bring what a packet would meet up to `time`."""
    passed = time - s.seen
    if passed <= 0:
        return
    s.seen = time
    net = s.inflow - s.outflow
    before = s.level + s.grain
    rest = s.level + net * passed  # below 0: what the link could have sent and had not
    s.level = max(min(rest, max(s.level, s.limit)), 0.0)
    kept = math.exp(-passed / (s.trip + s.level / s.outflow))
    after = s.level + kept * s.grain + min(rest, 0.0)
    if net < 0 and rest < 0:
        variance = s.inflow * s.size * min(rest / net, passed)
        after += math.sqrt(variance) * normal(s)
        if variance > 0:
            after -= min(least_between(s, before, after, variance), 0.0)
    s.grain = max(min(after, s.limit) - s.level, 0.0)


@compiled
def round_trip(s):
    """With what waits now, s."""
    return s.trip + s.level / s.outflow


def no_victims(links):
    """For each link, and each flow: it has lost nothing yet."""
    victims = np.zeros((links, VICTIMS), VICTIM)
    victims["at"] = -math.inf
    return victims


@compiled
def clump(s):
    """How many packets of a clump a full buffer refuses: the next one always with the same chance,
    as packets show it."""
    more = 1 - 1 / s.together
    return 1 + math.floor(math.log(uniform(s)) / math.log(more)) if more > 0 else 1.0


@compiled
def is_extra(s, flow, time, size):
    """Whether a packet follows on another of its flow at once: by it the window has grown."""
    return flow == s.met and 2 * (time - s.met_at) * s.outflow < size


@compiled
def is_hit(s, flow, time, extra):
    """Whether a packet that comes is one of those that a full buffer is to refuse. A flow is drawn
    once in a round trip, unless more is owed than all that are open lose at once."""
    v = victim_at(s.victims, flow & (VICTIMS - 1))
    trips = (time - v.at) / round_trip(s)
    if v.left >= 1 and trips < CLUMP:
        v.left -= 1
        s.promised = max(s.promised - 1, 0.0)
        s.owed -= 1
        return True
    s.promised = max(s.promised - v.left, 0.0)  # its clump had fewer packets
    v.left = 0.0
    if trips < 1 and s.owed - s.promised <= s.open * s.together:
        return False
    among = s.extra + OTHERS * (s.front - s.extra)
    weight = 1.0 if extra else OTHERS
    if uniform(s) * among * s.together >= weight * SOON * (s.owed - s.promised):
        return False
    v.left = clump(s) - 1
    v.at = s.drawn_at = time
    s.promised += v.left
    s.owed -= 1
    return True


@compiled
def next_drop(s):
    """Arrivals from a drop of the discipline to the next, as a multiple of their mean number. With
    a spread of 1 it keeps no distance, and tosses a coin for each."""
    if s.spread < 1:
        return 1 + s.spread * (2 * uniform(s) - 1)
    return -math.log(uniform(s))


@compiled
def rest_of_one(s):
    """The same from any arrival on: of a gap that is likelier the longer it is, a part."""
    gap = next_drop(s)
    while s.spread < 1 and uniform(s) * (1 + s.spread) >= gap:
        gap = next_drop(s)
    return gap * uniform(s) if s.spread < 1 else gap


@compiled
def pass_behind(s, time):
    """Let the discipline drop of what came behind until `time`, which only moves its next drop."""
    s.due -= s.prob * s.inflow / s.size * (time - s.dropped_at) if s.prob > 0 else 0.0
    s.dropped_at = time
    if s.due < -FORGOTTEN:
        s.due = rest_of_one(s)
    while s.due < 0:
        s.due += next_drop(s)


@compiled
def is_dropped(s, time):
    """Whether the discipline drops a packet that comes."""
    if s.prob == 0:
        return False
    pass_behind(s, time)
    s.due -= s.prob
    return s.due < 0


@compiled
def meet(s, flow, open_sources, time, size):
    """A packet of `size` bytes of `flow` comes at `time`: the bytes before it in the queue, or -1
    if it is refused."""
    move(s, time)
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
    waiting = s.level + s.grain
    s.level += size
    s.bytes += size
    return waiting


@compiled
def begin_step(s, now, backlog, inflow, outflow, size, prob, spread):
    """The fluid has taken a step: what packets are to know of it, and their accounts anew."""
    pass_behind(s, now)
    kept = math.exp((s.stepped - now) / round_trip(s))
    s.front = kept * s.front + s.packets
    s.extra = kept * s.extra + s.extras
    s.behind = kept * s.behind + inflow * (now - s.stepped) / size
    s.stepped = now
    move(s, now)
    if now - s.met_at > round_trip(s):  # nobody comes; the fluid loses it if it still must
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
