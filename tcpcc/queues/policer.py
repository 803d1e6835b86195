"""A policer: a token bucket that drops packets above a rate and a burst, and delays no packet.

Source: a token bucket as in RFC 2697's committed part; T. Flach et al., "An Internet-wide analysis
of traffic policing", SIGCOMM 2016.

With a burst of B bytes, u of them used:

(1)  u <- max(u - rate/8 (t - t_last), 0)
(2)  a packet of b bytes passes if u + b <= B, and u <- u + b; else it is dropped

The link may be faster than `rate`. To combine it with another discipline, put a link of infinite
rate with this one before that discipline's link.

Limits
    There is no ``on_fluid``: `tcpcc.analysis` has no bursts and refuses this discipline.
"""

from tcpcc.definition import Param, State, register
from tcpcc.queues.discipline import Discipline


def on_arrival(s, p, q):
    s.used = max(s.used - p.rate / 8 * (q.now - s.last), 0.0)  # (1)
    s.last = q.now
    if s.used + q.size > p.burst:
        q.drop = 1.0
    elif q.full == 0:
        s.used += q.size  # (2)


Policer = register(
    Discipline(
        name="policer",
        summary="drops packets above a rate and a burst (token bucket)",
        source="RFC 2697; Flach et al. 2016",
        on_arrival=on_arrival,
        params={
            "rate": Param(10e6, "bit/s", "rate at which the bucket fills", 1),
            "burst": Param(100e3, "bytes", "size of the bucket", 1),
        },
        state={
            "used": State(0, "bytes", "used part of the burst"),
            "last": State(0, "s", "time of the last arrival"),
        },
        record=("used",),
    )
)
