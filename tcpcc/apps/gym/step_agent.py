"""A flow whose window an agent sets: its controller, what the agent observes, rewards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.controllers import Controller
from tcpcc.definition import State
from tcpcc.errors import one_of, refuse

if TYPE_CHECKING:
    from tcpcc.models.packet.live_flow import LiveFlow

LEAST, MOST = 1.0, 1e6
"""Range of the window, packets, and of the pacing rate, packets per second."""


def keep(s: Any, p: Any, a: Any) -> None:
    """Change nothing."""


AGENT = Controller(
    name="agent",
    summary="window and pacing rate are set from outside",
    on_ack=keep,
    on_loss=keep,
    on_timeout=keep,
    state={"pacing_rate": State(math.inf, "packets/s", "set by the agent")},
    window="own",
    recovery="rack-tlp",
)
"""The controller of a flow that an agent controls. It does not react to losses by itself."""


#: Observations by name: meaning, least and largest value, and the value of an interval.
OBSERVATIONS: dict[str, tuple[str, float, float, Callable[[Interval], float]]] = {
    "cwnd": (
        "log2 of the window in packets", 0.0, 20.0, lambda now: math.log2(max(now.cwnd, LEAST))
    ),
    "rtt": ("smoothed RTT over the smallest one", 1.0, 100.0, lambda now: now.rtt_ratio),
    "rtt_change": (
        "change of the smoothed RTT over the smallest one", -10.0, 10.0,
        lambda now: now.rtt_change,
    ),
    "rate": (
        "delivery rate over the largest one so far", 0.0, 1.0, lambda now: now.rate / now.top_rate
    ),
    "loss": ("retransmitted packets over sent ones", 0.0, 1.0, lambda now: now.loss),
}  # fmt: skip


@dataclass
class Interval:
    """What happened to a flow between two steps.

    Attributes:
        cwnd: window, packets.
        srtt, base_rtt: smoothed and smallest RTT, s.
        rtt_change: change of srtt / base_rtt.
        rate: packets acknowledged per second.
        top_rate: largest such rate so far.
        loss: retransmitted over sent packets.
        capacity: packets per second of the flow's bottleneck.
    """

    cwnd: float
    srtt: float
    base_rtt: float
    rtt_change: float
    rate: float
    top_rate: float
    loss: float
    capacity: float

    @property
    def rtt_ratio(self) -> float:
        return self.srtt / self.base_rtt if self.base_rtt > 0 else 1.0


def power(now: Interval) -> float:
    """log(throughput / capacity) - log(RTT / base RTT) - 10 loss, at least -5.

    The logarithm of Kleinrock's power, with a price for losses.
    """
    share = max(now.rate / now.capacity, 1e-3)
    return max(math.log(share) - math.log(max(now.rtt_ratio, 1.0)) - 10.0 * now.loss, -5.0)


def throughput(now: Interval) -> float:
    """Share of the capacity."""
    return now.rate / now.capacity


REWARDS: dict[str, Callable[[Interval], float]] = {"power": power, "throughput": throughput}
"""Rewards of a step by name."""


def reward_of(reward: str | Callable[[Interval], float]) -> Callable[[Interval], float]:
    """A reward by its name, or as given."""
    return reward if callable(reward) else REWARDS[one_of("reward", reward, known=REWARDS)]


def checked(observe: Sequence[str], act: str) -> tuple[str, ...]:
    """The names of observations, if these and the action are known."""
    for name in observe:
        one_of("observation", name, known=OBSERVATIONS)
    if not observe:
        raise refuse("observe", list(observe), f"one or more of {', '.join(OBSERVATIONS)}")
    one_of("action", act, known=ACTIONS)
    return tuple(observe)


ACTIONS = ("cwnd", "pacing_rate")
"""What an agent can set: the window, or the pacing rate with a window of two RTTs of it."""


@dataclass
class Hand:
    """An agent's hand on one flow: reads intervals and carries out actions.

    Args:
        flow: the live flow.
        act: one of `ACTIONS`.
        capacity: packets per second of its bottleneck.
        most: largest window, packets.
    """

    flow: LiveFlow
    act: str
    capacity: float
    most: float = MOST
    _acknowledged: int = 0
    _sent: int = 0
    _retransmitted: int = 0
    _ratio: float = 1.0
    _top: float = 1e-9

    def interval(self, seconds: float) -> Interval:
        """The interval of `seconds` that ends now."""
        flow = self.flow
        acked = flow.acknowledged - self._acknowledged
        sent = flow.sent - self._sent
        again = flow.retransmitted - self._retransmitted
        self._acknowledged, self._sent = flow.acknowledged, flow.sent
        self._retransmitted = flow.retransmitted
        rate = acked / seconds
        self._top = max(self._top, rate)
        base = flow.base_rtt if math.isfinite(flow.base_rtt) else flow.rtt
        now = Interval(
            flow.state["cwnd"], flow.rtt, base, 0.0, rate, self._top, again / max(sent, 1),
            self.capacity,
        )  # fmt: skip
        now.rtt_change = now.rtt_ratio - self._ratio
        self._ratio = now.rtt_ratio
        return now

    def carry_out(self, action: float) -> None:
        """Multiply the window, or the pacing rate, by 2 to the power of the action in [-1, 1]."""
        flow, factor = self.flow, 2.0 ** min(max(action, -1.0), 1.0)
        state = flow.state
        if self.act == "cwnd":
            flow.set(cwnd=min(max(state["cwnd"] * factor, LEAST), self.most))
            return
        old, rtt = state["pacing_rate"], flow.rtt or 0.1
        if not math.isfinite(old):
            old = state["cwnd"] / rtt
        rate = min(max(old * factor, LEAST), MOST)
        flow.set(pacing_rate=rate, cwnd=min(max(2 * rate * rtt, 4.0), self.most))


def observed(names: Sequence[str], now: Interval) -> NDArray[np.float32]:
    """The observations of an interval, shape [names], within their bounds."""
    values = [
        min(max(read(now), low), high) for _, low, high, read in (OBSERVATIONS[n] for n in names)
    ]
    return np.asarray(values, np.float32)


def bounds(names: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Least and largest observations, shape [names] each."""
    low, high = ([OBSERVATIONS[name][k] for name in names] for k in (1, 2))
    return np.asarray(low, np.float32), np.asarray(high, np.float32)
