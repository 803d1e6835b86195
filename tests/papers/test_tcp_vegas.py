"""The Vegas paper beyond its numbers: what it claims and what was found."""

from functools import partial

import numpy as np
import pytest
from accepted import accepted

import tcpcc as tc
from experiments import published_numbers
from experiments.measured_numbers import Measured
from experiments.tcp_vegas import scenarios as s
from experiments.tcp_vegas import tables as t

pytestmark = pytest.mark.slow


numbers = partial(accepted, "tcp_vegas")


def printed(item):
    return published_numbers.of("tcp_vegas").printed(item)


# Figures 5 to 11.


def test_vegas_alone_avoids_the_losses_of_slow_start():
    """Of all that section III-B compares."""
    found = numbers("predecessors")
    again = {kind: found["retransmissions", kind].value for kind in s.PREDECESSORS}
    assert [kind for kind, kilobytes in again.items() if kilobytes == 0] == [s.VEGAS]
    throughput = {kind: found["throughput", kind].value for kind in s.PREDECESSORS}
    assert throughput.pop(s.VEGAS) > 1.3 * max(throughput.values())


# Tables III and IV.


def test_vegas_does_not_hurt_reno():
    found = numbers("table_3")
    assert found["throughput ratio 300 KB", "Reno/Vegas"].value > 0.95
    assert found["throughput ratio 1 MB", "Vegas/Reno"].value > 1


def test_pairs_send_less_again_the_more_vegas_there_is():
    found = numbers("table_3")
    both = {
        column: sum(found[f"retransmissions {size}", column].value for size in ("300 KB", "1 MB"))
        for column in ("Reno/Reno", "Reno/Vegas", "Vegas/Reno", "Vegas/Vegas")
    }
    assert both["Reno/Reno"] > both["Reno/Vegas"] > both["Vegas/Reno"] > both["Vegas/Vegas"]
    assert both["Vegas/Vegas"] < 1


def test_the_buffer_decides_what_a_small_vegas_gets_inside_reno():
    found = numbers("pair_buffers")
    expected = printed("table_3")["throughput 300 KB", "Vegas/Reno"]
    assert found["throughput, 20 buffers", "Vegas/Reno"].value == pytest.approx(expected, rel=0.05)
    assert found["throughput, 15 buffers", "Vegas/Reno"].value > 1.3 * expected


# Section VI.


@pytest.mark.parametrize("kind", ["Reno", "Vegas"])
def test_sixteen_connections_are_stable(kind):
    found = numbers("stability")
    assert all(cell.value > 0.9 for (row, _), cell in found.items() if row == kind)


def test_the_measure_decides_the_index_of_unequal_delays():
    found, paper = numbers("fairness_settings"), printed("fairness")
    for kind in ("Reno", "Vegas"):
        for column, close in (("2 and 4, half with twice the delay", True), ("16", False)):
            index = found[f"{kind}: while all are active", column].value
            assert (abs(index - paper[kind, column]) < 0.03) == close


def test_the_complex_network_stays_up_with_vegas():
    found = numbers("figure_12")
    assert found["goodput", "Vegas"].value > found["goodput", "Reno"].value
    assert found["loss", "Vegas"].value < 0.05


# How numbers are taken.


def test_throughput_is_of_the_time_until_all_is_acknowledged():
    run = tc.simulate(s.alone(s.VEGAS))
    data = np.ceil(s.MB / s.PAYLOAD) * s.PAYLOAD
    assert t.throughput(run) == pytest.approx(data / float(run.data["finished"][0]))


def test_a_ratio_of_means_has_the_deviations_of_both():
    ratio = t.to(Measured(6.0, 5, 7, 0.6, 10), Measured(3.0, 2, 4, 0.4, 10))
    assert (ratio.value, ratio.low, ratio.high, ratio.seeds) == (2, 5 / 3, 7 / 3, 10)
    assert ratio.sd == pytest.approx(2 * np.hypot(0.1, 0.4 / 3))
