"""The mean field without delays, for solvers of ordinary differential equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import address
from tcpcc.errors import ScenarioError
from tcpcc.models.meanfield.meanfield_world import MeanFieldWorld
from tcpcc.scenario.traffic import CBR

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

    def __init__(self, scenario: Scenario, marking: bool = False) -> None:
        from tcpcc.models.meanfield.equilibrium import Solver

        self._solver = Solver(scenario, marking)
        self.world: MeanFieldWorld = self._solver.world
        w = self.world
        for k in self._solver.onset:
            link = w.resolved.links[w.kept[k]]
            raise ScenarioError(
                f"link {link.name!r}: the drop probability of queue {link.queue.name!r} changes by"
                " a timer and does not follow from the queue, as in a right-hand side; run"
                ' simulate(..., "meanfield")'
            )
        for flow in w.resolved.flows:
            if isinstance(flow.spec, CBR) or flow.spec.start > 0 or flow.spec.stop is not None:
                raise ScenarioError(
                    f"flow {flow.name!r}: a right-hand side needs flows with start = 0 and no stop,"
                    " and no CBR sources"
                )
        self.names: list[str] = []
        parts = []
        for i, kind in enumerate(w.kinds):
            flow = w.resolved.flows[kind.flow]
            self._solver.settle_at_first_window(i)
            if flow.controller is None:
                continue
            parts.append(w.states[i].view(float).reshape(-1))
            self.names += [f"{flow.name}.{x}" for x in flow.controller.state_dtype.names or ()]
        self._ends = np.cumsum([len(part) for part in parts])
        self.names += [f"{w.resolved.links[k].name}.backlog" for k in w.kept]
        self.y0: NDArray[np.float64] = np.concatenate([*parts, np.zeros(len(w.links))])

    def __call__(self, t: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """The drift at time `t` (s) and state `y`, as `scipy.integrate.solve_ivp` calls it."""
        from tcpcc.models.meanfield.drift import drift_of

        w = self.world
        n = int(self._ends[-1])
        out = np.zeros_like(y)
        states = np.split(np.ascontiguousarray(y[:n]), self._ends[:-1])
        backlog = np.clip(y[n:], 0, self._solver.room)
        windows = np.array([state[0] for state in states])
        found = self._solver.flow_rates(windows, backlog)
        for i, state in enumerate(states):
            row = w.classes[i]
            row["slow"], row["quantum"] = 0, 1.0
            row["acks"], row["losses"] = found.acks[i], found.losses[i]
            row["marks"] = found.marks[i]
            row["rtt"] = row["max_rtt"] = found.rtt[i]
            row["min_rtt"] = w.plans[i].base_rtt
            at, drift = state.copy(), np.zeros(len(state))
            drift_of(address(w.classes), i, address(at), t, address(drift))
            out[self._ends[i] - len(state) : self._ends[i]] = drift
        out[n:] = np.where((y[n:] <= 0) & (found.drift < 0), 0.0, found.drift)
        return out


def right_hand_side(scenario: Scenario, *, marking: bool = False) -> RightHandSide:
    """The mean field of a scenario without delays, as a function f(t, y).

    >>> import tcpcc as tc
    >>> from scipy.integrate import solve_ivp
    >>> net = tc.dumbbell("10 Mbps", "20 ms", 100, queue=tc.RED(min_thresh=5, max_thresh=80))
    >>> f = tc.right_hand_side(tc.Scenario(net, [tc.Flow("reno", count=10)], duration=10))
    >>> bool(solve_ivp(f, (0, 10), f.y0).success)
    True

    Args:
        scenario: a scenario whose flows are open all the time.
        marking: as in the meanfield model.

    Raises:
        ScenarioError: flows that start late, stop, or have a constant bit rate; a queue with a
            timer (PI); anything else that the meanfield model refuses.
    """
    return RightHandSide(scenario, marking)
