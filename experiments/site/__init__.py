"""The report: every table and figure of every paper as a folder of HTML pages.

`build` writes it. pages.py gathers what the pages tell, traces.py the runs that can be looked at,
templates/ and static/ say how it looks. Links are relative, nothing comes from a network.
"""

from experiments.site.writing import build

__all__ = ["build"]
