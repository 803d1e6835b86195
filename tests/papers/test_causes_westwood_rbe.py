"""Evidence for causes: Westwood's paper. See test_causes.py."""

from functools import cache

import pytest

import tcpcc as tc
from experiments.westwood_rbe import scenarios as s
from experiments.westwood_rbe import tables as t

pytestmark = pytest.mark.papers

JITTER = 1e-3
FLOWS, SEEDS = 16, range(1, 4)


def with_jitter(scenario):
    """At the bottleneck, s."""
    links = [
        link.replace(jitter=JITTER) if link.name == "bottleneck" else link
        for link in scenario.net.links
    ]
    return scenario.replace(net=scenario.net.replace(links=links))


@cache
def slow_link(name, what):
    """Figure 5's runs at 10 Mb/s by (row, n, seed); `what` is "packet", "fluid" or "jitter"."""
    found = {
        (f"{name}, 10 Mb/s", FLOWS, seed): s.unlike(s.PROPOSALS[name], "10 Mb/s", FLOWS, seed)
        for seed in SEEDS
    }
    if what == "jitter":
        return {key: tc.simulate(with_jitter(one)) for key, one in found.items()}
    return {key: tc.simulate(one, model=what) for key, one in found.items()}


@pytest.mark.parametrize("name", s.PROPOSALS)
def test_jitter_takes_what_phases_give_to_short_round_trips(name, monkeypatch):
    """Of long round trips they take less: both kinds come to what fluid has."""
    monkeypatch.setattr(s, "SEEDS", SEEDS)
    share = {
        what: {key[0]: cell.value for key, cell in t.classes(slow_link(name, what)).items()
               if key[1].startswith("Reno beside")}
        for what in ("packet", "jitter", "fluid")
    }  # fmt: skip
    short, *_, long = s.RTT_CLASSES
    assert share["packet"][short] > share["jitter"][short] + 0.1
    assert share["packet"][long] < share["jitter"][long] - 0.1
    for of in (short, long):
        off = {what: abs(share[what][of] - share["fluid"][of]) for what in ("packet", "jitter")}
        assert off["jitter"] < 0.6 * off["packet"]


def test_with_jitter_the_fast_link_is_fairer_too():
    for seed in (1, 3):
        exact = s.unlike(s.PROPOSALS["Proposal"], "100 Mb/s", 16, seed)
        assert t.jain(tc.simulate(with_jitter(exact))) > t.jain(tc.simulate(exact)) + 0.1
