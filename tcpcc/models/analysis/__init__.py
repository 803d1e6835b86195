"""The fluid model's smooth limit: equilibria, linear stability, and a right-hand side for solvers.

In the limit of many equal flows losses are a rate instead of jumps, and one smooth differential
equation with delays describes a class of flows (`drift`). It is not integrated here: `equilibrium`
finds where it rests, `linear` and `stability` what small disturbances do there, and
`right_hand_side` gives it without delays. The cost does not depend on bandwidths or on the number
of flows in a class. For trajectories use ``simulate(..., model="fluid")``.

After V. Misra, W. Gong, D. Towsley, "Fluid-based analysis of a network of AQM routers supporting
TCP flows with an application to RED", SIGCOMM 2000, with two differences: acknowledgements are
delayed like losses, and delays are exact (a packet is delayed by the queue that it met), where
the paper uses t - R(t).

What it leaves out
    - The variation between the flows of a class: a rule is evaluated at the mean state. Reno's
      window is sqrt(2 (1 - p) / p), while flows with independent losses have 1.31 / sqrt(p) and
      periodic losses give 1.22 / sqrt(p).
    - Timeouts, loss recovery and whole packets: windows below about four packets are wrong.
    - Slow start and bursts: a window leaves evenly over its round-trip time.
    - Rules that switch have no slope. A controller with a band in which it does nothing (Vegas with
      alpha < beta) rests where it entered the band.
    - All that ends or changes: sizes, workloads, stops, scheduled changes. `unsupported` has the
      list of what is refused.
"""

from tcpcc.models.analysis.equilibrium import equilibrium
from tcpcc.models.analysis.right_hand_side import right_hand_side
from tcpcc.models.analysis.stability import Stability, stability, stability_map

__all__ = ["Stability", "equilibrium", "right_hand_side", "stability", "stability_map"]
