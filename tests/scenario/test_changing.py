"""Links that change with time: series of rates, Mahimahi traces, outages, losses in bursts."""

from itertools import pairwise

import numpy as np
import pytest
from drivers import both_drivers
from every_model import simulate_in

import tcpcc as tc
from tcpcc.results.recording import EVENTS

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)


def run(changes=(), flows=None, net=NET, duration=20, model="packet", **options):
    flows = flows or [tc.Flow("reno")]
    case = tc.Scenario(net, flows, duration=duration, changes=changes)
    return simulate_in(model, case, **options)


BOTH = pytest.mark.parametrize("driver", ["compiled", "simpy"])


def test_a_series_of_rates_is_followed():
    rates = [10e6, 2e6, 5e6, 0, 8e6]
    found = run(tc.changes.rate_series("bottleneck", rates, interval=4), [tc.CBR("20 Mbps")])
    sent = found.data["sent_bits"].sel(link="bottleneck").values.reshape(5, -1).sum(axis=1) / 4
    np.testing.assert_allclose(sent, rates, rtol=0.002, atol=2e3)
    np.testing.assert_allclose(found.data["capacity"].values.reshape(5, -1).sum(axis=1) / 4, rates)


def test_a_series_may_be_repeated_and_takes_times():
    series = tc.changes.rate_series("x", [1e6, 2e6], times=[0, 3], until=9)
    assert [(c.at, c.rate) for c in series] == [(0, 1e6), (3, 2e6), (6, 1e6)]


@pytest.mark.long
def test_the_law_of_a_cellular_link():
    """Poisson counts about a Brownian motion between 0 and the largest rate, with silences."""
    many = [tc.changes.cellular("x", until=200, seed=k) for k in range(40)]
    assert many[1] == tc.changes.cellular("x", until=200, seed=1) != many[2]
    grid = np.arange(0, 200, 0.02) + 1e-6
    rates = np.empty((40, len(grid)))
    for row, changes in zip(rates, many, strict=True):
        at = np.searchsorted([c.at for c in changes], grid, side="right") - 1
        row[:] = np.array([c.rate for c in changes])[at]
    opportunities = rates * 0.02 / 12032
    np.testing.assert_allclose(opportunities, opportunities.round(), atol=1e-6)
    # At half of 12 Mb/s: 10 opportunities per bin, as many as their variance (Poisson), and the
    # mean wanders by 2.4 Mb/s in a second.
    start = opportunities[:, :5].ravel()
    assert start.mean() == pytest.approx(6e6 * 0.02 / 12032, rel=0.06)
    assert start.var() == pytest.approx(start.mean() * 1.1, rel=0.3)
    second = rates[:, 25:75].mean(axis=1)
    assert second.std() == pytest.approx(2.4e6, rel=0.3)
    assert 0.9 * 12e6 < rates.reshape(40, -1, 50).mean(axis=2).max() < 1.15 * 12e6
    assert 0.03 < (rates == 0).mean() < 0.15
    short, long = (tc.changes.cellular("x", until=2000, silence=s, interval=0.1) for s in (0.01, 2))
    assert _still(long) > 3 * _still(short)
    calm = tc.changes.cellular("x", until=200, wander="1 bit/s")
    assert np.std([c.rate for c in calm]) == pytest.approx((6e6 * 12032 / 0.02) ** 0.5, rel=0.1)


def _still(changes):
    """Time at rate 0, s."""
    return sum(b.at - a.at for a, b in pairwise(changes) if a.rate == 0)


@BOTH
def test_nothing_leaves_a_link_that_stands_still(driver):
    """The packet being sent stops too; the queue fills and drops; afterwards all goes on."""
    changes = tc.changes.outage(NET, "bottleneck", 5.0003, 8)
    found = run(changes, [tc.CBR("4 Mbps")], duration=12, driver=driver)
    bottleneck = found.data.sel(link="bottleneck")
    still = bottleneck.sel(time=slice(5.02, 8))
    assert float(still["sent_bits"].sum()) == 0
    assert float(still["queue_max"].max()) == 49  # and the packet that is being sent
    arrived = 4e6 * 3 / 8000
    assert float(bottleneck["drops"].sum()) == pytest.approx(arrived - 50, abs=3)
    after = bottleneck.sel(time=slice(8.2, 12))
    assert float(after["sent_bits"].sum()) == pytest.approx(4e6 * 3.8, rel=0.01)
    whole = found.data["delivered"].sum() + found.data["dropped"].sum()
    assert float(found.data["sent"].sum() - whole) <= 11  # on their way at the end


def arrivals(changes, queue="droptail", driver="compiled"):
    """When packets of 0.1 s, sent from 0 s on, reach the end of a link without delay."""
    link = tc.Link("a", "b", rate="80 kbps", delay=0, buffer=50, queue=queue, name="x")
    source = tc.CBR("80 kbps", source="a", target="b", on=[(0, 0.25)])
    case = tc.Scenario(tc.Network([link]), [source], duration=5, changes=changes)
    found = tc.simulate(case, driver=driver, trace=True)
    events = found.events
    return events[events["event"] == EVENTS.index("deliver")]["time"]


@BOTH
@pytest.mark.parametrize("queue", ["droptail", "codel"])
def test_the_rest_of_a_packet_is_sent_at_the_new_rate(driver, queue):
    """Three packets of 8000 bits from 0, 0.1 and 0.2 s on; the rate changes at 0.15 s."""

    def at(*rates):
        return arrivals([tc.Change(t, "x", rate=r) for t, r in rates], queue, driver)

    assert at() == pytest.approx([0.1, 0.2, 0.3])
    assert at((0.15, 40e3)) == pytest.approx([0.1, 0.25, 0.45])  # 4000 bits are left
    assert at((0.15, 800e3)) == pytest.approx([0.1, 0.155, 0.21])
    assert at((0.15, 0), (0.5, 80e3)) == pytest.approx([0.1, 0.55, 0.65])
    assert at((0.15, 0), (0.5, 40e3)) == pytest.approx([0.1, 0.6, 0.8])
    assert at((0.15, 0), (0.5, 0), (1, 80e3), (1.01, 0), (2, 80e3)) == pytest.approx(
        [0.1, 2.04, 2.14]
    )
    assert at((0.15, 40e3), (0.2, 80e3)) == pytest.approx([0.1, 0.225, 0.325])


def test_a_packet_that_rate_0_stops_takes_a_place_of_the_buffer():
    """Of a burst a buffer of 10 holds 10, with the one that is being sent."""
    link = tc.Link("a", "b", rate="1 Mbps", delay=0, buffer=10, name="x")
    case = tc.Scenario(
        tc.Network([link]),
        [tc.CBR("10 Mbps", source="a", target="b", on=[(0, 1)])],
        duration=3,
        changes=[tc.Change(0.0005, "x", rate=0), tc.Change(2, "x", rate=1e6)],
    )
    data = tc.simulate(case).data.sum("time")
    assert float(data["delivered"].sum()) == 10


@pytest.mark.parametrize("queue", ["droptail", "red", "codel", "fq_codel", "token_bucket"])
@pytest.mark.parametrize("seed", range(4))
def test_no_link_sends_more_than_its_rate_allows(queue, seed):
    """Rates that change every 1 to 50 ms, 0 among them; packets of two sizes; both directions."""
    draw = np.random.default_rng(seed)
    settings = {"name": "token_bucket", "rate": 5e6} if queue == "token_bucket" else queue
    net = tc.dumbbell("5 Mbps", "3 ms", 20, queue=settings)
    changes = []
    for link in (net.links[0].name, net.links[1].name):
        rates = draw.choice([0, 1e5, 1e6, 5e6, 40e6], 200)
        times = np.cumsum(draw.uniform(0.001, 0.05, 200))
        changes += tc.changes.rate_series(link, rates, times=times)
    changes += [tc.Change(t, "bottleneck", delay=d) for t, d in ((0.7, 0.02), (1.3, 0.001))]
    flows = [tc.Flow("cubic"), tc.CBR("4 Mbps", packet_size=300)]
    case = tc.Scenario(net, flows, duration=6, changes=changes, interval=0.01)
    data = both_drivers(case).data
    assert float((data["sent_bits"] - data["capacity"]).max()) < 1e-3
    assert float(data["queue_max"].max()) <= 20
    assert float(data["delivered"].sum()) > 100


@pytest.mark.parametrize("interval", ["1 ms", "7 ms", "20 ms"])
def test_an_opportunity_of_a_mahimahi_trace_lets_1504_bytes_pass(tmp_path, interval):
    """6 s with an opportunity every 3 ms; packets of 1500, 1000 and 40 bytes."""
    (tmp_path / "trace").write_text("\n".join(str(ms) for ms in range(3, 3001, 3)))
    changes = tc.changes.mahimahi("bottleneck", tmp_path / "trace", until=6, interval=interval)
    for size in (1500, 1000, 40):
        found = run(changes, [tc.CBR("8 Mbps", packet_size=size)], duration=6)
        assert found.data["sent_bits"].sum() / 8 <= 1504 * 6000 / 3 + 1e-3
        assert 0.99 < found.utilization() <= 1 + 1e-9


def test_a_mahimahi_trace_is_followed(tmp_path):
    """Three packets a ms for 0.5 s, then one every 10 ms for 0.5 s, again and again."""
    fast = [ms for ms in range(1, 501) for _ in range(3)]
    slow = list(range(510, 1001, 10))
    (tmp_path / "trace").write_text("\n".join(map(str, fast + slow)) + "\n")
    changes = tc.changes.mahimahi("bottleneck", tmp_path / "trace", until=10)
    found = run(changes, [tc.CBR("60 Mbps", packet_size=1504)], duration=10)
    bits = found.data["sent_bits"].sel(link="bottleneck").values.reshape(20, -1).sum(axis=1)
    np.testing.assert_allclose(bits[::2], 1500 * 8 * 1504, rtol=0.01)
    np.testing.assert_allclose(bits[1::2], 50 * 8 * 1504, rtol=0.05)


@pytest.mark.parametrize("text", ["", "a\nb", "5\n3\n"])
def test_files_that_are_no_traces_are_refused_in_one_line(text, tmp_path):
    (tmp_path / "trace").write_text(text)
    with pytest.raises(tc.ScenarioError, match=r"trace '.*trace': ") as error:
        tc.changes.mahimahi("bottleneck", tmp_path / "trace", until=10)
    assert "\n" not in str(error.value)


def test_losses_come_in_bursts_of_the_right_length():
    channel = tc.queues.GilbertElliott(p=0.01, r=0.2)
    net = tc.dumbbell(rate="100 Mbps", delay="1 ms", buffer=50, queue=channel)
    found = run((), [tc.CBR("50 Mbps")], net, duration=20, trace=True)
    drops = found.events["seq"][found.events["event"] == 7]
    share = len(drops) / float(found.data["sent"].sum())
    assert share == pytest.approx(0.01 / 0.21, rel=0.1)
    bursts = 1 + np.count_nonzero(np.diff(drops) > 1)
    assert len(drops) / bursts == pytest.approx(1 / 0.2, rel=0.1)


@pytest.mark.parametrize(
    "queue", ["red", "adaptive_red", "pie", "rem", "xcp_router", "codel", "sred", "pi"]
)
@pytest.mark.parametrize("begin", [0.0, 2.0])
def test_a_queue_outlives_an_outage(queue, begin):
    """What it takes for the link's rate is what it was before."""
    net = tc.dumbbell("5 Mbps", "20 ms", 40, queue=queue)
    changes = tc.changes.outage(net, "bottleneck", begin, begin + 1)
    case = tc.Scenario(net, [tc.Flow("reno"), tc.Flow("vegas")], duration=6, changes=changes)
    assert float(both_drivers(case).throughput(after=begin + 2).sum()) > 1e5


def one_way(changes, **settings):
    """Delays of single packets of a CBR source over a link of 10 ms, by when they were sent."""
    link = tc.Link("a", "b", rate="10 Mbps", delay="10 ms", **settings)
    net = tc.Network([link], default_path=("a", "b"))
    case = tc.Scenario(net, [tc.CBR("400 kbps")], duration=9, changes=changes)
    assert tc.Scenario.from_toml(case.to_toml()) == case
    found = both_drivers(case).delays()
    return found["sent"].to_numpy(), found["delay"].to_numpy() - 0.01 - 8000 / 10e6


def test_jitter_may_change():
    changes = [
        tc.Change(3, "a>b", jitter="8 ms"),
        tc.Change(5, "a>b", jitter="30 ms", jitter_share=0.1),
        tc.Change(7, "a>b", jitter=0),
    ]
    sent, late = one_way(changes)
    first, second, third, last = (
        late[(sent > a) & (sent < b)] for a, b in ((0, 2.9), (3, 4.9), (5, 6.9), (7.1, 8.9))
    )
    assert np.abs(first).max() < 1e-9
    assert 0.003 < second.mean() < 0.005
    assert second.max() < 0.008
    assert 0.02 < (third > 1e-6).mean() < 0.4
    assert third.max() > 0.008
    assert np.abs(last).max() < 1e-9


def test_a_process_may_change_jitter():
    net = tc.dumbbell("5 Mbps", "20 ms", 40, jitter="1 us")
    links = [link.replace(variable=True) for link in net.links]
    sim = tc.PacketSimulation(tc.Scenario(net.replace(links=links), [tc.Flow("reno")], duration=8))

    def gust():
        yield sim.env.timeout(4)
        sim.set_link("bottleneck", jitter="50 ms")

    sim.env.process(gust())
    rtt = sim.run().data["rtt"].isel(flow=0)
    assert float(rtt.sel(time=slice(4.5, 8)).max()) > float(rtt.sel(time=slice(1, 4)).max()) + 0.01


def test_a_link_without_jitter_is_given_none_by_hand():
    net = tc.dumbbell("5 Mbps", "20 ms", 40)
    links = [link.replace(variable=True) for link in net.links]
    sim = tc.PacketSimulation(tc.Scenario(net.replace(links=links), [tc.Flow("reno")], duration=3))
    with pytest.raises(tc.ScenarioError, match="has no jitter: make it with one"):
        sim.set_link("bottleneck", jitter="1 ms")
