"""F. B. Sarpkaya, A. Srivastava, F. Fund, S. Panwar, "To switch or not to switch to TCP Prague?
Incentives for adoption in a partial L4S deployment", ANRW 2024.

scenarios.py has the test-bed's settings and their sources; tables.py computes numbers from runs;
figures.py draws them. The items "dualq", "pairs" and "overload" are of RFC 9332's claims.
"""

from experiments.harness import Item, Paper
from experiments.l4s import figures as f
from experiments.l4s import scenarios as s
from experiments.l4s import tables as t

PARTS = ("bottleneck", "rival", "buffer", "seed")

PAPER = Paper(
    "l4s",
    {
        "throughput": Item(
            s.all_runs,
            t.throughputs,
            chart=f.chart_throughputs,
            parts=PARTS,
        ),
        "delay": Item(s.cubic_runs, t.delays, chart=f.chart_delays, parts=PARTS),
        "dualq": Item(s.dualq_runs, t.dualq, parts=("rate", "rtt", "seed")),
        "pairs": Item(
            s.pair_runs,
            t.pairs,
            parts=("scalable", "classic", "rtt", "seed"),
        ),
        "overload": Item(s.overload_runs, t.overloads),
        "limits": Item(),
    },
)
