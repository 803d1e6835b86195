"""A verdict on a congestion controller: the evaluation that RFC 9743 asks for, as a program.

bottleneck.py has the networks, casts.py the flows that share them, readings.py the numbers, and
criteria.py puts them together; evaluation.py runs and judges, dossier.py has the result, page.py
draws it; league.py evaluates many.
attack.py searches for the worst case over the quantities of space.py, fit.py for the best
parameters; calibrate.py estimates the path of a trace.
"""

from tcpcc.apps.evaluate.attack import Weakness, attack
from tcpcc.apps.evaluate.calibrate import Path, calibrate
from tcpcc.apps.evaluate.dossier import Dossier, Finding
from tcpcc.apps.evaluate.evaluation import evaluate
from tcpcc.apps.evaluate.fit import Fit, fit
from tcpcc.apps.evaluate.league import League, league

__all__ = [
    "Dossier",
    "Finding",
    "Fit",
    "League",
    "Path",
    "Weakness",
    "attack",
    "calibrate",
    "evaluate",
    "fit",
    "league",
]
