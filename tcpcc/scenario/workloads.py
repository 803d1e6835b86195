"""Ready-made traffic that comes and goes, and what to build your own from.

``tc.Workload`` starts connections at random times; a `Conversation` is what one of them sends, with
sizes and times drawn from a `Distribution` or a table (`Empirical`). `tcplib` has measured
conversations.
"""

from __future__ import annotations

from typing import Any

from tcpcc.errors import nonnegative, positive
from tcpcc.scenario import tcplib, units
from tcpcc.scenario.distributions import Distribution, Empirical, distribution
from tcpcc.scenario.traffic import Flow
from tcpcc.scenario.workload import Conversation, Spec, Workload

__all__ = ["Conversation", "Distribution", "Empirical", "on_off", "poisson", "tcplib", "web"]


def poisson(rate: float) -> Distribution:
    """Interarrival times of a Poisson process with `rate` conversations per second."""
    return Distribution("expon", scale=1 / positive("rate", rate, "1/s"))


def on_off(
    flow: Flow | str, *, sources: int, size: Spec, off: Spec, name: str | None = None
) -> Workload:
    """A `Workload` of on/off sources.

    Each source is one connection that sends an item as fast as it can and is then idle.

    Args:
        flow: as in `Workload`.
        sources: number of sources. All start with the flow.
        size: bytes of an item; heavy-tailed sizes give traffic that is bursty at all time scales
            (Willinger et al., IEEE/ACM ToN 5(1), 1997: Pareto, 1 < shape < 2).
        off: idle time before each item, s.
        name: as in `Workload`.
    """
    silence = distribution("off", off, units.seconds)
    endless = Conversation(size, items=None, gap=silence, idle_first=True)
    return Workload(flow, endless, interarrival=0, count=sources, name=name)


WEB_SIZE: dict[str, Any] = {"name": "pareto", "b": 1.2, "scale": 2000}  # bytes
WEB_SOURCE = "Crovella, Bestavros 1997"


def web(
    flow: Flow | str, *, rate: float, size: Spec | None = None, name: str | None = None
) -> Workload:
    """A `Workload` of transfers that arrive as a Poisson process, each on its own connection.

    Args:
        flow: as in `Workload`.
        rate: transfers per second.
        size: bytes of a transfer. Default: Pareto with shape 1.2 and mean 12 kB, close to measured
            web files (Crovella, Bestavros, IEEE/ACM ToN 5(6), 1997: shape 1.1 to 1.2).
        name: as in `Workload`.
    """
    return Workload(
        flow,
        Conversation(Distribution(**WEB_SIZE) if size is None else size),
        interarrival=poisson(nonnegative("rate", rate)),
        name=name,
    )
