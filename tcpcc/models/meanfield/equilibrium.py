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

from tcpcc.engine.jit import address
from tcpcc.errors import TcpccError
from tcpcc.models.meanfield.lookback import ALL
from tcpcc.models.meanfield.queue_drift import FIRST, QueueDrift
from tcpcc.transport import flow_record as t

if TYPE_CHECKING:
    import xarray as xr

    from tcpcc.models.meanfield.meanfield_world import MeanFieldWorld
    from tcpcc.scenario import Scenario

ROUNDS = 400_000  # most round trips in which a class may settle
FRESH = 1e8  # arrivals per call of a discipline while it settles
TIMES = 40  # calls of a discipline while it settles
EXCESS = 4.0  # a class that would send faster than this many path rates has no equilibrium window
FULL = 1 - 1e-6  # a link with at least this utilization is full
EXACT = 1e-3  # of a link's rate: loads closer than this to the rate are equal to it
GENTLE = 16.0  # a larger value makes the drop share of a discipline with a timer grow slower
JUMP = 0.02  # of a link's rate: rules that count whole packets (Vegas) have jumps of this size


class NoEquilibriumError(TcpccError):
    """No equilibrium was found."""


@dataclass
class Hits:
    """What the links drop and mark, shape [queueing link].

    Attributes:
        early, early_l4s: share that the discipline drops or marks, and the same of ECT(1) packets.
        over: share of the accepted packets that finds the buffer full.
    """

    early: np.ndarray
    early_l4s: np.ndarray
    over: np.ndarray


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

    backlog: np.ndarray
    hits: Hits
    rtt: np.ndarray
    cwnd: np.ndarray
    rate: np.ndarray
    lost: np.ndarray
    load: np.ndarray
    still: np.ndarray


@dataclass
class Rates:
    """Rates of one flow of each class, and the growth of the backlogs.

    Attributes:
        rtt: round-trip times in s, shape [class].
        acks, losses, marks: acknowledged, lost and marked packets per s, shape [class].
        drift: growth of the backlogs in bit/s, shape [queueing link].
    """

    rtt: np.ndarray
    acks: np.ndarray
    losses: np.ndarray
    marks: np.ndarray
    drift: np.ndarray


class Solver:
    """Finds the equilibrium of one scenario; :meth:`solve` leaves `world` there."""

    def __init__(self, scenario: Scenario, marking: bool = False) -> None:
        from tcpcc.models.meanfield.meanfield_world import MeanFieldWorld

        self.world: MeanFieldWorld = MeanFieldWorld(scenario, bins=False, marking=marking)
        self.initial = [state.copy() for state in self.world.states]
        links = self.world.links
        self.room = np.where(
            links["in_bytes"] != 0, 8 * links["limit"], 8 * links["limit"] * links["size"]
        )
        self.scale = np.array(
            [
                room if math.isfinite(room) else rate * float(self.world.classes["base_rtt"].max())
                for room, rate in zip(self.room, links["rate"], strict=True)
            ]
        )
        links["arriving"] = links["rate"] / (8 * links["size"])
        self.queues: dict[int, QueueDrift] = {
            k: QueueDrift(
                links,
                k,
                self.world.queues[index],
                self.world.resolved.links[index].queue.discipline,
            )
            for k, index in enumerate(self.world.kept)
            if links["rule"][k]
        }
        #: of links with a timer: the backlog in bits at which the first packets are dropped early;
        #: if it is shorter than the buffer, also the largest share of packets dropped early
        self.onset: dict[int, float] = {}
        self.most: dict[int, float] = {}
        for k, queue in self.queues.items():
            if queue.timer:
                packets, longest = links["arriving"][k], self.scale[k]
                onset = self._rest(k, FIRST, queue.start(longest, packets))
                self.onset[k] = min(onset, self.room[k])
                if onset < self.room[k]:
                    self.most[k] = self._most(k, queue.most(longest, packets))

    def _most(self, k: int, share: float) -> float:
        """The largest share, within a tenth, up to `share` that the timer of link `k` keeps at some
        queue (REM: the price of the arrivals beyond the rate needs a shorter queue)."""
        while share > FIRST:
            try:
                self._rest(k, share, self.onset[k])
            except NoEquilibriumError:
                share *= 0.9
            else:
                break
        return share

    def _rest(self, k: int, share: float, guess: float) -> float:
        """The backlog in bits at which the timer of link `k` keeps a drop share; leaves the
        discipline's state there."""
        if math.isinf(guess):
            return guess
        row = self.world.links[k]
        marked = row["marks"] and (self.world.classes["ect"] > 0).all()
        packets = row["rate"] / (8 * row["size"]) / (1 if marked else 1 - share)
        try:
            return self.queues[k].rest(share, guess, packets)
        except ValueError as error:
            link = self.world.resolved.links[self.world.kept[k]]
            raise NoEquilibriumError(
                f"link {link.name!r}: queue {link.queue.name!r}: {error}"
            ) from None

    def hits(self, backlog: np.ndarray) -> Hits:
        """What links without timers hit at their `backlog` in bits; nothing at the others."""
        links = self.world.links
        early, early_l4s = np.zeros((2, len(links)))
        for k, queue in self.queues.items():
            if not queue.timer:
                early[k] = queue.drop_share(backlog[k], FRESH, TIMES)
                early_l4s[k] = links["early_l4s"][k]
        return Hits(early, early_l4s, np.zeros(len(links)))

    def bypasses(self, i: int, k: int, j: int) -> bool:
        """Whether the packets of class `i` do not wait at link `k`, place `j` of its path; ACKs
        wait."""
        w = self.world
        l4s = w.classes["ect"][i] == 2 and j < w.plans[i].n_forward
        return bool(l4s and w.links["bypass"][k] > 0)

    def passing(self, i: int, k: int, hits: Hits) -> tuple[float, float, float]:
        """Shares of the packets of class `i` that the discipline of link `k` lets in, that pass the
        link, and that it marks."""
        w = self.world
        ect, link = w.classes["ect"][i], w.links[k]
        hit = (hits.early_l4s if ect == 2 else hits.early)[k]
        marked = hit * link["marks"] if ect else 0.0
        let_in = 1 - hit + marked
        over = 0.0 if self.bypasses(i, k, 0) else hits.over[k]
        return let_in, let_in * (1 - over) * (1 - link["loss"]), marked

    def told(self, i: int, hits: Hits) -> tuple[float, float]:
        """Shares of a class's packets that are lost and marked on its path."""
        plan = self.world.plans[i]
        ahead = [self.world.place[index] for index in plan.links[: plan.n_forward]]
        kept = unmarked = 1.0
        for k in ahead:
            _, passed, marked = self.passing(i, k, hits)
            kept, unmarked = kept * passed, unmarked * (1 - marked)
        return min(1 - kept, ALL), 1 - unmarked

    def round_trip(self, i: int, backlog: np.ndarray) -> float:
        """A class's round-trip time in s, given the backlogs."""
        plan, w = self.world.plans[i], self.world
        on = [w.place[index] for j, index in enumerate(plan.links)
              if not self.bypasses(i, w.place[index], j)]  # fmt: skip
        return plan.base_rtt + float(sum(backlog[k] / w.links["rate"][k] for k in on))

    def loads(self, rate: np.ndarray, hits: Hits) -> tuple[np.ndarray, np.ndarray]:
        """Packets that disciplines let in, in bit/s at each link: those that wait and those that
        do not, given the sending rate of one flow of each class."""
        w = self.world
        bits = np.zeros((2, len(w.links)))
        for i, plan in enumerate(w.plans):
            row, sent = w.classes[i], float(rate[i])
            for j, index in enumerate(plan.links):
                k, slot = w.place[index], w.slots[int(row["first_slot"]) + j]
                let_in, passed, _ = self.passing(i, k, hits)
                if j >= plan.n_forward:
                    passed = 1.0
                bits[int(self.bypasses(i, k, j)), k] += (
                    row["count"] * sent * let_in * 8 * slot["size"]
                )
                sent *= passed
        return bits[0], bits[1]

    def left(self, passing: np.ndarray) -> np.ndarray:
        """What packets that do not wait leave of each link's rate, in bit/s."""
        links = self.world.links
        return np.maximum(links["rate"] - passing, links["rate"] * (1 - links["bypass"]))

    def settle_class(self, i: int, rtt: float, loss: float, mark: float) -> tuple[float, bool]:
        """The equilibrium window of a class, and whether it is at rest; leaves its state there."""
        from tcpcc.models.meanfield.settling import settle_class

        w = self.world
        row, plan = w.classes[i], w.plans[i]
        row["rtt"] = row["max_rtt"] = rtt
        row["min_rtt"] = plan.base_rtt
        ahead = [w.place[index] for index in plan.links[: plan.n_forward]]
        fastest = min((float(w.links["rate"][k]) for k in ahead), default=math.inf)
        size = 8 * w.resolved.flows[w.kinds[i].flow].spec.packet_size
        w.states[i][:] = self.initial[i]
        most = EXCESS * fastest / size * rtt
        return settle_class(address(w.classes), i, loss, mark, ROUNDS, most)

    def settle_at_first_window(self, i: int) -> None:
        """Put a class in the state after a first loss at its initial window."""
        from tcpcc.models.meanfield.settling import settle_class

        row = self.world.classes[i]
        row["rtt"] = row["max_rtt"] = row["min_rtt"] = self.world.plans[i].base_rtt
        self.world.states[i][:] = self.initial[i]
        settle_class(address(self.world.classes), i, 0.0, 0.0, 0, math.inf)

    def flow_rates(self, cwnd: np.ndarray, backlog: np.ndarray) -> Rates:
        """The rates that windows and backlogs give if there are no delays."""
        w = self.world
        n = len(w.classes)
        rtt = np.array([self.round_trip(i, backlog) for i in range(n)])
        rate = np.minimum(cwnd, w.classes["rwnd"]) / rtt
        hits = self.hits(backlog)
        offered, passing = self.loads(rate, hits)
        packet = 8 * w.links["size"]
        full = np.clip((backlog - self.room + packet) / packet, 0, 1)
        left = self.left(passing)
        hits.over[:] = full * (1 - left / np.maximum(offered, left))
        offered, passing = self.loads(rate, hits)
        left = self.left(passing)
        gone, marked = np.array([self.told(i, hits) for i in range(n)]).T
        acks = rate * (1 - gone)
        drift = offered * (1 - hits.over) * (w.links["rate"] / left) - w.links["rate"]
        return Rates(rtt, acks, acks * gone / (1 - gone), acks * marked, drift)

    def balance(self, fill: np.ndarray) -> Balance:
        """The state for queues of `fill` times the links' scale, or times the queue that a timer
        keeps. Larger values are losses."""
        w = self.world
        backlog = np.minimum(np.clip(fill, 0, None) * self.scale, self.room)
        hits = self.hits(backlog)
        hits.over[:] = -np.expm1(-np.clip(fill * self.scale / self.room - 1, 0, None))
        for k, most in self.most.items():
            onset = self.onset[k]
            backlog[k], hits.over[k] = min(max(fill[k], 0.0), 1.0) * onset, 0.0
            if fill[k] > 1:
                hits.early[k] = -most * np.expm1((1 - fill[k]) / GENTLE)
                backlog[k] = self._rest(k, hits.early[k], onset)
                hits.early_l4s[k] = w.links["early_l4s"][k]
        n = len(w.classes)
        rtt, cwnd, rate, lost = (np.zeros(n) for _ in range(4))
        still = np.ones(n, bool)
        for i, row in enumerate(w.classes):
            rtt[i] = self.round_trip(i, backlog)
            gone, marked = self.told(i, hits)
            lost[i] = 1 - (1 - gone) * (1 - marked)
            if row["kind"] == t.CBR:
                rate[i] = row["rate"]
                continue
            cwnd[i], still[i] = self.settle_class(i, rtt[i], gone, marked)
            if not 0 < cwnd[i] < math.inf:
                name = w.resolved.flows[w.kinds[i].flow].name
                raise NoEquilibriumError(f"flow {name!r}: its window does not settle")
            rate[i] = min(cwnd[i], float(row["rwnd"])) / rtt[i]
        offered, passing = self.loads(rate, hits)
        load = (offered * (1 - hits.over) + passing) / w.links["rate"]
        return Balance(backlog, hits, rtt, cwnd, rate, lost, load, still)

    def solve(self) -> Balance:
        """Find the equilibrium.

        Raises:
            NoEquilibriumError: no equilibrium was found.
        """
        fill = np.zeros(len(self.world.links))
        found = self.balance(fill)
        full = found.load > FULL
        for _ in range(2 * len(full) + 2):
            if full.any():
                fill = self._fill(full, fill)
            found = self.balance(fill)
            more = ~full & (found.load > FULL)
            less = full & (fill <= 0)
            if not more.any() and not less.any():
                self._check_loads(full, found)
                return found
            full = (full | more) & ~less
            fill = np.where(full, fill, 0.0)
        raise NoEquilibriumError("could not determine which links are full")

    def _check_loads(self, full: np.ndarray, found: Balance) -> None:
        """Refuse a full link that does not carry its rate.

        The load jumps past the rate where a rule compares the queueing delay with a threshold. The
        flows that cause a small jump are not at rest.
        """
        w = self.world
        error = np.where(full, np.abs(found.load - 1), 0.0)
        for k in np.flatnonzero(error > JUMP):
            raise NoEquilibriumError(
                f"link {w.resolved.links[w.kept[k]].name!r}: no queue at which it carries its rate:"
                f" at {found.backlog[k] / (8 * w.links['size'][k]):.4g} packets, where the rules of"
                f" a controller switch, its utilization jumps past 1 (to {found.load[k]:.4g})"
            )
        for i, plan in enumerate(w.plans):
            if w.classes[i]["kind"] != t.CBR:
                found.still[i] &= all(error[w.place[index]] < EXACT for index in plan.links)

    def _fill(self, full: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """The fill of the links at which the `full` links carry exactly their rates."""
        from scipy.optimize import brentq, root

        places = np.flatnonzero(full)

        def excess(part: np.ndarray) -> np.ndarray:
            fill = np.zeros(len(full))
            fill[places] = part
            # below an empty queue the load keeps growing, to lead the search back
            return np.log(np.maximum(self.balance(fill).load[places], 1e-300)) - np.minimum(part, 0)

        if len(places) == 1:
            low, high = 0.0, 1.0
            while excess(np.array([high]))[0] > 0:
                low, high = high, 2 * high
                if high > 64:
                    raise NoEquilibriumError("a link is overloaded at any drop probability")
            part = np.array([brentq(lambda s: excess(np.array([s]))[0], low, high, xtol=1e-12)])
        else:
            start = np.where(guess[places] > 0, guess[places], 0.5)
            part, error = start, math.inf
            for first in (start, np.full(len(places), 0.1), np.full(len(places), 1.2)):
                tried = root(excess, first, method="hybr", options={"xtol": 1e-10})
                size = float(np.abs(tried.fun).max())
                if size < error:
                    part, error = tried.x, size
                if error < 1e-6:
                    break
            if error > EXACT:
                raise NoEquilibriumError(f"loads differ from the links' rates by {error:.2g}")
        fill = np.zeros(len(full))
        fill[places] = part
        return fill


def equilibrium(scenario: Scenario, *, marking: bool = False) -> xr.Dataset:
    """The equilibrium of the mean field of a scenario, stable or not.

    All flows are assumed to be open and to have seen an empty queue: `base_rtt` is the base
    round-trip time. A controller that does nothing over a range (Vegas, alpha < beta) is assumed to
    enter this range from below.

    Args:
        scenario: any mix of controllers, round-trip times and topology.
        marking: as in the meanfield model.

    Returns:
        a dataset with, by flow: `cwnd` (packets), `rtt` (s), `rate` (packets/s) of one flow,
        `lost` (share lost or marked), `still` (False: the window did not come to rest, and the
        value is a mean. Its rules switch around the value, or its drift depends on the queue and
        not on the window); by queueing link: `queue` (packets), `delay` (s), `loss` (share dropped
        or marked, in DualPI2 of the packets that are not L4S), `utilization`.

    Raises:
        ScenarioError: flows of a finite size, scheduled changes.
        NoEquilibriumError: no equilibrium was found; or a rule compares the queueing delay with a
            threshold, so that a link is overloaded just below a queue and idle just above it.
    """
    import xarray as xr

    solver = Solver(scenario, marking)
    found, w = solver.solve(), solver.world
    flows = range(len(w.resolved.flows))
    first = [next(i for i, kind in enumerate(w.kinds) if k in kind.flows) for k in flows]
    links, hits = w.links, found.hits
    waiting = found.backlog * solver.left(solver.loads(found.rate, hits)[1]) / links["rate"]
    loss = 1 - (1 - hits.early) * (1 - hits.over) * (1 - links["loss"])
    table = {
        "cwnd": ("flow", found.cwnd[first], "packets", "congestion window of one flow"),
        "rtt": ("flow", found.rtt[first], "s", "round-trip time"),
        "rate": ("flow", found.rate[first], "packets/s", "sending rate of one flow"),
        "lost": ("flow", found.lost[first], "1", "share of its packets lost or marked"),
        "still": ("flow", found.still[first], "", "whether the window came to rest"),
        "queue": ("link", waiting / (8 * links["size"]), "packets", "packets in the queue"),
        "delay": ("link", found.backlog / links["rate"], "s", "queueing delay"),
        "loss": ("link", loss, "1", "share dropped or marked"),
        "utilization": ("link", found.load, "1", "share of the link's rate that is used"),
    }
    return xr.Dataset(
        {name: (dim, values, {"units": unit, "long_name": text})
         for name, (dim, values, unit, text) in table.items()},
        coords={
            "flow": [w.resolved.flows[k].name for k in flows],
            "link": [w.resolved.links[k].name for k in w.kept],
        },
    )  # fmt: skip
