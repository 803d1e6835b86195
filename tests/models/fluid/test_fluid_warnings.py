"""The fluid model warns where it is wrong, in one line, and not where it is right."""

import warnings

import pytest

import tcpcc as tc
from tcpcc.models.refusals import FluidWarning


def warnings_of(net, flows, model="fluid"):
    """What the model warns of before a run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tc.simulate(tc.Scenario(net, flows, duration=0.5), model)
    found = [str(x.message) for x in caught if issubclass(x.category, FluidWarning)]
    assert all("\n" not in text for text in found)
    return found


def two_ways():
    return tc.Network(
        [tc.Link(*ends, rate="10 Mbps", delay="20 ms", buffer=40) for ends in ("ab", "ba")]
    )


BELL = tc.dumbbell("10 Mbps", "20 ms", 50)


@pytest.mark.parametrize(
    ("net", "flows"),
    [
        (BELL, [tc.Flow("vegas", count=3)]),
        (two_ways(), [tc.Flow("newreno", source=a, target=b) for a, b in ("ab", "ba")]),
        (tc.dumbbell("10 Mbps", "20 ms", 2), [tc.Flow("newreno")]),
        (tc.dumbbell("10 Mbps", "20 ms", 50, jitter="5 ms"), [tc.Flow("newreno")]),
    ],
)
def test_no_warning_where_fluid_is_right(net, flows):
    assert warnings_of(net, flows) == []


def test_one_warning_where_fluid_is_wrong():
    flows = [tc.Flow("vegas", source=a, target=b) for a, b in ("ab", "ba")]
    (text,) = warnings_of(two_ways(), flows)
    assert text.startswith("fluid model: 'a>b', 'b>a' carry data of some flows and ACKs of others")


def test_the_mean_field_warns_of_tiny_buffers():
    (text,) = warnings_of(tc.dumbbell("10 Mbps", "20 ms", 2), [tc.Flow("newreno")], "meanfield")
    assert "meanfield model: link 'bottleneck': buffer = 2 packets" in text


def test_the_mean_field_warns_of_a_base_rtt_that_is_measured_late():
    """Vegas flows that start one after another queue several times as much as packets."""
    net = tc.dumbbell("10 Mbps", "20 ms", 300)
    flows = [tc.Flow("vegas", start=k / 10) for k in range(4)]
    (text,) = warnings_of(net, flows, "meanfield")
    assert "controller 'vegas' reads base_rtt and flows start at different times" in text
    assert warnings_of(net, [flow.replace(start=0) for flow in flows], "meanfield") == []
    assert warnings_of(net, [tc.Flow("newreno", start=k / 10) for k in range(4)], "meanfield") == []
