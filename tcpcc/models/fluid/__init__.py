"""The fluid model: infinitely small packets, described by cumulative curves over time.

:mod:`tcpcc.models.fluid.automaton` describes the model and its differences from the packet model.
"""

from tcpcc.models.fluid.automaton import simulate

__all__ = ["simulate"]
