"""Equilibria: the queues at which every full link carries exactly its rate.

For given queues and drop probabilities each class of flows settles by itself, where the drift of
its rules is zero (`settling`). So the unknowns are one number per full link: its queue, or, once
the buffer is full, the share of the arrivals that finds no room. At a discipline with a timer it is
the share that the discipline drops, once the queue has the length at which the timer leaves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import address
from tcpcc.errors import NoEquilibriumError
from tcpcc.models.analysis.queue_drift import FIRST
from tcpcc.models.analysis.settling import settle_class
from tcpcc.models.analysis.smooth_world import FlowClass, SmoothWorld
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    import xarray as xr

    from tcpcc.scenario import Scenario

ALL = 1 - 1e-9  # largest share of lost packets; keeps losses per ACK finite
ROUNDS = 400_000  # most round trips in which a class may settle
FRESH = 1e8  # arrivals per call of a discipline while it settles
TIMES = 40  # calls of a discipline while it settles
EXCESS = 4.0  # a class that would send faster than this many path rates has no equilibrium window
FULL = 1 - 1e-6  # a link with at least this utilization is full
EXACT = 1e-3  # of a link's rate: loads closer than this to the rate are equal to it
GENTLE = 16.0  # a larger value makes the drop share of a discipline with a timer grow slower
JUMP = 0.02  # of a link's rate: rules that count whole packets (Vegas) have jumps of this size
LAST = 64.0  # a link that is overloaded at this fill is overloaded at any drop probability

Array = NDArray[np.float64]


@dataclass
class Hits:
    """What the links drop and mark, shape [queueing link].

    Attributes:
        early, early_l4s: share that the discipline drops or marks, and the same of ECT(1) packets.
        over: share of the accepted packets that finds the buffer full.
    """

    early: Array
    early_l4s: Array
    over: Array


@dataclass
class Balance:
    """The state of classes and links that follows from assumed queues.

    Attributes:
        backlog: queueing delay times the rate, in bits, shape [queueing link].
        hits: what the links drop and mark.
        rtt, cwnd, rate: values of one flow in s, packets and packets/s, shape [class].
        lost: share of a class's packets that is lost or marked, shape [class].
        load: traffic to carry as a share of each link's rate, shape [queueing link].
        still: whether each class is at rest, shape [class].
    """

    backlog: Array
    hits: Hits
    rtt: Array
    cwnd: Array
    rate: Array
    lost: Array
    load: Array
    still: NDArray[np.bool_]


class Solver:
    """Finds the equilibrium of one scenario; :meth:`solve` leaves `world` there."""

    def __init__(self, scenario: Scenario) -> None:
        self.world = w = SmoothWorld(scenario)
        self.initial = [state.copy() for state in w.states]
        self.rate, self.room, self.size = (w.link_rows[x] for x in ("rate", "room", "size"))
        longest = max((flow_class.route.base_rtt for flow_class in w.classes), default=0.0)
        self.scale = np.where(np.isfinite(self.room), self.room, self.rate * longest)
        #: the backlog in bits at which a timer begins to drop, if the buffer is not full then
        self.onset: dict[int, float] = {}
        for k, queue in w.queues.items():
            if queue.timer:
                guess = queue.start(self.scale[k], self.rate[k] / (8 * self.size[k]))
                onset = guess if math.isinf(guess) else self._rest(k, FIRST, guess)
                if onset < self.room[k]:
                    self.onset[k] = onset

    # ------------------------------------------------------------- queues, and what they drop

    def _rest(self, k: int, share: float, guess: float) -> float:
        """The backlog in bits at which the timer of link `k` keeps a drop share; leaves the
        discipline's state there."""
        w = self.world
        marked = w.link_rows["marks"][k] and all(flow_class.ect for flow_class in w.classes)
        packets = self.rate[k] / (8 * self.size[k]) / (1 if marked else 1 - share)
        try:
            return w.queues[k].rest(share, guess, packets)
        except ValueError:
            link = w.links[k]
            raise NoEquilibriumError(
                f"link {link.name!r}: no queue at which the timer of {link.queue.name!r} keeps the"
                " drop share that the link needs"
            ) from None

    def hits(self, backlog: Array) -> Hits:
        """What links without timers hit at their `backlog` in bits; nothing at the others."""
        hits = Hits(*np.zeros((3, len(self.world.links))))
        for k, queue in self.world.queues.items():
            if not queue.timer:
                hits.early[k] = queue.drop_share(backlog[k], FRESH, TIMES)
                hits.early_l4s[k] = self.world.link_rows["early_l4s"][k]
        return hits

    # ------------------------------------------------------------- packets on their paths

    def waits(self, flow_class: FlowClass, j: int) -> bool:
        """Whether the packets of a class wait at hop `j` (those of L4S in DualPI2 do not)."""
        bypass = self.world.link_rows["bypass"][flow_class.hops[j]]
        return not (flow_class.ect == 2 and j < flow_class.route.n_forward and bypass > 0)

    def passing(self, flow_class: FlowClass, j: int, hits: Hits) -> tuple[float, float, float]:
        """Shares of the packets of a class that the discipline at hop `j` lets in, that pass the
        link, and that it marks. ACKs pass."""
        k = flow_class.hops[j]
        hit = (hits.early_l4s if flow_class.ect == 2 else hits.early)[k]
        marked = hit * self.world.link_rows["marks"][k] if flow_class.ect else 0.0
        let_in = 1 - hit + marked
        if j >= flow_class.route.n_forward:
            return let_in, 1.0, marked
        over = hits.over[k] if self.waits(flow_class, j) else 0.0
        return let_in, let_in * (1 - over) * (1 - self.world.links[k].loss), marked

    def feedback(self, flow_class: FlowClass, hits: Hits) -> tuple[float, float]:
        """Shares of a class's packets that are lost and marked on its path."""
        delivered = unmarked = 1.0
        for j in range(flow_class.route.n_forward):
            _, passed, marked = self.passing(flow_class, j, hits)
            delivered, unmarked = delivered * passed, unmarked * (1 - marked)
        return min(1 - delivered, ALL), 1 - unmarked

    def round_trip(self, flow_class: FlowClass, backlog: Array) -> float:
        """A class's round-trip time in s, given the backlogs."""
        waits = [
            backlog[k] / self.rate[k]
            for j, k in enumerate(flow_class.hops)
            if self.waits(flow_class, j)
        ]
        return flow_class.route.base_rtt + float(sum(waits))

    def hop_rates(self, rate: Array, hits: Hits) -> list[list[float]]:
        """Packets/s of one flow that reach each hop, by class, if `rate` are sent."""
        by_class = []
        for flow_class, sent in zip(self.world.classes, rate, strict=True):
            rates = []
            for j in range(len(flow_class.hops)):
                rates.append(float(sent))
                sent *= self.passing(flow_class, j, hits)[1]
            by_class.append(rates)
        return by_class

    def loads(self, rate: Array, hits: Hits) -> tuple[Array, Array]:
        """Packets that disciplines let in, in bit/s at each link: those that wait and those that
        do not, given the sending rate of one flow of each class."""
        waiting, passing = np.zeros((2, len(self.rate)))
        for flow_class, rates in zip(self.world.classes, self.hop_rates(rate, hits), strict=True):
            for j, k in enumerate(flow_class.hops):
                into = waiting if self.waits(flow_class, j) else passing
                into[k] += (
                    flow_class.count
                    * rates[j]
                    * self.passing(flow_class, j, hits)[0]
                    * flow_class.bits[j]
                )
        return waiting, passing

    def left(self, passing: Array) -> Array:
        """What packets that do not wait leave of each link's rate, in bit/s."""
        bypass = self.world.link_rows["bypass"]
        return np.maximum(self.rate - passing, self.rate * (1 - bypass))

    # ------------------------------------------------------------- equilibrium

    def settle(
        self, i: int, rtt: float, lost: float = 0.0, marked: float = 0.0, rounds: int = ROUNDS
    ) -> tuple[float, bool]:
        """Follow class `i` from its first loss to rest; returns its window and whether it rests.

        With `rounds` = 0 the class stays in the state after the first loss.
        """
        w = self.world
        row, flow_class = w.rows[i], w.classes[i]
        row["rtt"] = row["max_rtt"] = rtt
        w.states[i][:] = self.initial[i]
        fastest = min(
            (self.rate[k] for k in flow_class.hops[: flow_class.route.n_forward]), default=math.inf
        )
        most = EXCESS * fastest / (8 * flow_class.flow.spec.packet_size) * rtt
        return settle_class(address(w.rows), i, lost, marked, rounds, most)

    def balance(self, fill: Array) -> Balance:
        """The state for queues of `fill` times the links' scale, or times the queue that a timer
        keeps. Larger values are losses."""
        w, n = self.world, len(self.world.classes)
        backlog = np.minimum(np.clip(fill, 0, None) * self.scale, self.room)
        hits = self.hits(backlog)
        hits.over[:] = -np.expm1(-np.clip(fill * self.scale / self.room - 1, 0, None))
        for k, onset in self.onset.items():
            backlog[k], hits.over[k] = min(max(fill[k], 0.0), 1.0) * onset, 0.0
            if fill[k] > 1:
                hits.early[k] = -np.expm1((1 - fill[k]) / GENTLE)
                try:
                    backlog[k] = self._rest(k, hits.early[k], onset)
                except NoEquilibriumError:  # no queue keeps so large a share; `solve` checks it
                    backlog[k] = self.scale[k]
                hits.early_l4s[k] = w.link_rows["early_l4s"][k]
        rtt, cwnd, rate, lost = np.zeros((4, n))
        still = np.ones(n, bool)
        for i, flow_class in enumerate(w.classes):
            rtt[i] = self.round_trip(flow_class, backlog)
            gone, marked = self.feedback(flow_class, hits)
            lost[i] = 1 - (1 - gone) * (1 - marked)
            if isinstance(flow_class.flow.spec, CBR):
                rate[i] = flow_class.flow.spec.rate / (8 * flow_class.flow.spec.packet_size)
                continue
            cwnd[i], still[i] = self.settle(i, rtt[i], gone, marked)
            if not 0 < cwnd[i] < math.inf:
                raise NoEquilibriumError(f"flow {flow_class.name!r}: its window does not settle")
            rate[i] = min(cwnd[i], w.rows["rwnd"][i]) / rtt[i]
        offered, passing = self.loads(rate, hits)
        load = (offered * (1 - hits.over) + passing) / self.rate
        return Balance(backlog, hits, rtt, cwnd, rate, lost, load, still)

    def solve(self) -> Balance:
        """Find the equilibrium.

        Raises:
            NoEquilibriumError: no equilibrium was found.
        """
        fill = np.zeros(len(self.rate))
        balance = self.balance(fill)
        full = balance.load > FULL
        for _ in range(2 * len(full) + 2):
            if full.any():
                fill = self._fill(full, fill)
            balance = self.balance(fill)
            more = ~full & (balance.load > FULL)
            less = full & (fill <= 0)
            if not more.any() and not less.any():
                for k, onset in self.onset.items():
                    if fill[k] > 1:
                        self._rest(k, balance.hits.early[k], onset)
                self._check_loads(full, balance)
                return balance
            full = (full | more) & ~less
            fill = np.where(full, fill, 0.0)
        raise NoEquilibriumError("could not determine which links are full")

    def _check_loads(self, full: NDArray[np.bool_], balance: Balance) -> None:
        """Refuse a full link that does not carry its rate.

        The load jumps past the rate where a rule compares the queueing delay with a threshold. The
        flows that cause a small jump are not at rest.
        """
        error = np.where(full, np.abs(balance.load - 1), 0.0)
        for k in np.flatnonzero(error > JUMP):
            raise NoEquilibriumError(
                f"link {self.world.links[k].name!r}: no queue at which it carries its rate: at"
                f" {balance.backlog[k] / (8 * self.size[k]):.4g} packets, where the rules of a"
                f" controller switch, its utilization jumps past 1 (to {balance.load[k]:.4g})"
            )
        for i, flow_class in enumerate(self.world.classes):
            balance.still[i] &= not flow_class.flow.is_tcp or all(error[[*flow_class.hops]] < EXACT)

    def _fill(self, full: NDArray[np.bool_], guess: Array) -> Array:
        """The fill of the links at which the `full` links carry exactly their rates."""
        from scipy.optimize import brentq, root

        places = np.flatnonzero(full)

        def filled(part: Array) -> Array:
            fill = np.zeros(len(full))
            fill[places] = part
            return fill

        def excess(part: Array) -> Array:
            # below an empty queue the load keeps growing, to lead the search back
            load = self.balance(filled(part)).load[places]
            return np.log(np.maximum(load, 1e-300)) - np.minimum(part, 0)

        if len(places) == 1:
            low, high = 0.0, 1.0
            while excess(np.array([high]))[0] > 0:
                low, high = high, 2 * high
                if high > LAST:
                    raise NoEquilibriumError("a link is overloaded at any drop probability")
            solution = brentq(lambda s: excess(np.array([s]))[0], low, high, xtol=1e-12)
            return filled(np.array([solution]))
        part = start = np.where(guess[places] > 0, guess[places], 0.5)
        error = math.inf
        for first in (start, np.full(len(places), 0.1), np.full(len(places), 1.2)):
            tried = root(excess, first, method="hybr", options={"xtol": 1e-10})
            if (size := float(np.abs(tried.fun).max())) < error:
                part, error = tried.x, size
            if error < 1e-6:
                break
        if error > EXACT:
            raise NoEquilibriumError(f"loads differ from the links' rates by {error:.2g}")
        return filled(part)


def equilibrium(scenario: Scenario) -> xr.Dataset:
    """The equilibrium of the fluid model's smooth limit, stable or not.

    All flows are assumed to be open and to have seen an empty queue: `base_rtt` is the base
    round-trip time. A controller that does nothing over a range (Vegas, alpha < beta) is assumed to
    enter this range from below.

    Args:
        scenario: any mix of controllers, round-trip times and topology.

    Returns:
        a dataset with, by flow: `cwnd` (packets), `rtt` (s), `rate` (packets/s) of one flow,
        `lost` (share lost or marked), `still` (False: the window did not come to rest, and the
        value is a mean. Its rules switch around the value, or its drift depends on the queue and
        not on the window); by queueing link: `queue` (packets), `delay` (s), `loss` (share dropped
        or marked, in DualPI2 of the packets that are not L4S), `utilization`.

    Raises:
        ScenarioError: flows that end, changes, or rules that have no mean; see `unsupported`.
        NoEquilibriumError: no equilibrium was found; or a rule compares the queueing delay with a
            threshold, so that a link is overloaded just below a queue and idle just above it.
    """
    import xarray as xr

    solver = Solver(scenario)
    balance, w = solver.solve(), solver.world
    flows = {k: i for i, flow_class in enumerate(w.classes) for k in flow_class.members}
    at = [flows[k] for k in range(len(flows))]
    hits = balance.hits
    waiting = balance.backlog * solver.left(solver.loads(balance.rate, hits)[1]) / solver.rate
    passed = (1 - hits.early) * (1 - hits.over) * (1 - np.array([link.loss for link in w.links]))
    table = {
        "cwnd": ("flow", balance.cwnd[at], "packets", "congestion window of one flow"),
        "rtt": ("flow", balance.rtt[at], "s", "round-trip time"),
        "rate": ("flow", balance.rate[at], "packets/s", "sending rate of one flow"),
        "lost": ("flow", balance.lost[at], "1", "share of its packets lost or marked"),
        "still": ("flow", balance.still[at], "", "whether the window came to rest"),
        "queue": ("link", waiting / (8 * solver.size), "packets", "packets in the queue"),
        "delay": ("link", balance.backlog / solver.rate, "s", "queueing delay"),
        "loss": ("link", 1 - passed, "1", "share dropped or marked"),
        "utilization": ("link", balance.load, "1", "share of the link's rate that is used"),
    }
    return xr.Dataset(
        {name: (dim, values, {"units": unit, "long_name": text})
         for name, (dim, values, unit, text) in table.items()},
        coords={
            "flow": [flow.name for flow in w.resolved.flows],
            "link": [link.name for link in w.links],
        },
    )  # fmt: skip
