"""The Vegas paper beyond its numbers: what it claims and what was found."""

import numpy as np
import pytest

import tcpcc as tc
from experiments import expected, harness, published
from experiments.tcp_vegas import PAPER
from experiments.tcp_vegas import scenarios as s
from experiments.tcp_vegas import tables as t

pytestmark = pytest.mark.slow

VEGAS_COLUMNS = ("Vegas-1,3", "Vegas-2,4")


def numbers(item, model="packet"):
    """Those accepted, by (row, column), with the range over seeds; test_reproduction.py holds every
    run to them."""
    found = expected.numbers(PAPER.name, model)
    return {key[1:]: number for key, number in found.items() if key[0] == item}


def printed(item):
    return published.of("tcp_vegas").printed(item)


# Figures 5 to 11.


@pytest.mark.parametrize("model", harness.MODELS)
@pytest.mark.parametrize(("item", "kind"), [("figure_5", s.RENO), ("figure_7", s.VEGAS)])
def test_throughput_alone_within_5_percent(item, kind, model):
    expected = printed(item)["throughput", kind]
    assert numbers(item, model)["throughput", kind].value == pytest.approx(expected, rel=0.05)


def test_a_packet_decides_figure_7():
    """16 packets are 2 % more than the path holds. Were it 2 % longer, Vegas would double again."""
    path = 1e3 * s.RATE * 2 * s.DELAY / s.PACKET
    assert 13 < path < 16 < 16 * 1.024
    found = numbers("settings")
    assert found["Vegas: KB of 1024 bytes", "throughput"].value < 130
    assert found["Vegas: KB of 1024 bytes", "retransmissions"].value > 20


def test_vegas_star_does_not_overshoot_where_vegas_does():
    found = numbers("figure_11")
    assert found["segments lost", "Vegas"].value == 1
    assert found["segments lost", "Vegas*"].value == 0
    assert found["largest queue", "Vegas*"].value < 0.6 * found["largest queue", "Vegas"].value
    assert found["throughput", "Vegas*"].value == pytest.approx(
        found["throughput", "Vegas"].value, rel=0.01
    )


def test_vegas_alone_avoids_the_losses_of_slow_start():
    """Of all that section III-B compares."""
    found = numbers("predecessors")
    again = {kind: found["retransmissions", kind].value for kind in s.PREDECESSORS}
    assert [kind for kind, kilobytes in again.items() if kilobytes == 0] == [s.VEGAS]
    throughput = {kind: found["throughput", kind].value for kind in s.PREDECESSORS}
    assert throughput.pop(s.VEGAS) > 1.3 * max(throughput.values())


# Tables III and IV.


def deviations(item, rows):
    """|ours / printed - 1| of the ratios to Reno, its own left out."""
    found, paper = numbers(item), printed(item)
    base = ("Reno", "Reno/Reno")
    return {
        key: abs(found[key].value / number - 1)
        for key, number in paper.items()
        if key[0].startswith(rows) and key[1] not in base
    }


@pytest.mark.parametrize("item", ["table_3", "table_4"])
def test_ratios_to_reno_within_25_percent_on_average(item):
    off = deviations(item, ("throughput ratio", "retransmit ratio"))
    assert len(off) == {"table_3": 12, "table_4": 4}[item]
    assert np.mean(list(off.values())) < 0.25


@pytest.mark.parametrize("item", ["table_3", "table_4"])
def test_ratios_are_in_the_papers_direction(item):
    """But for 300 KB of Reno inside Vegas, 1.02 in print and 0.96 here."""
    found = numbers(item)
    against = {
        key
        for key, number in printed(item).items()
        if "ratio" in key[0] and (number - 1) * (found[key].value - 1) < 0
    }
    assert against == ({("throughput ratio 300 KB", "Reno/Vegas")} if item == "table_3" else set())


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


@pytest.mark.parametrize("column", VEGAS_COLUMNS)
def test_coarse_timeouts_nearly_vanish(column):
    found = numbers("table_4")
    assert found["coarse timeouts", s.RENO].value > 4
    assert found["coarse timeouts", column].value < 1


def test_reno_decides_the_load():
    """Its three numbers are nearest to print there, by the sum of squares of the logarithms."""
    found, paper = numbers("load"), printed("table_4")

    def distance(load):
        rows = ("throughput", "retransmissions", "coarse timeouts")
        ratios = [found[f"{row} Reno", f"{load}"].value / paper[row, s.RENO] for row in rows]
        return float(np.sum(np.log(ratios) ** 2))

    assert min(s.LOADS, key=distance) == s.CONVERSATIONS


@pytest.mark.parametrize("load", s.LOADS)
def test_vegas_wins_whatever_the_load(load):
    found = numbers("load")
    assert found["throughput ratio", f"{load}"].value > 1.5
    assert found["retransmit ratio", f"{load}"].value < 0.55


def test_all_background_over_vegas_changes_vegas_little():
    found = numbers("vegas_background")
    for column in VEGAS_COLUMNS:
        assert abs(found["throughput, change", column].value) < 0.04
    reno = found["throughput, change", s.RENO]
    assert abs(reno.value) < 3 * reno.error


# Section VI.


def test_fairness_within_003_but_for_reno_with_unequal_delays():
    found, paper = numbers("fairness"), printed("fairness")
    off = {key for key, index in paper.items() if abs(found[key].value - index) > 0.03}
    assert off == {("Reno", "2 and 4, half with twice the delay")}


def test_sixteen_vegas_are_fairer_than_sixteen_reno():
    found = numbers("fairness")
    assert found["Vegas", "16"].value > found["Reno", "16"].value


def test_clocks_that_tick_together_make_sixteen_reno_unfair():
    together, apart = numbers("fairness"), numbers("fairness_settings")
    own = apart["Reno: begun at random, own clocks", "16"]
    assert own.value > together["Reno", "16"].value + 0.03


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


def test_latency_falls_as_the_paper_says():
    assert 0.18 < numbers("queues")["TELNET latency, reduction", "Vegas"].value < 0.40


def test_the_complex_network_stays_up_with_vegas():
    found = numbers("figure_12")
    assert found["goodput", "Vegas"].value > found["goodput", "Reno"].value
    assert found["loss", "Vegas"].value < 0.05


# How numbers are taken.


def test_throughput_is_of_the_time_until_all_is_acknowledged():
    run = tc.simulate(s.alone(s.VEGAS))
    data = np.ceil(s.MB / s.PAYLOAD) * s.PAYLOAD
    assert t.throughput(run) == pytest.approx(data / float(run.data["finished"][0]))
