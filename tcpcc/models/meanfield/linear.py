"""The mean field linearised about its equilibrium: x'(t) = sum over k of A_k x(t - tau_k).

Derivatives are finite differences of the drift that is integrated; the rules are called at states
near the equilibrium. Delays combine them algebraically: a small change of any quantity is a sum of
changes of the state at earlier times (:class:`Past`). The change of a delay has no first-order
effect, because at equilibrium the delayed quantity is constant. The rate at which a growing queue
passes packets does have one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import address
from tcpcc.errors import TcpccError
from tcpcc.models.meanfield.delay_roots import characteristic
from tcpcc.models.meanfield.equilibrium import Balance, Solver

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario

SMALL = 1e-5  # relative step of the finite differences of a controller's drift
WIDE = 0.01  # the same for a queue discipline; spans steps by whole packets
NOTHING = 1e-12  # smaller derivatives and drop shares count as 0
ONE_SLOPE = 0.1  # largest relative difference between left and right slope that counts as smooth
NOW = 1e3  # s, time at which the drift is evaluated; rules use only distances from the present

Drift = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class NotSmoothError(TcpccError):
    """A rule switches at the equilibrium, so the mean field cannot be linearised there."""


class Past:
    """A small change of a quantity: a sum of rows times changes of the state at earlier times.

    Args:
        terms: delay in s -> row, shape [state].
    """

    def __init__(self, terms: dict[float, NDArray[np.float64]] | None = None) -> None:
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


def total(parts: Iterable[Past]) -> Past:
    return sum(parts, Past())


class Linear:
    """The mean field of a scenario, linearised about its equilibrium.

    Attributes:
        terms: delay in s -> matrix, shape [state, state].
        open_terms: the same without the feedback of losses, marks and round-trip times to senders.
        names: names of the states.
        balance: the equilibrium.
    """

    def __init__(self, scenario: Scenario, marking: bool = False) -> None:
        self.solver = Solver(scenario, marking)
        self.world = self.solver.world
        self.balance: Balance = self.solver.solve()
        w = self.world
        self.full = [
            k for k in range(len(w.links))
            if self.balance.backlog[k] > 0
        ]  # fmt: skip
        self.names: list[str] = []
        self.at: dict[tuple[str, int], int] = {}  # index of the first state of a class or queue
        self._number_states()
        self._write_rates()
        self._keep_what_matters(*self._rows())

    def _number_states(self) -> None:
        w = self.world
        for i, kind in enumerate(w.kinds):
            flow = w.resolved.flows[kind.flow]
            if flow.controller is None:
                continue
            self.at["class", i] = len(self.names)
            self.names += [
                f"{flow.name}.{name}" for name in flow.controller.state_dtype.names or ()
            ]
            if w.states[i].dtype.itemsize // 8 != len(flow.controller.state_dtype.names or ()):
                raise NotSmoothError(
                    f"controller {flow.controller.name!r} keeps an array in its state"
                )
        for k in self.full:
            link = w.resolved.links[w.kept[k]]
            self.at["backlog", k] = len(self.names)
            self.names.append(f"{link.name}.backlog")
            if w.links["rule"][k]:
                self.at["queue", k] = len(self.names)
                self.names += [f"{link.name}.{x}" for x in self.solver.queues[k].names]

    def _past(self, *entries: tuple[int, float]) -> Past:
        row = np.zeros(len(self.names))
        for place, value in entries:
            row[place] += value
        return Past({0.0: row})

    # -------------------------------------------------------------- slopes of flows and queues

    def _write_rates(self) -> None:
        """Compute the equilibrium arrivals of each class at each link of its path."""
        w, b = self.world, self.balance
        self.slot_rate = np.zeros(len(w.slots))
        self.arriving = np.zeros(len(w.links))
        self.bits = np.zeros(len(w.links))
        for i, plan in enumerate(w.plans):
            rate = b.rate[i]
            for j, index in enumerate(plan.links):
                s, k = int(w.classes["first_slot"][i]) + j, w.place[index]
                self.slot_rate[s] = rate
                self.arriving[k] += w.classes["count"][i] * rate
                self.bits[k] += 8 * w.slots["size"][s] * w.classes["count"][i] * rate
                if j < plan.n_forward:
                    rate *= self.solver.passing(i, k, b.hits)[1]

    def _class_slopes(self, i: int) -> tuple[NDArray[np.float64], ...]:
        """Derivatives of a class's drift by its state, its rates of ACKs, losses and marks, and its
        RTT."""
        from tcpcc.models.meanfield.drift import drift_of

        w, b = self.world, self.balance
        row = w.classes[i]
        flow = w.resolved.flows[w.kinds[i].flow]
        y = w.states[i].view(float).reshape(-1).copy()
        n = len(y)
        row["slow"], row["quantum"] = 0, 1.0
        row["rtt"] = b.rtt[i]
        out = np.zeros(n)
        gone, marked = self.solver.told(i, b.hits)
        acks = b.rate[i] * (1 - gone)
        losses, marks = acks * gone / (1 - gone), acks * marked

        def drift(
            state: NDArray[np.float64], acks: float, losses: float, marks: float, rtt: float
        ) -> NDArray[np.float64]:
            row["acks"], row["losses"], row["marks"], row["rtt"] = acks, losses, marks, rtt
            at = np.ascontiguousarray(state)
            drift_of(address(w.classes), i, address(at), NOW, address(out))
            return out.copy()

        def slope(f, x: float) -> NDArray[np.float64]:
            h = SMALL * max(abs(x), 1e-3)
            return (f(x + h) - f(x - h)) / (2 * h)

        def by_state(state: NDArray[np.float64]) -> NDArray[np.float64]:
            columns = []
            for j in range(n):

                def moved(x: float, j: int = j) -> NDArray[np.float64]:
                    other = state.copy()
                    other[j] = x
                    return drift(other, acks, losses, marks, b.rtt[i])

                columns.append(slope(moved, state[j]) if np.isfinite(state[j]) else np.zeros(n))
            return np.array(columns).T

        name = flow.controller.name if flow.controller else ""
        if not b.still[i] or not self._is_smooth(
            y, lambda x: drift(x, acks, losses, marks, b.rtt[i])
        ):
            raise NotSmoothError(
                f"flow {flow.name!r}: the rules of {name!r} switch at the equilibrium"
            )
        return (
            by_state(y),
            slope(lambda x: drift(y, x, losses, marks, b.rtt[i]), acks),
            slope(lambda x: drift(y, acks, x, marks, b.rtt[i]), losses) if losses else np.zeros(n),
            slope(lambda x: drift(y, acks, losses, x, b.rtt[i]), marks) if marks else np.zeros(n),
            slope(lambda x: drift(y, acks, losses, marks, x), b.rtt[i]),
        )

    def _is_smooth(self, y: NDArray[np.float64], drift: Drift) -> bool:
        """Whether the window's drift has the same slope, not 0, above and below the window."""
        step = np.zeros_like(y)
        step[0] = SMALL * y[0]
        up, down = drift(y + step)[0] - drift(y)[0], drift(y)[0] - drift(y - step)[0]
        return bool(abs(up - down) < ONE_SLOPE * (abs(up) + abs(down)))

    def _queue_slopes(self, k: int) -> list[tuple[NDArray[np.float64], float, float]]:
        """Derivatives of a discipline's drift, of the share that it hits, and of that share of
        ECT(1) packets: by each of its states, then by the backlog, then by the arrivals in
        packets/s."""
        queue, z = self.solver.queues[k], self.solver.queues[k].state
        x = np.array([*z, float(self.balance.backlog[k]), self.arriving[k]])
        slopes = []
        for j in range(len(x)):
            h = WIDE * max(abs(x[j]), 1e-3)
            up, down = x.copy(), x.copy()
            up[j] += h
            down[j] -= h
            f1, hit1, l4s1 = queue.at(up[:-2], up[-2], up[-1])
            f0, hit0, l4s0 = queue.at(down[:-2], down[-2], down[-1])
            slopes.append(((f1 - f0) / (2 * h), (hit1 - hit0) / (2 * h), (l4s1 - l4s0) / (2 * h)))
        return slopes

    # ------------------------------------------------------------------ assembling the matrices

    def _rows(self) -> tuple[list[Past], list[Past]]:
        """The time derivative of each state's change, in two parts: without the feedback of losses,
        marks and round-trip times, and this feedback."""
        w, b = self.world, self.balance
        links, classes, slots = w.links, w.classes, w.slots
        rows = [Past() for _ in self.names]
        told = [Past() for _ in self.names]
        sent: dict[int, Past] = {}
        for i in range(len(classes)):
            if ("class", i) not in self.at:
                sent[i] = Past()
                continue
            x, rtt = b.rate[i], b.rtt[i]
            entries = []
            if b.cwnd[i] < classes["rwnd"][i]:
                entries.append((self.at["class", i], 1 / rtt))
            for j, index in enumerate(w.plans[i].links):
                k = w.place[index]
                if k in self.full and not self.solver.bypasses(i, k, j):
                    entries.append((self.at["backlog", k], -x / rtt / links["rate"][k]))
            sent[i] = self._past(*entries)
        # link by link, in the order in which data passes them
        into: dict[int, Past] = {}
        lost: dict[int, Past] = {s: Past() for s in range(len(slots))}
        marks: dict[int, Past] = {s: Past() for s in range(len(slots))}
        pace: dict[int, Past] = {k: Past() for k in range(len(links))}
        order = range(len(links))
        for k in order:
            here = [
                (i, j) for i, plan in enumerate(w.plans)
                for j, index in enumerate(plan.links) if w.place[index] == k
            ]  # fmt: skip
            for i, j in here:
                s = int(classes["first_slot"][i]) + j
                if j == 0:
                    into[s] = sent[i].later(slots["before"][s])
                elif s - 1 in into:
                    into[s] = self._through(i, s - 1, into, lost, pace).later(
                        self._sojourn(s - 1) + slots["before"][s]
                    )
                else:
                    raise NotSmoothError(
                        "cannot linearise paths that pass the same links in opposite orders"
                    )
            if k not in self.full:
                continue
            drift = self._link_drift(k, here, into, rows, lost, marks)
            rows[self.at["backlog", k]] = drift
            pace[k] = drift * (1 / float(links["rate"][k]))
        for i in range(len(classes)):
            if ("class", i) in self.at:
                self._class_rows(i, sent, into, lost, marks, pace, rows, told)
        return rows, told

    def _waits(self, s: int) -> bool:
        """Whether packets wait at a slot."""
        i = int(np.searchsorted(self.world.classes["first_slot"], s, side="right")) - 1
        j = s - int(self.world.classes["first_slot"][i])
        return not self.solver.bypasses(i, int(self.world.slots["link"][s]), j)

    def _sojourn(self, s: int) -> float:
        k = int(self.world.slots["link"][s])
        waits = self._waits(s)
        return float(self.balance.backlog[k] / self.world.links["rate"][k]) if waits else 0.0

    def _through(self, i, s, into, lost, pace) -> Past:
        """The change of the rate at which packets of class `i` leave a link, at the time of their
        arrival."""
        k, ack = int(self.world.slots["link"][s]), bool(self.world.slots["carries_ack"][s])
        passing = 1.0 if ack else float(self.solver.passing(i, k, self.balance.hits)[1])
        x = self.slot_rate[s]
        out = passing * into[s]
        if self._waits(s):
            out = out + -x * passing * pace[k]
        return out if passing == 1.0 else out + -x * lost[s]

    def _link_drift(self, k, here, into, rows, lost, marks) -> Past:
        """The drift of a full link's backlog. Also writes the rows of its discipline, and the
        changes of the shares lost and marked of the classes and places of their paths in `here`."""
        w, hits = self.world, self.balance.hits
        link, slots, classes = w.links[k], w.slots, w.classes
        packets, plain, ect, passing = Past(), Past(), Past(), Past()
        sums = dict.fromkeys(("plain", "ect", "passing"), 0.0)  # in bit/s at the equilibrium
        for i, j in here:
            s = int(classes["first_slot"][i]) + j
            size = float(classes["count"][i] * 8 * slots["size"][s])
            packets = packets + float(classes["count"][i]) * into[s]
            if not self._waits(s):
                passing, kind = passing + size * into[s], "passing"
            elif classes["ect"][i]:
                ect, kind = ect + size * into[s], "ect"
            else:
                plain, kind = plain + size * into[s], "plain"
            sums[kind] += size * self.slot_rate[s]
        early, early_l4s = self._hit_changes(k, packets, rows)
        drops = 1.0 - float(link["marks"])  # of ECN-capable packets that are hit
        e, f, over = (float(x[k]) for x in (hits.early, hits.early_l4s, hits.over))
        d_offered = (1 - e) * plain + (1 - e * drops) * ect
        d_offered = d_offered + -(sums["plain"] + sums["ect"] * drops) * early
        d_passing = (1 - f * drops) * passing + -sums["passing"] * drops * early_l4s
        offered = sums["plain"] * (1 - e) + sums["ect"] * (1 - e * drops)
        room = float(link["rate"]) - sums["passing"] * (1 - f * drops)
        if room <= link["rate"] * (1 - link["bypass"]):
            room, d_passing = float(link["rate"] * (1 - link["bypass"])), Past()
        d_over = Past()
        if over > NOTHING:  # a full buffer: 1 - room / offered
            d_over = (1 / offered) * d_passing + (room / offered**2) * d_offered
        for i, j in here:
            s = int(classes["first_slot"][i]) + j
            change = early_l4s if classes["ect"][i] == 2 else early
            dropped = drops if classes["ect"][i] else 1.0
            let_in = self.solver.passing(i, k, hits)[0]
            full, d_full = (over, d_over) if self._waits(s) else (0.0, Past())
            lost[s] = (1 - float(link["loss"])) * ((1 - full) * dropped * change + let_in * d_full)
            marks[s] = (1 - dropped) * change
        accepted = (1 - over) * d_offered + -offered * d_over
        return (float(link["rate"]) / room) * (accepted + d_passing)

    def _hit_changes(self, k, packets, rows) -> tuple[Past, Past]:
        """The changes of the shares that a discipline hits; also writes the rows of its states."""
        if not self.world.links["rule"][k]:
            return Past(), Past()
        *by_state, by_backlog, by_arrivals = self._queue_slopes(k)
        first = self.at["queue", k]
        seen = [(first + j, *slope) for j, slope in enumerate(by_state)]
        seen.append((self.at["backlog", k], *by_backlog))
        for a in range(len(by_state)):
            rows[first + a] = (
                self._past(*[(place, drift[a]) for place, drift, _, _ in seen])
                + by_arrivals[0][a] * packets
            )
        early = self._past(*[(place, hit) for place, _, hit, _ in seen])
        return early, self._past(*[(place, hit) for place, _, _, hit in seen])

    def _class_rows(self, i, sent, into, lost, marks, pace, rows, told) -> None:
        w, b = self.world, self.balance
        plan, first = w.plans[i], int(w.classes["first_slot"][i])
        by_state, by_acks, by_losses, by_marks, by_rtt = self._class_slopes(i)
        gone, marked = self.solver.told(i, b.hits)
        kept = 1 - gone
        back = plan.after
        acks, rtt, losing, marking = Past(), Past(), Past(), Past()
        acks_rate = b.rate[i] * kept
        if plan.links:
            last = first + len(plan.links) - 1
            acks = self._through(i, last, into, lost, pace).later(self._sojourn(last) + back)
        else:
            acks = sent[i].later(back)
        for j in range(len(plan.links) - 1, -1, -1):
            s = first + j
            k = int(w.slots["link"][s])
            back += self._sojourn(s)
            if k in self.full and self._waits(s):
                rate = float(w.links["rate"][k])
                rtt = rtt + self._past((self.at["backlog", k], 1 / rate)).later(back)
            if j < plan.n_forward:
                _, passed, hit = self.solver.passing(i, k, b.hits)
                losing = losing + (1 / kept / passed) * lost[s].later(back)
                marking = marking + ((1 - marked) / (1 - hit)) * marks[s].later(back)
            back += float(w.slots["before"][s])
        at = self.at["class", i]
        n = len(by_acks)
        for a in range(n):
            per_ack = by_acks[a] + by_losses[a] * gone / kept + by_marks[a] * marked
            rows[at + a] = (
                self._past(*[(at + j, by_state[a, j]) for j in range(n)]) + per_ack * acks
            )
            told[at + a] = (
                by_losses[a] * acks_rate * losing
                + by_marks[a] * acks_rate * marking
                + by_rtt[a] * rtt
            )

    def _keep_what_matters(self, rows: list[Past], told: list[Past]) -> None:
        """Make the matrices, without the states on which no window and no queue depends."""
        n = len(self.names)
        both = [row + more for row, more in zip(rows, told, strict=True)]
        closed, opened = matrices(both, n), matrices(rows, n)
        depends = np.sum([np.abs(matrix) for matrix in closed.values()], axis=0) > NOTHING
        keep = np.zeros(n, bool)
        keep[[at for (what, _), at in self.at.items() if what in ("class", "backlog")]] = True
        while (more := keep | depends[keep].any(axis=0)).sum() > keep.sum():
            keep = more
        self.terms = {delay: a[np.ix_(keep, keep)] for delay, a in closed.items()}
        self.open_terms = {delay: a[np.ix_(keep, keep)] for delay, a in opened.items()}
        self.names = [name for name, kept in zip(self.names, keep, strict=True) if kept]

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
