"""Trains warn where they are wrong, in one line, and not where they are right."""

import pytest
from warned import warnings_of

import tcpcc as tc
from tcpcc.errors import ModelWarning


def warnings_of_trains(net, flows):
    case = tc.Scenario(net, flows, duration=0.5)
    return warnings_of(lambda: tc.simulate(case, trains=16), ModelWarning)


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
def test_no_warning_where_trains_are_right(net, flows):
    assert warnings_of_trains(net, flows) == []


def test_one_warning_where_trains_are_wrong():
    flows = [tc.Flow("vegas", source=a, target=b) for a, b in ("ab", "ba")]
    (text,) = warnings_of_trains(two_ways(), flows)
    assert text.startswith("trains: 'a>b', 'b>a' carry data of some flows and ACKs of others")
