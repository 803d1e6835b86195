"""Evaluations after RFC 9743: verdicts, known weaknesses, files, the command."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
import xarray as xr
from broken import BROKEN, FAULTY, controller

import tcpcc as tc
from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.bottleneck import Bottleneck
from tcpcc.apps.evaluate.criterion import WITH, Criterion
from tcpcc.apps.evaluate.evaluation import (
    AGAINST,
    Judges,
    Measured,
    criteria,
    judge,
    measure,
)
from tcpcc.apps.evaluate.sections import SECTIONS
from tcpcc.cli import main

CRITERIA = criteria(AGAINST)


@pytest.fixture(scope="module")
def by_section():
    """The judges of one section of a quick evaluation; the standards are measured once."""
    known: dict[str, Judges] = {}

    def of(section: str) -> Judges:
        if section not in known:
            known[section] = Judges(AGAINST, quick=True, sections=[section], progress=False)
        return known[section]

    return of


@pytest.mark.long
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_controller_fails_where_it_is_broken(name, by_section):
    section, *_ = BROKEN[name]
    evaluation = by_section(section).evaluate(tc.Flow(controller(name)))
    assert evaluation.failed, evaluation.table()


@pytest.mark.long
@pytest.mark.parametrize("name", ["reno", "cubic"])
def test_the_standards_fail_nowhere(name, by_section):
    for section in ("5.1.3", "5.1.4", "6.4", "7.3", "7.5", "7.8"):
        evaluation = by_section(section).evaluate(tc.Flow(name))
        assert not evaluation.failed, evaluation.table()


# name: (section, words in the measure, verdict), as published.
PUBLISHED = {
    # RFC 9743, section 5.1.3: several BBRv1 flows with less than 1.5 BDP of buffer.
    "bbr loses": ("bbr", "5.1.3", "drop rate", "fails"),
    # Mo, La, Anantharam, Walrand, INFOCOM 1999: Vegas beside Reno; after a longer route.
    "vegas starves": ("vegas", "5.2", "beside reno", "fails"),
    "vegas and a longer route": ("vegas", "7.3", "20 ms become 80 ms", "fails"),
    # Mascolo et al., MobiCom 2001: random losses.
    "westwood and random loss": ("westwood_plus", "6.4", "random loss", "better"),
    # Kuzmanovic, Knightly, INFOCOM 2003: TCP-LP yields to TCP.
    "lp yields": ("lp", "5.2.1", "harm to cubic's throughput", "better"),
}


@pytest.mark.long
@pytest.mark.parametrize("case", PUBLISHED)
def test_published_weaknesses_and_strengths(case, by_section):
    name, section, words, verdict = PUBLISHED[case]
    found = by_section(section).evaluate(tc.Flow(name)).findings
    verdicts = {each.verdict for each in found if words in each.criterion.measure}
    assert verdict in verdicts, found


def test_header_fields_end_at_a_tunnel(by_section):
    """XCP obeys the router before the tunnel, which knows nothing of the slower link in it."""
    found, plain = (by_section("6.2").evaluate(tc.Flow(name)).findings for name in ("xcp", "reno"))
    assert [each.verdict for each in found] == ["fails", "fails"]
    assert [each.verdict for each in plain] == ["passes", "passes"]
    entry = found[0].scenarios[WITH].net.links[0]
    assert (entry.queue.discipline.name, entry.rate) == ("xcp_router", 40e6)


@pytest.mark.parametrize(("ecn", "queue"), [("accurate", "pie"), ("l4s", "dualpi2")])
def test_marks_end_at_a_tunnel(ecn, queue):
    flow = tc.Flow("dctcp", transport=tc.Transport(ecn=ecn))
    (entry, *_) = mixes.tunnelled(flow, path=Bottleneck(2e7, 0.04), wider=2.0)[WITH].net.links
    assert entry.queue.discipline.name == queue


@pytest.mark.long
def test_two_coupled_paths_harm_less_than_two_flows(by_section):
    (lia,) = by_section("7.10").evaluate(tc.Flow("lia")).findings
    assert lia.value.mean < 0.6 < 0.65 < lia.standards["reno"].mean < 0.7


# Judging.


def _criterion(*, less: bool, margin: float = 1.0) -> Criterion:
    return Criterion("5.1.2", "x", "y", "ms", lambda flow: {}, lambda runs: 0.0, less, margin)


@pytest.mark.parametrize(
    ("values", "less", "verdict"),
    [
        ([22.0, 22.1, 21.9], True, "fails"),
        ([20.5, 20.6, 20.4], True, "passes"),  # within the margin
        ([25.0, 5.0, 30.0], True, "passes"),  # its interval reaches the standards
        ([8.0, 8.1, 7.9], True, "better"),
        ([8.0, 8.1, 7.9], False, "fails"),
        ([22.0, 22.1, 21.9], False, "better"),
        ([15.0, 15.1, 14.9], False, "passes"),
    ],
)
def test_verdicts(values, less, verdict):
    standards = {"reno": Measured([10.0, 10.0]), "cubic": Measured([20.0, 20.0])}
    found = judge(_criterion(less=less), Measured(values), standards)
    assert found.verdict == verdict
    assert found.value.mean == pytest.approx(np.mean(values))


def test_what_nothing_requires_is_reported_only():
    standards = {"reno": Measured([10.0, 10.0])}
    wanted = dataclasses.replace(_criterion(less=True), needed=False)
    for value in (1.0, 10.0, 100.0):
        assert judge(wanted, Measured([value, value]), standards).verdict == "reported"


def test_a_controller_whose_rules_fail_fails_with_the_reason(by_section):
    evaluation = by_section("7.4").evaluate(tc.Flow(FAULTY))
    assert [each.verdict for each in evaluation.findings] == ["fails"]
    assert "float division by zero" in evaluation.findings[0].reason
    assert "float division by zero" in evaluation.sections().loc["7.4", "worst"]


def test_harm():
    assert measures.harm(10.0, 4.0) == pytest.approx(0.6)
    assert measures.harm(10.0, 40.0, less=True) == pytest.approx(0.75)
    assert measures.harm(4.0, 10.0) == 0.0
    assert measures.harm(0.0, 0.0) == 0.0


def test_waiting_time_of_packets_on_a_link_whose_rate_changes():
    """A source at 1.2 times the mean rate keeps a buffer of 30 packets full."""
    path = Bottleneck(3e6, 0.060, 20.0, variable=True)
    net = path.network
    rates = tc.changes.rate_series("bottleneck", [1e6, 5e6], interval=1, until=40)
    net = net.replace(links=[net.links[0].replace(buffer=30), *net.links[1:]])
    run = tc.simulate(path.scenario([tc.CBR(2e7, packet_size=1500)], 40, changes=rates, net=net))
    assert measures.waiting_time(run, 10.0) == pytest.approx(30 * 12000 / 3e6 * 1e3, rel=0.05)


# Models and networks.


@pytest.mark.long
def test_a_controller_that_keeps_its_window_fails_in_a_crowd():
    """Most packets are lost, and a third of those that arrive have arrived before."""
    judges = Judges(AGAINST, quick=True, sections=["5.1.1", "5.1.3"], progress=False)
    judges.criteria = [each for each in CRITERIA if "crowd of 1000" in each.setting]
    share, loss = judges.evaluate(tc.Flow(controller("collapses"))).findings
    assert share.verdict == loss.verdict == "fails"
    assert share.value.mean < 0.8 < 0.99 < share.standards["reno"].mean
    assert loss.value.mean > 0.5 > 0.1 > loss.standards["reno"].mean > 0.05
    assert len(share.runs[WITH].flows) == 200  # senders


@pytest.mark.long
def test_representatives_lose_as_many_packets_as_all_senders():
    (wanted,) = (c for c in CRITERIA if "crowd of 1000" in c.setting and c.measure == "drop rate")
    every = dataclasses.replace(wanted, options={})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a sender's packets must not follow each other closely
        few, all_of_them = (
            measure([each], tc.Flow("reno"), 2, jobs=1)[0].mean.mean for each in (wanted, every)
        )
    assert few == pytest.approx(all_of_them, rel=0.15)


def test_a_cellular_trace_is_a_criterion(tmp_path):
    trace = tmp_path / "lte.trace"
    trace.write_text("\n".join(map(str, range(1, 2001, 2))))
    evaluation = tc.evaluate("reno", sections=["6.4"], quick=True, seeds=2, cellular=[trace])
    (found,) = (
        each
        for each in evaluation.findings
        if "lte.trace" in each.criterion.setting and each.criterion.measure == "utilization"
    )
    assert "mean 6.02 Mb/s" in found.criterion.setting
    assert found.value.mean > 0.95
    scenario = found.scenarios[WITH]
    assert scenario.changes[0].rate == pytest.approx(6.016e6)


def test_criteria_are_unique_and_belong_to_a_section():
    assert len({each.name for each in CRITERIA}) == len(CRITERIA)
    measured = {each.section for each in CRITERIA}
    assert measured == {each.number for each in SECTIONS if not each.reason}
    assert {each.section for each in CRITERIA if each.quick} == measured


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sections": ["5.7"]}, "unknown section of RFC 9743 '5.7'"),
        ({"sections": ["5.3"]}, "sections = 5.3: has no criterion"),
        ({"seeds": 1}, "seeds = 1: must be"),
        ({"against": ["cubik"]}, "did you mean 'cubic'"),
        ({"cellular": ["missing.trace"]}, "cannot be read as a Mahimahi trace"),
    ],
)
def test_wrong_arguments_are_named(settings, words):
    with pytest.raises(tc.TcpccError, match=words.replace("'", ".")):
        tc.evaluate("reno", **settings)


# Files and commands.

OWN = """
import tcpcc as tc

def on_ack(s, p, a):
    s.cwnd = 10.0

def on_loss(s, p, a):
    s.cwnd = 10.0

tc.register(tc.Controller(name="ten", summary="ten packets", on_ack=on_ack, on_loss=on_loss,
                          on_timeout=on_loss))
"""


def test_the_command_writes_a_page_and_scenarios_that_run(tmp_path, capsys):
    file, out = tmp_path / "mine.py", tmp_path / "out"
    file.write_text(OWN)
    arguments = ["evaluate", str(file), "--quick", "--sections", "6.1,7.4", "--out", str(out)]
    assert main(arguments) == 1
    told = capsys.readouterr().out
    assert "Paths with tail-drop queues" in told
    assert "fails in 6.1" in told
    page = (out / "index.html").read_text()
    assert "ten: evaluation after RFC 9743" in page
    assert page.count("data:image/png") == 2
    assert page.count('<svg class="sketch"') == page.count('<svg class="strip"') == 6
    scenarios = sorted((out / "scenarios").glob("*.toml"))
    assert len(scenarios) == 6
    assert tc.Scenario.load(scenarios[0]).flows[0].controller == "ten"


def test_the_command_passes_what_passes(capsys):
    assert main(["evaluate", "reno", "--quick", "--sections", "7.4"]) == 0
    assert "fails nowhere" in capsys.readouterr().out


def test_league(tmp_path):
    found = tc.league(
        ["vegas", "reno"], quick=True, sections=["7.3", "7.4"], out=tmp_path, progress=False
    )
    table = found.table()
    assert list(table.index) == ["reno", "vegas"]
    assert table.loc["vegas", "7.3"] >= 1
    assert table.loc["reno", "fails"] == 0
    page = (tmp_path / "index.html").read_text()
    assert '<a href="vegas/index.html">vegas</a>' in page
    data = xr.open_dataset(tmp_path / "league.nc", engine="h5netcdf").load()
    rows = found.findings[found.findings["controller"] == "vegas"]
    assert np.array_equal(data["value"].sel(controller="vegas"), rows["value"])
    assert list(data["verdict"].sel(controller="vegas").values) == list(rows["verdict"])
