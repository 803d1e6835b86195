"""K. Kaneko, J. Katto, "Reno friendly TCP Westwood based on router buffer estimation", 2005.

scenarios.py has the scenarios, with the settings that the paper does not give and their evidence;
tables.py computes numbers from runs; figures.py draws the figures. Figure 2, a sketch of the
trade-off's regions, is also the background of Figures 3 and 4.
"""

from functools import partial

from experiments.harness import Item, Paper
from experiments.westwood_rbe import figures as f
from experiments.westwood_rbe import scenarios as s
from experiments.westwood_rbe import tables

PAPER = Paper(
    "westwood_rbe",
    {
        "figure_1": Item(
            s.ratio_runs, tables.ratios, chart=f.draw_ratios, parts=("pair", "buffer", "seed")
        ),
        "reduction": Item(s.reduction_runs, draw=f.draw_reductions, models=("fluid",)),
        "equations": Item(s.law_runs, tables.laws, chart=f.draw_laws),
        "figure_2": Item(draw=f.draw_regions),
        "figure_3": Item(
            s.crowd_runs,
            tables.tradeoff,
            chart=partial(f.draw_tradeoff, f.CROWD_PANELS),
            parts=("controller", "buffer", "flows", "seed"),
        ),
        "figure_4": Item(
            s.pair_runs,
            tables.tradeoff,
            chart=partial(f.draw_tradeoff, f.PAIR_PANELS),
            parts=("controller", "buffer", "flows", "seed"),
        ),
        "limits": Item(),
        "figure_5": Item(
            s.rtt_runs, tables.fairness, chart=f.draw_fairness, parts=("case", "flows", "seed")
        ),
        "round_trips": Item(
            s.class_runs, tables.classes, chart=f.draw_classes, parts=("case", "flows", "seed")
        ),
        "alone": Item(s.alone_runs, tables.alone),
        "estimators": Item(
            s.estimator_runs, tables.estimators, parts=("controller", "buffer", "seed")
        ),
    },
)
