"""A small policy as a controller, trained by evolution strategies in compiled simulations.

The rule reads what an agent observes, once per RTT, and its weights are the controller's
parameters: so a trained policy is a controller like any other, and a generation of policies is a
list of scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.controllers import Controller
from tcpcc.definition import Param, State, register
from tcpcc.errors import ScenarioError, whole
from tcpcc.scenario import Flow, Scenario
from tcpcc.sweeps import sweep

if TYPE_CHECKING:
    from tcpcc.results import Run

WEIGHTS = ("bias", "queueing", "trend", "window", "loss")
"""Inputs of the policy: 1, (RTT - base RTT) / base RTT, its change, log2(cwnd) / 10, whether a
packet was lost since the last round."""


def on_ack(s: Any, p: Any, a: Any) -> None:
    if s.cwnd < s.ssthresh:
        s.cwnd += a.acked


def on_round(s: Any, p: Any, a: Any) -> None:
    if a.round_rtt > 0 and a.base_rtt > 0:
        queueing = a.round_rtt / a.base_rtt - 1.0
        u = math.tanh(
            p.bias
            + p.queueing * queueing
            + p.trend * (queueing - s.queueing)
            + p.window * math.log2(s.cwnd) / 10.0
            + p.loss * s.lost
        )
        if s.cwnd >= s.ssthresh or u < 0.0:
            s.cwnd = max(s.cwnd * 2.0 ** (0.5 * u), 2.0)
            s.ssthresh = min(s.ssthresh, s.cwnd)
        s.queueing = queueing
        s.lost = 0.0


def on_loss(s: Any, p: Any, a: Any) -> None:
    s.ssthresh = max(0.7 * a.window, 2.0)
    s.cwnd = s.ssthresh
    s.lost = 1.0


def on_timeout(s: Any, p: Any, a: Any) -> None:
    s.ssthresh = max(0.5 * a.window, 2.0)
    s.cwnd = 1.0
    s.lost = 1.0


def policy(name: str = "policy", weights: Sequence[float] | None = None) -> Controller:
    """The policy as a controller; each round the window is multiplied by 2^(tanh(w x) / 2).

    Args:
        name: the controller's name.
        weights: of the inputs `WEIGHTS`, shape [5]. Default: a guess from which training begins.

    Raises:
        ScenarioError: the number of weights is wrong.
    """
    values = list(START if weights is None else weights)
    if len(values) != len(WEIGHTS):
        raise ScenarioError(f"weights: needs {len(WEIGHTS)} numbers, {', '.join(WEIGHTS)}")
    return Controller(
        name=name,
        summary="learned: a linear policy of delay, its trend, window and loss",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            weight: Param(float(value), "", f"weight of the {weight}")
            for weight, value in zip(WEIGHTS, values, strict=True)
        },
        state={
            "queueing": State(0.0, "", "(RTT - base RTT) / base RTT of the last round"),
            "lost": State(0.0, "", "whether a packet was lost in this round"),
        },
    )


START = (0.3, -1.0, -0.5, -0.2, -0.2)


def policy_score(run: Run, agents: Sequence[str]) -> float:
    """Mean over the flows of log(throughput / fair share), less log(1 + queueing / base RTT).

    Measured after a fifth of the run. A flow of 10^-3 of its share or less counts as that.
    """
    after = run.duration / 5
    rates = run.throughput(after).sel(flow=list(agents)).values
    fair = float(run.data["rate"].min()) / len(run.flows)
    base = float(run.data["base_rtt"].sel(flow=list(agents)).min())
    waiting = run.queue_mean(after) * 8 * float(run.data["packet_size"][0])
    delay = waiting / float(run.data["rate"].min())
    return float(np.log(np.clip(rates / fair, 1e-3, 1.0)).mean() - math.log1p(delay / base))


@dataclass(frozen=True)
class Training:
    """A trained policy.

    Attributes:
        controller: the policy, registered.
        weights: its weights, shape [5].
        history: score of the mean policy after each generation, shape [generations].
    """

    controller: Controller
    weights: NDArray[np.float64]
    history: list[float] = field(repr=False)


def train(
    scenarios: Sequence[Scenario],
    agents: Sequence[str] = ("agent",),
    *,
    name: str = "policy",
    generations: int = 30,
    population: int = 16,
    step: float = 0.3,
    seed: int = 1,
    score: Callable[[Run, Sequence[str]], float] = policy_score,
    jobs: int | None = None,
) -> Training:
    """Train the weights of `policy` by evolution strategies, and register it.

    A generation draws pairs w + e, w - e around the mean weights w and moves w along the sum of
    e (score(w + e) - score(w - e)), scores being replaced by their ranks. Source: Salimans, Ho,
    Chen, Sidor, Sutskever, Evolution Strategies as a Scalable Alternative to Reinforcement
    Learning, 2017.

    Args:
        scenarios: what to train on; the score is the mean over these.
        agents: names of the flows that have the policy.
        name: name of the trained controller.
        generations: number of generations.
        population: number of pairs.
        step: standard deviation of e, which falls to a third at the end.
        seed: seed of the search.
        score: number to raise, from a run and the agents' names.
        jobs: as in `tcpcc.sweep`.
    """
    whole("generations", generations, "", low=1)
    whole("population", population, "", low=1)
    draw = np.random.default_rng(seed)
    rule = policy(name)
    mean = np.asarray(START, dtype=float)

    def scores(candidates: NDArray[np.float64]) -> NDArray[np.float64]:
        cases = [_with(scenario, agents, rule, w) for w in candidates for scenario in scenarios]
        runs = sweep(cases, jobs=jobs, progress=False)
        values = np.reshape([score(run, agents) for run in runs], (len(candidates), -1))
        return values.mean(axis=1)

    history = []
    for k in range(generations):
        width = step * 3.0 ** (-k / generations)
        noise = draw.normal(0.0, width, (population, len(mean)))
        values = scores(np.concatenate([mean + noise, mean - noise]))
        ranks = values.argsort().argsort() / (2 * population - 1) - 0.5
        gain = ranks[:population] - ranks[population:]
        mean = mean + 2.0 * (gain[:, None] * noise).mean(axis=0)
        history.append(float(scores(mean[None, :])[0]))
    return Training(register(policy(name, mean.tolist())), mean, history)


def _with(
    scenario: Scenario, agents: Sequence[str], rule: Controller, weights: NDArray[np.float64]
) -> Scenario:
    """The scenario with the policy in the agents' flows."""
    params = dict(zip(WEIGHTS, map(float, weights), strict=True))
    flows = [
        flow.replace(controller=rule, params=params)
        if flow.name in agents and isinstance(flow, Flow)
        else flow
        for flow in scenario.flows
    ]
    return scenario.replace(flows=flows)
