"""C.-W. Chang, "TCP performance analysis and fairness improvement in different congestion control
methods", thesis, National Chiao Tung University, 2004.

scenarios.py has its scenarios, with the settings that it does not print and the evidence for them;
tables.py takes the numbers of its tables from runs; figures.py draws its figures.
"""

from functools import partial

from experiments.harness import Item, Paper
from experiments.red_fairness import scenarios, tables

PAPER = Paper(
    "red_fairness",
    {
        **{
            table: Item(partial(tables.mix_runs, table), partial(tables.columns, tables.of_mix))
            for table in scenarios.TABLES
        },
        "table_4_3": Item(tables.joining_runs, partial(tables.columns, tables.of_joining)),
        "table_4_4": Item(tables.routers_runs, partial(tables.columns, tables.of_routers)),
    },
)
