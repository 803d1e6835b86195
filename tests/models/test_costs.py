"""Each model's estimate of its own cost."""

import pytest

import tcpcc as tc
from tcpcc.models import MODELS
from tcpcc.models.costs import COSTS
from tcpcc.models.estimates import PER_SENDER
from tcpcc.models.packet.packet_cost import is_short_run

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
WAYS = [*((name, {}) for name in MODELS), ("packet", {"trains": 16})]


def scenario(*flows, duration=20, **settings):
    return tc.Scenario(NET, list(flows), duration=duration, **settings)


def test_every_model_estimates_its_cost():
    assert list(COSTS) == list(MODELS)
    case = scenario(tc.Flow("reno"), tc.Flow("vegas", background=True))
    for name, options in WAYS:
        found = tc.estimate(case, name, **options)
        assert found.model == name
        assert found.seconds > 0
        assert found.memory > 0
        assert (found.packets > 0) == (name != "fluid")
        assert (found.steps > 0) == (name == "fluid")


@pytest.mark.parametrize(("name", "options"), WAYS)
def test_twice_the_duration_costs_twice_as_much(name, options):
    flows = [tc.Flow("reno"), tc.Flow("cubic", background=True)]
    one, two = (tc.estimate(scenario(*flows, duration=t), name, **options) for t in (100, 200))
    once = len(flows) * PER_SENDER
    assert two.seconds - once == pytest.approx(2 * (one.seconds - once), rel=0.01)


@pytest.mark.parametrize(
    ("settings", "short"),
    [
        ({}, True),
        ({"duration": 3e5}, False),
        ({"interval": 0.001}, False),  # a record of 20,000 bins
        ({"flows": [tc.Flow("vegas", count=1001, record=False)]}, False),
        ({"flows": [tc.Flow("vegas", transport={"initial_window": 10_001})]}, False),
        ({"flows": [tc.Flow("vegas"), tc.CBR(1e12)]}, False),
        ({"workloads": tc.workloads.web("reno", rate=1)}, False),
    ],
)
def test_only_a_run_that_is_certainly_short_is_not_estimated(settings, short):
    net = tc.dumbbell("10 Mb/s", "10 ms", 50)
    case = tc.Scenario(net, **{"flows": [tc.Flow("vegas")], "duration": 20, **settings})
    assert is_short_run(case, 60.0) == short


@pytest.mark.parametrize(("flows", "seconds"), [(10**4, 3.5), (10**5, 37), (10**6, 370)])
@pytest.mark.parametrize("options", [{}, {"trains": 16}])
def test_the_time_of_many_senders_is_that_of_their_records(options, flows, seconds):
    """Measured with 10^4 and 10^5 senders in packets: 2 s on 1 Gb/s."""
    net = tc.dumbbell("1 Gbps", "20 ms", 5000)
    flow = tc.Flow("reno", count=flows, jitter=1, record=False)
    found = tc.estimate(tc.Scenario(net, [flow], duration=2), senders=flows, **options)
    assert seconds / 3 < found.seconds < 3 * seconds
