"""The report: HTML pages for every table and figure of every paper.

`build` writes them into a folder. pages.py collects the content, traces.py the time series of
selected runs; templates/ and static/ define the layout. Links are relative, and the pages load
nothing from a network.
"""

from experiments.site.writing import build

__all__ = ["build"]
