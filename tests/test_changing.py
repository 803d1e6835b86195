"""Links that change with time: series of rates, Mahimahi traces, outages, losses in bursts."""

import numpy as np
import pytest

import tcpcc as tc

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)


def run(changes=(), flows=None, net=NET, duration=20, **options):
    flows = flows or [tc.Flow("reno")]
    return tc.simulate(tc.Scenario(net, flows, duration=duration, changes=changes), **options)


BOTH = pytest.mark.parametrize("driver", ["compiled", "simpy"])


def test_a_series_of_rates_is_followed():
    rates = [10e6, 2e6, 5e6, 0, 8e6]
    found = run(tc.rate_series("bottleneck", rates, interval=4), [tc.CBR("20 Mbps")])
    sent = found.data["sent_bits"].sel(link="bottleneck").values.reshape(5, -1).sum(axis=1) / 4
    np.testing.assert_allclose(sent, rates, rtol=0.002, atol=2e3)
    np.testing.assert_allclose(found.data["capacity"].values.reshape(5, -1).sum(axis=1) / 4, rates)


def test_a_series_may_be_repeated_and_takes_times():
    series = tc.rate_series("x", [1e6, 2e6], times=[0, 3], until=9)
    assert [(c.at, c.rate) for c in series] == [(0, 1e6), (3, 2e6), (6, 1e6)]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"rates": [1, -1], "interval": 1}, "rates = "), ({"rates": [], "interval": 1}, "rates = "),
     ({"rates": [1, 2]}, "an interval or times"),
     ({"rates": [1, 2], "times": [1, 1]}, "times = ")],
)  # fmt: skip
def test_a_bad_series_is_refused_in_one_line(arguments, text):
    with pytest.raises(tc.ScenarioError, match=text) as error:
        tc.rate_series("bottleneck", **arguments)
    assert "\n" not in str(error.value)


@BOTH
def test_nothing_leaves_a_link_that_stands_still(driver):
    """What had begun is finished; then the queue fills and drops; afterwards all goes on."""
    changes = tc.outage(NET, "bottleneck", 5.0003, 8)
    found = run(changes, [tc.CBR("4 Mbps")], duration=12, driver=driver)
    bottleneck = found.data.sel(link="bottleneck")
    still = bottleneck.sel(time=slice(5.02, 8))
    assert float(still["sent_bits"].sum()) == 0
    assert float(still["queue_max"].max()) == 50
    arrived = 4e6 * 3 / 8000
    assert float(bottleneck["drops"].sum()) == pytest.approx(arrived - 50, abs=3)
    after = bottleneck.sel(time=slice(8.2, 12))
    assert float(after["sent_bits"].sum()) == pytest.approx(4e6 * 3.8, rel=0.01)
    whole = found.data["delivered"].sum() + found.data["dropped"].sum()
    assert float(found.data["sent"].sum() - whole) <= 11  # on their way at the end


@BOTH
def test_an_outage_shorter_than_a_transmission_is_not_seen(driver):
    """The packet being sent keeps its time, and the one after it begins when it ends."""
    slow = tc.dumbbell(rate="80 kbps", delay="23 ms", buffer=50)
    flows = [tc.CBR("160 kbps", on=[(0, 1)])]
    short = tc.outage(slow, "bottleneck", 0.52, 0.58)
    found, without = (run(c, flows, slow, driver=driver) for c in (short, []))
    np.testing.assert_allclose(found.data["delivered"], without.data["delivered"])
    np.testing.assert_allclose(found.data["sent_bits"], without.data["sent_bits"], atol=1e-6)


def test_a_flow_survives_an_outage():
    found = run(tc.outage(NET, "bottleneck", 5, 8), duration=30)
    assert float(found.timeouts()[0]) >= 1
    assert found.utilization(after=12) > 0.9


def test_both_drivers_give_the_same_bits_under_a_wild_rate():
    rng = np.random.default_rng(1)
    rates = rng.choice([0, 1e6, 5e6, 20e6], 200)
    changes = tc.rate_series("bottleneck", rates, interval=0.05, until=20)
    flows = [tc.Flow("reno"), tc.Flow("cubic", start=1), tc.CBR("500 kbps")]
    compiled, simpy = (run(changes, flows, driver=d) for d in ("compiled", "simpy"))
    assert compiled.identical(simpy)
    data = compiled.data.sum("time")
    assert float((data["sent"] - data["delivered"] - data["dropped"]).min()) >= 0
    assert float(compiled.data["queue_max"].max()) <= 50


def test_a_mahimahi_trace_is_followed(tmp_path):
    """Three packets a ms for 0.5 s, then one every 10 ms for 0.5 s, again and again."""
    fast = [ms for ms in range(1, 501) for _ in range(3)]
    slow = list(range(510, 1001, 10))
    (tmp_path / "trace").write_text("\n".join(map(str, fast + slow)) + "\n")
    changes = tc.mahimahi("bottleneck", tmp_path / "trace", until=10)
    found = run(changes, [tc.CBR("60 Mbps", packet_size=1504)], duration=10)
    bits = found.data["sent_bits"].sel(link="bottleneck").values.reshape(20, -1).sum(axis=1)
    np.testing.assert_allclose(bits[::2], 1500 * 8 * 1504, rtol=0.01)
    np.testing.assert_allclose(bits[1::2], 50 * 8 * 1504, rtol=0.05)


@pytest.mark.parametrize("text", ["", "a\nb", "5\n3\n"])
def test_what_is_no_trace_is_told_in_one_line(text, tmp_path):
    (tmp_path / "trace").write_text(text)
    with pytest.raises(tc.ScenarioError, match=r"trace '.*trace': ") as error:
        tc.mahimahi("bottleneck", tmp_path / "trace", until=10)
    assert "\n" not in str(error.value)


def test_losses_come_in_bursts_of_the_right_length():
    channel = tc.GilbertElliott(p=0.01, r=0.2)
    net = tc.dumbbell(rate="100 Mbps", delay="1 ms", buffer=50, queue=channel)
    found = run((), [tc.CBR("50 Mbps")], net, duration=20, trace=True)
    drops = found.events["seq"][found.events["event"] == 7]
    share = len(drops) / float(found.data["sent"].sum())
    assert share == pytest.approx(0.01 / 0.21, rel=0.1)
    bursts = 1 + np.count_nonzero(np.diff(drops) > 1)
    assert len(drops) / bursts == pytest.approx(1 / 0.2, rel=0.1)


def test_the_fluid_model_says_what_it_does_not_have():
    with pytest.raises(tc.ScenarioError, match=r"rate = 0: the fluid model has no link that stops"):
        run(tc.outage(NET, "bottleneck", 5, 8), model="fluid")
    net = tc.dumbbell("10 Mbps", "20 ms", 50, queue=tc.GilbertElliott())
    with pytest.raises(tc.ScenarioError, match=r"'gilbert_elliott' has no on_fluid"):
        run((), net=net, model="fluid")
