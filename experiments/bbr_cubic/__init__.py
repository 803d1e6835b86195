"""BBR beside CUBIC: the FABRIC test-bed's numbers, Nash equilibria, harm and starvation.

A. Srivastava, F. Fund, S. Panwar, "Some of the internet may be heading towards BBR dominance: an
experimental study", INFOCOM CNERT workshop 2023, repeats A. Mishra, W. H. Tiu, B. Leong, "Are we
heading towards a BBR-dominant Internet?", IMC 2022, on the FABRIC test-bed. scenarios.py has the
test-bed's networks; tables.py measures them, compares them with the test-bed
(experiments/data/bbr_cubic_testbed.csv), and reads and writes our numbers (bbr_cubic.csv of
packets, bbr_cubic_fluid.csv); studies.py has BBRv3 with ECN, unlike RTTs, and starvation by
jitter; figures.py draws.

`tcpcc reproduce bbr_cubic` runs everything; its item "all" takes all 49 mixtures.
"""

from experiments.bbr_cubic import figures
from experiments.bbr_cubic.scenarios import Network, Point, networks, point, testbed
from experiments.bbr_cubic.tables import (
    equilibrium,
    moved,
    sample,
    simulated,
    stored,
    summary,
    ware,
)

__all__ = [
    "Network",
    "Point",
    "equilibrium",
    "figures",
    "moved",
    "networks",
    "point",
    "sample",
    "simulated",
    "stored",
    "summary",
    "testbed",
    "ware",
]
