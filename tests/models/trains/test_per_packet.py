"""What a train cannot carry goes packet by packet: the packet model with trains against
that without, with the noise of the battery."""

import random

import fuzz
import numpy as np
import pytest
from every_model import simulate_in

import tcpcc as tc
from experiments.battery.measures import lenient, measure, spread
from experiments.battery.scenarios import Case, phase_free

SEEDS = range(1, 9)
DURATION = 40
AFTER = 8


def scenario(flows, *, mbps=20, buffer=150, **settings):
    link = {name: settings.pop(name) for name in ("queue", "jitter") if name in settings}
    net = tc.dumbbell(mbps * 1e6, "5 ms", buffer, **link)
    return tc.Scenario(net, flows, duration=DURATION, **settings)


def flows(controller, count, *, name=None, **settings):
    return tc.Flow(
        controller, count=count, name=name or controller, access_delay=0.025, jitter=1, **settings
    )


def changes(*pairs):
    """Changes of the bottleneck: time, and what changes."""
    return [tc.Change(at, "bottleneck", **what) for at, what in pairs]


ECN = tc.Transport(ecn="classic")
DCTCP = tc.Transport(ecn="accurate")
RED = tc.queues.RED(min_thresh=15, max_thresh=60, weight=0.02, ecn=True)
SPEEDS = np.random.default_rng(1).uniform(5e6, 4e7, DURATION - 1)

CASES = {
    "ECN marks": scenario([flows("newreno", 8, transport=ECN)], queue=RED),
    "DCTCP": scenario(
        [flows("dctcp", 3, transport=DCTCP)],
        queue=tc.queues.RED(min_thresh=20, max_thresh=20.5, weight=1, ecn=True),
    ),
    "ECN beside none at a full buffer": scenario(
        [flows("newreno", 4, transport=ECN, name="ecn"), flows("newreno", 4, name="none")],
    ),
    "header fields": scenario([flows("xcp", 3)], queue=tc.queues.XCPRouter()),
    "CoDel": scenario([flows("cubic", 5)], queue="codel"),
    "FQ-CoDel with marks": scenario(
        [flows("cubic", 5, transport=ECN)], queue=tc.queues.FQCoDel(ecn=True)
    ),
    "CBR on and off": scenario(
        [flows("cubic", 3), tc.CBR(5e6, on=[(10, 20), (25, 35)], name="cbr", access_delay=0.025)]
    ),
    "delayed ACKs": scenario([flows("newreno", 5, transport=tc.Transport(delayed_ack=0.1))]),
    "the rate changes": scenario(
        [flows("cubic", 4)],
        changes=changes(*((k + 1, {"rate": float(r)}) for k, r in enumerate(SPEEDS))),
    ),
    "an outage, and another delay": scenario(
        [flows("newreno", 5)],
        changes=changes((15, {"rate": 0}), (18, {"rate": 2e7}), (25, {"delay": 0.03})),
    ),
    "a smaller buffer": scenario([flows("newreno", 5)], changes=changes((15, {"buffer": 20}))),
    "jitter of many packet times": scenario([flows("vegas", 3)], jitter=0.02),
    "a workload": scenario([flows("newreno", 5)], workloads=[tc.workloads.web("newreno", rate=10)]),
    "a workload of small packets with delayed ACKs": scenario(
        [flows("newreno", 1)],
        mbps=2,
        buffer=30,
        workloads=[
            tc.workloads.web(
                tc.Flow("reno", packet_size=500, transport=tc.Transport(delayed_ack=0.1)), rate=10
            )
        ],
    ),
}


def measured(one, seed, model):
    """The battery's measures, the share of marked packets, and completion times of a workload."""
    run = simulate_in(model, phase_free(one, seed))
    found = measure(Case("", one, AFTER), run)
    if "marks" in run.data:
        found["loss, marked"] = float(run.data["marks"].sum() / run.data["sent"].sum())
    if "cbr" in run.flows:
        found["goodput, cbr"] = float(run.data["delivered"].sel(flow="cbr").sum())
    if one.workloads:
        times = run.fct()["fct_s"].dropna()
        found |= {"goodput, transfers": len(times), "fct, all": float(times.mean())}
    return found


@pytest.mark.parametrize("name", CASES)
def test_trains_agree_with_packets(name):
    """Within 10 % or, since some 80 values are compared, three standard errors."""
    packets, trains = (
        [measured(CASES[name], seed, model) for seed in SEEDS] for model in ("packet", "trains")
    )
    for of in packets[0]:
        a, b = (spread([one[of] for one in runs]) for runs in (packets, trains))
        assert lenient(of, a[0], 1.5 * a[1], b[0], 1.5 * b[1]), (of, a, b)


def test_a_link_of_acks_alone_is_recorded():
    """No ACK waits there, so they cross it without an event."""
    links = [
        tc.Link("a", "b", rate=1e7, delay="5 ms", buffer=100),
        tc.Link("b", "a", rate=1e7, delay="5 ms", buffer=100, record=True),
    ]
    net = tc.Network(links, tc.Access("100 Mb/s"))
    traffic = [
        tc.Flow("vegas", source="a", target="b", access_delay=delay) for delay in (0.01, 0.02)
    ]
    run = tc.Scenario(net, traffic, duration=20)
    for name in ("sent_bits", "arrived", "busy"):
        sums = [simulate_in(m, run).data[name].sum("time").values for m in ("packet", "trains")]
        assert sums[1] == pytest.approx(sums[0], rel=0.02), name


def test_a_first_window_of_more_than_the_first_ring_is_sent_at_once():
    """A flow has memory for 64 segments at first; what does not fit follows in the same event."""
    start = tc.Flow("newreno", size=200, transport=tc.Transport(initial_window=200))
    run = tc.Scenario(tc.dumbbell(1e9, "5 ms", 1000), [start], duration=2, interval=0.01)
    times = [
        float(simulate_in(model, run).fct()["fct_s"].iloc[0]) for model in ("packet", "trains")
    ]
    assert times[1] == pytest.approx(times[0], rel=0.01)


def test_a_full_buffer_drops_single_packets_as_often_as_those_of_trains():
    """Drop-tail does not mark, so flows with ECN and without it have equal shares."""
    runs = [
        measured(CASES["ECN beside none at a full buffer"], seed, "trains") for seed in range(30)
    ]
    shares = [np.mean([run[f"goodput {name}"] for run in runs]) for name in ("ecn", "none")]
    assert shares[0] / shares[1] == pytest.approx(1, abs=0.1)


def test_random_scenarios_run_and_conserve_packets():
    """The fixture `conserved` counts them; the scenarios are the fuzzer's."""
    for number in range(30):
        try:
            one = fuzz.scenario(random.Random(f"trains {number}"))
        except tc.ScenarioError:  # a controller that needs another loss recovery
            continue
        run = tc.simulate(one, trains=16)
        totals = run.totals()
        assert (totals["sent"] >= totals["delivered"]).all(), number
        assert not bool((run.data["queue"] < 0).any()), number


def test_a_discipline_sees_idle_time_and_its_state_is_recorded():
    """Quick-Start's router approves what the last fraction of a second left; RED's average."""
    asks = {"name": "quick_start", "requested_rate": 6e6}
    net = tc.dumbbell("10 Mbps", "50 ms", 300, queue=tc.queues.QuickStartRouter())
    flows = [
        tc.Flow("reno", transport={"rwnd": 20}),
        *(tc.Flow("reno", slow_start=asks, start=t, size=60) for t in (1.1, 1.2, 1.5)),
    ]
    run = tc.Scenario(net, flows, duration=3, interval=0.01)
    ends = [simulate_in(model, run).data.finished.values[1:] for model in ("packet", "trains")]
    assert ends[1] == pytest.approx(ends[0], abs=0.001)
    red = tc.Scenario(
        tc.dumbbell("10 Mbps", "20 ms", 100, queue="red"), [tc.Flow("reno")], duration=20
    )
    means = [
        simulate_in(model, red).data.queue_avg.isel(link=0).sel(time=slice(10, None)).mean()
        for model in ("packet", "trains")
    ]
    assert float(means[1]) == pytest.approx(float(means[0]), rel=0.1)
