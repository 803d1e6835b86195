"""`Flow(count=, jitter=)`: so many flows, one by one where a model runs single flows."""

import tcpcc as tc


def scenario(*flows, **settings):
    net = tc.dumbbell("10 Mbps", "10 ms", 50)
    return tc.Scenario(net, flows, **{"duration": 5, **settings})


def test_a_count_is_so_many_single_flows():
    """The runs are the same to the bit."""
    many = tc.simulate(scenario(tc.Flow("reno", count=3)))
    three = tc.simulate(scenario(*[tc.Flow("reno", name=f"reno1.{k}") for k in (1, 2, 3)]))
    assert many.flows == ["reno1.1", "reno1.2", "reno1.3"]
    assert many.data["delivered"].equals(three.data["delivered"])


def test_jitter_spreads_the_starts():
    run = tc.simulate(scenario(tc.Flow("reno", count=20, start=1, jitter=2)))
    start = run.data["start"].values
    assert ((start >= 1) & (start < 3)).all()
    assert len(set(start)) == 20
    other = tc.simulate(scenario(tc.Flow("reno", count=20, start=1, jitter=2), seed=2))
    assert (other.data["start"].values != start).all()


def test_a_count_of_one_is_the_default():
    assert scenario(tc.Flow("reno")).digest == scenario(tc.Flow("reno", count=1)).digest
    assert scenario(tc.Flow("reno", count=2)).digest != scenario(tc.Flow("reno")).digest
