"""XCP: the router beside ns-2's, its arithmetic by hand, and what it is known for."""

import ns2_runs
import numpy as np
import pytest
from by_hand import discipline_of
from drivers import both_drivers
from every_model import BESIDE_PACKETS, EVERY_MODEL, PACKETS_AND_TRAINS, simulate_in
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.errors import ScenarioError, ScenarioWarning
from tcpcc.models.packet.simpy_driver import PacketSimulation
from tcpcc.queues.discipline import Discipline

ROUTER = {"rate": "50 Mbps", "buffer": 1000, "queue": tc.queues.XCPRouter()}


def scenario(flows=2, rate=20, delay=20, buffer=500, duration=10, near=1, stagger=2.0, **router):
    """Flows over a dumbbell; Mb/s, ms, packets, s."""
    transport = tc.Transport.ns2(initial_window=2, handshake=False)
    each = [tc.Flow("xcp", start=stagger * k + 1e-4, transport=transport) for k in range(flows)]
    return on_a_link(
        *each, rate=rate * 1e6, delay=delay / 1e3, buffer=buffer,
        queue=tc.queues.XCPRouter(**router), access_rate="1 Gbps", access_delay=near / 1e3,
        duration=duration, interval=0.1,
    )  # fmt: skip


def in_ns2(**path):
    """Windows [sample, flow] and their times, packets acknowledged, when the timers first ran."""
    order = ("flows", "rate", "delay", "buffer", "duration", "near", "stagger")
    rows, router = ns2_runs.run("xcp.tcl", *(path[name] for name in order))
    windows = np.array([[float(x) for x in row[2:]] for row in rows if row[0] == "cwnd"])
    acked = [int(row[2]) for row in rows if row[0] == "acked"]
    first = {name: float(time) for name, time, _ in reversed(router)}
    return windows, acked, {
        "first_control": first["input_traffic_bytes_"], "first_sample": first["Tq_"]
    }  # fmt: skip


@ns2_runs.needs_ns2
@pytest.mark.parametrize(
    "path",
    [
        {"flows": 2, "rate": 20, "delay": 20, "stagger": 2},
        pytest.param({"flows": 5, "rate": 50, "delay": 38, "stagger": 1}, marks=pytest.mark.long),
        {"flows": 3, "rate": 100, "delay": 8, "stagger": 2},
    ],
    ids=str,
)
def test_windows_are_ns2s(path):
    """The clock of the router begins where ns-2 has drawn it. Within 1 % in packets and 2 % in the
    windows' mean; ns-2's round-trip times are of whole microseconds, which orders some events."""
    path = path | {"buffer": 500, "duration": 10, "near": 1}
    theirs, acked, first = in_ns2(**path)
    sim = PacketSimulation(scenario(**path, **first))
    run = sim.run()
    ours = run.data["cwnd"].values[: len(theirs)]
    assert run.data["drops"].sum() == 0
    found = [sim.acknowledged(str(name)) for name in run.data.flow.values]
    np.testing.assert_allclose(found, acked, rtol=0.01)
    np.testing.assert_allclose(ours[-30:].mean(axis=0), theirs[-30:].mean(axis=0), rtol=0.02)
    begun = ~np.isnan(ours)
    change = np.abs(ours - theirs)[begun] / np.maximum(theirs[begun], 10)
    assert np.median(change) < 0.01


def test_both_drivers_give_the_same_bits():
    both_drivers(scenario(flows=3, duration=4, stagger=0.5))


def test_the_link_is_full_the_queue_is_not_and_shares_are_equal():
    """Katabi, Handley, Rohrs 2002, section 5: efficiency and fairness without drops, also at a
    bandwidth-delay product of 1000 packets."""
    run = tc.simulate(scenario(flows=4, rate=100, delay=38, buffer=1000, duration=30, stagger=1))
    late = run.data.sel(time=slice(15, None))
    assert run.data["drops"].sum() == 0
    assert run.utilization(after=15) > 0.97
    assert float(late["queue"].mean()) < 20
    assert run.jain_index(after=15) > 0.999


def test_round_trip_times_make_no_difference():
    """Each flow's rate changes by the same amount in a control interval, whatever its R."""
    links = [
        tc.Link("n", "t", rate="50 Mbps", delay="5 ms", buffer=1000, queue=tc.queues.XCPRouter()),
        tc.Link("t", "n", rate="1 Gbps", delay="5 ms"),
    ]
    for host, delay in (("a", "5 ms"), ("b", "45 ms")):
        for way in ((host, "n"), ("n", host)):
            links.append(tc.Link(*way, rate="1 Gbps", delay=delay))
    flows = [tc.Flow("xcp", source=x, target="t") for x in "ab"]
    run = tc.simulate(tc.Scenario(tc.Network(links), flows, duration=40))
    assert run.jain_index(after=20) > 0.99


# The router by hand


def router(**state):
    sample = {"rate": 8e6, "size": 1000.0, "words": 1.0, "arrivals": 1.0}  # 1 MB/s
    return discipline_of("xcp_router", sample=sample, **state)


def test_what_is_free_is_given_out_in_an_interval():
    """40 kB in 100 ms leave 600 kB/s free: 0.4 x 600 go up, and nothing is shuffled. 40 packets
    of x = 0.1/4 each ask for 1/40 of it."""
    d, s, p, q = router(interval=0.1, next_control=1.0, next_sample=9.0)
    q.xcp_rtt, q.xcp_spacing = 0.1, 0.025
    for _ in range(40):
        d.on_arrival(s, p, q)
    q.now = 1.0
    d.on_interval(s, p, q)
    assert s.mean_rtt == pytest.approx(0.1)
    assert s.up == pytest.approx(240e3)
    assert s.down == 0
    assert q.wake == pytest.approx(1.1)
    q.xcp_change = 1e21
    d.on_departure(s, p, q)
    assert q.xcp_change == pytest.approx(240 / 40)
    assert s.up == pytest.approx(240e3 * 39 / 40)


@pytest.mark.parametrize(("waiting", "until"), [(20e3, 0.04), (99e3, 0.002)])
def test_the_queue_is_sampled_for_half_the_rtt_without_its_own_delay(waiting, until):
    """(8): (100 ms - 20 ms) / 2, and 2 ms at the least."""
    d, s, p, q = router(mean_rtt=0.1, least=5e3, next_control=9.0, next_sample=1.0)
    q.now, q.queue_bytes = 1.0, waiting
    d.on_interval(s, p, q)
    assert q.wake == pytest.approx(1 + until)
    assert (s.standing, s.least) == (5e3, waiting)


def test_a_tighter_router_before_is_heeded():
    """What a packet does not take from us counts as taken down."""
    d, s, p, q = router(up=2e5, down=1e5, share_up=1e6, share_down=1.0)
    q.xcp_rtt, q.xcp_spacing, q.xcp_change = 0.1, 0.02, 3.0
    d.on_departure(s, p, q)
    assert q.xcp_change == 3.0
    assert s.down == pytest.approx(1e5 - (1e3 + (19e3 - 3e3)))
    assert s.up == pytest.approx(2e5 - (3e3 + 17e3))


def test_so_many_packets_at_once_are_as_many_one_after_another():
    """What fluid tells the router by amounts, packets tell it one by one."""
    rules = []
    for times, amount in ((1, 40.0), (40, 1.0)):
        d, s, p, q = router(interval=0.1, next_control=1.0, next_sample=9.0)
        q.xcp_rtt, q.xcp_spacing, q.arrivals = 0.1, 0.025, amount
        for _ in range(times):
            d.on_arrival(s, p, q)
        q.now = 1.0
        d.on_interval(s, p, q)
        q.arrivals = amount / 2
        for _ in range(times):
            q.xcp_change = 1e21
            d.on_departure(s, p, q)
        rules.append((s.mean_rtt, s.share_up, s.up, q.xcp_change))
    assert rules[0] == pytest.approx(rules[1])


def test_the_analysis_refuses_it():
    with pytest.raises(ScenarioError, match=r"needs packets \(header\)"):
        tc.analysis.equilibrium(scenario())


# Other models beside packets


@pytest.mark.parametrize(
    "path",
    [
        {"flows": 1, "rate": 20, "delay": 20, "stagger": 0},
        {"flows": 5, "rate": 50, "delay": 38, "stagger": 1},
        {"flows": 3, "rate": 100, "delay": 8, "stagger": 2},
    ],
    ids=str,
)
def test_trains_have_the_windows_and_the_queue_of_packets(path):
    """Start, the arrival of others and their shares: half of all windows within 0.5 %, nine tenths
    within 5 %; the queue's mean within 15 % or a quarter of a packet."""
    packets, other = (simulate_in(m, scenario(**path)) for m in ("packet", "trains"))
    a, b = packets.data["cwnd"].values, other.data["cwnd"].values
    sent = ~np.isnan(a) & ~np.isnan(b)
    assert sent.sum() > 0.95 * (~np.isnan(a)).sum()
    apart = np.abs(a - b)[sent] / np.maximum(a[sent], 10)
    assert np.median(apart) < 0.005
    assert np.percentile(apart, 90) < 0.05
    queue = packets.data["queue"].mean().item()
    assert other.data["queue"].mean().item() == pytest.approx(queue, rel=0.15, abs=0.25)
    assert other.utilization(after=5) == pytest.approx(packets.utilization(after=5), abs=0.002)


def test_short_flows_among_long_ones_take_as_long_in_trains():
    """50 transfers a second of 20 packets over four long flows at 50 Mb/s."""
    flows = [tc.Flow("xcp", start=0.1 * k) for k in range(4)]
    flows += [tc.Flow("xcp", size=20, start=3 + 0.02 * k) for k in range(100)]
    case = on_a_link(*flows, duration=6, **ROUTER)
    packets, other = (simulate_in(m, case) for m in ("packet", "trains"))
    starts = np.array([flow.start for flow in flows])[4:]
    times = [run.data["finished"].values[4:] - starts for run in (packets, other)]
    assert np.nanmean(times[1]) == pytest.approx(np.nanmean(times[0]), rel=0.03)
    assert np.nanpercentile(times[1], 95) == pytest.approx(np.nanpercentile(times[0], 95), rel=0.05)
    assert other.utilization(after=3) == pytest.approx(packets.utilization(after=3), abs=0.01)


def two_routers(first, second):
    """Two flows over both links, one over each of them."""
    queue = tc.queues.XCPRouter()
    net = tc.Network(
        [
            tc.Link("a", "b", rate=first, delay="10 ms", buffer=1000, queue=queue),
            tc.Link("b", "c", rate=second, delay="10 ms", buffer=1000, queue=queue),
            tc.Link("c", "b", rate="1 Gbps", delay="10 ms"),
            tc.Link("b", "a", rate="1 Gbps", delay="10 ms"),
        ]
    )
    ways = ("ac", "ac", "ab", "bc")
    return tc.Scenario(net, [tc.Flow("xcp", source=x, target=y) for x, y in ways], duration=10)


@pytest.mark.parametrize("rates", [("50 Mbps", "30 Mbps"), ("30 Mbps", "50 Mbps")])
@BESIDE_PACKETS
def test_the_tighter_of_two_routers_counts_in_every_model(model, rates):
    shares = [
        simulate_in(m, two_routers(*rates)).goodput(after=6).values for m in ("packet", model)
    ]
    np.testing.assert_allclose(shares[1], shares[0], rtol=0.02)


@PACKETS_AND_TRAINS
def test_a_buffer_that_the_router_overruns_leaves_timeouts(model):
    """15 packets, 43 given out in a round trip: 1.7 % of the link in packets, 0.9 in trains."""
    run = simulate_in(model, scenario(flows=1, buffer=15, duration=8))
    assert run.data["timeouts"].item() > 4
    assert run.utilization() < 0.03


@BESIDE_PACKETS
def test_what_a_flow_stands_for_counts_in_the_router(model):
    """Ten flows as ten, and as one of weight ten."""
    case = on_a_link(
        tc.Flow("xcp", start=1e-4, count=10), duration=6,
        **ROUTER | {"rate": "20 Mbps", "buffer": 500},
    )  # fmt: skip
    tens = [simulate_in(model, case, senders=n).data["delivered"].sum().item() for n in (1, 10)]
    assert tens[0] == pytest.approx(tens[1], rel=0.01)


def test_packets_over_fluid_share_its_router():
    """Two flows in front of four get what each gets in packets."""
    flows = [tc.Flow("xcp", start=0.3 * k, background=k > 1) for k in range(6)]
    case = on_a_link(*flows, duration=8, **ROUTER)
    packets, hybrid = (simulate_in(m, case).goodput(after=4).values for m in ("packet", "hybrid"))
    np.testing.assert_allclose(hybrid, packets, rtol=0.02)


@EVERY_MODEL
def test_without_a_router_the_window_stays_as_it_is(model):
    flow = tc.Flow("xcp", transport={"initial_window": 4})
    case = on_a_link(flow, rate="4 Mbps", delay="2 ms", buffer=40, duration=3)
    with pytest.warns(ScenarioWarning, match="flow 'xcp1': no queue on its path reads"):
        run = simulate_in(model, case)
    assert (run.data["cwnd"].sel(time=slice(0.1, None)) == 4).all()


def test_a_discipline_that_counts_in_amounts_has_no_rule_for_amounts():
    def drop(s, p, q):
        q.drop = 1.0

    with pytest.raises(ValueError, match="takes no on_fluid"):
        Discipline(name="both", summary="", on_arrival=drop, on_fluid=drop, in_amounts=True)
