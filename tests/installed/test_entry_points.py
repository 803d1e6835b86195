"""Definitions of other installed packages: found when needed, and told of when broken."""

import os
import subprocess
import sys
import warnings

import pytest

import tcpcc as tc
from tcpcc import plugins
from tcpcc.cli import main
from tcpcc.controllers import CONTROLLERS
from tcpcc.errors import ScenarioError, ScenarioWarning

RULE = """
import tcpcc as tc

def on_ack(s, p, ack):
    s.cwnd += ack.acked / s.cwnd

"""
MINE = RULE + 'mine = tc.Controller("mine", "a test", on_ack=on_ack)\n'


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Put packages with entry points on the path, as pip would; forget them after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    for table in ("_known", "_by"):
        monkeypatch.setattr(CONTROLLERS, table, dict(getattr(CONTROLLERS, table)))
    monkeypatch.setattr(CONTROLLERS, "_is_complete", False)
    written = []

    def write(package, text, name="mine", value=None, group="tcpcc.controllers"):
        (tmp_path / f"{package}.py").write_text(text)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        value = value or f"{package}:mine"
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        written.append(package)
        plugins.offered.cache_clear()

    yield write
    for package in written:
        sys.modules.pop(package, None)
    plugins.offered.cache_clear()


def test_an_installed_controller_is_loaded_when_its_name_is_used(offer):
    offer("far_one", MINE)
    assert CONTROLLERS.find("reno").name == "reno"
    assert "far_one" not in sys.modules  # another name loads nothing
    assert "mine" in CONTROLLERS
    flow = tc.Flow("mine")
    assert flow.definition is sys.modules["far_one"].mine
    assert tc.controllers["mine"] is flow.definition
    assert "mine" in CONTROLLERS.names()


def test_an_installed_controller_is_listed_before_it_is_used(offer, capsys):
    offer("far_two", MINE)
    assert "mine" in set(tc.controllers()["controller"])
    assert main(["list", "mine"]) == 0
    assert "controller mine: a test" in capsys.readouterr().out


def test_a_module_may_register_its_controller_itself(offer):
    offer("far_inside", MINE + "tc.register(mine)\n", group="tcpcc.others")
    offer("far_three", "from far_inside import mine\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CONTROLLERS.find("mine").summary == "a test"


def test_importing_tcpcc_and_using_a_built_in_name_look_nothing_up():
    code = (
        "import importlib.metadata as m, tcpcc as tc\n"
        "m.entry_points = None\n"
        "tc.Flow('reno'), tc.queues.RED(), tc.dumbbell(rate='1 Mbps', delay='1 ms', buffer=9)\n"
        "import sys; print('importlib.metadata' in sys.modules, 'tcpcc.plugins' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"], done.stderr


BROKEN = {
    "import": (
        "import missing_module", "far:mine",
        "controller 'mine' of package far 1.0: 'far:mine' cannot be loaded: ModuleNotFoundError:"
        " No module named 'missing_module'",
    ),
    "attribute": (
        MINE, "far:other",
        "controller 'mine' of package far 1.0: 'far:other' cannot be loaded: AttributeError:"
        " module 'far' has no attribute 'other'",
    ),
    "kind": (
        "mine = 5", "far:mine", "controller 'mine' of far = 5: must be a controller",
    ),
    "queue": (
        "import tcpcc\nmine = tcpcc.queues.RED", "far:mine",
        "controller 'mine' of far = .*: must be a",
    ),
    "name": (
        MINE.replace('"mine"', '"yours"'), "far:mine",
        "controller 'mine' of far = 'yours': must be the same name",
    ),
    "rule": (
        MINE.replace("s.cwnd +=", "s.cwmd ="), "far:mine",
        "controller 'mine' of package far 1.0: .* cannot be loaded: ScenarioError: controller"
        " 'mine', on_ack, line 5 of far.py: s.cwmd: not in the state",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_entry_point_gives_one_line_and_spares_the_others(offer, what):
    text, value, message = BROKEN[what]
    offer("far", text, value=value)
    with pytest.raises(ScenarioError, match=message) as caught:
        tc.Flow("mine")
    assert "\n" not in str(caught.value)
    with pytest.warns(ScenarioWarning, match="it is left out") as told:
        assert "reno" in CONTROLLERS.names()
    assert len(told) == 1
    assert told[0].filename == __file__
    assert tc.Flow("reno").controller == "reno"


def test_a_package_cannot_take_the_name_of_a_built_in_controller(offer):
    offer("far_four", MINE.replace('"mine"', '"reno"'), name="reno")
    assert CONTROLLERS.find("reno").source == "Jacobson 1990; RFC 5681"
    with pytest.warns(ScenarioWarning, match="'reno' of package far_four 1.0: the name is taken"):
        CONTROLLERS.names()
    assert "far_four" not in sys.modules


def test_two_packages_with_one_name_are_refused(offer):
    offer("far_five", MINE)
    offer("far_six", MINE)
    with pytest.raises(ScenarioError, match=r"by package far_five 1\.0, package far_six 1\.0"):
        tc.Flow("mine")


def test_queues_and_recoveries_are_found_too(offer):
    from tcpcc.queues import QUEUES
    from tcpcc.transport.recovery import RECOVERIES

    text = "import tcpcc as tc\nmine = tc.Discipline('far_queue', 'a test')\n"
    offer("far_seven", text, "far_queue", group="tcpcc.queues")
    offer(
        "far_eight",
        "import tcpcc as tc\nfrom dataclasses import replace\n"
        "from tcpcc.transport.recovery import RECOVERIES\n"
        "mine = replace(RECOVERIES['sack'], name='far-sack')\n",
        "far-sack",
        group="tcpcc.recoveries",
    )
    try:
        assert tc.queues["far_queue"].summary == "a test"
        assert tc.Flow("reno", recovery="far-sack").recovery == "far-sack"
    finally:
        QUEUES._known.pop("far_queue", None)
        RECOVERIES._known.pop("far-sack", None)


@pytest.mark.long
@pytest.mark.slow
def test_a_built_and_installed_package_works_in_every_command(tmp_path):
    """`tcpcc new controller --package`, a wheel of it, installed; then used by name."""
    pytest.importorskip("hatchling", reason="builds the wheel; pip install hatchling")
    site = tmp_path / "site"
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}

    def python(*command, codes=(0,)):
        done = subprocess.run(
            [sys.executable, *map(str, command)],
            cwd=tmp_path, env=here, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode in codes, done.stdout + done.stderr
        return done.stdout

    python("-m", "tcpcc", "new", "controller", "mine", "--package")
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    python(*pip, "--target", site, tmp_path / "tcpcc_mine")
    assert "controller mine:" in python("-m", "tcpcc", "list", "mine")
    assert "5 passed" in python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tcpcc_mine")
    python("-m", "tcpcc", "new", "scenario", "both")
    for model in ("packet", "fluid"):
        command = ("-m", "tcpcc", "run", "both.toml", "--model", model)
        assert "mine1" in python(
            *command, "--set", "flow.1.controller=mine", "--set", "duration=15"
        )
    python("-m", "tcpcc", "export", "mine", "--out", tmp_path)
    assert (tmp_path / "mine.c").is_file()
    table = python("-m", "tcpcc", "evaluate", "mine", "--quick", "--seeds", "2",
                   "--sections", "5.1.3", "--jobs", "1", codes=(0, 1))  # fmt: skip
    assert "5.1.3" in table
