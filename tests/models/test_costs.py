"""Each model's estimate of its own cost."""

import pytest

import tcpcc as tc
from tcpcc.models import MODELS
from tcpcc.models.costs import COSTS
from tcpcc.models.packet.packet_cost import is_short_run

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)


def scenario(*flows, duration=20, **settings):
    return tc.Scenario(NET, list(flows), duration=duration, **settings)


def test_every_model_estimates_its_cost():
    assert list(COSTS) == list(MODELS)
    case = scenario(tc.Flow("reno"), tc.Flow("vegas", background=True))
    for name in MODELS:
        found = tc.estimate(case, name)
        assert found.model == name
        assert found.seconds > 0
        assert found.memory > 0
        assert (found.packets > 0) == (name in ("packet", "fluid", "hybrid"))
        assert (found.steps > 0) == (name == "meanfield")


@pytest.mark.parametrize("name", MODELS)
def test_twice_the_duration_costs_twice_as_much(name):
    flows = [tc.Flow("reno"), tc.Flow("cubic", background=True)]
    one, two = (tc.estimate(scenario(*flows, duration=t), name) for t in (100, 200))
    assert two.seconds == pytest.approx(2 * one.seconds, rel=0.01)


def test_the_mean_fields_estimate_has_the_steps_and_columns_of_its_world():
    from tcpcc.models.layout import queueing_links
    from tcpcc.models.meanfield.class_routes import class_routes, history_columns
    from tcpcc.models.meanfield.flow_classes import flow_classes
    from tcpcc.models.meanfield.meanfield_world import MeanFieldWorld

    case = scenario(tc.Flow("reno", count=70), tc.Flow("vegas", packet_size=500), tc.CBR("1 Mbps"))
    world = MeanFieldWorld(case, bins=False)
    assert tc.estimate(case, "meanfield").steps == case.duration / world.step
    resolved = case.resolve(expand=False)
    kept = queueing_links(resolved)
    routes = class_routes(resolved, flow_classes(resolved), kept)
    assert history_columns(kept, routes) == world.history.shape[1]
    last = max(*world.classes["column"], *world.slots["column"], *world.links["column"])
    assert last < world.history.shape[1]


@pytest.mark.parametrize(
    ("settings", "short"),
    [
        ({}, True),
        ({"duration": 3e5}, False),
        ({"interval": 0.001}, False),  # a record of 20,000 bins
        ({"flows": [tc.Flow("vegas", count=1001, record=False)]}, False),
        ({"flows": [tc.Flow("vegas", transport={"initial_window": 10_001})]}, False),
        ({"flows": [tc.Flow("vegas"), tc.CBR(1e12)]}, False),
        ({"workloads": tc.web("reno", rate=1)}, False),
    ],
)
def test_only_a_run_that_is_certainly_short_is_not_estimated(settings, short):
    net = tc.dumbbell("10 Mb/s", "10 ms", 50)
    case = tc.Scenario(net, **{"flows": [tc.Flow("vegas")], "duration": 20, **settings})
    assert is_short_run(case, 60.0) == short
