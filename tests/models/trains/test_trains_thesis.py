"""Trains on the thesis' scenarios: Vegas against Reno, with drop-tail and RED.

The packet model agrees with ns-2 packet for packet there, so trains are compared with its means
 over seeds.
"""

import numpy as np
import pytest
from every_model import EVERY_MODEL, simulate_in

import tcpcc as tc
from experiments.red_fairness import scenarios

pytestmark = pytest.mark.long

SEEDS = range(1, 21)
MIXES = [(table, mix) for table, t in scenarios.TABLES.items() for mix in t.mixes]


def means(model, cases, after=0.0):
    """Mean throughput per flow and kind of flow (kbit/s, packets sent the first time) over all
    `cases`."""
    rates = []
    for case in cases:
        run = simulate_in(model, case)
        first = (run.data["sent"] - run.data["retransmitted"]).values[run.data["time"] > after]
        rates.append(8 * first.sum(axis=0) / (case.duration - after))
    kinds = np.array([flow.controller for flow in cases[0].flows])
    mean = np.mean(rates, axis=0)
    return [mean[kinds == kind].mean() for kind in ("vegas", "reno") if kind in kinds]


def check(cases, after=0.0):
    """Compare group means and their ratio with the packet model's, within 15 %."""
    packet, trains = (means(model, cases, after) for model in ("packet", "trains"))
    assert trains == pytest.approx(packet, rel=0.15)
    if len(packet) == 2:
        assert trains[0] / trains[1] == pytest.approx(packet[0] / packet[1], rel=0.15)


@pytest.mark.parametrize("queue", scenarios.QUEUES)
@pytest.mark.parametrize(("table", "mix"), MIXES)
def test_shares_of_vegas_and_reno(table, mix, queue):
    check([scenarios.mixed(table, mix, queue, seed) for seed in SEEDS])


def test_shares_as_flows_join():
    check([scenarios.joining("drop-tail", seed) for seed in SEEDS], after=70)


@pytest.mark.parametrize("column", [name for name in scenarios.DEPLOYED if name != "drop-tail"])
def test_shares_over_six_routers(column):
    """With drop-tail alone Vegas gets 1.16 times as much (docs/models.md)."""
    check([scenarios.routers(column, seed) for seed in SEEDS], after=100)


def test_red_drops_nothing_of_vegas_alone():
    """An arriving packet meets half a packet less than its delay suggests, so RED's average stays
    below the threshold, as in packets."""
    for seed in SEEDS[:5]:
        for model in ("packet", "trains"):
            run = simulate_in(model, scenarios.mixed("table_3_1", "V vs V", "RED", seed))
            assert float(run.data["drops"].sum()) == 0


def drops(model, table, mix):
    """Mean number of packets that RED drops."""
    cases = [scenarios.mixed(table, mix, "RED", seed) for seed in SEEDS]
    return np.mean([float(simulate_in(model, case).data["drops"].sum()) for case in cases])


@pytest.mark.parametrize(
    ("table", "mix"), [("table_3_1", "R vs R"), ("table_4_2", "5V5R"), ("table_4_2", "1V9R")]
)
def test_red_drops_as_many_packets_as_in_the_packet_model(table, mix):
    """Drops are 1/p_b to 2/p_b arrivals apart; the count restarts below the threshold."""
    assert drops("trains", table, mix) == pytest.approx(drops("packet", table, mix), rel=0.1)


@EVERY_MODEL
def test_reno_times_out_after_slow_start_and_newreno_does_not(model):
    """The first new ACK ends Reno's fast recovery, and `recover` forbids a second one. A steady
    NewReno repairs one hole per round trip."""
    timeouts = [
        int(
            simulate_in(
                model,
                tc.Scenario(
                    tc.dumbbell("10 Mbps", "40 ms", 60),
                    [tc.Flow("reno", recovery=recovery)],
                    duration=20,
                ),
            )
            .timeouts()
            .sum()
        )
        for recovery in ("reno", "newreno-steady")
    ]
    assert timeouts[0] >= 1
    assert timeouts[1] == 0
