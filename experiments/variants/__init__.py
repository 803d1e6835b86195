"""All registered controllers, measured alike: convergence, fairness, utilization, ratio to Reno.

networks.py has the networks and the scenarios; tables.py measures them in packets and fluid, and
reads and writes the numbers (experiments/data/variants.csv); figures.py draws the picture;
references.py has the runs that tell why models differ; page.py writes docs/variants.md.

`tcpcc reproduce variants` runs everything.
"""

from experiments.variants.figures import draw
from experiments.variants.measures import MEASURES
from experiments.variants.networks import NETWORKS, beside_reno, sharing
from experiments.variants.page import write_page
from experiments.variants.tables import accept, moved, reproduce, stored, summary

__all__ = [
    "MEASURES",
    "NETWORKS",
    "accept",
    "beside_reno",
    "draw",
    "moved",
    "reproduce",
    "sharing",
    "stored",
    "summary",
    "write_page",
]
