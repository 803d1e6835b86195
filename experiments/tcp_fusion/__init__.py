"""K. Kaneko, T. Fujikawa, Z. Su, J. Katto, "TCP-Fusion: a hybrid congestion control algorithm for
high-speed networks", PFLDnet 2007.

scenarios.py has the scenarios, with the settings that the paper does not give; clock.py has two
variants with the coarse clock of a kernel; tables.py computes numbers from runs; figures.py draws
the figures.
"""

from functools import partial

import tcpcc as tc
from experiments.harness import Item, Paper
from experiments.tcp_fusion import figures as f
from experiments.tcp_fusion import scenarios as s
from experiments.tcp_fusion import tables as t


def lossy(*variants):
    """Figures 5 and 6: a variant and Reno share a link; throughput against the loss rate."""
    return Item(partial(s.lossy_runs, *variants), t.beside, chart=partial(f.draw_lossy, variants))


def in_phase(scenario: tc.Scenario) -> tc.Scenario:
    """For a drawing: access delays without their random part, which is below 10 ms."""
    return scenario.replace(
        flows=[f.replace(access_delay=round(f.access_delay or 0.0, 2)) for f in scenario.flows]
    )


PAPER = Paper(
    "tcp_fusion",
    {
        "table_1": Item(s.table_1_runs, t.table_1, chart=f.draw_table_1),
        "kernel": Item(s.kernel_runs, t.table_1),
        "figure_1": Item(measure=t.figure_1, draw=f.draw_1),
        "figure_2": Item(s.figure_2_runs, draw=f.draw_2),
        "band": Item(s.band_runs, draw=f.draw_band, models=("fluid",)),
        "figure_3": Item(networks=lambda: {"Laboratory": s.alone("Fusion", "1e-4", 1)}),
        "figure_4": Item(s.figure_4_runs, t.figure_4, chart=f.draw_4),
        "clock": Item(s.clock_runs, t.figure_4),
        "settings": Item(s.settings_runs, t.figure_4, models=("packet",)),
        "figure_5": lossy("Fusion", "ARENO", "CTCP"),
        "figure_6": lossy("HSTCP", "BIC", "CUBIC"),
        "figure_7": Item(
            networks=lambda: {
                "Route 1": s.joining("Fusion", 1),
                "Route 1, different RTTs": in_phase(s.round_trips("Fusion", s.LONGER["120 ms"], 1)),
                "Route 2": in_phase(s.route_2("Fusion", "Reno", seed=1)),
            }
        ),
        "figure_8": Item(s.figure_8_runs, t.figure_8, f.draw_8),
        "figure_9": Item(s.figure_9_runs, t.figure_9, chart=f.draw_9),
        "figure_10": Item(s.figure_10_runs, t.beside, chart=f.draw_10),
        "route_2": Item(s.route_2_runs, t.route_2),
        "figure_11": Item(s.figure_11_runs, t.figure_11, chart=f.draw_11),
        "figure_12": Item(
            networks=lambda: {
                f"{traffic} reverse traffic".capitalize(): s.parking_lot("Fusion", reverse, 1)
                for traffic, reverse in s.TRAFFIC.items()
            }
        ),
        "figure_13": Item(s.figure_13_runs, t.figure_13, chart=f.draw_13),
        "phases": Item(s.phases_runs, t.phases),
        "limits": Item(),
        "models": Item(s.models_runs, t.models, chart=f.draw_models),
    },
)
