"""Explore a scenario in a notebook with sliders and menus: :func:`explore`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, TcpccError
from tcpcc.scenario import Flow, Scenario
from tcpcc.scenario.topologies import dumbbell

if TYPE_CHECKING:
    from tcpcc.apps.interactive.explorer import Explorer

__all__ = ["explore"]


def explore(scenario: Scenario | Mapping[str, Scenario] | None = None) -> Explorer:
    """Show sliders and menus for a scenario.

    The fluid model redraws after every change, the packet model on demand. The sliders and menus
    change the bottleneck's rate, buffer and queue discipline, the base RTT, the duration, and the
    controllers: any number, each with its parameters and its number of flows. All other settings
    are those of the scenario.

    Args:
        scenario: initial scenario, or a mapping from names to scenarios, for a menu. Default: Vegas
            and Reno on a dumbbell of 10 Mb/s.

    Returns:
        a widget for JupyterLab or a notebook; its attributes `scenario` and `runs` are the current
        scenario and its runs.

    Raises:
        TcpccError: ipywidgets is not installed; `pip install 'tcpcc[notebook]'`.
        ScenarioError: no scenario, or a scenario without a flow that has a controller.

    >>> import tcpcc as tc
    >>> net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    >>> explorer = tc.explore(tc.Scenario(net, [tc.Flow("cubic")], duration=60))  # doctest: +SKIP
    """
    try:
        from tcpcc.apps.interactive.explorer import Explorer
    except ImportError as missing:
        if missing.name not in ("ipywidgets", "IPython", "traitlets"):
            raise
        raise TcpccError("explore needs ipywidgets: pip install 'tcpcc[notebook]'") from None
    if scenario is None:
        net = dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
        scenario = Scenario(net, [Flow("vegas"), Flow("reno", start=5)], duration=60)
    starts = {"scenario": scenario} if isinstance(scenario, Scenario) else scenario
    if (
        not isinstance(starts, Mapping)
        or not starts
        or not all(isinstance(start, Scenario) for start in starts.values())
    ):
        raise ScenarioError("scenario: must be a Scenario, or a mapping from names to scenarios")
    return Explorer(starts)
