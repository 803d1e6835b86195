"""L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE
JSAC 13(8), 1995.

scenarios.py has the scenarios, with the settings that the paper does not give and their evidence;
tables.py computes numbers from runs; figures.py draws the figures. The complex network, and the
Internet of 1994 on which Tables I and II were measured, are replaced by substitutes, and ratios are
compared.
"""

from functools import partial

from experiments.harness import Item, Paper
from experiments.tcp_vegas import figures as f
from experiments.tcp_vegas import scenarios as s
from experiments.tcp_vegas import tables as t

PAPER = Paper(
    "tcp_vegas",
    {
        "figure_5": Item(s.figure_5_runs, t.alone, f.draw_alone),
        "figure_6": Item(
            networks=lambda: {
                "One transfer without traffic": s.alone(s.VEGAS),
                "With background traffic": next(iter(s.figure_10_runs().values())),
            }
        ),
        "figure_7": Item(s.figure_7_runs, t.alone, f.draw_alone),
        "figure_8": Item(s.figure_7_runs, draw=f.draw_detail),
        "settings": Item(s.settings_runs, t.settings, parts=("transfer", "setting", "seed")),
        "figure_9": Item(s.figure_9_runs, draw=f.draw_beside_traffic),
        "figure_10": Item(s.figure_10_runs, draw=f.draw_beside_traffic),
        "figure_11": Item(s.figure_11_runs, t.start_up, f.draw_start_up),
        "predecessors": Item(s.predecessor_runs, t.predecessors, chart=f.chart_predecessors),
        "table_3": Item(
            s.pair_runs,
            t.pairs,
            chart=f.chart_pairs,
            parts=("small", "large", "buffer", "seed", "delay"),
        ),
        "pair_buffers": Item(
            s.pair_runs, t.pairs_by_buffer, parts=("small", "large", "buffer", "seed", "delay")
        ),
        "pairs_beside_traffic": Item(
            partial(s.pair_runs, beside_traffic=True),
            t.pairs_beside_traffic,
            parts=("small", "large", "buffer", "seed", "delay"),
        ),
        "table_4": Item(s.table_4_runs, t.transfers, chart=f.chart_transfers),
        "load": Item(
            s.load_runs, t.loads, chart=f.chart_loads, parts=("controller", "load", "seed")
        ),
        "clock": Item(
            s.clock_runs, t.loads, models=("packet",), parts=("controller", "clock", "seed")
        ),
        "vegas_background": Item(
            s.background_runs, t.vegas_background, parts=("controller", "background", "seed")
        ),
        "two_way": Item(partial(s.traffic_runs, s.BOTH, two_way=True), t.transfers),
        "send_buffer": Item(
            s.send_buffer_runs,
            t.send_buffers,
            chart=f.chart_send_buffers,
            parts=("controller", "send buffer", "seed"),
        ),
        "fairness": Item(
            s.fairness_runs,
            t.fairness,
            chart=f.chart_fairness,
            parts=("controller", "flows", "delays", "seed"),
        ),
        "fairness_settings": Item(
            s.fairness_settings_runs,
            t.fairness_settings,
            parts=("setting", "controller", "flows", "delays", "seed"),
        ),
        "fairness_traffic": Item(s.fairness_traffic_runs, t.fairness_traffic),
        "mixed": Item(s.mixed_runs, t.mixed),
        "stability": Item(
            s.stability_runs, t.stability, parts=("controller", "buffer", "rate", "seed")
        ),
        "figure_12": Item(
            s.complex_runs,
            t.backbone,
            networks=lambda: {
                "Substitute for Figure 12, with traffic sources ts1 to ts16": s.complex_network(
                    s.VEGAS, 1
                )
            },
        ),
        "equilibrium": Item(s.equilibrium_runs, draw=f.draw_equilibrium, models=("fluid",)),
        "queues": Item(s.queue_runs, t.queues),
        "bsd": Item(s.bsd_runs, t.alone),
        "bsd_traffic": Item(s.bsd_traffic_runs, t.alone),
        "table_1": Item(
            partial(s.internet_runs, s.TABLE, (s.MB,)),
            t.internet,
            parts=("controller", "size", "seed"),
        ),
        "table_2": Item(
            partial(s.internet_runs, s.BOTH, s.INTERNET_SIZES),
            t.by_size,
            parts=("controller", "size", "seed"),
        ),
    },
)
