"""Workloads: what is drawn, what it costs, what comes of it."""

import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import tcpcc as tc
from tcpcc.engine.streams import generator
from tcpcc.scenario.distributions import constant, distribution
from tcpcc.scenario.workload_draws import drawn

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=20)
MANY = (
    tc.Workload(
        tc.Flow("reno"),
        tc.workloads.tcplib.CONVERSATIONS,
        interarrival=tc.workloads.poisson(5),
        name="old",
    ),
    tc.workloads.web("vegas", rate=20, name="web"),
    tc.workloads.on_off(
        "cubic",
        sources=3,
        size=20_000,
        off=tc.workloads.Distribution("expon", scale=1),
        name="bursts",
    ),
)


def busy(duration=10.0, workloads=MANY, **settings):
    flows = settings.pop("flows", [tc.Flow("vegas")])
    return tc.Scenario(NET, flows, duration=duration, workloads=workloads, **settings)


@pytest.fixture(scope="module")
def run():
    return tc.simulate(busy())


# --------------------------------------------------------------------- distributions


@pytest.mark.parametrize(
    ("spec", "mean"),
    [
        (scipy.stats.expon(scale=3), 3),
        (scipy.stats.pareto(2.5, scale=3), 5),
        (scipy.stats.lognorm(s=1, scale=2), 2 * math.exp(0.5)),
        (scipy.stats.geom(0.2), 5),
        (tc.workloads.Empirical([1, 3], [0, 1]), 2),
        (tc.workloads.Empirical([1, 3], [0.5, 1]), 1.5),
        ([1, 2, 6], 3),
        (7, 7),
    ],
)
def test_draws_have_the_distributions_mean(spec, mean):
    d = distribution("size", spec)
    sample = d.quantile(generator(1, "x").random(200_000))
    assert d.mean == pytest.approx(mean)
    assert sample.mean() == pytest.approx(mean, rel=0.03)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_a_sample_is_drawn_from_its_own_values(values):
    d = distribution("size", values)
    assert set(d.quantile(np.linspace(0.001, 0.999, 50))) <= set(values)


# ------------------------------------------------------------------------- scenarios


def test_toml_gives_back_the_scenario():
    scenario = busy()
    again = tc.Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    assert hash(again) == hash(scenario)
    assert again.digest == scenario.digest


def test_a_workload_counts_in_the_digest():
    assert busy(seed=1).digest != busy(seed=1, workloads=MANY[:2]).digest


def test_the_same_seed_draws_the_same_whatever_else_there_is():
    one = drawn(MANY[1], "web", 1, 10.0)
    longer = drawn(MANY[1], "web", 1, 20.0)
    other = drawn(MANY[1], "web", 2, 10.0)
    assert np.array_equal(one.start, longer.start[: len(one.start)])
    assert np.array_equal(one.packets, longer.packets[: len(one.packets)])
    assert not np.array_equal(one.start[:9], other.start[:9])


def test_beginnings_are_a_poisson_process():
    start = drawn(tc.workloads.web("reno", rate=50), "w", 3, 2000.0).start
    gaps = np.diff(start)
    assert scipy.stats.kstest(gaps, "expon", args=(0, 1 / 50)).pvalue > 0.01
    assert len(start) == pytest.approx(100_000, rel=0.02)


def test_kinds_come_with_their_shares():
    kinds = drawn(MANY[0], "old", 1, 4000.0).kind
    shares = np.array([kind.share for kind in tc.workloads.tcplib.CONVERSATIONS])
    expected = shares / shares.sum()
    assert np.bincount(kinds) / len(kinds) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("kind", "of", "value", "probability"),
    [
        ("ftp", "items", 3, 0.476),
        ("ftp", "size", 512, 0.513),
        ("nntp", "items", 101, 0.648),
        ("nntp", "size", 1506, 0.5),
        ("smtp", "size", 1000, 0.718),
        ("telnet", "size", 1, 0.628),
        ("telnet", "gap", 0.2, 0.428),
        ("telnet", "lasting", 180, 0.513),
    ],
)
def test_tcplib_is_near_the_published_tables(kind, of, value, probability):
    conversation = next(k for k in tc.workloads.tcplib.CONVERSATIONS if k.name == kind)
    sample = getattr(conversation, of).quantile(np.linspace(0.0005, 0.9995, 1000))
    assert np.mean(sample <= value) == pytest.approx(probability, abs=0.02)


# ------------------------------------------------------------------------------ runs


def test_a_conversation_of_one_item_is_a_flow_of_that_size():
    scenario = busy(workloads=tc.workloads.web("newreno", rate=40), interval=0.1)
    run, apart = tc.simulate(scenario), tc.simulate(scenario.spelled_out())
    assert len(run.data["item"]) > 300
    assert np.array_equal(run.data["item_finished"], apart.data["finished"][1:], equal_nan=True)
    for name in ("sent", "retransmitted", "delivered", "dropped"):
        assert np.array_equal(run.data[name][:, 1], apart.data[name][:, 1:].sum("flow"))
    for name in ("timeouts", "loss_events"):
        assert run.data[name][1] == apart.data[name][1:].sum()
    assert run.data["timeouts"][1] > 0
    assert np.array_equal(run.data["cwnd"][:, 0], apart.data["cwnd"][:, 0], equal_nan=True)
    assert np.array_equal(run.data["queue"], apart.data["queue"])


def test_every_packet_handed_over_arrives_once(run):
    """Delivered in all: what was complete at the end, and no more than had been handed over."""
    times = run.fct()
    for name, items in times.groupby("flow"):
        delivered = float(run.data["delivered"].sel(flow=name).sum())
        complete = items.dropna()["size"].sum()
        assert complete <= delivered <= items["size"].sum()


def test_items_follow_each_other_after_their_pauses():
    gap = 0.3
    load = tc.Workload(
        "reno", tc.workloads.Conversation(5000, items=4, gap=gap), interarrival=1, count=3
    )
    times = tc.simulate(busy(workloads=load)).fct()
    for _, items in times.groupby("conversation"):
        assert len(items) == 4
        ends = (items["start_s"] + items["fct_s"]).to_numpy()
        assert items["start_s"].to_numpy()[1:] == pytest.approx(ends[:-1] + gap, abs=1e-9)


def test_typed_keys_do_not_wait_for_the_network():
    keys = tc.workloads.Conversation(10, items=20, gap=0.05, waits=False)
    load = tc.Workload("reno", keys, interarrival=0.01, count=1)
    times = tc.simulate(busy(workloads=load)).fct()
    assert np.diff(times["start_s"]) == pytest.approx(0.05, abs=1e-9)


@settings(max_examples=15)
@given(
    size=st.floats(1, 1e5),
    items=st.integers(1, 5),
    gap=st.floats(0, 0.5),
    waits=st.booleans(),
    rate=st.floats(0.5, 50),
    controller=st.sampled_from(["tahoe", "reno", "newreno", "vegas", "cubic"]),
    delayed=st.sampled_from([0, 0.1]),
)
def test_no_item_is_faster_than_ideal(size, items, gap, waits, rate, controller, delayed):
    kind = tc.workloads.Conversation(size, items=items, gap=gap, waits=waits)
    flow = tc.Flow(controller, transport={"delayed_ack": delayed})
    load = tc.Workload(flow, kind, interarrival=tc.workloads.poisson(rate))
    times = tc.simulate(busy(4.0, load, flows=[tc.Flow("reno", size=50)])).fct()
    if waits:
        assert not (times["slowdown"] < 1 - 1e-9).any()
    assert (times["fct_s"].dropna() > 0).all()


def test_a_lone_transfer_takes_the_ideal_time_when_the_window_never_limits():
    flow = tc.Flow("reno", size=15, transport={"initial_window": 20})
    times = tc.simulate(tc.Scenario(NET, [flow], duration=2)).fct()
    assert times["slowdown"][0] == pytest.approx(1, abs=0.001)


def test_summary_by_size_counts_all_and_orders_quantiles(run):
    table = run.fct_summary(sizes=[10, 100])
    assert table["count"].sum() == len(run.fct())
    assert (table["finished"] <= table["count"]).all()
    assert (table["fct_p50_s"] <= table["fct_p95_s"]).all()
    whole = run.fct_summary()
    assert whole.loc["web", "fct_mean_s"] == pytest.approx(
        run.fct().query("flow == 'web'")["fct_s"].mean()
    )


def test_ten_thousand_connections_cost_memory_while_they_live():
    """0.6 GB when each was a flow of its own; here what is written of an item, and 200 places."""
    load = tc.Workload(
        "newreno", tc.workloads.Conversation(10_000), interarrival=tc.workloads.poisson(1000)
    )
    net = tc.dumbbell(rate="1 Gbps", delay="20 ms", buffer=1000)
    scenario = tc.Scenario(net, [], duration=10, workloads=load)
    tracemalloc.start()
    run = tc.simulate(scenario)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(run.data["item"]) > 9000
    assert peak < 20e6


def test_places_go_from_hand_to_hand():
    from tcpcc.models.packet.handlers import run_events
    from tcpcc.models.packet.memory.packet_world import PacketWorld

    world = PacketWorld(busy(duration=60.0, workloads=tc.workloads.web("reno", rate=20, size=5000)))
    while run_events(world.address, 60.0):
        world.grow()
    places = len(world.flows) - 1
    assert places < 100 < 1000 < len(world.conversations.conversations)
    busy_places = int((world.flows["conversation"] > 0).sum())
    assert busy_places + int(world.w["free_places"][0]) == places


def test_every_place_becomes_free_in_trains():
    """Also at links of the packet model, such as one with a variable rate."""
    from tcpcc.models.trains.train_world import TrainWorld

    net = tc.dumbbell("10 Mb/s", "10 ms", 30, variable=True)
    case = tc.Scenario(
        net,
        [tc.Flow("vegas", size=10)],
        duration=60,
        workloads=tc.workloads.web("reno", rate=20, size=5000),
    )
    world = TrainWorld(case, 16)
    while world.entry("run_events")(60.0):
        world.grow()
    begun = len(world.conversations.conversations)
    held = world.flows["conversation"]
    assert begun > 1000
    assert np.all(held[held > 0] > begun - 100)


def test_transfers_take_as_long_in_trains():
    old = tc.Flow("reno", recovery="reno", transport=tc.Transport.ns2())
    few = busy(workloads=tc.workloads.web(old, rate=2, size=30_000), duration=20.0)
    packets = tc.simulate(few).fct()["fct_s"].mean()
    for case in (few, few.spelled_out()):
        times = tc.simulate(case, trains=16).fct()["fct_s"]
        assert times.mean() == pytest.approx(packets, rel=0.1)


def test_spelling_out_refuses_conversations_of_several_items():
    with pytest.raises(tc.ScenarioError, match="several items"):
        busy().spelled_out()


def test_a_constant_has_one_value():
    assert set(constant(3).quantile([0.0, 0.3, 1.0])) == {3.0}


def test_an_estimate_counts_the_transfers_of_a_workload():
    """Measured: 50,000 transfers in 5 s over 10 Mb/s send 176,000 packets in 0.9 s."""
    net = tc.dumbbell("10 Mbps", "20 ms", 50)

    def cost(rate):
        return tc.estimate(
            tc.Scenario(net, [], workloads=[tc.workloads.web("reno", rate=rate)], duration=5)
        )

    assert 60_000 < cost(1e4).packets < 500_000
    assert 0.3 < cost(1e4).seconds < 3
    most = cost(1e6)
    assert most.seconds > 60  # so that `simulate` announces it
    assert most.packets == pytest.approx(100 * cost(1e4).packets, rel=0.2)
