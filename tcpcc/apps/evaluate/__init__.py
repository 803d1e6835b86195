"""A verdict on a congestion controller: the evaluation that RFC 9743 asks for, as a program.

bottleneck.py has the networks, mixes.py the flows that share them, measures.py the numbers;
evaluation.py puts all criteria together, runs and judges, findings.py has the result, page.py draws
it; ranking.py evaluates many.
attack.py searches for the worst case over the quantities of space.py, fit.py for the best
parameters; calibrate.py estimates the path of a trace.
"""

from tcpcc.apps.evaluate.attack import WorstCase, attack
from tcpcc.apps.evaluate.calibrate import Path, calibrate
from tcpcc.apps.evaluate.evaluation import evaluate
from tcpcc.apps.evaluate.findings import Evaluation, Finding
from tcpcc.apps.evaluate.fit import Fit, fit
from tcpcc.apps.evaluate.ranking import Ranking, league

__all__ = [
    "Evaluation",
    "Finding",
    "Fit",
    "Path",
    "Ranking",
    "WorstCase",
    "attack",
    "calibrate",
    "evaluate",
    "fit",
    "league",
]
