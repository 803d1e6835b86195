"""C.-W. Chang, "TCP performance analysis and fairness improvement in different congestion control
methods", thesis, National Chiao Tung University, 2004.

scenarios.py has the scenarios, with the settings that the thesis does not give and their evidence;
tables.py computes the numbers of the tables from runs; figures.py draws the figures; studies.py has
the parameter studies, study_figures.py draws them; against_ns2.py compares means over seeds with
those of ns-2.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from experiments.harness import Item, Paper
from experiments.red_fairness import figures as f
from experiments.red_fairness import scenarios as s
from experiments.red_fairness import studies, study_figures, tables
from experiments.seeds import tabulate


def drawn(runs, draw):
    """A figure without numbers."""
    return Item(runs, draw=draw)


def mix_figures(table, *names):
    """Figures of throughput, queue and windows of a table's columns, six panels each."""
    panels = (f.throughput, f.queue, f.window)
    return {
        name: drawn(partial(s.drawn_mixes, table), partial(f.draw_columns, panel))
        for name, panel in zip(names, panels, strict=True)
    }


def letters(table):
    return {
        f"{queue} {m}": kinds for m, kinds in s.TABLES[table].mixes.items() for queue in s.QUEUES
    }


NUMBERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    table: (partial(s.mix_runs, table), partial(tabulate, tables.of_mix)) for table in s.TABLES
} | {
    "table_4_3": (s.joining_runs, partial(tabulate, tables.of_joining)),
    "table_4_4": (s.routers_runs, partial(tabulate, tables.of_routers)),
}


def shares(table, columns):
    """Each flow's share in a table's columns."""
    return Item(*NUMBERS[table], chart=partial(f.chart_shares, table, columns), of=table)


PAPER = Paper(
    "red_fairness",
    {name: Item(*both) for name, both in NUMBERS.items()}
    | mix_figures("table_3_1", "figure_3_4", "figure_3_6", "figure_3_7")
    | mix_figures("table_4_1", "figure_4_2", "figure_4_3", "figure_4_4")
    | {
        "figure_2_2": Item(networks=lambda: {"Section 2.2.2": studies.pair()}),
        "figure_3_2": Item(draw=f.draw_drop_probability),
        "figure_3_3": Item(
            networks=lambda: {
                "Table 3.1 (buffer 20; one more with RED)": s.mixed("table_3_1", "V vs R", "RED", 1)
            }
        ),
        "figure_4_1": Item(
            networks=lambda: {
                "Table 4.1 (buffer 100; one more with RED)": s.mixed("table_4_1", "4V1R", "RED", 1),
                "Table 4.2 (buffer 100; one more with RED)": s.mixed("table_4_2", "9V1R", "RED", 1),
            }
        ),
        "figure_4_8": Item(
            networks=lambda: {
                "Table 4.4, RED everywhere (buffers 20 and 100; one more with RED)": s.routers(
                    "ALL", 1
                )
            }
        ),
        "figure_2_3": Item(
            studies.alpha_runs,
            partial(studies.pair_values, "Vegas", "alpha"),
            chart=partial(study_figures.chart_pairs, "Vegas", "alpha (packets)"),
        ),
        "figure_3_5": Item(
            studies.buffer_runs,
            partial(studies.pair_values, "Vegas", "B"),
            chart=partial(study_figures.chart_pairs, "Vegas", "Buffer (packets)"),
        ),
        "figure_4_5": shares("table_4_2", letters("table_4_2")),
        "figure_4_6": drawn(s.drawn_joining, f.draw_joining),
        "figure_4_7": shares(
            "table_4_3", dict.fromkeys(["drop-tail", *s.ERRORS], 8 * "V" + 2 * "R")
        ),
        "figure_4_9": drawn(
            s.drawn_routers, partial(f.draw_some, f.throughput, ("drop-tail", "ALL"))
        ),
        "figure_4_10": drawn(
            s.drawn_routers, partial(f.draw_some, f.throughput, ("drop-tail", "ALL", "R1", "R3"))
        ),
        "variants": Item(
            studies.family_runs, studies.family_values, chart=study_figures.chart_family
        ),
        "cause": Item(studies.cause_runs, studies.cause_values),
        "vegas_alone": Item(studies.alone_runs, studies.alone_values),
        "thresholds": Item(studies.threshold_runs, studies.threshold_values),
        "smooth_limit": Item(studies.limit_runs, draw=study_figures.draw_limit, models=("fluid",)),
        "improvements": Item(),
        "limits": Item(),
        "recovery": Item(
            studies.recovery_runs, studies.recovery_values, chart=study_figures.chart_recovery
        ),
        "estimator": Item(
            studies.estimator_runs, studies.estimator_values, chart=study_figures.chart_estimator
        ),
    },
)
