"""Y.-C. Chan, C.-L. Lin, C.-T. Chan, C.-Y. Ho, "Improving performance of TCP Vegas for high
bandwidth-delay product networks": the paper that proposes Quick Vegas.

Section IV-A: one flow; CBR traffic temporarily takes half of the bottleneck (Figures 2, 3).
Section IV-B: the same with other bandwidths (Figures 4-6). Section IV-C: 60 flows that start and
stop (Tables I-III, Figure 7).

scenarios.py has the scenarios, with the settings that the paper does not give and their evidence;
tables.py computes numbers from runs; figures.py draws the figures.
"""

from functools import partial

from experiments.harness import Item, Paper
from experiments.quick_vegas import figures as f
from experiments.quick_vegas import scenarios as s
from experiments.quick_vegas import tables as t

EVENTS = {"figure_4": "start", "figure_5": "halved", "figure_6": "doubled"}

PAPER = Paper(
    "quick_vegas",
    {
        "figure_1": Item(
            networks=lambda: {
                "Sections IV-A and IV-B": s.basic("quick_vegas"),
                "Section IV-C": s.sharing("quick_vegas"),
            }
        ),
        "figure_2": Item(
            partial(s.basic_runs, "vegas", (0.0,)), partial(t.basic_values, "vegas"), f.draw_basic
        ),
        "figure_3": Item(
            partial(s.basic_runs, "quick_vegas", s.PHASES),
            partial(t.basic_values, "quick_vegas"),
            f.draw_basic,
        ),
        "settings": Item(s.settings_runs, t.settings, models=("packet",)),
        **{
            figure: Item(s.bdp_runs, partial(t.bdp_values, event), chart=f.chart_convergence)
            for figure, event in EVENTS.items()
        },
        "ramp": Item(s.ramp_runs, draw=f.draw_ramps, models=("fluid",)),
        "table_1": Item(
            partial(s.sharing_runs, tuple(s.NAMES), s.JITTERS),
            partial(t.each_controller, t.utilizations),
        ),
        "figure_7": Item(
            partial(s.sharing_runs, tuple(s.NAMES)),
            partial(t.each_controller, t.largest_queue),
            f.draw_queues,
        ),
        "table_2": Item(
            partial(s.sharing_runs, s.VEGAS_KIND), partial(t.each_controller, t.mean_queues)
        ),
        "table_3": Item(
            partial(s.sharing_runs, s.VEGAS_KIND), partial(t.each_controller, t.fairness)
        ),
    },
)
