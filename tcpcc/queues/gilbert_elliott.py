"""Losses in bursts: the Gilbert-Elliott channel, with a drop-tail queue after it.

Source: E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39(5),
1960; E. O. Elliott, "Estimates of error rates for codes on burst-noise channels", ibid. 42(5),
1963.

A channel is good or bad. For each packet:

(1)  good -> bad with probability p, bad -> good with probability r
(2)  a packet is lost with probability 1 - k in the good state, 1 - h in the bad one

It is bad for a share p / (p + r) of the packets, in bursts of 1/r packets on average.

Differences from the papers
    The states change from packet to packet, not from bit to bit.
Limits
    There is no ``on_fluid``: `tcpcc.analysis` has no bursts and refuses this discipline. To
    combine it with an active queue, put a link of infinite rate with this discipline before that
    queue's link.
"""

from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform
from tcpcc.queues.discipline import Discipline


def on_arrival(s, p, q):
    if s.bad == 0:
        if uniform(s) < p.p:
            s.bad = 1.0
    elif uniform(s) < p.r:
        s.bad = 0.0  # (1)
    loss = 1 - p.h if s.bad != 0 else 1 - p.k
    q.drop = 1.0 if uniform(s) < loss else 0.0  # (2)


GilbertElliott = register(
    Discipline(
        name="gilbert_elliott",
        summary="drop-tail after a channel that loses packets in bursts",
        source="Gilbert 1960; Elliott 1963",
        on_arrival=on_arrival,
        params={
            "p": Param(0.001, "", "probability from good to bad, per packet", 0, 1),
            "r": Param(0.1, "", "probability from bad to good, per packet", 0, 1),
            "h": Param(0.0, "", "probability that a packet survives in the bad state", 0, 1),
            "k": Param(1.0, "", "probability that a packet survives in the good state", 0, 1),
        },
        state={"bad": State(0, "0 or 1", "the channel is bad")},
    )
)
