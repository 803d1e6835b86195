"""The smooth limit linearised about its equilibrium: x'(t) = sum over k of A_k x(t - tau_k).

Derivatives are finite differences of the drift that is integrated; the rules are called at states
near the equilibrium. Delays combine them algebraically: a small change of any quantity is a sum of
changes of the state at earlier times (:class:`Past`). The change of a delay has no first-order
effect, because at equilibrium the delayed quantity is constant. The rate at which a growing queue
passes packets does have one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import address
from tcpcc.errors import NotSmoothError
from tcpcc.models.analysis.delay_roots import characteristic
from tcpcc.models.analysis.drift import drift_of
from tcpcc.models.analysis.equilibrium import Balance, Solver
from tcpcc.models.analysis.smooth_world import FlowClass

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario

SMALL = 1e-5  # relative step of the finite differences of a controller's drift
WIDE = 0.01  # the same for a queue discipline; spans steps by whole packets
NOTHING = 1e-12  # smaller derivatives and drop shares count as 0
ONE_SLOPE = 0.1  # largest relative difference between left and right slope that counts as smooth
DECADES = (-5.0, 3.0)  # range of frequencies, relative to 1 / longest delay
PER_DECADE = 400  # frequencies per decade
NOW = 1e3  # s, time at which the drift is evaluated; rules use only distances from the present

Array = NDArray[np.float64]
Hop = tuple[int, int]  # number of a class, and of a link on its path


class Past:
    """A small change of a quantity: a sum of rows times changes of the state at earlier times.

    Args:
        terms: delay in s -> row, shape [state].
    """

    def __init__(self, terms: dict[float, Array] | None = None) -> None:
        self.terms = terms or {}

    def __add__(self, other: Past) -> Past:
        total = dict(self.terms)
        for delay, row in other.terms.items():
            total[delay] = total[delay] + row if delay in total else row
        return Past(total)

    def __mul__(self, factor: float) -> Past:
        return Past({delay: factor * row for delay, row in self.terms.items()})

    __rmul__ = __mul__

    def later(self, delay: float) -> Past:
        """The same change, delayed by `delay` s."""
        return Past({round(tau + delay, 12): row for tau, row in self.terms.items()})


class Linear:
    """The smooth limit of a scenario, linearised about its equilibrium.

    Attributes:
        terms: delay in s -> matrix, shape [state, state].
        open_terms: the same without the feedback of losses, marks and round-trip times to senders.
        names: names of the states.
        balance: the equilibrium.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.solver = Solver(scenario)
        self.world = self.solver.world
        self.balance: Balance = self.solver.solve()
        self.full = [int(k) for k in np.flatnonzero(self.balance.backlog > 0)]
        self.names: list[str] = []
        self.at: dict[tuple[str, int], int] = {}  # index of the first state of a class or queue
        self._number_states()
        self.hop_rates = self.solver.hop_rates(self.balance.rate, self.balance.hits)
        # changes: of the arrivals of one flow at a hop, of the shares lost and marked there, and of
        # the growth of a link's queueing delay
        self.into: dict[Hop, Past] = {}
        self.lost: dict[Hop, Past] = {}
        self.marked: dict[Hop, Past] = {}
        self.pace: dict[int, Past] = {}
        # the time derivative of each state's change, in two parts: without the feedback of losses,
        # marks and round-trip times, and this feedback
        self.rows = [Past() for _ in self.names]
        self.feedback = [Past() for _ in self.names]
        for k in range(len(self.world.links)):
            self._add_link(k)
        for i, flow_class in enumerate(self.world.classes):
            if flow_class.flow.is_tcp:
                self._add_class(i, flow_class)
        self._keep_what_matters()

    def _number_states(self) -> None:
        w = self.world
        for i, flow_class in enumerate(w.classes):
            if not flow_class.flow.is_tcp:
                continue
            names = w.states[i].dtype.names or ()
            if w.states[i].dtype.itemsize // 8 != len(names):
                raise NotSmoothError(
                    f"controller {flow_class.flow.algorithm.name!r} keeps an array in its state"
                )
            self.at["class", i] = len(self.names)
            self.names += [f"{flow_class.name}.{name}" for name in names]
        for k in self.full:
            self.at["backlog", k] = len(self.names)
            self.names.append(f"{w.links[k].name}.backlog")
            if k in w.queues:
                self.at["queue", k] = len(self.names)
                self.names += [f"{w.links[k].name}.{x}" for x in w.queues[k].names]

    def _past(self, *entries: tuple[int, float]) -> Past:
        row = np.zeros(len(self.names))
        for place, value in entries:
            row[place] += value
        return Past({0.0: row})

    # -------------------------------------------------------------- slopes of flows and queues

    def _class_slopes(self, i: int, flow_class: FlowClass) -> list[Array]:
        """Derivatives of a class's drift by its state, its rates of ACKs, losses and marks, and its
        RTT."""
        w, b = self.world, self.balance
        row, y = w.rows[i], w.states[i].view(float).reshape(-1).copy()
        row["quantum"] = 1.0
        gone, marked = self.solver.feedback(flow_class, b.hits)
        acks = b.rate[i] * (1 - gone)
        signals = {"acks": acks, "losses": acks * gone / (1 - gone), "marks": acks * marked}
        signals["rtt"] = b.rtt[i]

        def drift(state: Array, **other: float) -> Array:
            for name, value in {**signals, **other}.items():
                row[name] = value
            at, out = np.ascontiguousarray(state), np.zeros(len(y))
            drift_of(address(w.rows), i, address(at), NOW, address(out))
            return out

        def slope(f: Callable[[float], Array], x: float) -> Array:
            h = SMALL * max(abs(x), 1e-3)
            return (f(x + h) - f(x - h)) / (2 * h)

        def by(j: int) -> Array:
            def moved(x: float) -> Array:
                state = y.copy()
                state[j] = x
                return drift(state)

            return slope(moved, y[j]) if np.isfinite(y[j]) else np.zeros(len(y))

        def by_signal(name: str) -> Array:
            value = signals[name]
            return slope(lambda x: drift(y, **{name: x}), value) if value else np.zeros(len(y))

        step = np.zeros_like(y)
        step[0] = SMALL * y[0]
        up, down = drift(y + step)[0] - drift(y)[0], drift(y)[0] - drift(y - step)[0]
        # the same slope, not 0, above and below the window
        if not b.still[i] or not abs(up - down) < ONE_SLOPE * (abs(up) + abs(down)):
            name = flow_class.flow.algorithm.name if flow_class.flow.controller else ""
            raise NotSmoothError(
                f"flow {flow_class.name!r}: the rules of {name!r} switch at the equilibrium"
            )
        return [np.array([by(j) for j in range(len(y))]).T, *map(by_signal, signals)]

    def _queue_slopes(self, k: int, hops: list[Hop]) -> Array:
        """Derivatives of a discipline's drift, of the share that it hits, and of that share of
        ECT(1) packets: by each of its states, then by the backlog, then by the arrivals in
        packets/s; shape [cause, effect]."""
        queue, classes = self.world.queues[k], self.world.classes
        arriving = sum(classes[i].count * self.hop_rates[i][j] for i, j in hops)
        x = np.array([*queue.state, self.balance.backlog[k], arriving])

        def effects(x: Array) -> Array:
            drift, hit, l4s = queue.at(x[:-2], x[-2], x[-1])
            return np.array([*drift, hit, l4s])

        steps = np.diag(WIDE * np.maximum(np.abs(x), 1e-3))
        return np.array(
            [(effects(x + s) - effects(x - s)) / (2 * s[j]) for j, s in enumerate(steps)]
        )

    # ------------------------------------------------------------------ assembling the matrices

    def _add_link(self, k: int) -> None:
        """The changes of what reaches a link and, if it is full, of its backlog and discipline."""
        hops = [(i, j) for i, flow_class in enumerate(self.world.classes)
                for j, link in enumerate(flow_class.hops) if link == k]  # fmt: skip
        for i, j in hops:
            before = self.world.classes[i].route.before[j]
            if j == 0:
                self.into[i, j] = self._sent(i).later(before)
            elif (i, j - 1) in self.into:
                self.into[i, j] = self._through(i, j - 1).later(before)
            else:
                raise NotSmoothError(
                    "cannot linearise paths that pass the same links in opposite orders"
                )
        if k in self.full:
            drift = self._link_drift(k, hops)
            self.rows[self.at["backlog", k]] = drift
            self.pace[k] = (1 / float(self.solver.rate[k])) * drift

    def _sent(self, i: int) -> Past:
        """The change of the sending rate of a flow of class `i`."""
        flow_class, b = self.world.classes[i], self.balance
        if not flow_class.flow.is_tcp:
            return Past()
        entries = [
            (self.at["backlog", k], -b.rate[i] / b.rtt[i] / self.solver.rate[k])
            for j, k in enumerate(flow_class.hops)
            if k in self.full and self.solver.waits(flow_class, j)
        ]
        if b.cwnd[i] < self.world.rows["rwnd"][i]:
            entries.append((self.at["class", i], 1 / b.rtt[i]))
        return self._past(*entries)

    def _sojourn(self, i: int, j: int) -> float:
        flow_class = self.world.classes[i]
        k = flow_class.hops[j]
        waits = self.solver.waits(flow_class, j)
        return float(self.balance.backlog[k] / self.solver.rate[k]) if waits else 0.0

    def _through(self, i: int, j: int) -> Past:
        """The change of the rate at which packets of class `i` leave hop `j`."""
        flow_class, x = self.world.classes[i], self.hop_rates[i][j]
        passed = float(self.solver.passing(flow_class, j, self.balance.hits)[1])
        out = passed * self.into[i, j]
        if self.solver.waits(flow_class, j):
            out = out + -x * passed * self.pace.get(flow_class.hops[j], Past())
        if j < flow_class.route.n_forward:
            out = out + -x * self.lost.get((i, j), Past())
        return out.later(self._sojourn(i, j))

    def _link_drift(self, k: int, hops: list[Hop]) -> Past:
        """The drift of a full link's backlog. Also writes the rows of its discipline, and the
        changes of the shares lost and marked at the hops in `hops`."""
        w, hits, link = self.world, self.balance.hits, self.world.link_rows[k]
        change = dict.fromkeys(("plain", "ect", "passing"), Past())  # in bit/s
        at_rest = dict.fromkeys(change, 0.0)
        for i, j in hops:
            flow_class = w.classes[i]
            kind = "ect" if flow_class.ect else "plain"
            kind = kind if self.solver.waits(flow_class, j) else "passing"
            change[kind] = change[kind] + flow_class.count * flow_class.bits[j] * self.into[i, j]
            at_rest[kind] += flow_class.count * flow_class.bits[j] * self.hop_rates[i][j]
        early, early_l4s = self._hit_changes(k, hops)
        drops = 1.0 - float(link["marks"])  # of ECN-capable packets that are hit
        e, f, over = (float(x[k]) for x in (hits.early, hits.early_l4s, hits.over))
        d_offered = (1 - e) * change["plain"] + (1 - e * drops) * change["ect"]
        d_offered = d_offered + -(at_rest["plain"] + at_rest["ect"] * drops) * early
        d_passing = (1 - f * drops) * change["passing"]
        d_passing = d_passing + -at_rest["passing"] * drops * early_l4s
        offered = at_rest["plain"] * (1 - e) + at_rest["ect"] * (1 - e * drops)
        rate = float(link["rate"])
        room = rate - at_rest["passing"] * (1 - f * drops)
        if room <= rate * (1 - link["bypass"]):
            room, d_passing = rate * float(1 - link["bypass"]), Past()
        d_over = Past()
        if over > NOTHING:  # a full buffer: 1 - room / offered
            d_over = (1 / offered) * d_passing + (room / offered**2) * d_offered
        for i, j in hops:
            flow_class = w.classes[i]
            hit = early_l4s if flow_class.ect == 2 else early
            dropped = drops if flow_class.ect else 1.0
            let_in = self.solver.passing(flow_class, j, hits)[0]
            full, d_full = (over, d_over) if self.solver.waits(flow_class, j) else (0.0, Past())
            lost = (1 - full) * dropped * hit + let_in * d_full
            self.lost[i, j] = (1 - w.links[k].loss) * lost
            self.marked[i, j] = (1 - dropped) * hit
        accepted = (1 - over) * d_offered + -offered * d_over
        return (rate / room) * (accepted + d_passing)

    def _hit_changes(self, k: int, hops: list[Hop]) -> tuple[Past, Past]:
        """The changes of the shares that a discipline hits; also writes the rows of its states."""
        if k not in self.world.queues:
            return Past(), Past()
        *by_own, by_arrivals = self._queue_slopes(k, hops)
        first, packets = self.at["queue", k], Past()
        for i, j in hops:
            packets = packets + float(self.world.classes[i].count) * self.into[i, j]
        places = [*range(first, first + len(by_own) - 1), self.at["backlog", k]]

        def by_queue(effect: int) -> Past:
            return self._past(*zip(places, [slope[effect] for slope in by_own], strict=True))

        for a in range(len(by_own) - 1):
            self.rows[first + a] = by_queue(a) + float(by_arrivals[a]) * packets
        return by_queue(-2), by_queue(-1)

    def _add_class(self, i: int, flow_class: FlowClass) -> None:
        """The rows of a class's state."""
        b = self.balance
        by_state, by_acks, by_losses, by_marks, by_rtt = self._class_slopes(i, flow_class)
        gone, marked = self.solver.feedback(flow_class, b.hits)
        delivered, last, back = 1 - gone, len(flow_class.hops) - 1, flow_class.route.after
        acks = (self._through(i, last) if flow_class.hops else self._sent(i)).later(back)
        rtt, losing, marking = Past(), Past(), Past()
        for j in range(last, -1, -1):
            k = flow_class.hops[j]
            back += self._sojourn(i, j)
            if k in self.full and self.solver.waits(flow_class, j):
                queued = self._past((self.at["backlog", k], 1 / float(self.solver.rate[k])))
                rtt = rtt + queued.later(back)
            if j < flow_class.route.n_forward and (i, j) in self.lost:
                _, passed, hit = self.solver.passing(flow_class, j, b.hits)
                losing = losing + (1 / delivered / passed) * self.lost[i, j].later(back)
                marking = marking + ((1 - marked) / (1 - hit)) * self.marked[i, j].later(back)
            back += flow_class.route.before[j]
        at, n = self.at["class", i], len(by_acks)
        for a in range(n):
            own = self._past(*[(at + j, by_state[a, j]) for j in range(n)])
            per_ack = by_acks[a] + by_losses[a] * gone / delivered + by_marks[a] * marked
            self.rows[at + a] = own + per_ack * acks
            hits = by_losses[a] * losing + by_marks[a] * marking
            self.feedback[at + a] = b.rate[i] * delivered * hits + by_rtt[a] * rtt

    def _keep_what_matters(self) -> None:
        """Make the matrices, without the states on which no window and no queue depends."""
        n = len(self.names)
        both = [row + more for row, more in zip(self.rows, self.feedback, strict=True)]
        closed, opened = matrices(both, n), matrices(self.rows, n)
        depends = np.sum([np.abs(matrix) for matrix in closed.values()], axis=0) > NOTHING
        keep = np.zeros(n, bool)
        keep[[at for (what, _), at in self.at.items() if what in ("class", "backlog")]] = True
        while (more := keep | depends[keep].any(axis=0)).sum() > keep.sum():
            keep = more
        self.terms = {delay: a[np.ix_(keep, keep)] for delay, a in closed.items()}
        self.open_terms = {delay: a[np.ix_(keep, keep)] for delay, a in opened.items()}
        self.names = [name for name, matters in zip(self.names, keep, strict=True) if matters]

    @property
    def frequencies(self) -> Array:
        """Frequencies in rad/s, some decades around 1 / longest delay."""
        low, high = DECADES
        return np.logspace(low, high, int((high - low) * PER_DECADE)) / max(*self.terms, 1e-6)

    def loop(self, omega: NDArray[np.float64]) -> NDArray[np.complex128]:
        """The loop gain L(i omega), with the loop opened at the feedback from links to senders.

        1 + L is the ratio of the characteristic determinants with and without the feedback of
        losses, marks and measured round-trip times. ACK clocking and the dynamics of the queues
        stay in the loop.

        Args:
            omega: frequencies in rad/s.
        """
        s = 1j * np.asarray(omega, float)
        return np.array(
            [
                np.linalg.det(characteristic(self.terms, x))
                / np.linalg.det(characteristic(self.open_terms, x))
                - 1
                for x in s
            ]
        )


def matrices(rows: list[Past], n: int) -> dict[float, NDArray[np.float64]]:
    """Combine rows into matrices, one per delay. The matrix of delay 0 is always present."""
    terms = {0.0: np.zeros((n, n))}
    for a, row in enumerate(rows):
        for delay, values in row.terms.items():
            terms.setdefault(float(delay), np.zeros((n, n)))[a] += values
    return {d: matrix for d, matrix in terms.items() if d == 0 or np.abs(matrix).max() > 0}
