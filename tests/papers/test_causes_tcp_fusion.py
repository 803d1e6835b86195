"""Evidence for causes: Fusion's paper. See test_causes.py."""

import math

import numpy as np
import pytest

import tcpcc as tc
from experiments import published_numbers
from experiments.tcp_fusion import scenarios as s
from experiments.tcp_fusion import tables as t
from tcpcc.transport.flow_record import RECOVERY, window_at
from tcpcc.transport.output import effective_window
from tcpcc.transport.recovery.sack import (
    SCOREBOARD,
    give_up,
    may_send,
    send_by_pipe,
    unmark_scoreboard,
    update_scoreboard,
)

pytestmark = pytest.mark.papers

MODELS = ("packet", "fluid")
SEEDS = range(1, 4)


def share(run, after, before=None):
    """The first flow's."""
    first, second = run.goodput(after, before).values
    return first / (first + second)


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("ARENO", "CTCP"), ("HSTCP", "Fusion"),
        ("BIC", "Fusion"), ("BIC", "ARENO"), ("BIC", "CTCP"),
    ],
)  # fmt: skip
def test_as_shares_of_their_sum_the_pairs_are_within_the_tolerance(row, column):
    """Table 1: as throughputs they are outside, since the testbed's pairs sum to less."""
    of = published_numbers.of("tcp_fusion").printed("table_1")
    print_share = of[row, column] / (of[row, column] + of[column, row])
    ours = np.mean([share(tc.simulate(s.pair(row, column, k)), 30, 90) for k in range(1, 11)])
    assert abs(ours - print_share) < 0.1
    assert of[row, column] + of[column, row] < 91


def test_bic_and_hstcp_drift_apart_for_minutes():
    runs = [tc.simulate(s.pair("BIC", "HSTCP", seed)) for seed in SEEDS]
    early = [share(run, 30, 75) for run in runs]
    late = [share(run, 165, 210) for run in runs]
    assert all(b > a + 0.05 for a, b in zip(early, late, strict=True))
    printed = 59.7 / (59.7 + 29.9)
    assert printed < min(early)


@pytest.mark.parametrize("cubic", ["CUBIC", s.KERNEL_CUBIC])
def test_cubic_never_equals_bic(cubic):
    runs = [tc.simulate(s.pair("BIC", cubic, seed)) for seed in SEEDS]
    for begin in (30, 75, 120, 165):
        assert min(share(run, begin, begin + 45) for run in runs) > 0.65


# The recovery of Linux 2.6.15: the window falls by one packet per second ACK, to ssthresh in BIC
# and CUBIC, to half of it in others; it is at most a packet above what is in the network, and after
# the recovery the smaller of it and ssthresh (net/ipv4/tcp_input.c, ``tcp_cwnd_down``).


def on_ack(s, p, f):
    in_recovery, window = f.phase == RECOVERY, window_at(f.state, 0).cwnd
    if update_scoreboard(s, f, f.now, f.ack):
        s.window, s.half = window, False
    elif f.phase == RECOVERY:
        s.half = not s.half
        if not s.half and s.window > max(window_at(f.state, 0).cwnd * p.floor, 1.0):
            s.window -= 1.0
    if f.phase == RECOVERY:
        s.window = min(s.window, s.pipe + 1.0)
        send_by_pipe(s, f, f.now, f.max_burst, math.floor(s.window))
        return
    if in_recovery:
        sender = window_at(f.state, 0)
        sender.cwnd = max(min(sender.cwnd, s.window), 1.0)
    if may_send(f):
        send_by_pipe(s, f, f.now, f.max_burst, effective_window(f))


def resume(s, p, f):
    most = math.floor(s.window) if f.phase == RECOVERY else effective_window(f)
    send_by_pipe(s, f, f.now, f.burst, most)


def rate_halving(floor):
    """The recovery whose window falls to `floor` times ssthresh."""
    return tc.register(
        tc.Recovery(
            f"rate-halving-{floor:g}".replace(".", "-"),
            "rate halving of Linux 2.6",
            on_ack,
            on_timeout=give_up,
            resume=resume,
            on_undo=unmark_scoreboard,
            params={"floor": tc.Param(floor, "", "least window, as a share of ssthresh")},
            state=SCOREBOARD
            | {
                "window": tc.State(0, "packets", "effective window during a recovery"),
                "half": tc.State(0, "", "whether this ACK is the second", kind=int),
            },
            selective=True,
        )
    ).name


def old_kernel(first, second):
    """Goodputs of a pair with this recovery, HSTCP's table and no `ack_ratio`, Mb/s."""
    recoveries = {
        kind: rate_halving(1.0 if kind in ("BIC", "CUBIC") else 0.5) for kind in (first, second)
    }
    rates = []
    for seed in SEEDS:
        scenario = s.pair(first, second, seed)
        flows = []
        for kind, flow in zip((first, second), scenario.flows, strict=True):
            params = dict(flow.params) | ({"table": True} if kind == "HSTCP" else {})
            params.pop("ack_ratio", None)
            flows.append(flow.replace(recovery=recoveries[kind], params=params))
        run = tc.simulate(scenario.replace(flows=flows))
        rates.append(t.mbps(run, s.PAIRS_SETTLED))
    return np.mean(rates, axis=0)


def test_old_kernels_make_bic_and_cubic_equal_and_reno_too_strong():
    printed = published_numbers.of("tcp_fusion").printed("table_1")
    for pair in (("BIC", "CUBIC"), ("BIC", "HSTCP")):
        ours = old_kernel(*pair)
        assert ours == pytest.approx([printed[pair], printed[pair[::-1]]], abs=9), pair
    for strong in ("HSTCP", "BIC"):
        assert old_kernel(strong, "Reno")[1] > printed["Reno", strong] + 12


@pytest.mark.parametrize("buffer", [50, 333, 667])
def test_three_hstcp_flows_come_to_share_with_any_buffer(buffer):
    run = tc.simulate(
        s.laboratory(
            ["HSTCP"] * 3, rtt=0.080, seed=1, duration=250, begin=[0, 50, 100], buffer=buffer
        )
    )
    assert tc.jain_index(run.goodput(150, 250).values) > 0.92


@pytest.mark.filterwarnings("ignore:fluid model")
@pytest.mark.parametrize("variant", ["Reno", "Fusion", "HSTCP", "FAST"])
def test_less_exact_delays_take_much_of_the_difference_over_several_hops(variant):
    """Of the forward flows' mean rates, as the mean of the ratios' logarithms."""
    apart = {}
    for late in (0.0, s.PHASES):
        packet, fluid = (
            np.mean(
                [
                    tc.simulate(s.parking_lot(variant, False, seed, late), model=model)
                    .goodput(s.SETTLED)
                    .values
                    for seed in range(1, 11)
                ],
                axis=0,
            )
            for model in MODELS
        )
        apart[late] = np.abs(np.log(fluid / packet)).mean()
    assert apart[s.PHASES] < 0.7 * apart[0.0]


@pytest.mark.parametrize("model", MODELS)
def test_bic_shares_route_2_if_it_is_reno_at_its_windows(model):
    """Figure 10: BIC's Reno mode ends at a window of 14 packets, half of what it has there. Ratios
    of ten seeds vary by a third."""

    def ratio(low_window):
        rates = []
        for seed in range(1, 41):
            scenario = s.route_2("BIC", "Reno", seed=seed)
            bic, reno = scenario.flows
            bic = bic.replace(params={**dict(bic.params), "low_window": low_window})
            rates.append(t.mbps(tc.simulate(scenario.replace(flows=[bic, reno]), model=model)))
        first, second = np.mean(rates, axis=0)
        return first / second

    assert ratio(14) > 1.9
    assert 0.8 < ratio(100) < 1.2
