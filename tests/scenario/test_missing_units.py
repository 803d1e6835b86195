"""Plain rates and delays that were probably meant in Mbit/s and ms give a warning."""

import sys
from dataclasses import fields

import networkx as nx
import numpy as np
import pytest
from warned import warnings_of

import tcpcc as tc
from tcpcc.cli import main
from tcpcc.scenario.frozen import Record, rates_and_delays

NET = tc.dumbbell("10 Mbps", "20 ms", 50, access_delay="1 ms")
NET_OF_FILE = """
duration = 9
[network]
topology = "dumbbell"
rate = "10 Mbps"
delay = "20 ms"
buffer = 50
"""


def told(make):
    """What `make()` returns, and the warnings that it gives."""
    made = []
    texts = warnings_of(lambda: made.append(make()))
    return made[0], texts


def read(tables):
    return tc.Scenario.from_toml(NET_OF_FILE + tables)


RATES = {
    "Link": (lambda: tc.Link("a", "b", rate=10, delay=0.02), "rate = 10 bit/s"),
    "NumPy": (lambda: tc.Link("a", "b", rate=np.int64(10), delay=0.02), "rate = 10 bit/s"),
    "networkx": (
        lambda: tc.from_networkx(nx.DiGraph([("a", "b", {"rate": 10, "delay": 0.02})])),
        "rate = 10 bit/s",
    ),
    "Access": (lambda: tc.Access(rate=10), "access rate = 10 bit/s"),
    "dumbbell": (lambda: tc.dumbbell(10, 0.02, 50), "rate = 10 bit/s"),
    "chain": (lambda: tc.chain(1, 10, 0.02, 50), "rate = 10 bit/s"),
    "dumbbell's access": (
        lambda: tc.dumbbell(1e6, 0.02, 50, access_rate=10),
        "access rate = 10 bit/s",
    ),
    "CBR": (lambda: tc.CBR(10), "rate = 10 bit/s"),
    "CBR's access": (lambda: tc.CBR(1e6, access_rate=10), "access_rate = 10 bit/s"),
    "Flow's access": (lambda: tc.Flow("reno", access_rate=10), "access_rate = 10 bit/s"),
    "Change": (lambda: tc.Change(5, "bottleneck", rate=10), "rate = 10 bit/s"),
    "Transport": (lambda: tc.Transport(gso_above=10), "gso_above = 10 bit/s"),
    "series": (
        lambda: tc.changes.rate_series("x", [5, 10, 0], interval=1),
        "largest of rates = 10 bit/s",
    ),
    "cellular": (lambda: tc.changes.cellular("x", until=1, most=10), "most = 10 bit/s"),
    "TOML's CBR": (lambda: read("[[cbr]]\nrate = 10\n"), "rate = 10 bit/s"),
    "TOML's flow": (
        lambda: read('[[flow]]\ncontroller = "reno"\naccess_rate = 10\n'),
        "access_rate = 10 bit/s",
    ),
    "TOML's change": (
        lambda: read('[[cbr]]\nrate = 1e6\n[[change]]\nat = 5\nlink = "bottleneck"\nrate = 10\n'),
        "rate = 10 bit/s",
    ),
}


@pytest.mark.parametrize("where", RATES)
def test_a_plain_rate_that_needs_a_unit_gives_one_warning(where):
    make, said = RATES[where]
    assert told(make)[1] == [f'{said}: are units missing? write "10 Mbps"']


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tc.Link("a", "b", rate=1e6, delay=20), "delay = 20 s"),
        (lambda: tc.Change(5, "bottleneck", delay=20), "delay = 20 s"),
        (lambda: tc.Access(delay=20), "access delay = 20 s"),
        (lambda: tc.Flow("reno", access_delay=20), "access_delay = 20 s"),
        (lambda: tc.CBR(1e6, access_delay=20), "access_delay = 20 s"),
        (lambda: tc.dumbbell(1e6, 20, 50), "delay = 20 s"),
        (lambda: tc.chain(1, 1e6, 20, 50), "delay = 20 s"),
    ],
)
def test_a_plain_delay_that_needs_a_unit_gives_one_warning(make, said):
    assert told(make)[1] == [f'{said}: are units missing? write "20 ms"']


def test_a_rate_and_a_delay_give_one_warning():
    said = 'rate = 10 bit/s, delay = 20 s: are units missing? write "10 Mbps", "20 ms"'
    assert told(lambda: tc.dumbbell(10, 20, 50))[1] == [said]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tc.Link("a", "b", rate="10 bit/s", delay="20 s"),
        lambda: tc.Link("a", "b", rate=9600, delay=0.5),
        lambda: tc.dumbbell(5000, 0.5, 50),
        lambda: tc.dumbbell("64 kbps", 1.5, 50),
        lambda: tc.dumbbell(2e4, 0, 50),
        lambda: tc.CBR("10 bit/s"),
        lambda: tc.Change(5, "bottleneck", rate=0),
        lambda: tc.changes.rate_series("x", [10, 2e6], interval=1),
    ],
)
def test_a_unit_a_stopped_link_and_a_low_rate_of_a_fast_series_are_not_doubted(make):
    assert told(make)[1] == []


def test_a_slow_rate_with_a_unit_is_not_doubted_later():
    """Not in a copy, not in a scenario's own access links, not after it was saved."""
    link, said = told(lambda: tc.Link("a", "b", rate="500 bit/s", delay="6 s"))
    copy, said_of_copy = told(lambda: link.replace(buffer=9))
    assert said + said_of_copy == []
    assert copy == tc.Link("a", "b", rate="500 bit/s", delay="6 s", buffer=9)
    assert (type(copy.rate), type(copy.delay)) == (float, float)
    flow = tc.Flow("reno", access_rate="500 bit/s", access_delay="6 s")
    case, said = told(lambda: tc.Scenario(NET, [flow, tc.CBR("0.3 bit/s")], duration=50))
    again, said_of_read = told(lambda: tc.Scenario.from_toml(case.to_toml()))
    assert said + said_of_read == []
    assert again == case


def test_every_rate_and_every_delay_of_a_path_is_declared_as_one():
    """A field of this name in any record is doubted, a new one too."""
    kinds = {getattr(sys.modules[k.__module__], k.__name__) for k in Record.__subclasses__()}
    assert kinds > {tc.Link, tc.Flow, tc.CBR, tc.Change}
    for kind in kinds:
        names = {field.name for field in fields(kind) if field.init}
        rates, delays = rates_and_delays(kind, dict.fromkeys(names))
        assert set(rates) >= {name for name in names if name.endswith("rate")}, kind
        assert set(delays) == names & {"delay", "access_delay"}, kind


def test_the_command_line_doubts_what_it_sets(tmp_path, capsys):
    file = tmp_path / "x.toml"
    file.write_text(NET_OF_FILE + "[[cbr]]\nrate = 1e6\n")
    change = ["--set", "cbr.access_rate=10"]
    status, said = told(lambda: main(["show", str(file), "--scenario", *change]))
    assert status == 0
    assert said == ['access_rate = 10 bit/s: are units missing? write "10 Mbps"']
