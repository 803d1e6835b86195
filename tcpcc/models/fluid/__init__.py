"""The fluid model: packets made infinitely small, everything a cumulative curve over time.

:mod:`tcpcc.models.fluid.automaton` says what the model is and where it parts from the packet model.
"""

from tcpcc.models.fluid.automaton import simulate

__all__ = ["simulate"]
