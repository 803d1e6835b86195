"""`cite`: every definition's sources have an entry, and a run cites what it used."""

import ast
import re
import tomllib
from pathlib import Path

import factories
import pytest

import tcpcc as tc
from tcpcc.cli import main
from tcpcc.controllers import CONTROLLERS
from tcpcc.queues import QUEUES
from tcpcc.scenario import sources
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.transport.recovery import RECOVERIES

ROOT = Path(__file__).parents[2]
DEFINED = {
    f"{table.kind} {name}": table[name]
    for table in (CONTROLLERS, QUEUES, SLOW_STARTS, RECOVERIES)
    for name in table
}
NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
FIELD = re.compile(r"^  (\w+) = \{(.*)\},?$", re.MULTILINE)


def parts(text):
    return [part.strip() for part in text.split(";") if part.strip()]


def plain(text):
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def scenario_with(one):
    """A scenario that uses a definition, by the first of the ways that it accepts."""
    if one in RECOVERIES.values():
        return tc.Scenario(NET, [tc.Flow("reno", recovery=one.name)], duration=1)
    if one in SLOW_STARTS.values():
        return tc.Scenario(NET, [tc.Flow("reno", slow_start=one.name)], duration=1)
    if one in QUEUES.values():
        net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50, queue=one())
        return tc.Scenario(net, [tc.Flow("reno")], duration=1)
    return tc.Scenario(NET, [tc.Flow(one.name)], duration=1)


@pytest.mark.parametrize("name", DEFINED)
def test_a_run_that_uses_a_definition_cites_all_its_sources(name):
    one = DEFINED[name]
    found = scenario_with(one).cite()
    assert one.source or one.name == "droptail"
    for part in parts(one.source):
        entry = sources.bibliography()[sources.key_of(part)]
        comment = found.partition(entry)[0].splitlines()[-1]
        assert name in comment[2:].split(", ")


@pytest.mark.parametrize("name", DEFINED)
def test_an_entry_is_the_work_that_the_source_names(name):
    for part in parts(DEFINED[name].source):
        entry = dict(FIELD.findall(sources.bibliography()[sources.key_of(part)]))
        if number := re.match(r"RFC (\d+)", part):
            assert entry["howpublished"] == number[0]
            assert entry["doi"] == f"10.17487/RFC{number[1]}"
        elif year := re.search(r"(?:19|20)\d\d", part):
            assert entry["year"] == year[0]
        for surname in re.findall(r"[A-Z][a-z]+(?=,| \d| et al)", part):
            assert surname in entry.get("author", "Linux")


def test_titles_are_those_in_the_docstrings_of_the_files():
    """Papers only: a docstring names an RFC by its number."""
    package = ROOT / "tcpcc"
    folders = ("controllers", "queues", "slow_start", "transport/recovery")
    files = [file for folder in folders for file in (package / folder).glob("*.py")]
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    words = " ".join(plain(ast.get_docstring(tree) or "") for tree in trees)
    checked = 0
    for one in DEFINED.values():
        for part in parts(one.source):
            entry = sources.bibliography()[sources.key_of(part)]
            if re.match(r"@(article|inproceedings|phdthesis|mastersthesis)", entry):
                assert plain(dict(FIELD.findall(entry))["title"]) in words, entry
                checked += 1
    assert checked > 50


def test_entries_are_well_formed_and_their_keys_unique():
    text = (ROOT / "tcpcc/scenario/references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{(.+),$", text, re.MULTILINE)
    assert sorted(keys) == sorted(sources.bibliography()) == keys
    for key, entry in sources.bibliography().items():
        found = dict(FIELD.findall(entry))
        assert entry.count("{") == entry.count("}")
        assert len(found) == len(entry.splitlines()) - 2, key
        assert found["title"]


def test_every_entry_is_cited_by_something():
    cited = {sources.key_of(part) for one in DEFINED.values() for part in parts(one.source)}
    recoveries = ("sack-prr", "rack-tlp")
    sender = tc.Transport.linux(ecn_retransmissions=True)
    for ecn in ("off", "classic", "accurate", "l4s"):
        for name in recoveries:
            told = sender.replace(ecn=ecn).sources(name)
            cited |= {sources.key_of(part) for text in told for part in parts(text)}
    cited |= {sources.key_of(text) for text in sender.replace(flight_ssthresh=True).sources("sack")}
    of_data = {"danzig-jamin-1991", "crovella-bestavros-1997"}  # the tests below
    of_links = {"netravali-et-al-2015", "winstein-sivaraman-balakrishnan-2013"}
    assert set(sources.bibliography()) == cited | of_data | of_links


def test_settings_are_cited_only_where_they_act():
    plain_sender = tc.Scenario(NET, [tc.Flow("reno", recovery="newreno")], duration=1).cite()
    assert "{rfc-5682," not in plain_sender  # F-RTO is RACK-TLP's
    assert "{rfc-2883," not in plain_sender  # D-SACK needs SACK
    modern = tc.Scenario(NET, [tc.Flow("reno", recovery="rack-tlp")], duration=1).cite()
    assert "{rfc-5682," in modern
    assert "{rfc-2883," in modern
    off = tc.Transport(frto=False, dsack=False)
    told = tc.Flow("reno", recovery="rack-tlp", transport=off)
    assert "{rfc-5682," not in tc.Scenario(NET, [told], duration=1).cite()


def test_built_in_distributions_are_cited():
    loads = [
        tc.workloads.web("reno", rate=1),
        tc.workloads.web("reno", rate=1, size=1000, name="own"),
    ]
    found = tc.Scenario(NET, [], duration=1, workloads=loads[:1]).cite()
    assert "{crovella-bestavros-1997," in found
    assert "crovella" not in tc.Scenario(NET, [], duration=1, workloads=loads[1:]).cite()
    mail = tc.Workload("reno", tc.workloads.tcplib.SMTP, interarrival=tc.workloads.poisson(1))
    assert "{danzig-jamin-1991," in tc.Scenario(NET, [], duration=1, workloads=mail).cite()


def test_links_that_change_ask_for_the_source_of_the_trace():
    changes = tc.changes.cellular("bottleneck", until=1)
    found = tc.Scenario(NET, [tc.Flow("reno")], duration=1, changes=changes).cite()
    for key in re.findall(r"tc\.\w+: ([\w-]+)", found):
        assert key in sources.bibliography()
    assert found.count("% rates that change") == 1


def test_an_own_controller_is_cited_as_it_names_its_source():
    def on_ack(s, p, ack):
        s.cwnd += ack.acked / s.cwnd

    named = tc.Controller("own_named", "", on_ack=on_ack, source="Doe 2031")
    silent = tc.Controller("own_silent", "", on_ack=on_ack)
    found = tc.Scenario(NET, [tc.Flow(named), tc.Flow(silent)], duration=1).cite()
    assert "@misc{doe-2031,\n  note = {Doe 2031}\n}" in found
    assert "% controller own_silent: names no source" in found


def test_a_run_cites_its_scenario_and_a_trace_only_the_package(tmp_path, capsys):
    run = factories.run()
    assert run.cite() == run.scenario.cite()
    assert "{brakmo-peterson-1995," in run.cite()
    assert "{rfc-8511," in run.cite("RFC 8511")
    with pytest.raises(tc.ScenarioError, match="unknown source 'RFC 1': did you mean"):
        run.cite("RFC 1")
    file, toml = tmp_path / "run.nc", tmp_path / "scenario.toml"
    run.save(file)
    run.scenario.save(toml)
    for each in (file, toml):
        assert main(["show", "--cite", str(each), "--also", "RFC 8511"]) == 0
        assert capsys.readouterr().out == run.cite("RFC 8511")
    run.data.attrs["source"] = "a capture"
    assert re.findall(r"^@(.*),$", run.cite(), re.MULTILINE) == ["software{tcpcc"]


def test_the_package_is_cited_as_its_citation_file_and_metadata_say():
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    title = re.search(r'^title: "(.*)"', cff, re.MULTILINE)[1]
    assert title in factories.scenario().cite().replace("{", "").replace("}", "")
    assert re.search(r"^version: (.*)", cff, re.MULTILINE)[1] == project["version"]
    assert project["authors"] == [{"name": re.search(r'- name: "(.*)"', cff)[1]}]
