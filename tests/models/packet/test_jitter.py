"""Links and hosts with random delays: jitter, reordering, aggregation, processing times."""

import numpy as np
import pytest
from drivers import both_drivers

import tcpcc as tc

SELDOM = 1e-12  # a share of packets that is none of them


def scenario(flows=None, duration=5, seed=1, **link):
    net = tc.dumbbell("5 Mbps", "20 ms", 20, **link)
    return tc.Scenario(net, flows or [tc.Flow("reno")], duration=duration, seed=seed)


def with_jitter(case, names, **settings):
    links = [x.replace(**settings) if x.name in names else x for x in case.net.links]
    return case.replace(net=case.net.replace(links=links))


def one_way(run):
    """Delay of each packet that was sent once, in s, in sending order."""
    table = run.trace()
    sent = table[table.event.isin(["send", "retransmit"])].groupby("seq").time.agg(["min", "size"])
    sent = sent[sent["size"] == 1]["min"]
    there = table[table.event == "deliver"].groupby("seq").time.min()
    return (there - sent).dropna().to_numpy()


SLOW = [tc.CBR("100 kbps", packet_size=500)]  # a packet every 40 ms, alone on the link


def test_jitter_adds_up_to_its_value_to_the_delay():
    late = one_way(tc.simulate(scenario(SLOW, 40, jitter="10 ms"), trace=True)) - 0.0208
    assert len(late) > 900
    assert -1e-12 < late.min() < 0.0002 < 0.0098 < late.max() < 0.01
    assert late.mean() == pytest.approx(0.005, abs=3 * 0.01 / np.sqrt(12 * len(late)))


def test_only_the_given_share_of_packets_is_late():
    case = with_jitter(
        scenario(SLOW, 40), ["bottleneck"], jitter="10 ms", jitter_share=0.2, reordering=True
    )
    late = one_way(tc.simulate(case, trace=True)) - 0.0208
    assert (late > 1e-9).mean() == pytest.approx(0.2, abs=0.05)


WEB = [tc.workloads.web("reno", rate=20)]


@pytest.mark.parametrize("settings", [{}, {"access_rate": "50 Mbps", "access_delay": "1 ms"}])
@pytest.mark.parametrize("names", [["bottleneck"], ["bottleneck<"], ["bottleneck", "bottleneck<"]])
@pytest.mark.parametrize("reordering", [False, True])
def test_a_stage_without_delay_changes_no_bit(settings, names, reordering):
    """Not even the order of simultaneous events, which decides whose packets are dropped."""
    net = tc.dumbbell("5 Mbps", "20 ms", 20, **settings)
    flows = [tc.Flow("reno"), tc.Flow("cubic"), tc.CBR("1 Mbps", on=[(1, 3)])]
    plain = tc.Scenario(net, flows, duration=8, workloads=WEB)
    staged = with_jitter(plain, names, jitter=1, jitter_share=SELDOM, reordering=reordering)
    a, b = tc.simulate(plain), tc.simulate(staged)
    assert a.data["drops"].sum() > 50
    assert a.data.drop_attrs().equals(b.data.drop_attrs())


@pytest.mark.parametrize("link", [
    {"jitter": "8 ms"},
    {"jitter": "8 ms", "reordering": True},
    {"jitter": "3 ms", "aggregation": "2 ms"},
])  # fmt: skip
def test_both_drivers_give_the_same_bits(link):
    case = with_jitter(scenario([tc.Flow("reno"), tc.Flow("cubic")]), ["bottleneck"], **link)
    case = with_jitter(case, ["bottleneck<"], aggregation="7 ms")
    both_drivers(case.jittered(starts="50 ms", processing="1 ms").replace(workloads=WEB))


def test_jitter_without_reordering_keeps_the_order():
    flow = tc.Flow("reno", transport={"rwnd": 18})
    run = tc.simulate(scenario([flow], jitter="30 ms"), trace=True)
    there = run.trace().query("event == 'deliver'")
    assert (np.diff(there.seq) == 1).all()
    assert run.data["retransmitted"].sum() == 0


def test_reordered_packets_look_like_losses_to_reno():
    """Reno repairs packets that are only late; RACK waits for a reordering window and rarely
    does."""
    again = {}
    for recovery in ("reno", "rack-tlp"):
        flow = tc.Flow("reno", recovery=recovery, transport={"rwnd": 15})
        run = tc.simulate(scenario([flow], 20, jitter="8 ms", reordering=True))
        assert run.data["dropped"].sum() == 0
        assert run.data["delivered"].sum() > 1000
        again[recovery] = float(run.data["retransmitted"].sum())
    assert again["reno"] > 20
    assert again["rack-tlp"] < again["reno"] / 3


def test_rings_grow_with_reordered_packets():
    flow = tc.Flow("reno", transport={"rwnd": 400, "initial_window": 400})
    net = tc.dumbbell("100 Mbps", "20 ms", 1000, jitter="200 ms", reordering=True)
    sim = tc.PacketSimulation(tc.Scenario(net, [flow], duration=1))
    run = sim.run()
    assert len(sim.world.pool.packets) > 256
    assert run.data["delivered"].sum() > 400
    assert run.identical(tc.simulate(sim.scenario))


def test_a_link_that_changes_keeps_its_jitter():
    case = scenario(SLOW, 40, jitter="10 ms")
    case = case.replace(changes=[tc.Change(20, "bottleneck", delay="50 ms")])
    late = one_way(tc.simulate(case, trace=True))
    assert late.min() > 0.0207
    assert 0.058 < late.max() < 0.0609


# Hosts


def test_the_seed_has_an_effect_under_drop_tail_with_processing_times():
    flows = [tc.Flow("reno"), tc.Flow("reno"), tc.Flow("vegas")]
    plain = [
        tc.simulate(scenario(flows, 20, seed)).data["delivered"].sum("time") for seed in (1, 2)
    ]
    assert plain[0].equals(plain[1])
    runs = [
        tc.simulate(scenario(flows, 20, seed).jittered(processing="1.6 ms")).data for seed in (1, 2)
    ]
    shares = [run["delivered"].sum("time") for run in runs]
    assert not shares[0].equals(shares[1])
    assert float(shares[0].sum()) == pytest.approx(float(plain[0].sum()), rel=0.05)


def test_a_host_takes_its_time_for_each_packet_in_order():
    flow = tc.Flow("reno", processing="1 ms", transport={"initial_window": 4, "handshake": False})
    net = tc.dumbbell("1 Gbps", "20 ms", 20)
    trace = tc.simulate(tc.Scenario(net, [flow], duration=0.035), trace=True).trace()
    there = trace[trace.event == "deliver"]
    assert list(there.seq) == [0, 1, 2, 3]
    assert (np.diff(there.time) >= 0).all()
    assert 0.020 < there.time.iloc[0] < there.time.iloc[-1] < 0.02105


def test_jittered_keeps_settings_that_are_not_given():
    case = scenario([tc.Flow("reno", jitter="10 ms"), tc.CBR("1 Mbps")])
    changed = case.jittered(processing="1 ms")
    assert changed.flows == (tc.Flow("reno", jitter="10 ms", processing="1 ms"), case.flows[1])
    assert changed.jittered(starts=0, processing=0) == case.jittered(starts=0)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"reordering": True}, "reordering = True: needs a jitter"),
        ({"jitter_share": 0.5}, "jitter_share = 0.5: needs a jitter"),
        ({"jitter": 1, "jitter_share": 0}, "jitter_share = 0: must be above 0"),
        ({"jitter": 1, "jitter_share": 2}, "jitter_share = 2: must be a probability"),
        ({"jitter": -1}, "jitter = -1: must be"),
    ],
)
def test_invalid_settings_are_refused(settings, text):
    with pytest.raises(tc.ScenarioError, match=text):
        tc.Link("a", "b", rate="1 Mbps", delay=0, **settings)


@pytest.mark.parametrize("settings", [{"jitter": "20 ms"}, {"aggregation": "20 ms"}])
def test_an_equilibrium_uses_the_mean_delay(settings):
    jittered, longer = (
        with_jitter(scenario(), ["bottleneck"], **each) for each in (settings, {"delay": "30 ms"})
    )
    assert tc.analysis.equilibrium(jittered).identical(tc.analysis.equilibrium(longer))


def test_aggregated_packets_arrive_together():
    """They arrive at multiples of the period; no packet is lost or reordered."""
    case = with_jitter(scenario(SLOW, 40), ["bottleneck"], aggregation="100 ms")
    table = tc.simulate(case, trace=True).trace()
    arrived = table[table.event == "deliver"]
    assert np.all(np.diff(arrived.seq) == 1)
    times, sizes = np.unique(arrived.time, return_counts=True)
    assert times / 0.1 == pytest.approx(np.round(times / 0.1), abs=1e-9)
    assert sizes.mean() == pytest.approx(100 / 40, rel=0.02)
    late = one_way(tc.simulate(case, trace=True)) - 0.0208
    assert late.min() >= -1e-12
    assert late.max() < 0.1


def test_aggregation_of_acks_makes_bursts_of_packets():
    case = with_jitter(scenario(), ["bottleneck<"], aggregation="20 ms")
    table = tc.simulate(case, trace=True).trace()
    times = table[table.event == "ack"].time.to_numpy()
    assert times / 0.02 == pytest.approx(np.round(times / 0.02), abs=1e-9)
    assert len(times) > 5 * len(set(times))
