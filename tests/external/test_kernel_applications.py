"""Linux' recorded senders with applications that do not always have data."""

from pathlib import Path

import pytest

from experiments.kernel import applications
from experiments.kernel.cases import APPLICATIONS
from experiments.kernel.record import LATE_MEAN

pytestmark = pytest.mark.papers

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "kernel.md"

#: Case -> number -> writes that miss; the guide has the causes.
MISSES: dict[str, dict[str, list[int]]] = {}


def test_flow_linux_sends_what_applications_write_as_the_kernel():
    wrong = {name: missed for name in APPLICATIONS if (missed := applications.misses(name))}
    assert wrong == MISSES


def test_the_path_forwarded_packets_in_time():
    runs = [run for name in APPLICATIONS for run in applications.recorded()["runs"][name]]
    assert max(run["late_mean"] for run in runs) < 1e3 * LATE_MEAN


def test_the_guide_shows_these_numbers():
    assert applications.markdown() in GUIDE.read_text()
