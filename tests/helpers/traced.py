"""Events of a trace by their names."""

import numpy as np

from tcpcc.results.recording import EVENTS


def events(run, *kinds, flow=None):
    """The events of some kinds, of all flows or one."""
    wanted = np.isin(run.events["event"], [EVENTS.index(kind) for kind in kinds])
    if flow is not None:
        wanted &= run.events["flow"] == run.flows.index(flow)
    return run.events[wanted]
