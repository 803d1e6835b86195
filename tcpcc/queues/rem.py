"""Random Exponential Marking: a price that is constant at full rate and the target queue.

Source: S. Athuraliya, S. Low, V. Li, Q. Yin, "REM: active queue management", IEEE Network 15(3),
2001; ns-2.35's ``Queue/REM``.

Every `update_time` T, with `in` arrivals since the last update, q packets waiting and C the rate in
packets:

(1)  x <- (1 - inw) x + inw in
(2)  price <- max(price + gamma (x + a (q - target) - C T), 0)
(3)  prob = 1 - phi^(-price)

Every arriving packet is dropped with probability prob. Over several links 1 - prob multiplies, so
that the end-to-end drop probability gives the sum of the prices. In equilibrium q = target and
x = C T.

Differences from ns-2
    In ns-2 a is a constant, 0.1. C counts packets of `mean_packet` bytes.
"""

from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform
from tcpcc.queues.discipline import ECN, Discipline, notify


def on_interval(s, p, q):
    s.input = (1 - p.inw) * s.input + p.inw * s.arrived  # (1)
    capacity = p.update_time * (q.rate / (8 * p.mean_packet))
    s.price += p.gamma * (s.input + p.a * (q.queue - p.target) - capacity)  # (2)
    if s.price < 0:
        s.price = 0.0
    s.prob = 1 - p.phi**-s.price  # (3)
    s.arrived = 0.0
    q.wake = q.now + p.update_time


def on_arrival(s, p, q):
    s.arrived += 1
    if q.full == 0 and uniform(s) <= s.prob:
        notify(p, q)


def on_fluid(s, p, q):
    s.arrived += q.arrivals
    q.prob = s.prob
    q.spread = 1.0
    q.marks = 1.0 if p.ecn else 0.0


REM = register(
    Discipline(
        name="rem",
        summary="drops with a probability that grows with a price of rate and queue",
        source="Athuraliya, Low, Li, Yin 2001",
        on_arrival=on_arrival,
        on_fluid=on_fluid,
        on_interval=on_interval,
        params={
            "target": Param(20, "packets", "target queue (b*; ns-2: pbo_)", 0),
            "gamma": Param(0.001, "", "step of the price", 0),
            "phi": Param(1.001, "", "base of the probability", 1),
            "a": Param(0.1, "", "weight of the queue relative to the rate", 0),
            "update_time": Param(0.002, "s", "time between updates (ns-2: pupdtime_)", 1e-6),
            "inw": Param(1, "", "gain of the average input", 0, 1),
            "mean_packet": Param(1000, "bytes", "packet size that C refers to", 1),
            "ecn": ECN,
        },
        state={
            "price": State(0, "", "price of the link"),
            "prob": State(0, "", "drop probability"),
            "input": State(0, "packets", "average number of arrivals between updates"),
            "arrived": State(0, "packets", "arrivals since the last update"),
        },
        record=("price", "prob"),
    )
)
