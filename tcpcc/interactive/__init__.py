"""A scenario in a notebook with sliders and menus: :func:`explore`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, TcpccError
from tcpcc.scenario import Scenario

if TYPE_CHECKING:
    from tcpcc.interactive.explorer import Explorer

__all__ = ["explore"]


def explore(scenario: Scenario | Mapping[str, Scenario] | None = None) -> Explorer:
    """Sliders and menus for a scenario; the fluid model redraws at once, packets on demand.

    What can be changed: the bottleneck's rate, buffer and queue discipline, the base round-trip
    time, the duration, and who races: any number of controllers, each with its parameters and its
    number of flows. All else stays as the scenario has it.

    Args:
        scenario: to start from, or several by their names, for a menu. Default: Vegas beside Reno
            on a dumbbell of 10 Mb/s.

    Returns:
        a widget for JupyterLab or a notebook, whose attributes `scenario` and `runs` are what is
        shown.

    Raises:
        TcpccError: ipywidgets is not installed; `pip install 'tcpcc[notebook]'`.
        ScenarioError: no scenario, or one without a flow that has a controller.

    >>> import tcpcc as tc
    >>> net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    >>> explorer = tc.explore(tc.Scenario(net, [tc.Flow("cubic")], duration=60))  # doctest: +SKIP
    """
    try:
        from tcpcc.interactive.explorer import Explorer
    except ImportError as missing:
        if missing.name not in ("ipywidgets", "IPython", "traitlets"):
            raise
        raise TcpccError("explore needs ipywidgets: pip install 'tcpcc[notebook]'") from None
    if scenario is None:
        scenario = _example()
    starts = {"scenario": scenario} if isinstance(scenario, Scenario) else scenario
    if (
        not isinstance(starts, Mapping)
        or not starts
        or not all(isinstance(one, Scenario) for one in starts.values())
    ):
        raise ScenarioError("scenario: must be a Scenario, or several by their names")
    return Explorer(starts)


def _example() -> Scenario:
    from tcpcc.scenario import Flow
    from tcpcc.scenario.topologies import dumbbell

    net = dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    return Scenario(net, [Flow("vegas"), Flow("reno", start=5)], duration=60)
