"""The fluid model: packets made infinitely small, everything a cumulative curve over time.

:mod:`tcpcc.fluid.automaton` says what the model is and where it parts from the packet model.
"""
