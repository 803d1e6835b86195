"""Warnings stand at the user's line, logs are silent by default, errors say how to go on."""

import logging
import warnings

import factories
import pytest
from new_process import python

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.engine import announce
from tcpcc.errors import ModelWarning, ScenarioWarning, warn

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)


def line_of(told):
    """The source line that a single warning names."""
    (one,) = told
    with open(one.filename, encoding="utf-8") as file:
        return file.readlines()[one.lineno - 1].strip()


def test_warnings_name_the_users_line_however_deep_they_arise():
    with pytest.warns(UserWarning, match="are units missing") as told:
        tc.dumbbell(rate=10, delay=20, buffer=50)
    assert line_of(told).startswith("tc.dumbbell(")
    flows = [tc.Flow("vegas", count=2000, background=True), tc.Flow("reno")]
    crowded = tc.Scenario(NET, flows, duration=1)
    with pytest.warns(ModelWarning) as told:
        tc.simulate(crowded, "hybrid", senders=10)
    assert line_of(told).startswith("tc.simulate(")


def test_warnings_of_a_sweep_in_threads_name_no_line_of_the_package():
    flows = [tc.Flow("xcp")]
    with pytest.warns(ScenarioWarning) as told:
        tc.sweep([tc.Scenario(NET, flows, duration=1)] * 2, jobs=2)
    assert all("/tcpcc/" not in each.filename for each in told)
    assert all(each.filename != "sys" for each in told)


def test_a_command_names_itself(tmp_path):
    code = "import warnings\nimport tcpcc as tc\ntc.dumbbell(rate=10, delay=20, buffer=5)\n"
    file = tmp_path / "mine.py"
    file.write_text(code)
    assert f"{file}:3: UserWarning: rate = 10 bit/s" in python(file).stderr


def test_a_warning_at_one_line_is_shown_once():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            warn("again")
    assert len(told) == 1


def test_an_unknown_controller_of_a_saved_run_says_how_to_register_it(monkeypatch):
    def on_ack(s, p, ack):
        s.cwnd += ack.acked / s.cwnd

    monkeypatch.setattr(CONTROLLERS, "_known", dict(CONTROLLERS._known))
    tc.register(tc.Controller("daimd", "", on_ack=on_ack))
    run = factories.run(factories.scenario([tc.Flow("daimd")]))
    del CONTROLLERS._known["daimd"]
    with pytest.raises(tc.ScenarioError, match="unknown controller 'daimd'") as caught:
        _ = run.scenario
    assert "import the file that registers it (--import FILE)" in str(caught.value)


def test_compilations_are_logged_once_and_nothing_is_printed(caplog, capsys, monkeypatch):
    monkeypatch.setattr(announce, "_printed", set())
    with caplog.at_level(logging.INFO, logger="tcpcc"):
        announce.compiling("the packet model", 20)
        announce.compiling("the packet model", 20)
    assert [each.getMessage() for each in caplog.records] == [
        "compiling the packet model, once: about 20 s"
    ]
    assert caplog.records[0].name == "tcpcc.engine.announce"
    assert capsys.readouterr().err == ""


def test_a_sweep_logs_what_it_loads_and_what_it_simulates(caplog, tmp_path):
    one = tc.Scenario(NET, [tc.Flow("reno")], duration=0.2)
    with caplog.at_level(logging.INFO, logger="tcpcc.sweeps.parallel"):
        tc.sweep([one], cache=tmp_path, jobs=1)
    assert "1 of 1 runs to simulate" in caplog.text


def test_logs_are_silent_unless_the_program_asks():
    code = "import logging, tcpcc; logging.getLogger('tcpcc.sweeps.parallel').warning('quiet')"
    done = python("-c", code)
    assert (done.stdout, done.stderr) == ("", "")
