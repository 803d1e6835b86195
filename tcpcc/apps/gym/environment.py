"""Environments of Gymnasium (one agent) and PettingZoo (several) over the compiled packet model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError, TcpccError, positive, unknown

try:
    import gymnasium
    from gymnasium import spaces
    from pettingzoo import ParallelEnv
except ImportError:
    message = "tcpcc.apps.gym needs Gymnasium and PettingZoo: pip install 'tcpcc[gym]'"
    raise TcpccError(message) from None

from tcpcc.apps.gym.step_agent import (
    AGENT,
    MOST,
    Hand,
    Interval,
    bounds,
    checked,
    observed,
    reward_of,
)
from tcpcc.models.packet.compiled_driver import CompiledSimulation
from tcpcc.scenario import CBR, Flow, Scenario, units

if TYPE_CHECKING:
    from tcpcc.results import Run

OBSERVE = ("cwnd", "rtt", "rtt_change", "rate", "loss")

RTT = "rtt"

FIRST = 0.01
"""Steps in which an episode waits for the agent's first RTT, s."""

Spec = Scenario | Sequence[Scenario] | Callable[[np.random.Generator], Scenario]
"""A scenario, several to choose from at random, or a function that draws one."""

Reward = str | Callable[[Interval], float]


class _Episode:
    """One run of a scenario in steps."""

    def __init__(self, scenario: Scenario, agents: Sequence[str], act: str, every: str | float):
        flow_names = [flow.name for flow in scenario.flows]
        for agent in agents:
            if agent not in flow_names:
                raise unknown("flow", agent, [name for name in flow_names if name])
        flows = [_handed_over(flow) if flow.name in agents else flow for flow in scenario.flows]
        self.sim = CompiledSimulation(scenario.replace(flows=flows))
        self.end = scenario.duration
        self._every = every
        names = [flow.name for flow in self.sim.world.resolved.flows]
        self._numbers = {agent: names.index(agent) for agent in agents}
        self.hands = {
            agent: Hand(self.sim.flow(agent), act, *_limits(self.sim, number))
            for agent, number in self._numbers.items()
        }
        while not all(hand.flow.rtt > 0 for hand in self.hands.values()) and self.going:
            self.sim.advance(min(self.sim.now + FIRST, self.end))
        self.intervals = {name: hand.interval(FIRST) for name, hand in self.hands.items()}

    @property
    def going(self) -> bool:
        return self.sim.now < self.end

    def has_finished(self, agent: str) -> bool:
        """Whether all of the agent's flow is acknowledged; False for an endless flow."""
        return not math.isnan(self.sim.world.tcp[self._numbers[agent]]["finished"])

    def step(self) -> None:
        """Advance by one step, and read what happened."""
        if self._every == RTT:
            width = max(min(hand.flow.rtt for hand in self.hands.values()), 1e-6)
        else:
            width = float(self._every)
        until = min(self.sim.now + width, self.end)
        width = max(until - self.sim.now, 1e-9)
        self.sim.advance(until)
        self.intervals = {name: hand.interval(width) for name, hand in self.hands.items()}


def _begun(episode: _Episode | None, call: str = "step") -> _Episode:
    if episode is None:
        raise ScenarioError(f"{call}: call reset first")
    return episode


def _handed_over(flow: Flow | CBR) -> Flow:
    """The flow with the agent's controller."""
    if isinstance(flow, CBR):
        raise ScenarioError(f"flow {flow.name!r}: is a CBR source; an agent needs a Flow")
    return flow.replace(controller=AGENT, params=())


ROOM = 4.0
"""Largest window of an agent, in windows that fill the path and its buffers. Beyond the first all
packets are dropped, and each costs time."""

ENDLESS = 10.0
"""BDPs that count as the room of an unlimited buffer."""

LEAST_ROOM = 20.0
"""packets, also on the smallest path."""


def _limits(sim: CompiledSimulation, number: int) -> tuple[float, float]:
    """Packets per second of the slowest link on a flow's path, and its largest window."""
    resolved = sim.world.resolved
    flow = resolved.flows[number]
    bits, there = 8.0 * flow.spec.packet_size, [resolved.links[k] for k in flow.forward]
    rates = [link.rate for link in there]
    capacity = min(rates) / bits
    rates += [c.spec.rate for c in resolved.changes if c.link in flow.forward and c.spec.rate]
    rtt = sum(link.delay for link in there) + sum(resolved.links[k].delay for k in flow.reverse)
    limited = [rate for rate in rates if math.isfinite(rate)]
    if not limited:
        return capacity, MOST
    bdp = max(limited) * rtt / bits
    room = bdp
    for link in there:
        if math.isfinite(link.rate):
            packets = link.buffer * (1.0 if link.buffer_unit == "packets" else 8.0 / bits)
            room += min(packets, ENDLESS * max(bdp, 10.0))
    return capacity, min(max(ROOM * room, LEAST_ROOM), MOST)


def _interval(every: str | float) -> str | float:
    return every if every == RTT else positive("every", units.seconds(every, "every"), "s")


def _drawn(spec: Spec, draw: np.random.Generator) -> Scenario:
    """The scenario of an episode, with a seed of its own."""
    if isinstance(spec, Scenario):
        scenario = spec
    elif callable(spec):
        scenario = spec(draw)
    else:
        scenario = spec[int(draw.integers(len(spec)))]
    return scenario.replace(seed=int(draw.integers(2**31)))


class Congestion(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One agent that sets the window of one flow; see `make`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, scenario: Spec, agent: str = "agent", *, observe: Sequence[str] = OBSERVE,
        act: str = "cwnd", every: str | float = RTT, reward: Reward = "power",
    ) -> None:  # fmt: skip
        self._spec, self._agent, self._act = scenario, agent, act
        self._observe, self._every = checked(observe, act), _interval(every)
        self._reward = reward_of(reward)
        self.observation_space = spaces.Box(*bounds(self._observe), dtype=np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._episode: _Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        scenario = _drawn(self._spec, self.np_random)
        self._episode = _Episode(scenario, [self._agent], self._act, self._every)
        return self._observation(), self._info()

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        episode = _begun(self._episode)
        episode.hands[self._agent].carry_out(float(np.asarray(action).ravel()[0]))
        episode.step()
        reward = float(self._reward(episode.intervals[self._agent]))
        end = episode.has_finished(self._agent)
        return self._observation(), reward, end, not episode.going, self._info()

    def result(self) -> Run:
        """The record of the episode so far."""
        return _begun(self._episode).sim.result()

    def _observation(self) -> NDArray[np.float32]:
        return observed(self._observe, _begun(self._episode).intervals[self._agent])

    def _info(self) -> dict[str, Any]:
        episode = _begun(self._episode)
        return {"time": episode.sim.now, **vars(episode.intervals[self._agent])}


class Agents(ParallelEnv[str, NDArray[np.float32], NDArray[np.float32]]):
    """Several agents in one network; see `make_parallel`."""

    metadata: dict[str, Any] = {"render_modes": [], "name": "tcpcc"}  # noqa: RUF012

    def __init__(
        self, scenario: Spec, agents: Sequence[str], *, observe: Sequence[str] = OBSERVE,
        act: str = "cwnd", every: str | float = RTT, reward: Reward = "power",
    ) -> None:  # fmt: skip
        self._spec, self._act = scenario, act
        self._observe, self._every = checked(observe, act), _interval(every)
        self._reward = reward_of(reward)
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        space = spaces.Box(*bounds(self._observe), dtype=np.float32)
        self.observation_spaces = dict.fromkeys(agents, space)
        self.action_spaces = {a: spaces.Box(-1.0, 1.0, (1,), np.float32) for a in agents}
        self._draw = np.random.default_rng()
        self._episode: _Episode | None = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, dict[str, Any]]]:
        if seed is not None:
            self._draw = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        scenario = _drawn(self._spec, self._draw)
        self._episode = _Episode(scenario, self.agents, self._act, self._every)
        return self._observation(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, NDArray[np.float32]]) -> tuple[Any, ...]:
        episode = _begun(self._episode)
        for agent, action in actions.items():
            episode.hands[agent].carry_out(float(np.asarray(action).ravel()[0]))
        episode.step()
        observations, over = self._observation(), not episode.going
        rewards = {a: float(self._reward(episode.intervals[a])) for a in self.agents}
        ends = {a: episode.has_finished(a) for a in self.agents}
        cuts = dict.fromkeys(self.agents, over)
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agents = [a for a in self.agents if not (over or ends[a])]
        return observations, rewards, ends, cuts, infos

    def result(self) -> Run:
        """The record of the episode so far."""
        return _begun(self._episode, "result").sim.result()

    def _observation(self) -> dict[str, NDArray[np.float32]]:
        intervals = _begun(self._episode).intervals
        return {a: observed(self._observe, intervals[a]) for a in self.agents}


def make(scenario: Spec, agent: str = "agent", **settings: Any) -> Congestion:
    """A Gymnasium environment: an agent sets the window of one flow, others may be beside it.

    An episode is one run. It begins at the flow's first RTT sample, is truncated at the scenario's
    end, and terminates earlier if the flow has a `size` and all of it is acknowledged. A step
    multiplies the window by 2 to the power of the action, in [-1, 1], up to four times what the
    path and its buffers hold.
    ``gymnasium.make("tcpcc.apps.gym:tcpcc/Congestion-v0", scenario=...)`` makes it too.

    Args:
        scenario: a scenario, several to choose from, or a function of a NumPy generator that
            returns one. Each episode has another seed; it matters only where there is chance, as
            in `scenario.jittered(starts="1 s")`, with random losses, RED or a workload.
        agent: name of the flow; its controller is replaced.
        observe: names of `OBSERVATIONS`, in this order. Default: all.
        act: "cwnd", or "pacing_rate" (with a window of two RTTs of it).
        every: duration of a step: "rtt" (the flow's smoothed RTT) or a time, such as "10 ms".
        reward: name of a reward of `REWARDS`, or a function of an `Interval`.

    Raises:
        ScenarioError: an unknown flow, observation, action or reward.
    """
    return Congestion(scenario, agent, **settings)


def make_parallel(scenario: Spec, agents: Sequence[str], **settings: Any) -> Agents:
    """A PettingZoo environment: several agents, each with a flow of the same network.

    An agent whose flow has a `size` leaves when all of it is acknowledged.

    Args:
        scenario: as in `make`.
        agents: names of the flows.
        **settings: as in `make`. With ``every="rtt"`` a step is the smallest RTT.
    """
    return Agents(scenario, agents, **settings)


gymnasium.register("tcpcc/Congestion-v0", entry_point="tcpcc.apps.gym.environment:Congestion")
