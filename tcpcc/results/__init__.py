"""The record of a run: its analysis, file, metrics and plots."""

from tcpcc.results import convergence, metrics, plots
from tcpcc.results.run import Run

__all__ = ["Run", "convergence", "metrics", "plots"]
