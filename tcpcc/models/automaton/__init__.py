"""The fluid model: infinitely small packets, described by cumulative curves over time.

:mod:`tcpcc.models.automaton.automaton` describes the model and its differences from the packet model.
"""

from tcpcc.models.automaton.automaton import simulate

__all__ = ["simulate"]
