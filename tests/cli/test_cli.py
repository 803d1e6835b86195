"""The command line: what it prints, where, and with which exit code."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from full_disk import files_of_at_most

import experiments
import tcpcc as tc
from experiments.records import Record
from tcpcc import cli
from tcpcc.apps.bench import precision, speed
from tcpcc.cli import checkout
from tcpcc.cli.commands import list_command
from tcpcc.errors import SweepInterrupted

SCENARIO = """
duration = "5 s"
[network]
topology = "dumbbell"
rate = "5 Mbps"
delay = "20 ms"
buffer = 20
[[flow]]
controller = "vegas"
[[flow]]
controller = "reno"
start = 1
"""

RECORD = Record(
    paper="quick_vegas", item="table_1", row="Vegas", column="0-25", unit="1", published=0.335,
    packet=0.314, fluid=None, tolerance=0.03, verdict="reproduced", cause="",
)  # fmt: skip


@pytest.fixture
def toml(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def run(*arguments):
    return cli.main([str(a) for a in arguments])


# --- list ----------------------------------------------------------------------------------------


def test_list_names_everything(capsys):
    assert run("list") == 0
    out = capsys.readouterr().out
    parameters = ("integer_delta", "css_rounds", "min_thresh")
    for name in ("quick_vegas", "hystart++", "red", "newreno-steady", "table_1", *parameters):
        assert name in out


@pytest.mark.parametrize(
    ("what", "name"),
    [("controllers", "tahoe"), ("slow_starts", "standard"), ("slow_starts", "max_ssthresh"),
     ("evidence", "ns-2: to the packet"), ("queues", "droptail"), ("recoveries", "sack"),
     ("fields", "ack.base_rtt"), ("fields", "q.waiting[i]"),
     ("papers", "figure_7")],
)  # fmt: skip
def test_list_of_one_kind(capsys, what, name):
    assert run("list", what) == 0
    out = capsys.readouterr().out
    assert name in out
    assert not re.search(r"\bnan\b", out)


# --- run -----------------------------------------------------------------------------------------


def test_run_prints_a_row_per_flow_and_link(capsys, toml):
    assert run("run", toml) == 0
    out, err = capsys.readouterr()
    rows = [line.split()[0] for line in out.splitlines() if line]
    assert rows == ["flow", "vegas1", "reno2"] * 2 + ["link", "bottleneck"]
    assert max(map(len, out.splitlines())) <= 100  # columns of a terminal
    assert err == ""  # no progress bar when nobody watches


@pytest.mark.parametrize("option", ["--save", "--csv", "--plot"])
def test_run_prints_its_results_when_the_disk_is_full(toml, option, tmp_path, capsys):
    assert run("run", toml) == 0
    printed = capsys.readouterr().out
    with files_of_at_most(1000):
        code = run("run", toml, option, tmp_path / "out.png")
    out, error = capsys.readouterr()
    assert code == cli.USER_ERROR
    assert error.count("\n") == 1
    assert "out.png: File too large: the file needs" in error
    assert out.splitlines()[1:] == printed.splitlines()[1:]  # the first line has the CPU time
    assert not list(tmp_path.glob("*out.png*"))


def test_run_keeps_and_draws(capsys, toml, tmp_path):
    saved, table, picture = tmp_path / "x.nc", tmp_path / "x.csv", tmp_path / "x.png"
    assert run("run", toml, "--save", saved, "--csv", table, "--plot", picture) == 0
    assert tc.Run.load(saved).scenario == tc.Scenario.load(toml)
    assert table.read_text().startswith("time,flow,cwnd")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_run_as_json_is_one_document(capsys, toml):
    assert run("run", toml, "--json", "--after", 1) == 0
    found = json.loads(capsys.readouterr().out)
    assert [flow["flow"] for flow in found["flows"]] == ["vegas1", "reno2"]
    assert found["flows"][0]["finished_s"] is None
    assert found["links"][0]["utilization"] > 0.5


def test_both_drivers_print_the_same(capsys, toml):
    printed = []
    for driver in ("compiled", "simpy"):
        assert run("run", toml, "--driver", driver) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


# --- reproduce -----------------------------------------------------------------------------------


@pytest.fixture
def one_record(monkeypatch):
    asked = []

    def reproduce(paper, item, model, *, watch):
        asked.append((paper, item, model))
        watch(experiments.papers()["quick_vegas"], item, [RECORD])
        return [RECORD]

    monkeypatch.setattr(experiments, "reproduce", reproduce)
    return asked


def test_reproduce_prints_a_table(capsys, one_record):
    assert run("reproduce", "quick_vegas", "table_1", "--model", "packet") == 0
    out = capsys.readouterr().out
    assert one_record == [("quick_vegas", "table_1", "packet")]
    assert out.startswith("Improving Performance of TCP Vegas")
    assert "0.335" in out
    assert "reproduced" in out
    head, values = (line.split() for line in out.splitlines()[2:4])
    assert {"error", "tolerance", "verdict"} <= set(head)
    assert {"0.03", "-0.06269", "reproduced"} <= set(values)


def test_reproduce_of_a_figure_without_numbers_says_nothing(capsys):
    assert run("reproduce", "quick_vegas", "ramp") == 0
    assert capsys.readouterr().out == ""


def test_reproduce_draws_each_papers_figures_as_soon_as_they_are_there(
    capsys, one_record, monkeypatch, tmp_path
):
    drawn = []
    monkeypatch.setattr(experiments, "draw_all", lambda *what: drawn.append(what) or [tmp_path])
    assert run("reproduce", "--figures") == 0
    assert drawn == [("quick_vegas", None, "both")]
    assert f"drew {tmp_path}" in capsys.readouterr().err


def test_reproduce_as_json_prints_one_list_and_nothing_else(capsys, one_record):
    assert run("reproduce", "--json") == 0
    out, err = capsys.readouterr()
    (found,) = json.loads(out)
    assert err == ""
    assert list(found) == [
        "paper", "item", "row", "column", "unit", "published", "packet", "fluid", "tolerance",
        "verdict", "cause", "fluid_verdict", "fluid_cause", "reference", "formula", "agreement",
        "read",
    ]  # fmt: skip
    assert found["fluid"] is None


def test_reproduce_writes_the_scorecard(capsys, one_record, tmp_path):
    path = tmp_path / "scorecard.md"
    assert run("reproduce", "--scorecard", path) == 0
    assert "](papers/quick_vegas.md) | 1 |" in path.read_text()


def test_reproduce_accepts_numbers_as_those_expected(capsys, one_record, monkeypatch, tmp_path):
    accepted = []
    monkeypatch.setattr(experiments, "accept", lambda rs: accepted.extend(rs) or [tmp_path / "x"])
    assert run("reproduce", "--accept") == 0
    assert accepted == [RECORD]
    assert f"wrote {tmp_path / 'x'}" in capsys.readouterr().err


def test_outside_a_checkout_reproduce_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checkout, "ROOT", tmp_path / "site-packages")
    assert run("reproduce") == 2
    assert "checkout" in one_line(capsys)
    assert run("list") == 0
    assert "figure_7" not in capsys.readouterr().out


def test_a_checkout_is_found_from_a_folder_inside_it(monkeypatch):
    root = Path(experiments.__file__).parents[1]
    monkeypatch.chdir(root / "tests")
    assert checkout.checkout() == root


FOREIGN = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
"""

PROJECTS = {
    "no project": None,
    "another project": '[project]\nname = "mine"',
    "a broken project": "[project",
    "a project of this name": '[project]\nname = "tcpcc"',
}


@pytest.fixture
def foreign(tmp_path):
    """A folder with an `experiments` of its own, and the file that it writes if it runs."""
    inner = tmp_path / "experiments"
    inner.mkdir()
    for name in ("__init__.py", "harness.py"):
        (inner / name).write_text(FOREIGN)
    return inner / "ran"


@pytest.mark.parametrize(
    ("arguments", "below", "project"),
    [
        (["list"], ".", "no project"),
        (["list"], "a/b", "a project of this name"),
        (["list", "papers"], "a/b", "no project"),
        (["list", "papers"], ".", "a project of this name"),
        (["--completion", "bash"], ".", "no project"),
        *((["reproduce", "quick_vegas", "no_table"], "a/b", project) for project in PROJECTS),
        (["reproduce", "quick_vegas", "no_table"], ".", "no project"),
    ],
)
def test_no_command_runs_the_experiments_of_the_folder_it_is_in(
    arguments, below, project, foreign, tmp_path
):
    """As a module too, when Python puts the current folder first in its path."""
    if PROJECTS[project]:
        (tmp_path / "pyproject.toml").write_text(PROJECTS[project])
    here = tmp_path / below
    here.mkdir(parents=True, exist_ok=True)
    root = str(Path(cli.__file__).parents[2])
    out = subprocess.run(
        [sys.executable, "-m", "tcpcc", *arguments], cwd=here, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": root},
    )  # fmt: skip
    assert not foreign.exists()
    if arguments[0] == "reproduce":
        assert out.returncode == 2
        assert out.stderr.count("\n") == 1
        other = project == "a project of this name"
        assert ("tcpcc is imported from" if other else "unknown item") in out.stderr
    else:
        assert (out.returncode, out.stderr) == (0, "")


def test_experiments_that_are_not_the_checkouts_are_refused(foreign, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "experiments", SimpleNamespace(__file__=str(foreign)))
    assert run("reproduce", "quick_vegas") == 2
    assert "experiments is imported from" in one_line(capsys)


def test_the_listed_papers_are_those_of_the_experiments():
    listed = list_command._papers()
    expected = [
        (name, item, len(paper.cells(item)), title)
        for name, paper in experiments.papers().items()
        for item, title in paper.published.titles.items()
    ]
    assert [*listed.itertuples(index=False, name=None)] == expected


# --- what a user gets wrong ----------------------------------------------------------------------


def one_line(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tcpcc: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run nowhere.toml", "No such file"),
        ("run {toml} --import nosuch.py", "--import nosuch.py: no such file"),
        ("run {toml} --import {toml}", "must be a Python file"),
        ("export vegas --to java", "unknown target 'java'"),
        ("run {toml} --model flui", "did you mean 'fluid'"),
        ("run {toml} --model ode", 'use "fluid"'),
        ("run {toml} --driver simp", "did you mean 'simpy'"),
        ("run {toml} --save {toml}/no/x.nc", "no such directory"),
        ("run {toml} --plot x.jpeg", "must end in .png"),
        ("run {toml} --after 99", "contains no bin"),
        (
            "run {toml} --model fluid --driver simpy",
            "driver = 'simpy': the fluid model has no such option",
        ),
        ("run {toml} --model fluid --trains 8", "unknown option of the fluid model 'trains'"),
        ("run {toml} --set duration=1e300", "--force"),
        ("run {toml} --set network.rate", "must be path=value"),
        ("run {toml} --set flow.9.start=1", "the list has 2, numbered from 1"),
        ("run {toml} --set netwrk.rate=1", "did you mean 'network'"),
        ("run {toml} --set network.rte=1", "rte"),
        ("run {toml} --set duration.x=1", "there is no table"),
        ("compare {toml} --models packets", "unknown model 'packets': did you mean 'packet'"),
        ("compare {toml} {toml}", "given twice"),
        ("compare {toml} --link there", "unknown recorded link 'there'"),
        ("compare {toml} --steps 30", "--steps 30: needs --models fluid"),
        ("evaluate all --set alpha=2", "--set: needs a single controller"),
        ("list renno", "did you mean 'reno'"),
        ("reproduce quick_vega", "did you mean 'quick_vegas'? known: bbr_cubic, ifip25, l4s, "),
        ("reproduce varaints", "did you mean 'variants'"),
        ("reproduce quick_vegas table_9", "unknown item"),
        ("reproduce --model x", "unknown model"),
        ("reproduce quick_vegas --scorecard x.md", "leave out the paper"),
        ("reproduce quick_vegas --readme x.md", "leave out the paper"),
        ("reproduce --accept --model packet", "needs both models"),
        ("reproduce --report folder", "`make docs` builds the papers' pages"),
        ("reproduce variants --report", "`make docs` builds the papers' pages"),
    ],
)
def test_user_errors_are_one_line_and_exit_code_2(capsys, toml, words, message):
    assert run(*words.format(toml=toml).split()) == 2
    assert message in one_line(capsys)


def test_an_error_in_a_scenario_names_the_file(capsys, toml):
    toml.write_text(SCENARIO.replace('"vegas"', '"vegass"'))
    assert run("run", toml) == 2
    line = one_line(capsys)
    assert "scenario.toml" in line
    assert "did you mean 'vegas'?" in line


@pytest.mark.parametrize("arguments", [[], ["fly"], ["new", "cars", "x"], ["run"]])
def test_argparse_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        run(*arguments)
    assert stop.value.code == 2


# --- Ctrl-C --------------------------------------------------------------------------------------


ENDLESS = (
    "tcpcc.models.simulate",
    "tcpcc.apps.evaluate.evaluate",
    "tcpcc.apps.evaluate.league",
    "tcpcc.cli.commands.list_command.plain_table",
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run {toml} --save {out}", "only complete runs are saved"),
        ("evaluate reno --quick --cache kept", "finished runs are kept in kept; run it"),
        ("evaluate reno --quick", "with --cache FOLDER finished runs would be"),
        ("evaluate reno vegas --quick", "with --cache FOLDER finished runs would be"),
        ("list controllers", "interrupted; no result was saved"),
        ("reproduce", "3 of 9 runs finished, kept"),
    ],
)
def test_ctrl_c_says_what_is_kept(words, said, monkeypatch, capsys, toml, tmp_path):
    def interrupted(*given, **named):
        raise KeyboardInterrupt

    def sweep_interrupted(*given, **named):
        raise SweepInterrupted("interrupted with 3 of 9 runs finished, kept in .cache", [])

    for place in ENDLESS:
        monkeypatch.setattr(place, interrupted)
    monkeypatch.setattr(experiments, "reproduce", sweep_interrupted)
    out = tmp_path / "x.nc"
    assert run(*words.format(toml=toml, out=out).split()) == 130
    assert said in one_line(capsys)
    assert not out.exists()


# --- bench ---------------------------------------------------------------------------------------


@pytest.fixture
def quick_bench(monkeypatch):
    """Few packets, and an ns-2 that is not run."""
    monkeypatch.setattr(speed, "PACKETS", 5000)
    monkeypatch.setattr(speed, "ROUNDS", 1)
    monkeypatch.setattr(speed, "ns2_speed", lambda *_: (1000.0, 0.01))
    monkeypatch.setattr(speed, "has_ns2", lambda: True)


def test_bench_measures_every_engine(capsys, monkeypatch, quick_bench):
    assert speed.NS2_SCRIPT.is_file()
    monkeypatch.setattr(speed, "CASES", ((10e6, 1),))
    assert run("bench") == 0
    header, row = capsys.readouterr().out.splitlines()
    names = re.split(r"\s{2,}", header)
    assert names[:2] == ["Mb/s", "flows"]
    assert names[-3:] == ["packet ms/min", "trains ms/min", "fluid ms/min"]
    assert " 100 " in row  # thousand packets per second, of the ns-2 that was not run


def test_bench_counts_the_events_of_a_packet_and_its_ack():
    """Three on a dumbbell where flows meet, one where a flow is alone: docs/architecture.md."""
    for flows, events in ((10, 3), (1, 1)):
        case = speed.scenario(10e6, flows, 20_000)
        assert speed.events_per_packet(case) == pytest.approx(events, rel=0.05)


@pytest.mark.long
def test_cost_and_error_of_each_model_are_written_into_the_page(
    monkeypatch, tmp_path, capsys, quick_bench
):
    small = [precision.Case(f"case {k}", 5e6, 1, (("cubic", 1), ("bbr", 1))) for k in range(4)]
    monkeypatch.setattr(precision, "CASES", small)
    monkeypatch.setattr(precision, "SEEDS", (1, 2))
    monkeypatch.setattr(precision, "DURATION", 4.0)
    monkeypatch.setattr(precision, "AFTER", 1.0)
    monkeypatch.setattr(speed, "CASES", ((10e6, 1),))
    monkeypatch.setattr(speed, "has_ns2", lambda: False)
    page = tmp_path / "page.md"
    page.write_text("no marks")
    assert run("bench", "--precision", "--page", str(page)) == 2
    page.write_text(f"before\n{precision.MARKS[0]}\nold\n{precision.MARKS[1]}\nafter\n")
    assert run("bench", "--precision", "--page", str(page)) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert text.count("| fluid, steps=20 |") == 4
    assert "| 10 Mb/s | 1 | " in text
    assert page.with_suffix(".png").stat().st_size > 10_000
    capsys.readouterr()
    assert run("bench", "--page", str(page)) == 2
    assert "--page: needs --precision" in capsys.readouterr().err


def test_the_errors_are_those_of_the_numbers(monkeypatch):
    """Against numbers that are known: packets 10, 12, 14 and a model that gives 15."""
    case = precision.Case("known", 5e6, 1, (("reno", 1),))
    monkeypatch.setattr(precision, "CASES", (case,))
    monkeypatch.setattr(precision, "SEEDS", (1, 2, 3))
    monkeypatch.setattr(precision, "DURATION", 21.0)
    ways = {"packets": {}, "other": {"model": "fluid"}}
    monkeypatch.setattr(precision.Case, "ways", ways)
    queues = iter([10.0, 12.0, 14.0, 15.0, 15.0, 15.0])
    monkeypatch.setattr(precision, "numbers", lambda run: (0.9, next(queues), 0.01, 0.5))
    rows = precision.measure().set_index("way")
    assert rows.loc["packets", "queue"] == pytest.approx(100 * (4 / 3) / 12)
    assert rows.loc["other", "queue"] == pytest.approx(25)
    assert rows.loc["other", ["utilization", "loss", "share"]].tolist() == [0, 0, 0]


@pytest.mark.long
def test_the_speeds_of_the_readme_are_written_by_the_command(
    monkeypatch, tmp_path, capsys, quick_bench
):
    """The table of README.md has the cases and the form of `tcpcc bench --readme`."""
    monkeypatch.chdir(tmp_path)
    assert run("bench", "--readme") != 0
    assert "README.md: must have the lines" in capsys.readouterr().err
    committed = (Path(__file__).parents[2] / "README.md").read_text()
    (tmp_path / "README.md").write_text(committed)
    assert run("bench", "--readme") == 0
    written = (tmp_path / "README.md").read_text()
    form = re.compile(r"\d+(\.\d+)?")
    (old, new) = (
        text.split(speed.MARKS[0])[1].split(speed.MARKS[1])[0] for text in (committed, written)
    )
    assert form.sub("0", old) == form.sub("0", new) != new
    cases = [[row.split("|")[1:3] for row in table.split("\n")] for table in (old, new)]
    assert cases[0] == cases[1]
    assert committed.replace(old, new) == written
    for row in old.strip().split("\n")[2:]:
        compiled, _, ns2, ratio = (float(cell.strip(" M")) for cell in row.split("|")[3:7])
        assert ratio == pytest.approx(compiled / ns2, rel=0.03)


# --- a user's own files, settings ----------------------------------------------------------------


def test_settings_of_the_file_can_be_replaced(capsys, toml, tmp_path):
    saved = tmp_path / "x.nc"
    changes = ["network.rate=2 Mbps", "flow.2.start=2", "flow.recovery=sack", "duration=4"]
    settings = [word for change in changes for word in ("--set", change)]
    assert run("run", toml, "--seed", 7, *settings, "--save", saved) == 0
    found = tc.Run.load(saved).scenario
    assert (found.seed, found.duration, found.net.links[0].rate) == (7, 4, 2e6)
    assert [(f.start, f.recovery) for f in found.flows] == [(0, "sack"), (2, "sack")]


def test_own_controllers_can_be_imported(capsys, tmp_path, monkeypatch):
    """And the files that `tcpcc new` writes work as they are."""
    monkeypatch.chdir(tmp_path)
    for kind, name in (("controller", "mine"), ("scenario", "first")):
        assert run("new", kind, name) == 0
    capsys.readouterr()
    assert run("new", "controller", "mine") == 2
    assert "mine.py: already exists" in one_line(capsys)
    changes = ["--set", "flow.controller=mine", "--set", "duration=15"]
    assert run("run", "first.toml", *changes, "--import", "mine.py") == 0
    assert "mine1" in capsys.readouterr().out
    assert run("list", "mine", "--import", "mine.py") == 0
    assert "reduction of the window" in capsys.readouterr().out
    (tmp_path / "bad.py").write_text("1 / 0")
    assert run("list", "--import", "bad.py") == 2
    assert "--import bad.py: ZeroDivisionError: division by zero" in one_line(capsys)


@pytest.mark.long
def test_a_new_paper_is_reproduced(capsys, tmp_path, monkeypatch):
    """The command of a copy of the checkout, which finds the paper by its two files."""
    root = Path(experiments.__file__).parents[1]
    copy = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__", "kernel", "site")
    for part in ("tcpcc", "experiments"):
        shutil.copytree(root / part, copy / part, ignore=ignored)
    shutil.copy(root / "pyproject.toml", copy)

    def command(*words):
        return subprocess.run(
            [sys.executable, "-m", "tcpcc", *words], cwd=copy, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(copy)},
        )  # fmt: skip

    made = command("new", "paper", "theirs")
    places = ("theirs/__init__.py", "data/theirs_published.toml")
    files = [copy / "experiments" / place for place in places]
    assert made.stdout.splitlines() == [f"wrote {file}" for file in files], made.stderr
    assert "already exists" in command("new", "paper", "theirs").stderr
    shown = command("reproduce", "theirs")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("Theirs\n")
    assert shown.stdout.count(" reproduced ") == 4  # two numbers, two models
    monkeypatch.setattr(checkout, "ROOT", tmp_path / "site-packages")
    assert run("new", "paper", "theirs") == 2
    assert "need a checkout" in one_line(capsys)


def test_list_of_one_name(capsys):
    assert run("list", "reno") == 0
    out = capsys.readouterr().out
    assert "controller reno: additive increase" in out
    assert "recovery reno: fast recovery" in out
    assert "integer_ssthresh" in out


def test_show_prints_what_run_printed(capsys, toml, tmp_path):
    saved = tmp_path / "x.nc"
    run("run", toml, "--save", saved)
    printed = capsys.readouterr().out
    assert run("show", saved) == 0
    assert capsys.readouterr().out == printed
    assert run("show", saved, "--scenario") == 0
    assert tc.Scenario.from_toml(capsys.readouterr().out) == tc.Scenario.load(toml)


def test_show_tells_a_scenario_from_a_run(capsys, toml, tmp_path):
    saved = tmp_path / "x.nc"
    run("run", toml, "--save", saved)
    capsys.readouterr()
    assert run("show", toml, "--scenario", "--set", "seed=7") == 0
    assert tc.Scenario.from_toml(capsys.readouterr().out).seed == 7
    for file in (toml, saved):
        assert run("show", file, "--cite", "--also", "RFC 8511") == 0
        assert capsys.readouterr().out == tc.Scenario.load(toml).cite("RFC 8511")
    assert run("show", toml, "--after", 1) == 2
    assert f"--after: is for a saved run, not for {toml}" in one_line(capsys)
    assert run("show", saved, "--set", "seed=7") == 2
    assert f"--set: is for a scenario (.toml), not for {saved}" in one_line(capsys)


def test_every_verb_has_a_module_and_a_line_of_help(capsys):
    commands = Path(cli.__file__).parent / "commands"
    assert {f"{v}_command" for v in cli.COMMANDS} == {p.stem for p in commands.glob("*_command.py")}
    with pytest.raises(SystemExit):
        run("--help")
    shown = " ".join(capsys.readouterr().out.split())
    for verb in cli.COMMANDS:
        text = importlib.import_module(f"tcpcc.cli.commands.{verb}_command").__doc__.strip()
        assert f"{verb} {text}" in shown


def test_sweep_prints_a_row_per_point(capsys, toml, tmp_path):
    table = tmp_path / "x.csv"
    axes = ["--over", "network.buffer=10,40", "--over", "seed=1:2"]
    assert run("sweep", toml, *axes, "--csv", table, "--jobs", 1) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[0].split()[:3] == ["network.buffer", "seed", "vegas1_mbps"]
    assert len(table.read_text().splitlines()) == 5


def test_the_module_is_the_command():
    found = subprocess.run(
        [sys.executable, "-m", "tcpcc", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("tcpcc ")


def test_completion(capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as stop:
        run("--completion", "bash")
    assert stop.value.code == 0
    assert "complete" in capsys.readouterr().out


# --- nothing is lost -----------------------------------------------------------------------------


def test_the_scenario_is_not_overwritten(capsys, toml):
    assert run("run", toml, "--save", toml) == 2
    assert "--save" in (line := one_line(capsys))
    assert "is also the scenario" in line
    assert toml.read_text() == SCENARIO


def test_an_unwritable_target_is_found_before_the_simulation(capsys, toml, tmp_path, monkeypatch):
    monkeypatch.setattr("tcpcc.models.simulate", None)  # to call it would be an error
    (tmp_path / "folder.nc").mkdir()
    assert run("run", toml, "--save", tmp_path / "folder.nc") == 2
    assert "is a directory" in one_line(capsys)
    assert run("run", toml, "--save", "/proc/x.nc") == 2
    assert "/proc/x.nc" in one_line(capsys)


def test_a_command_passes_the_options_of_its_model(capsys, toml):
    for given, way in (
        (("--trains", "8"), {"trains": 8}),
        (("--model", "fluid", "--steps", "30"), {"model": "fluid", "steps": 30}),
    ):
        assert run("run", toml, *given, "--json") == 0
        rate = json.loads(capsys.readouterr().out)["flows"][0]["throughput_mbps"]
        expected = tc.simulate(tc.Scenario.load(toml), **way).throughput()[0] / 1e6
        assert rate == pytest.approx(float(expected), rel=1e-6)


# --- compare, estimate, counts, seeds ------------------------------------------------------------


def cells_of(text):
    """Rows of a printed table: first column -> the others."""
    return {re.split(r"\s{2,}", row)[0]: re.split(r"\s{2,}", row)[1:] for row in text.splitlines()}


def test_compare_puts_files_side_by_side(capsys, toml, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(SCENARIO.replace("vegas", "cubic"))
    assert run("compare", toml, other, "--csv", tmp_path / "x.csv", "--after", 1) == 0
    rows = cells_of(capsys.readouterr().out)
    assert rows["measure"] == ["scenario", "other"]
    simulated = [tc.simulate(tc.Scenario.load(path)) for path in (toml, other)]
    expected = [f"{float(x.goodput(1).sum()) / 1e6:.4g}" for x in simulated]
    assert rows["goodput (Mb/s)"] == expected
    assert rows["Jain's index"] == [f"{x.jain_index(1):.4g}" for x in simulated]
    assert rows["utilization"] == [f"{x.utilization(after=1):.4g}" for x in simulated]
    assert rows["mean queue (packets)"] == [f"{x.queue_mean(1):.4g}" for x in simulated]
    lost = [x.data.isel(time=x.data["time"] > 1.0000001)[["dropped", "sent"]] for x in simulated]
    shares = [100 * float(x["dropped"].sum() / x["sent"].sum()) for x in lost]
    assert rows["loss (%)"] == [f"{share:.4g}" for share in shares]
    assert len(rows["goodput of cubic (Mb/s)"]) == 1  # the other has no such flow
    assert (tmp_path / "x.csv").read_text().startswith("measure,scenario,other\n")


def test_compare_puts_models_and_seeds_side_by_side(capsys, toml):
    jitter = ("--set", "flow.jitter=0.5")
    assert run("compare", toml, "--models", "packet,fluid", "--seeds", "1:3", *jitter) == 0
    rows = cells_of(capsys.readouterr().out)
    assert rows["measure"] == ["packet", "fluid"]
    jittered = tc.Scenario.load(toml).jittered(starts=0.5)
    rates = [float(tc.simulate(jittered.replace(seed=k)).goodput().sum()) for k in (1, 2, 3)]
    mean, deviation = rows["goodput (Mb/s)"][0].split(" ± ")
    assert float(mean) == pytest.approx(sum(rates) / 3e6, rel=1e-3)
    assert 0 < float(deviation) < float(mean)


def test_compare_adds_packets_in_trains(capsys, toml):
    given = ("compare", toml, "--models", "packet,fluid", "--trains", "8", "--steps", "30")
    assert run(*given) == 0
    rows = cells_of(capsys.readouterr().out)
    assert rows["measure"] == ["packet", "fluid", "trains"]
    ways = ({}, {"model": "fluid", "steps": 30}, {"trains": 8})
    found = [tc.simulate(tc.Scenario.load(toml), **way).goodput().sum() for way in ways]
    assert rows["goodput (Mb/s)"] == [f"{float(x) / 1e6:.4g}" for x in found]


def test_compare_says_when_the_seed_changes_nothing(capsys, toml):
    assert run("compare", toml, "--seeds", "1:2") == 0
    err = capsys.readouterr().err
    assert "the seed changes nothing" in err
    assert err.count("\n") == 1
    assert run("compare", toml, "--seeds", "1:2", "--set", "flow.jitter=0.1") == 0
    assert capsys.readouterr().err == ""


def test_show_prints_the_cost_in_every_model_and_why_one_refuses(capsys, toml):
    assert run("show", toml, "--set", "duration=1000") == 0
    rows = cells_of(capsys.readouterr().out)
    assert set(rows) == {
        "model", "packet", "packet, SimPy driver", "packet, trains=16", "fluid", "hybrid"
    }  # fmt: skip
    found = tc.estimate(tc.Scenario.load(toml).replace(duration=1000))
    assert rows["packet"][0] == f"{float(f'{found.packets:.2g}'):,.0f}"
    assert "background=True" in rows["hybrid"][-1]


def test_counts_are_printed_with_all_their_digits(capsys, toml):
    assert run("run", toml, "--set", "network.rate='200 Mbps'", "--set", "network.buffer=500") == 0
    sent = int(tc.simulate(
        tc.Scenario.load(toml).replace(net=tc.dumbbell("200 Mbps", "20 ms", 500))
    ).data["sent"].sum("time")[1])  # fmt: skip
    assert sent > 10_000
    assert f" {sent:,} " in capsys.readouterr().out


def test_sweep_says_when_the_seed_changes_nothing(capsys, toml):
    axes = ["--over", "network.buffer=10,40", "--over", "seed=1:2"]
    assert run("sweep", toml, *axes) == 0
    out, err = capsys.readouterr()
    assert "the seed changes nothing" in err
    assert err.count("\n") == 1
    assert "record" not in out
    assert run("sweep", toml, *axes, "--set", "flow.jitter=0.1") == 0
    assert capsys.readouterr().err == ""
    assert run("sweep", toml, "--over", "network.buffer=10,40") == 0
    assert capsys.readouterr().err == ""
