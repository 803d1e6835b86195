"""The drift of a queue discipline's state, and where a discipline with a timer comes to rest.

An arrival changes the state by ``on_fluid``, and a timer by ``on_interval``, so

    dz/dt = arrivals (on_fluid(z) - z) + (on_interval(z) - z) / interval

The drop probability of a discipline with a timer (PI, PIE, REM) does not follow from the queue. It
moves until the queue has the length at which the timer leaves it as it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import accessor, address, call_rule, compiled, entry, number_at, record_dtype
from tcpcc.models.queue_memory import QUEUE_FIELDS, QueueMemory, queue_sample_at, run_timer

if TYPE_CHECKING:
    from tcpcc.scenario.network import Link

SMALL_ARRIVALS = 1e-3  # packets; arrivals per call of a discipline when its drift is measured
TICKS = 400  # calls of a timer at a constant queue, in which a burst allowance expires
PARTS = 256  # the shortest queue that is tried is the longest one divided by this
FIRST = 1e-4  # first share of dropped packets that is tried
LONGEST_STEP = 4.0  # factor between two drop shares, from one state of rest to the next
NOTHING = 1e-15  # a state variable that is smaller is 0
RESTS = 1e-6  # largest relative error of a state at rest

#: A queueing link. Rate in bit/s, size of a packet in bytes, room of the buffer in bits, number of
#: flows. Share of the packets that the discipline hits, and of ECT(1) packets; whether it marks
#: ECN-capable packets that it hits; largest share of the rate for ECT(1) packets, which then do not
#: wait (0: they wait).
LINK = record_dtype(
    [
        ("rate", float), ("size", float), ("room", float), ("flows", float),
        ("early", float), ("early_l4s", float), ("marks", float),
        ("bypass", float), ("inner", int), *QUEUE_FIELDS,
    ]
)  # fmt: skip

smooth_link_at = accessor(LINK)


@compiled
def ask(link, backlog, arrivals):
    """Update what a discipline hits, after `arrivals` packets at a backlog in bits."""
    q = queue_sample_at(link.sample, 0)
    q.now = 0.0
    q.queue_bytes = backlog / 8
    q.queue = q.queue_bytes / link.size
    q.size = link.size
    q.arrivals = arrivals
    q.rate = link.rate
    q.limit = link.room / (8 * link.size)
    q.flows, q.concentration = link.flows, 1 / link.flows  # of equal flows
    q.prob = q.spread = q.anew = q.marks = q.bypass = q.idle = 0.0
    q.prob_l4s = math.nan
    if link.inner > 1:
        number_at(link.each, 0).value = q.queue
        number_at(link.each, link.inner).value = q.queue_bytes
        number_at(link.each, 2 * link.inner).value = -backlog / link.rate
    call_rule(link.rule, link.state, link.params, link.sample)
    if math.isnan(q.prob):
        raise FloatingPointError("on_fluid left a q.prob that is NaN")
    link.early = link.early_l4s = min(max(q.prob, 0.0), 1.0)
    if not math.isnan(q.prob_l4s):
        link.early_l4s = min(max(q.prob_l4s, 0.0), 1.0)
    link.marks = q.marks
    link.bypass = q.bypass


@entry
def settle_queue(links, index, backlog, arrivals, times):
    """The share that a link's discipline drops after `times` calls with `arrivals` packets each, at
    a constant backlog in bits. Its timer is not called."""
    link = smooth_link_at(links, index)
    for _ in range(times):
        ask(link, backlog, arrivals)
    return link.early


@entry
def tick_queue(links, index, backlog, arrivals, times):
    """Call the timer of a link's discipline `times` times at a constant backlog in bits, each time
    after `arrivals` packets. Returns the time until the next call in s."""
    link = smooth_link_at(links, index)
    wake = 0.0
    for _ in range(times):
        ask(link, backlog, arrivals)
        wake = run_timer(link, 0.0)
        ask(link, backlog, 0.0)
    return wake


class QueueDrift:
    """The drift of the discipline of one link.

    Args:
        links: the links' records.
        k: number of this link.
        link: the link.
        seed: seed of the scenario.

    Attributes:
        names: names of its state variables that are numbers.
        timer: whether it has a timer.
    """

    def __init__(self, links: np.ndarray, k: int, link: Link, seed: int) -> None:
        discipline = link.queue.discipline
        self._links, self._k = links, k
        self._memory = QueueMemory(link, discipline.on_fluid, seed, 0)
        self._memory.fill(links[k])
        links[k]["inner"] = discipline.inner
        self.timer = discipline.on_interval is not None
        self.names = [name for name, x in discipline.state.items() if x.size == 1]

    @property
    def state(self) -> NDArray[np.float64]:
        """The present state, shape [name]."""
        return np.array([float(self._memory.state[name][0]) for name in self.names])

    @state.setter
    def state(self, z: NDArray[np.float64]) -> None:
        for name, value in zip(self.names, z, strict=True):
            self._memory.state[name] = value

    def drop_share(self, backlog: float, arrivals: float, times: int = 1) -> float:
        """The share dropped early at a backlog in bits, after `times` x `arrivals` packets."""
        return float(settle_queue(address(self._links), self._k, backlog, arrivals, times))

    def _tick(self, backlog: float, arrivals: float = 0.0, times: int = 1) -> float:
        """Call the timer, after `arrivals` packets; returns its interval in s."""
        return float(tick_queue(address(self._links), self._k, backlog, arrivals, times))

    def at(
        self, z: NDArray[np.float64], backlog: float, arriving: float
    ) -> tuple[NDArray[np.float64], float, float]:
        """dz/dt, the share hit, and that of ECT(1) packets, at state `z`, a backlog in bits and
        arrivals in packets/s."""
        saved = self._memory.state.copy()
        self.state = z
        prob = self.drop_share(backlog, SMALL_ARRIVALS)
        prob_l4s = float(self._links["early_l4s"][self._k])
        drift = (self.state - z) / SMALL_ARRIVALS * arriving
        if self.timer:
            self._memory.state[:] = saved
            self.state = z
            interval = self._tick(backlog)
            drift += (self.state - z) / interval
        self._memory.state[:] = saved
        return drift, prob, prob_l4s

    def start(self, longest: float, packets: float) -> float:
        """Put a discipline with a timer where it drops a few packets.

        Args:
            longest: longest backlog in bits.
            packets: packets/s that arrive.

        Returns:
            a backlog in bits at which the drop share grows; inf if there is none up to `longest`.
        """
        initial = self._memory.state.copy()
        arrivals = packets * self._tick(longest)
        backlog = longest / PARTS
        while backlog <= longest:
            self._memory.state[:] = initial
            before = 0.0
            for _ in range(TICKS):
                self._tick(backlog, arrivals)
                before, share = self.drop_share(backlog, 0.0), before
                if before > share > 0:
                    self._first = self.state
                    return backlog
            backlog *= 2
        self._memory.state[:] = initial
        return np.inf

    def rest(self, share: float, guess: float, packets: float) -> float:
        """Put a discipline with a timer at rest where it drops `share` of the packets.

        Args:
            share: share of the arrivals.
            guess: backlog in bits.
            packets: packets/s that arrive.

        Returns:
            the backlog in bits.

        Raises:
            ValueError: the drop share has no such state of rest.
        """
        self.state = self._first  # inside the range of the drop share, where it has slopes
        present = self.drop_share(guess, 0.0)
        steps = int(abs(np.log(share / present)) / np.log(LONGEST_STEP)) + 1
        backlog = guess
        for part in np.geomspace(present, share, steps + 1)[1:]:
            backlog = self._step_to(part, backlog, packets)
        self.drop_share(backlog, 0.0)  # leaves all shares in the link's record
        return backlog

    def _step_to(self, share: float, guess: float, packets: float) -> float:
        """:meth:`rest` from a state with a drop share that is not far away."""
        from scipy.optimize import least_squares

        z = self.state
        interval = self._tick(guess)
        self.state = z
        scale = np.maximum(np.abs(z), interval * np.abs(self.at(z, guess, packets)[0]))
        moves = scale > NOTHING  # a state that rests at 0 (a burst allowance) stays there
        scale[~moves] = 1.0

        def at(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
            state = np.zeros(len(z))
            state[moves] = x[1:] * scale[moves]
            return state, float(guess * np.exp(x[0]))

        def off(x: NDArray[np.float64]) -> NDArray[np.float64]:
            drift, prob, _ = self.at(*at(x), packets)
            return np.concatenate([[prob / share - 1], interval * drift / scale])

        start = np.concatenate([[0.0], z[moves] / scale[moves]])
        solution = least_squares(off, start, xtol=1e-14, ftol=1e-14, gtol=1e-14)
        if np.abs(solution.fun).max() > RESTS:
            raise ValueError(share)
        self.state, backlog = at(solution.x)
        return backlog
