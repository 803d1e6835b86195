"""The smooth limit without delays, for solvers of ordinary differential equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import GROUP_FIELDS, address
from tcpcc.errors import ScenarioError
from tcpcc.models.analysis.drift import drift_of
from tcpcc.models.analysis.equilibrium import Solver

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario


class RightHandSide:
    """dy/dt = f(t, y) of a scenario whose senders get feedback without delay.

    Round-trip times (propagation and the present queues) determine the rates, but nothing is
    delayed. A queue discipline is taken at its steady state for the present queue: RED's average
    equals the queue.

    Attributes:
        y0: initial state, shape [state]: the state of each class, then the backlogs of the links in
            bits. A class begins after a first loss, in congestion avoidance.
        names: names of the states.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._solver = Solver(scenario)
        self.world = w = self._solver.world
        for link in (w.links[k] for k, queue in w.queues.items() if queue.timer):
            raise ScenarioError(
                f"link {link.name!r}: the drop probability of queue {link.queue.name!r} changes by"
                " a timer and does not follow from the queue, as in a right-hand side; use"
                ' tc.simulate(..., model="fluid")'
            )
        for flow in w.resolved.flows:
            if not flow.is_tcp or flow.spec.start > 0 or flow.spec.stop is not None:
                raise ScenarioError(
                    f"flow {flow.name!r}: a right-hand side needs flows with start = 0 and no stop,"
                    " and no CBR sources"
                )
        self.names: list[str] = []
        for i, flow_class in enumerate(w.classes):
            self._solver.settle(i, flow_class.route.base_rtt, rounds=0)
            self.names += [f"{flow_class.name}.{x}" for x in _variables(w.states[i])]
        parts = [state.view(float)[: len(_variables(state))] for state in w.states]
        self._ends = np.cumsum([len(part) for part in parts])
        self.names += [f"{link.name}.backlog" for link in w.links]
        self.y0: NDArray[np.float64] = np.concatenate([*parts, np.zeros(len(w.links))])

    def __call__(self, t: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """The drift at time `t` (s) and state `y`, as `scipy.integrate.solve_ivp` calls it."""
        solver, w = self._solver, self.world
        *states, queues = np.split(np.ascontiguousarray(y), self._ends)
        backlog = np.clip(queues, 0, solver.room)
        rtt = np.array([solver.round_trip(flow_class, backlog) for flow_class in w.classes])
        cwnd = np.array([state[0] for state in states])
        rate = np.minimum(cwnd, w.rows["rwnd"]) / rtt
        hits = solver.hits(backlog)
        offered, passing = solver.loads(rate, hits)
        left, packet = solver.left(passing), 8 * solver.size
        full = np.clip((backlog - solver.room + packet) / packet, 0, 1)  # sets in over one packet
        hits.over[:] = full * (1 - left / np.maximum(offered, left))
        offered, passing = solver.loads(rate, hits)
        left = solver.left(passing)
        grown = offered * (1 - hits.over) * (solver.rate / left) - solver.rate
        drifts = []
        for i, (flow_class, state) in enumerate(zip(w.classes, states, strict=True)):
            gone, marked = solver.feedback(flow_class, hits)
            acks, row = rate[i] * (1 - gone), w.rows[i]
            row["quantum"], row["acks"], row["marks"] = 1.0, acks, acks * marked
            row["losses"] = acks * gone / (1 - gone)
            row["rtt"] = row["max_rtt"] = rtt[i]
            at = w.states[i].view(float).copy()
            at[: len(state)], drift = state, np.zeros(len(at))
            drift_of(address(w.rows), i, address(at), t, address(drift))
            drifts.append(drift[: len(state)])
        return np.concatenate([*drifts, np.where((queues <= 0) & (grown < 0), 0.0, grown)])


def _variables(state: np.ndarray) -> list[str]:
    """Names of the state's variables. The size and address of its group, at the end, are none."""
    return [name for name in state.dtype.names or () if name not in dict(GROUP_FIELDS)]


def right_hand_side(scenario: Scenario) -> RightHandSide:
    """The fluid model's smooth limit without delays, as a function f(t, y).

    >>> import tcpcc as tc
    >>> from scipy.integrate import solve_ivp
    >>> net = tc.dumbbell("10 Mbps", "20 ms", 100, queue=tc.queues.RED(min_thresh=5, max_thresh=80))
    >>> f = tc.analysis.right_hand_side(tc.Scenario(net, [tc.Flow("reno", count=10)], duration=10))
    >>> bool(solve_ivp(f, (0, 10), f.y0).success)
    True

    Args:
        scenario: a scenario whose flows are open all the time.

    Raises:
        ScenarioError: flows that start late, stop, or have a constant bit rate; a queue with a
            timer (PI); anything else that `equilibrium` refuses.
    """
    return RightHandSide(scenario)
