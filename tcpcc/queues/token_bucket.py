"""A token bucket that shapes: packets above a rate and a burst wait.

Source: J. S. Turner, "New directions in communications", IEEE Communications Magazine 24(10), 1986;
RFC 2697's bucket; Linux ``sch_tbf``. The arithmetic is the virtual scheduling algorithm of ITU-T
I.371, which has no rounding: `z` is the time at which the bucket would have been empty.

With a rate of r bit/s and a burst of B bytes, the bucket holds r/8 (t - z) bytes, at most B:

(1)  a packet of b bytes is sent once z + 8 b/r <= t
(2)  then z <- max(z, t - 8 B/r) + 8 b/r
(3)  a packet larger than B is dropped on arrival: it could never be sent

In any time of T seconds at most B + r T/8 bytes leave. The link itself sends at its own rate, which
is Linux' `peakrate`; its buffer is Linux' `limit`. The bucket is full at the start. A policer
(:mod:`tcpcc.queues.policer`) drops what waits here.

Differences from Linux
    Linux keeps tokens in ns of transmission time, and stops adding at the burst as (2) does.
    Linux' `latency` is the link's buffer here.
Limits
    There is no ``on_fluid``: a drop law cannot delay. For `tcpcc.analysis` use a link of the
    rate r.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import Discipline

LONG_AGO = -1e12  # s; before any burst could have been used


def on_arrival(s, p, q):
    if q.size > p.burst:
        q.drop = 1.0  # (3)


def on_select(s, p, q):
    second = p.rate / 8  # bytes
    takes = q.head_size[0] / second
    if s.empty_at + takes > q.now:
        q.not_before = s.empty_at + takes  # (1)
        return
    s.empty_at = min(max(s.empty_at, q.now - p.burst / second) + takes, q.now)  # (2)
    s.tokens = second * (q.now - s.empty_at)


TokenBucket = register(
    Discipline(
        name="token_bucket",
        summary="delays packets above a rate and a burst (shaper)",
        source="Turner 1986; RFC 2697; Linux sch_tbf",
        on_arrival=on_arrival,
        on_select=on_select,
        params={
            "rate": Param(10e6, "bit/s", "rate at which the bucket fills", 1),
            "burst": Param(15e3, "bytes", "size of the bucket", 1),
        },
        state={
            "empty_at": State(LONG_AGO, "s", "z: when the bucket would have been empty"),
            "tokens": State(0, "bytes", "in the bucket after the newest departure"),
        },
        record=("tokens",),
    )
)
