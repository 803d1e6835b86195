"""Linux' recorded senders on a wide range of paths, and the papers' results inside Linux."""

from pathlib import Path

import numpy as np
import pytest

from experiments.kernel import compare, papers
from experiments.kernel.cases import WIDE
from experiments.kernel.record import LATE_MEAN

pytestmark = pytest.mark.long

#: (case, flow) -> numbers that miss; the guide has the causes.
MISSES = {
    ("reno, 10 Mb/s, 40 ms, 3 packets", 0): ["goodput", "window", "start"],
    ("bbr, 50 Mb/s, 100 ms, 20 % loss", 0): ["window", "start"],
}


def test_flow_linux_is_the_kernels_sender_except_in_the_known_cases():
    found = compare.wide().groupby(["case", "flow"], sort=False)
    wrong = {key: missed for key, rows in found if (missed := compare.misses(rows))}
    assert wrong == MISSES
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    agree = len(WIDE) - len({case for case, _ in MISSES})
    assert f"{agree} of {len(WIDE)} cases" in " ".join(readme.split())


def test_some_runs_of_bbr_collapse_at_20_percent_of_loss():
    """Below 5 Mb/s, in Linux as here; the others agree."""
    name = "bbr, 50 Mb/s, 100 ms, 20 % loss"
    kept, shares = [], []
    for side in ("kernel", "linux"):
        found = [run[0] for run in compare.numbers_of(name, side)]
        fine = [one for one in found if one["goodput"] > 5]
        shares.append(1 - len(fine) / len(found))
        kept.append({n: np.mean([one[n] for one in fine]) for n in compare.NUMBERS})
    assert 0.05 < min(shares) < max(shares) < 0.3
    for number in ("window", "start"):
        assert kept[1][number] == pytest.approx(kept[0][number], rel=compare.WITHIN[number])


def test_another_sender_differs_from_the_kernels():
    """The plain sender in the place of `tc.Flow.linux`: no growth stops after its marks."""
    rows = compare.wide()
    rows = rows[rows["case"] == "cubic, 50 Mb/s, 100 ms, marks above 100"].copy()
    swapped = rows.replace({"side": {"linux": "plain", "plain": "linux"}})
    assert compare.misses(rows) == []
    assert compare.misses(swapped) == ["goodput", "window", "start"]


def test_random_time_of_microseconds_decides_with_three_packets_of_buffer():
    """Arrivals and departures coincide: Linux 1.25 Mb/s."""
    case = WIDE["reno, 10 Mb/s, 40 ms, 3 packets"]
    (kernel,) = compare.kernel("reno, 10 Mb/s, 40 ms, 3 packets")[0]
    assert kernel.means()["goodput"] == pytest.approx(1.25, abs=0.05)
    found = [compare.simulated(case, processing=t)[0].means()["goodput"] for t in (0, 5e-6, 1e-4)]
    assert found == pytest.approx([7.45, 1.4, 1.45], abs=0.15)


def test_the_path_forwarded_packets_in_time():
    runs = [run for name in WIDE for run in compare.recorded()["runs"][name]]
    runs += [run for runs in papers.recorded()["runs"].values() for run in runs]
    assert max(run["late_mean"] for run in runs) < 1e3 * LATE_MEAN


def test_in_linux_quick_vegas_settles_before_vegas_and_vegas_yields_to_reno():
    linux = papers.table().set_index(["scenario", "number"])["Linux"]
    vegas, quick = linux["Vegas"], linux["Quick Vegas"]
    assert (quick / vegas < 0.6).all()
    shares = [linux[f"Vegas beside Reno, {b} packets", "share"] for b in (10, 20, 40)]
    assert (np.diff(shares) < -0.1).all()


def test_in_linux_westwoods_ratio_falls_with_the_buffer_below_a_bdp():
    linux = papers.table().set_index(["scenario", "number"])["Linux"]
    found = [linux[f"Westwood / Reno, {b}", "ratio"] for b in ("BDP/4", "BDP/2", "BDP")]
    assert found == pytest.approx([3.0, 1.67, 1.0], rel=0.15)
