"""ECN in the analysis: marks instead of drops, DCTCP, and DualPI2 beside RFC 9332's design."""

import math
from pathlib import Path

import numpy as np
import pytest

import tcpcc as tc
from experiments.dualpi2 import RTTS, coupled, equilibrium_cells
from experiments.hollot import C, behind


@pytest.mark.parametrize("rtt", [0.01, 0.04])
@pytest.mark.parametrize("coupling", [1.0, 2.0])
def test_dualpi2_gives_the_windows_of_rfc_9332(rtt, coupling):
    """p_CL = k p' and p_C = p'^2; W = 2/p_CL of DCTCP and sqrt(2/p_C) of Reno, so the ratio of
    rates is sqrt(2)/k times that of the RTTs: classic packets wait for the target."""
    case = coupled(rtt, coupling=coupling)
    found = tc.analysis.equilibrium(case).sel(link="bottleneck")
    scalable, classic = (found.sel(flow=name) for name in ("scalable", "classic"))
    prob = math.sqrt(float(found["loss"]))
    assert float(scalable["lost"]) == pytest.approx(coupling * prob, rel=1e-4)
    assert float(scalable["cwnd"]) == pytest.approx(2 / (coupling * prob), rel=1e-3)
    assert float(classic["cwnd"]) == pytest.approx(math.sqrt(2) / prob, rel=1e-3)
    assert float(found["delay"]) == pytest.approx(0.015, rel=1e-4)
    assert float(scalable["rtt"]) == pytest.approx(rtt, rel=0.01)
    ratio = float(scalable["rate"] / classic["rate"])
    assert ratio == pytest.approx(math.sqrt(2) / coupling * (rtt + 0.015) / rtt, rel=0.01)


def test_the_loop_of_pi2_is_the_closed_form():
    """Only classic flows: the plant of Hollot et al., the square of p', and PI with its timer as a
    process of rate 1/T: alpha/(s T) + beta/(s T + 1)."""
    n, rtt, period = 60, 0.246, 0.016
    found = tc.analysis.stability(behind(tc.queues.DualPI2(target=175 / C), queue=175, ecn=True))
    prob = math.sqrt(2) * n / (rtt * C)
    omega = np.logspace(-2, 0, 20)
    s = 1j * omega
    plant = C**2 / (2 * n) * np.exp(-s * rtt) / ((s + 2 * n / (rtt**2 * C)) * (s + 1 / rtt))
    control = (0.16 / (s * period) + 3.2 / (s * period + 1)) / C
    assert found.loop(omega) == pytest.approx(plant * 2 * prob * control, rel=0.01)


@pytest.mark.parametrize(("rtt", "stable"), [(0.005, True), (0.04, True), (0.1, False)])
def test_the_equilibrium_is_stable_up_to_an_rtt(rtt, stable):
    """Ten flows at 100 Mb/s. In the fluid model losses and marks of single flows move the queue in
    any case: its standard deviation is 0.16, 0.37 and 0.76 of its mean."""
    case = coupled(rtt)
    assert tc.analysis.stability(case).stable == stable
    queue = tc.simulate(case, "fluid").data["queue"].sel(link="bottleneck", time=slice(20, None))
    assert bool(queue.std() < 0.5 * queue.mean()) == stable


@pytest.mark.parametrize("rtt", [0.005, 0.02])
def test_all_models_share_a_dualpi2_link_alike(rtt):
    """Packets' shares have a standard deviation of 0.01 over seeds."""
    case = coupled(rtt, duration=40)
    share = {}
    for name, options in {"packet": {}, "trains": {"trains": 16}, "fluid": {}}.items():
        run = tc.simulate(case, "fluid" if name == "fluid" else "packet", **options)
        rate = np.array(run.throughput(after=15))
        share[name] = rate[: len(rate) // 2].sum() / rate.sum()
    rest = tc.analysis.equilibrium(case).rate
    equilibrium = float(rest[0] / rest.sum())
    assert share["trains"] == pytest.approx(share["packet"], abs=0.04)
    assert share["fluid"] == pytest.approx(share["packet"], abs=0.04)
    assert equilibrium == pytest.approx(share["packet"], abs=0.12)


@pytest.mark.parametrize("queue", ["RED", "PI", "PIE", "REM"])
def test_a_queue_marks_the_packets_that_it_would_drop(queue):
    """With a share p hit Reno's windows are sqrt(2/p) with ECN, and sqrt(2 (1 - p)/p) without."""
    net = tc.dumbbell("30 Mbps", "20 ms", 800, queue=getattr(tc.queues, queue)(ecn=True))
    flows = [
        tc.Flow("newreno", count=30, access_delay="40 ms", transport={"ecn": ecn}, name=ecn)
        for ecn in ("classic", "off")
    ]
    found = tc.analysis.equilibrium(tc.Scenario(net, flows, duration=60))
    marked, dropped = found["lost"].values
    assert marked == pytest.approx(dropped, rel=1e-9)
    assert 0.003 < dropped < 0.1
    windows = math.sqrt(2 / marked), math.sqrt(2 * (1 - dropped) / dropped)
    assert found["cwnd"].values == pytest.approx(windows, rel=1e-4)
    sent = found["rate"].values * 30 * 8000
    assert sent[0] + sent[1] * (1 - dropped) == pytest.approx(30e6, rel=1e-4)


def test_dctcp_holds_the_queue_at_the_threshold():
    """Four flows behind a step at 65 packets: within a quarter of it, in both models."""
    net = tc.dumbbell("1 Gbps", "50 us", 1000, queue=tc.queues.StepMark(threshold=65))
    flows = [tc.Flow("dctcp", access_delay="25 us", jitter="10 ms") for _ in range(4)]
    case = tc.Scenario(net, flows, duration=1)
    for model in ("packet", "fluid"):
        run = tc.simulate(case, model)
        assert run.queue_mean(after=0.5) == pytest.approx(65, rel=0.25)
        assert run.utilization(after=0.5) > 0.97


@pytest.mark.long
def test_the_page_shows_these_equilibria():
    """`python -m experiments.dualpi2` prints the table."""
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text()
    for rtt in RTTS:
        assert "| " + " | ".join(equilibrium_cells(rtt)) + " | " in page
