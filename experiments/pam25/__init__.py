"""TCP Prague beside BBRv3 and CUBIC on a test-bed: one flow of each, and mixtures of many flows.

F. B. Sarpkaya, F. Fund, S. Panwar, "To adopt or not to adopt L4S-compatible congestion control?
Understanding performance in a partial L4S deployment", PAM 2025
(doi 10.1007/978-3-031-85960-1_10). scenarios.py has the test-bed's network, which is that of the
study l4s; tables.py measures, compares with the published numbers
(experiments/data/pam25_shares_published.csv), and reads and writes ours (pam25_shares.csv);
causes.py changes one setting of the hosts at a time; figures.py draws.

`tcpcc reproduce pam25` runs everything.
"""

from experiments.pam25 import figures
from experiments.pam25.scenarios import Mixture, mixtures
from experiments.pam25.tables import everything, published, within

__all__ = ["Mixture", "everything", "figures", "mixtures", "published", "within"]
