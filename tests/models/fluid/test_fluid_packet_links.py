"""Links of whole packets in the ODE: disciplines that decide about each packet, beside packets."""

import math

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.queues.discipline import Discipline

RATE = 20e6
BASE = {"jitter": 1.0, "processing": 4e-4}


def behind(queue, flows=("newreno",) * 4, seed=1, duration=45, **transport):
    """Flows with base RTTs around 60 ms behind a link with this discipline."""
    spread = np.linspace(-1, 1, len(flows))
    settings = {"transport": tc.Transport(**transport)} if transport else {}
    each = [
        tc.Flow(name, access_delay=0.005 + 0.0015 * part, **BASE, **settings)
        for name, part in zip(flows, spread, strict=True)
    ]
    net = tc.dumbbell(RATE, 0.02, 75, queue=queue, access_rate=1e9)
    return tc.Scenario(net, each, duration=duration, seed=seed)


def measured(case, model, seeds=3):
    """Goodput in Mb/s, fairness, queue, and hits per thousand arrivals, after 15 s."""
    found = []
    for seed in range(1, seeds + 1):
        run = tc.simulate(case.replace(seed=seed), model)
        late = run.data.sel(time=run.data.time > 15, link="bottleneck")
        hits = late["drops"].sum() + (late["marks"].sum() if "marks" in late else 0.0)
        rates = np.array(run.throughput(after=15)) / 1e6
        fair = rates.sum() ** 2 / len(rates) / (rates**2).sum()
        share = 1e3 * float(hits / late["arrived"].sum())
        found.append([rates.sum(), fair, run.queue_mean(after=15), share])
    return np.mean(found, axis=0)


@pytest.mark.parametrize(
    ("queue", "hits"),
    [
        (tc.queues.CoDel(), 0.15), (tc.queues.DRR(), 0.15), (tc.queues.SFQ(), 0.15),
        (tc.queues.FQ(), 0.35), (tc.queues.FQCoDel(), 0.15), (tc.queues.FQPIE(), 0.15),
        (tc.queues.StrictPriority(), 0.25),
        (tc.queues.TokenBucket(rate=10e6), 0.15), (tc.queues.DualPI2(), 0.15),
    ],
    ids=lambda x: x.name if hasattr(x, "name") else "",
)  # fmt: skip
def test_four_newreno_flows_find_what_packets_find(queue, hits):
    packets, fluid = (measured(behind(queue), model) for model in ("packet", "fluid"))
    assert fluid[0] == pytest.approx(packets[0], rel=0.03)
    assert fluid[1] == pytest.approx(packets[1], rel=0.03)
    # of FQ's full buffer several flows lose at once: 0.89 of the packets' queue, means of 12 seeds
    assert fluid[2] == pytest.approx(packets[2], rel=0.12 if queue.name == "fq" else 0.1)
    assert fluid[3] == pytest.approx(packets[3], rel=hits)


@pytest.mark.parametrize(
    "queue",
    [tc.queues.GilbertElliott(), tc.queues.Policer(rate=10e6, burst=30e3)],
    ids=lambda x: x.name,
)
def test_disciplines_that_only_drop_arrivals_find_what_packets_find(queue):
    case = behind(queue, ("cubic",) * 4)
    packets, fluid = (measured(case, model) for model in ("packet", "fluid"))
    assert fluid[:2] == pytest.approx(packets[:2], rel=0.05)
    assert fluid[3] == pytest.approx(packets[3], rel=0.2)


@pytest.mark.parametrize(
    ("queue", "flow", "ecn"),
    [
        (tc.queues.CoDel(ecn=True), "newreno", "classic"),
        (tc.queues.FQCoDel(ecn=True), "newreno", "classic"),
        (tc.queues.FQ(ce_threshold=0.005), "dctcp", "accurate"),
        (tc.queues.DualPI2(), "dctcp", "l4s"),
    ],
)
def test_marks_are_those_of_packets(queue, flow, ecn):
    case = behind(queue, (flow,) * 4, ecn=ecn)
    packets, fluid = (measured(case, model) for model in ("packet", "fluid"))
    assert fluid[0] == pytest.approx(packets[0], rel=0.1)  # dualpi2: 7 %, of 20 seeds
    assert fluid[3] == pytest.approx(packets[3], rel=0.15)


def test_packets_of_l4s_do_not_wait_behind_classic_ones():
    classic, scalable = tc.Flow("cubic", **BASE), tc.Flow("prague", **BASE)
    scalable = scalable.replace(transport=tc.Transport(ecn="l4s"))
    net = tc.dumbbell(RATE, 0.03, 75, queue=tc.queues.DualPI2())
    run = tc.simulate(tc.Scenario(net, [classic, scalable], duration=30), "fluid")
    slow, fast = run.data["rtt"].sel(time=slice(10, 30)).mean("time").values
    assert 0.06 < fast < 0.062
    assert 0.07 < slow < 0.085


def test_a_lower_class_gets_what_a_higher_one_leaves():
    high = tc.CBR(12e6, traffic_class=5)
    low = tc.Flow("cubic", access_delay=0.005, traffic_class=1)
    net = tc.dumbbell(RATE, 0.02, 75, queue=tc.queues.StrictPriority(), access_rate=1e9)
    run = tc.simulate(tc.Scenario(net, [low, high], duration=30), "fluid")
    rates = np.array(run.throughput(after=10)) / 1e6
    assert rates == pytest.approx([8.0, 12.0], rel=0.02)
    dropped = run.data["dropped"].sum("time").values
    assert dropped[0] > 0
    assert dropped[1] == 0


def test_a_source_alone_has_a_link_of_bytes():
    net = tc.dumbbell("1 Mb/s", "10 ms", "15 kB", queue=tc.queues.FQCoDel())
    run = tc.simulate(tc.Scenario(net, [tc.CBR("500 kb/s")], duration=2), "fluid")
    assert float(run.throughput(after=1)[0]) == pytest.approx(500e3, rel=0.02)


def test_a_flood_cannot_take_the_share_of_a_fair_queue():
    flood = tc.CBR(40e6)
    net = tc.dumbbell(RATE, 0.02, 75, queue=tc.queues.DRR(), access_rate=1e9, access_delay=0.005)
    run = tc.simulate(tc.Scenario(net, [tc.Flow("cubic"), flood], duration=30), "fluid")
    rates = np.array(run.throughput(after=10)) / 1e6
    assert rates == pytest.approx([10.0, 10.0], rel=0.05)


def test_acks_wait_and_are_dropped_at_a_link_of_whole_packets():
    there = tc.Link("a", "b", rate=20e6, delay=0.02, buffer=100, record=True)
    back = tc.Link("b", "a", rate=0.5e6, delay=0.02, buffer=10, queue=tc.queues.FQ(), record=True)
    net = tc.Network([there, back], default_path=("a", "b"))
    case = tc.Scenario(net, [tc.Flow("newreno", **BASE)] * 2, duration=30)
    packets, fluid = (tc.simulate(case, model) for model in ("packet", "fluid"))
    assert fluid.data["acks_dropped"].sum() > 1000
    rates = [float(run.throughput(after=10).sum()) for run in (packets, fluid)]
    assert rates[1] == pytest.approx(rates[0], rel=0.1)


def test_a_link_that_pauses_goes_on():
    case = behind(tc.queues.CoDel(), ("cubic",), duration=20)
    case = case.replace(
        net=tc.dumbbell(RATE, 0.02, 75, queue=tc.queues.CoDel(), variable=True),
        changes=[tc.Change(5, "bottleneck", rate=0), tc.Change(7, "bottleneck", rate=RATE)],
    )
    run = tc.simulate(case, "fluid")
    assert float(run.throughput(after=5.2, before=7)[0]) < 1e4
    assert float(run.throughput(after=7, before=7.04)[0]) > 0.5 * RATE  # what has waited
    assert float(run.throughput(after=12)[0]) > 0.8 * RATE


def test_a_short_transfer_of_odd_size_ends():
    transport = tc.Transport(delayed_ack=0.04)
    flow = tc.Flow("newreno", size=7, transport=transport, access_delay=0.005)
    net = tc.dumbbell(RATE, 0.02, 75, queue=tc.queues.CoDel(), access_rate=1e9)
    back = net.links[1].replace(queue=tc.queues.CoDel())
    net = net.replace(links=[net.links[0], back])
    run = tc.simulate(tc.Scenario(net, [flow], duration=5), "fluid")
    assert float(run.data["finished"][0]) < 0.5
    assert int(run.data["timeouts"][0]) == 0


def test_ect1_has_a_probability_of_its_own():
    """A discipline for amounts that marks only ECT(1)."""

    def on_arrival(s, p, q):
        q.mark = 0.0

    def on_fluid(s, p, q):
        q.prob = 0.0
        q.prob_l4s = 0.02
        q.marks = 1.0

    tc.register(Discipline("marks_ect1", "", on_arrival, on_fluid))
    each = [
        tc.Flow("dctcp", transport=tc.Transport(ecn=ecn), **BASE) for ecn in ("l4s", "accurate")
    ]
    net = tc.dumbbell(RATE, 0.03, 75, queue="marks_ect1")
    run = tc.simulate(tc.Scenario(net, each, duration=20), "fluid")
    late = run.data.sel(time=slice(5, 20))
    share = float(late["marks"].sum() / late["delivered"].isel(flow=0).sum())
    assert share == pytest.approx(0.02, rel=0.1)
    each = late["cwnd"].mean("time").values  # equal if both were marked
    assert each[0] < 2 / 3 * each[1]


def test_fifo_links_have_no_packets():
    world = FluidWorld(behind(tc.queues.RED()))
    assert not world.packet_links
    assert world.tables[1]["hop_waits"].size == 0
    assert math.isclose(world.links["packets"].sum(), 0)
