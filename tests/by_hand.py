"""A controller's rules to be called by hand, on plain objects."""

import math

from tcpcc.controllers import get
from tcpcc.slow_start import SLOW_STARTS, composed


def rules_of(controller, slow_start=None, *, params=None, sample=None, **state):
    """A controller with a slow-start rule, its state at a flow's start, parameters, a sample."""
    c = get(controller) if isinstance(controller, str) else controller
    c = composed(c, SLOW_STARTS[slow_start]) if slow_start else c
    s, p, a = c.example()
    vars(s).update({"cwnd": 1.0, "ssthresh": math.inf} | state)
    vars(p).update(c.check(params or {}))
    vars(a).update(sample or {})
    return c, s, p, a
