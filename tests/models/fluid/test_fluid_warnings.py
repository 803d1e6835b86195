"""The fluid model warns where it is wrong, in one line, and not where it is right."""

import warnings

import pytest

import tcpcc as tc
from tcpcc.models.refusals import FluidWarning


def told(net, flows, model="fluid"):
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


def lot(hops, queue=None):
    """A parking lot of so many hops, and its flows."""
    cross = [tc.Flow("newreno", source=f"r{k}", target=f"r{k + 1}") for k in range(hops)]
    return tc.parking_lot(hops, "10 Mbps", "5 ms", 40, queue=queue), [tc.Flow("newreno"), *cross]


@pytest.mark.parametrize(
    ("net", "flows"),
    [
        (BELL, [tc.Flow("newreno", count=3)]),
        (BELL, [tc.Flow("newreno", processing=8e-4)]),
        (BELL, [tc.Flow("newreno", transport=tc.Transport.ns2())]),
        lot(2),
        (two_ways(), [tc.Flow("newreno", source=a, target=b) for a, b in ("ab", "ba")]),
        lot(3, "red"),
        (tc.dumbbell("100 Mbps", "20 ms", 500), [tc.Flow("newreno", recovery="sack")]),
        (tc.dumbbell("100 Mbps", "20 ms", 500), [tc.Flow("newreno", size=100)]),
        (tc.dumbbell("100 Mbps", "20 ms", 500, queue="red"), [tc.Flow("newreno")]),
    ],
)
def test_no_warning_where_fluid_is_right(net, flows):
    assert told(net, flows) == []


@pytest.mark.parametrize(
    ("net", "flows", "says"),
    [
        (
            two_ways(),
            [tc.Flow("vegas", source=a, target=b) for a, b in ("ab", "ba")],
            "'a>b', 'b>a' carry data of some flows and ACKs of others",
        ),
        (tc.dumbbell("10 Mbps", "20 ms", 2), [tc.Flow("newreno")], "buffer = 2 packets"),
        (*lot(3), "crosses 3 shared drop-tail links"),
        (
            tc.dumbbell("100 Mbps", "20 ms", 500),
            [tc.Flow("newreno", recovery="newreno")],
            "recovery 'newreno' without SACK and windows of",
        ),
        (
            BELL,
            [tc.Flow("newreno", transport={"delayed_ack": 0.04})],
            "delayed_ack = 0.04: windows grow more slowly",
        ),
        (
            BELL,
            [tc.Flow("newreno", transport={"max_burst": 4, "whole_window": True})],
            "max_burst = 4.0, whole_window = True has no effect",
        ),
        (tc.dumbbell("10 Mbps", "20 ms", 50, jitter="5 ms"), [tc.Flow("newreno")], "the jitter of"),
    ],
)
def test_one_warning_where_fluid_is_wrong(net, flows, says):
    (text,) = told(net, flows)
    assert says in text
    assert text.startswith("fluid model: ")


def test_the_mean_field_warns_of_tiny_buffers():
    (text,) = told(tc.dumbbell("10 Mbps", "20 ms", 2), [tc.Flow("newreno")], "meanfield")
    assert "meanfield model: link 'bottleneck': buffer = 2 packets" in text


def test_the_mean_field_warns_of_a_base_rtt_that_is_measured_late():
    """Vegas flows that start one after another queue several times as much as packets."""
    net = tc.dumbbell("10 Mbps", "20 ms", 300)
    flows = [tc.Flow("vegas", start=k / 10) for k in range(4)]
    (text,) = told(net, flows, "meanfield")
    assert "controller 'vegas' reads base_rtt and flows start at different times" in text
    assert told(net, [flow.replace(start=0) for flow in flows], "meanfield") == []
    assert told(net, [tc.Flow("newreno", start=k / 10) for k in range(4)], "meanfield") == []
