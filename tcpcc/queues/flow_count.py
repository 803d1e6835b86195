"""Number of flows on a link: SRED's estimate from hits in a list of zombies (recent packets).

Source: T. J. Ott, T. V. Lakshman, L. H. Wong, "SRED: stabilized RED", INFOCOM 1999.

(1)  An arriving packet is compared with a zombie drawn at random: `hit` is 1 if both are of the
     same flow. Otherwise it is 0, and with probability `overwrite` the packet's flow replaces the
     zombie.
(2)  P <- (1 - a) P + a hit,    a = overwrite / zombies
(3)  n = 1 / P

P tends to the sum of the squared shares of the arrivals: (3) is the number of flows when all send
at the same rate, and less when they do not (two flows of 3/4 and 1/4 count as 1.6).

Differences from the paper
    With `warm_up`, P is the mean of all hits until the weight of each is less than a. Without it, P
    starts at 0 and needs several times zombies / overwrite arrivals. n is at most `zombies`. While
    the list is not full, packets are compared with its entries, then added to it.
    The text of the paper was not available: constants and steps are as commonly described.
Fluid
    The flows' shares of the list follow their shares of the arrivals with a memory of zombies /
    overwrite packets, exactly the mean of (1). P follows the probability of a hit.
"""

import math

from tcpcc.definition import Flag, Param, State
from tcpcc.engine.streams import uniform

ROOM = 1000  # longest list of zombies

ESTIMATOR_PARAMS = {
    "zombies": Param(ROOM, "", "length of the list of zombies", 1, ROOM),
    "overwrite": Param(0.25, "", "probability that a miss overwrites the zombie", 1e-6, 1),
    "warm_up": Flag(True, "P is the mean of the hits for the first 1/a packets"),
}
ESTIMATOR_STATE = {
    "hit_frequency": State(0, "", "frequency P of hits"),
    "hit": State(0, "0 or 1", "the last packet hit its zombie (packet model)"),
    "compared": State(0, "packets", "compared with a zombie so far"),
    "filled": State(0, "", "zombies in the list"),
    "zombies": State(0, "", "flow number of each zombie", ROOM),
}

#: State of a discipline that knows or estimates the number of connections.
FLOWS = State(0, "", "number of connections that the queue assumes")


def compare(s, p, q):
    """(1) and (2) for an arriving packet."""
    s.hit = 0.0
    place = 0
    if s.filled > 0:
        place = math.floor(uniform(s) * min(s.filled, p.zombies))
        if s.zombies[place] == q.flow:
            s.hit = 1.0
        s.compared += 1
        gain = p.overwrite / p.zombies
        if p.warm_up:
            gain = max(gain, 1 / s.compared)
        s.hit_frequency += gain * (s.hit - s.hit_frequency)
    if s.filled < math.floor(p.zombies):
        s.zombies[math.floor(s.filled)] = q.flow
        s.filled += 1
    elif s.hit == 0 and uniform(s) < p.overwrite:
        s.zombies[place] = q.flow


def compare_fluid(s, p, q):
    """As :func:`compare`, for `q.arrivals` packets."""
    if s.filled > 0 and q.arrivals > 0:
        s.compared += q.arrivals
        weight = 1 - (1 - p.overwrite / p.zombies) ** q.arrivals
        if p.warm_up:
            weight = max(weight, q.arrivals / s.compared)
        s.hit_frequency += weight * (q.concentration - s.hit_frequency)
    s.filled = min(s.filled + q.arrivals, p.zombies)


def estimated_flows(s, p):
    """(3)."""
    return 1 / max(s.hit_frequency, 1 / p.zombies)
