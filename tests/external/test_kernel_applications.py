"""Linux' recorded senders with applications that do not always have data."""

import pytest

from experiments.kernel import applications
from experiments.kernel.cases import APPLICATIONS
from experiments.kernel.record import LATE_MEAN

pytestmark = pytest.mark.long

#: Case -> number -> writes that miss; the guide has the causes.
MISSES = {"reno, 10 Mb/s, 40 ms, responses": {"cwnd": [4]}}


def test_flow_linux_sends_what_applications_write_as_the_kernel():
    wrong = {name: missed for name in APPLICATIONS if (missed := applications.misses(name))}
    assert wrong == MISSES


WRONG = [
    ("cubic, 30 Mb/s, 50 ms, on/off", {"window_decay": False}, {"took", "cwnd"}),
    ("reno, 50 Mb/s, 100 ms, trickle", {"window_decay": False}, {"took", "cwnd"}),
    ("reno, 30 Mb/s, 50 ms, window of 90", {"idle_restart": False}, {"took", "cwnd"}),
    ("cubic, 50 Mb/s, 100 ms, on/off", {"eifel": False}, {"took", "cwnd"}),
    ("bbr, 10 Mb/s, 40 ms, responses", {"syn_rtt": False, "window_decay": False}, {"took", "cwnd"}),
]
"""Settings of another sender, and the numbers in which it differs."""


@pytest.mark.parametrize(("name", "settings", "numbers"), WRONG)
def test_another_sender_differs_from_the_kernel(name, settings, numbers):
    assert set(applications.misses(name, **settings)) == numbers


def test_the_path_forwarded_packets_in_time():
    runs = [run for name in APPLICATIONS for run in applications.recorded()["runs"][name]]
    assert max(run["late_mean"] for run in runs) < 1e3 * LATE_MEAN
