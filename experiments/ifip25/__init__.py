"""BBR and BBRv3 beside CUBIC and Reno: the numbers of a test-bed and of a published fluid model.

F. B. Sarpkaya, A. Srivastava, F. Fund, S. Panwar, "BBR's Sharing Behavior with CUBIC and Reno",
IFIP Networking 2025 (arXiv 2505.07741), tests the fluid model of S. Scherrer, M. Legner, A. Perrig,
S. Schmid, "Model-based insights on the performance, fairness, and stability of BBR", IMC 2022, on
the FABRIC test-bed. scenarios.py has the test-bed's networks; tables.py measures them, compares
them with the published numbers (experiments/data/ifip25_ten_published.csv,
ifip25_single_published.csv), and reads and writes ours (ifip25_ten.csv, ifip25_single.csv);
causes.py changes one setting or rule at a time where ours differ; figures.py draws.

`tcpcc reproduce ifip25` runs everything.
"""

from experiments.ifip25 import figures
from experiments.ifip25.scenarios import Single, Ten, single, ten
from experiments.ifip25.tables import everything, mean_error

__all__ = ["Single", "Ten", "everything", "figures", "mean_error", "single", "ten"]
