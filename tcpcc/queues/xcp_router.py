"""XCP's router: shares out the link's free rate packet by packet, in header fields.

Source: D. Katabi, M. Handley, C. Rohrs, "Congestion control for high bandwidth-delay product
networks", SIGCOMM 2002; A. Falk et al., draft-falk-xcp-spec-03; ns-2.35's ``Queue/DropTail/XCPQ``.
The sender and the header fields of a packet are in :mod:`tcpcc.controllers.xcp`.

Over the packets that arrived since the last control, with x = R/W a packet's `xcp_spacing`:

(1)  d = (sum R x) / (sum x), each R at most 1 s            mean RTT; length of the next interval
(2)  F = alpha (C - y) - beta Q/d                           bytes/s to share out; y: input rate
(3)  h = max(gamma y - abs(F), 0)                           shuffled between flows
(4)  up = max(F, 0) + h,    down = max(-F, 0) + h
(5)  Cp = up / sum x,       Cn = down / (bytes arrived)

At a departure of a packet of the size `bytes`, with the remaining up and down:

(6)  change = min(Cp x, up) - min(Cn bytes, down);  the packet gets this change, or keeps a smaller
     one that an earlier router has written; the difference then counts as taken down
(7)  up and down are reduced by the parts of the change; Cp or Cn is 0 once up or down is 0

Q is the smallest queue at the departures (including the departing packet) over a time of

(8)  Tq = max((d - queue/C)/2, 2 ms)

Differences from the paper
    Rates replace windows, as in the draft and in ns-2: (2) is divided by d.
Differences from ns-2
    In ns-2 both timers start after a random time; here after `first_control` and `first_sample`.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import Discipline

LONGEST, SHORTEST = 1.0, 0.001  # s; bounds of the control interval
FIRST = 0.05  # s; interval before an RTT is known
SHORTEST_SAMPLE = 0.002  # s; least Tq


def on_arrival(s, p, q):
    s.input += q.size * q.arrivals
    if q.words != 0 and q.xcp_rtt != 0:
        s.sum_x += q.xcp_spacing * q.arrivals
        s.sum_rtt_x += min(q.xcp_rtt, LONGEST) * q.xcp_spacing * q.arrivals


def control(s, p, q):
    """(1) to (5)."""
    capacity = q.rate / 8
    s.mean_rtt = s.sum_rtt_x / s.sum_x if s.sum_x != 0 else FIRST  # (1)
    y = s.input / s.interval
    free = 0.0
    shuffled = 0.0
    if s.input > 0:
        free = p.alpha * (capacity - y) - p.beta * s.standing / s.mean_rtt  # (2)
        shuffled = max(p.gamma * y - abs(free), 0.0)  # (3)
    s.up = max(free, 0.0) + shuffled  # (4)
    s.down = max(-free, 0.0) + shuffled
    s.share_up = 0.0
    s.share_down = 0.0
    if s.input > 0:
        s.share_up = s.up / (s.sum_x if s.sum_x != 0 else 1.0)  # (5)
        s.share_down = s.down / s.input
    s.input = 0.0
    s.sum_x = 0.0
    s.sum_rtt_x = 0.0
    s.interval = max(s.mean_rtt, SHORTEST)


def sample_queue(s, p, q):
    """Update Q, the smallest queue, and (8)."""
    s.standing = s.least
    s.least = q.queue_bytes
    s.sampling = max((s.mean_rtt - 8 * q.queue_bytes / q.rate) / 2, SHORTEST_SAMPLE)


def on_interval(s, p, q):
    if s.next_control == 0:
        s.next_control = p.first_control
        s.next_sample = p.first_sample
    if q.now >= s.next_sample:
        sample_queue(s, p, q)
        s.next_sample = q.now + s.sampling
    if q.now >= s.next_control:
        control(s, p, q)
        s.next_control = q.now + s.interval
    q.wake = min(s.next_sample, s.next_control)


def on_departure(s, p, q):
    s.least = min(s.least, q.queue_bytes + q.size)
    if q.words == 0:
        return
    if q.xcp_rtt == 0:
        q.xcp_change = 0.0
        return
    most_up, most_down = s.up / q.arrivals, s.down / q.arrivals  # per packet
    up = min(most_up, s.share_up * q.xcp_spacing)
    down = min(most_down, s.share_down * q.size)
    change = up - down  # (6)
    requested = q.xcp_change * q.size
    if requested >= change:
        q.xcp_change = change / q.size
    else:
        down = min(most_down, down + (change - requested))
        up = requested + down
    s.up = max(s.up - up * q.arrivals, 0.0)  # (7)
    s.down = max(s.down - down * q.arrivals, 0.0)
    if s.up == 0:
        s.share_up = 0.0
    if s.down == 0:
        s.share_down = 0.0


XCPRouter = register(
    Discipline(
        name="xcp_router",
        summary="writes rate changes for the senders into the headers of XCP packets",
        source="Katabi, Handley, Rohrs 2002",
        on_arrival=on_arrival,
        on_departure=on_departure,
        on_interval=on_interval,
        header={"xcp_rtt": 1, "xcp_spacing": 1, "xcp_change": 1},
        in_amounts=True,
        params={
            "alpha": Param(0.4, "", "share of the free rate that is shared out per interval", 0),
            "beta": Param(0.226, "", "share of the queue that is drained per interval", 0),
            "gamma": Param(0.1, "", "share of the input rate that is shuffled between flows", 0, 1),
            "first_control": Param(FIRST, "s", "time of the first control", 1e-6),
            "first_sample": Param(FIRST, "s", "time of the first queue sample", 1e-6),
        },
        state={
            "input": State(0, "bytes", "arrived since the last control"),
            "sum_x": State(0, "s", "sum of R/W of packets since the last control"),
            "sum_rtt_x": State(0, "s^2", "sum of R^2/W"),
            "mean_rtt": State(FIRST, "s", "mean round-trip time d"),
            "interval": State(FIRST, "s", "control interval"),
            "up": State(0, "bytes/s", "remaining increase to give"),
            "down": State(0, "bytes/s", "remaining decrease to take"),
            "share_up": State(0, "", "Cp"),
            "share_down": State(0, "1/s", "Cn"),
            "least": State(0, "bytes", "smallest queue since the last sample"),
            "standing": State(0, "bytes", "Q, smallest queue in the previous sampling time"),
            "sampling": State(FIRST, "s", "Tq"),
            "next_control": State(0, "s", "time of the next control; 0: not yet set"),
            "next_sample": State(0, "s", "time of the next queue sample"),
        },
    )
)
