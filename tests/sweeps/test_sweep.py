"""Sweeps: order, resumption, interruption and tables; the simulations are stood in for."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import factories
import numpy as np
import pandas as pd
import pytest
from new_process import printed

import tcpcc as tc
from tcpcc.controllers import Controller, Param, register
from tcpcc.errors import ScenarioError, SweepError, SweepInterrupted
from tcpcc.results import Run, run_store
from tcpcc.scenario import Flow
from tcpcc.scenario.workloads import web
from tcpcc.slow_start import StartUp
from tcpcc.sweeps import sweep
from tcpcc.sweeps.parallel import Simulations
from tcpcc.transport.output import fill
from tcpcc.transport.recovery import Recovery
from tcpcc.transport.recovery.classic import leave


class Engine:
    """Stands in for `simulate`: remembers what it was asked and answers with the seed's run."""

    def __init__(self):
        self.asked = []
        self.lock = threading.Lock()
        self.fail_at = self.fail_seed = None
        self.error = None

    def __call__(self, scenario, model="packet", **options):
        with self.lock:
            if len(self.asked) == self.fail_at or scenario.seed == self.fail_seed:
                raise self.error
            self.asked.append((scenario.seed, model, options))
        # Later ones finish first, so that order is not kept by luck.
        time.sleep(0.02 * (scenario.seed % 3 == 0))
        return factories.run(scenario, scenario.seed, model=model)


@pytest.fixture
def engine(monkeypatch):
    engine = Engine()
    monkeypatch.setattr(importlib.import_module("tcpcc.models"), "simulate", engine)
    return engine


def cases(*seeds, **settings):
    settings = {"duration": 1.0, "interval": 0.1} | settings
    return [factories.scenario([Flow("reno")], seed=seed, **settings) for seed in seeds]


def seeds_of(runs):
    return [run.data.attrs["seed"] for run in runs]


# Many simulations


@pytest.mark.parametrize("jobs", [1, 3, None])
def test_runs_come_back_in_the_order_of_the_scenarios(engine, jobs):
    order = [3, 1, 6, 2, 9, 4]
    runs = sweep(cases(*order), jobs=jobs)
    assert seeds_of(runs) == order
    assert all(
        run.identical(factories.run(run.scenario, seed))
        for run, seed in zip(runs, order, strict=True)
    )


def test_no_scenario_is_no_run(engine):
    assert sweep([]) == []


def test_options_and_model_reach_the_engine(engine):
    sweep(cases(1), model="fluid", steps=40)
    assert engine.asked == [(1, "fluid", {"steps": 40})]


def test_the_same_scenario_is_simulated_once(engine):
    runs = sweep(cases(1, 2, 1, 1))
    assert sorted(seed for seed, _, _ in engine.asked) == [1, 2]
    assert seeds_of(runs) == [1, 2, 1, 1]


def test_controllers_of_one_name_are_not_the_same(engine):
    """Each trial of a sweep may make its own; the scenarios are equal."""
    made = [own_controller(1), own_controller(2)]
    trials = [factories.scenario([Flow(one)], duration=1.0) for one in (*made, made[0])]
    assert trials[0] == trials[1]
    sweep(trials)
    assert len(engine.asked) == 2


def test_an_error_of_a_simulation_is_the_callers(engine):
    engine.error = ScenarioError("unknown option")
    engine.fail_seed = 2
    with pytest.raises(SweepError, match=r"1 of 3 .*; scenarios\[1\] .*seed 2\): unknown opt") as e:
        sweep(cases(1, 2, 3))
    assert "\n" not in str(e.value)
    assert [run and run.data.attrs["seed"] for run in e.value.finished] == [1, None, 3]
    assert e.value.failed == {1: engine.error}
    with pytest.raises(SweepError, match=r"at seed = 2: unknown option") as e:
        sweep(lambda seed: cases(seed)[0], {"one": lambda run: 1}, seed=[1, 2, 3])
    assert list(e.value.finished["seed"]) == [1, 3]


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "two"])
def test_bad_jobs_are_refused_in_one_line(engine, jobs):
    with pytest.raises(ScenarioError, match=r"jobs = .*: must be a whole number >= 1"):
        sweep(cases(1), jobs=jobs)
    assert engine.asked == []


def test_another_process_learns_the_controllers_that_were_registered_here(engine, monkeypatch):
    """`_one` as it begins in a fresh worker process, which knows the built-in ones only."""
    from tcpcc.controllers import CONTROLLERS
    from tcpcc.sweeps import parallel as module

    own = own_controller(1)
    case = factories.scenario([Flow("own")], duration=1.0)
    assert own in module._registered(case)
    packed = module._Packer()(case)
    fresh = {name: c for name, c in CONTROLLERS._known.items() if name != "own"}
    monkeypatch.setattr(CONTROLLERS, "_known", fresh)
    with pytest.raises(ScenarioError, match="unknown controller 'own'"):
        case.resolve()
    elsewhere = (os.getpid() + 1, 0)
    module._one(0, packed, "packet", {}, None, 0.0, elsewhere)
    assert case.resolve().flows[0].controller.on_ack.__code__ == own.on_ack.__code__


def test_rules_of_a_file_reach_a_process_that_cannot_import_it(tmp_path, monkeypatch):
    from tcpcc.sweeps import parallel as module

    file = tmp_path / "rules_of_mine.py"
    file.write_text("def grow(s, p, a):\n    s.cwnd = window()\n\ndef window():\n    return 7.0\n")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    mine = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, mine)
    spec.loader.exec_module(mine)
    rules = {"on_ack": mine.grow, "on_loss": mine.grow, "on_timeout": mine.grow}
    case = factories.scenario([Flow(Controller(name="of_a_file", summary="", **rules))])
    packed = module._Packer()(case)
    monkeypatch.delitem(sys.modules, file.stem)
    flow = module._unpacked(packed, os.getpid()).flows[0]
    assert flow.definition.on_ack.__globals__["window"]() == 7.0


# The cache


@pytest.mark.parametrize(("seconds", "files"), [(0.1, 0), (0.2, 1), (0.3, 1)])
def test_what_was_quick_is_not_kept(engine, tmp_path, monkeypatch, seconds, files):
    """With `keep_from` only runs that took so many CPU seconds are; without, all are."""

    def timed(scenario, **options):
        run = engine(scenario, **options)
        run.data.attrs["cpu_seconds"] = seconds
        return run

    monkeypatch.setattr(importlib.import_module("tcpcc.models"), "simulate", timed)
    sweep(cases(1), cache=tmp_path / "some", cache_from=0.2)
    sweep(cases(1), cache=tmp_path / "all")
    assert len(list((tmp_path / "some").glob("*.run"))) == files
    assert len(list((tmp_path / "all").glob("*.run"))) == 1


def test_a_second_time_everything_comes_from_the_cache(engine, tmp_path):
    first = sweep(cases(1, 2, 3), cache=tmp_path / "new" / "folder")
    engine.asked.clear()
    again = sweep(cases(3, 1, 2), cache=tmp_path / "new" / "folder")
    assert engine.asked == []
    assert seeds_of(again) == [3, 1, 2]
    assert again[1].identical(first[0])


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {"model": "fluid"}),
        ({}, {"trains": 16}),
        ({}, {"trace": True}),
        ({"duration": 2.0}, {}),
        ({"seed": 5}, {}),
    ],
)
def test_what_is_not_the_same_is_simulated_anew(engine, tmp_path, settings, options):
    sweep(cases(1), cache=tmp_path)
    engine.asked.clear()
    seed = settings.pop("seed", 1)
    sweep(cases(seed, **settings), cache=tmp_path, **options)
    assert len(engine.asked) == 1


def own_controller(gain):
    """A user's controller, as a notebook cell defines it again and again."""
    grow = rule_of("def rule(s, p, a):\n    s.cwnd += p.gain * GAIN", GAIN=gain)
    halve = rule_of("def rule(s, p, a):\n    s.cwnd = s.cwnd / 2")
    params = {"gain": Param(1, "packets", "growth", 0, 9)}
    return register(Controller("own", "a test", grow, halve, halve, None, params))


def rule_of(text, **space):
    exec(text, space)
    return space["rule"]


def of_a_flow(gain):
    return {"flows": [Flow(own_controller(gain).name)]}


def own_recovery(burst):
    code = f"def rule(s, p, f):\n    leave(f, f.now, f.ack)\n    fill(f, f.now, {burst})"
    own = register(Recovery("own", "a test", rule_of(code, leave=leave, fill=fill)))
    return {"flows": [Flow("reno", recovery=own.name)]}


def own_slow_start(gain):
    code = f"def rule(s, p, a, before):\n    s.cwnd = before + {gain} * a.acked"
    own = register(StartUp("own", "a test", rule_of(code)))
    return {"flows": [Flow("reno", slow_start=own.name)]}


def of_a_workload(gain):
    return {"flows": [Flow("reno")], "workloads": [web(own_controller(gain).name, rate=1)]}


@pytest.mark.parametrize("traffic", [of_a_flow, own_recovery, own_slow_start, of_a_workload])
def test_an_edited_rule_of_any_kind_is_simulated_anew(engine, tmp_path, traffic):
    """The scenario's digest knows a controller's name only; a stale run would be a wrong one."""

    def asked_for(number):
        engine.asked.clear()
        sweep([factories.scenario(duration=1.0, **traffic(number))], cache=tmp_path)
        return len(engine.asked)

    assert [asked_for(number) for number in (1, 1, 2, 1)] == [1, 0, 1, 0]


def test_a_damaged_file_in_the_cache_is_replaced(engine, tmp_path):
    sweep(cases(1), cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:500])
    engine.asked.clear()
    sweep(cases(1), cache=tmp_path)
    assert len(engine.asked) == 1
    assert run_store.take(kept).data.attrs["seed"] == 1


def test_an_option_without_a_text_of_its_own_is_not_cached(engine, tmp_path):
    with pytest.raises(
        ScenarioError, match=r"trace = <object.*: must be a number, a string or None"
    ):
        sweep(cases(1), cache=tmp_path, trace=object())
    assert engine.asked == []


# Interruption


def test_ctrl_c_keeps_what_is_finished_and_says_so(engine, tmp_path):
    engine.fail_at, engine.error = 3, KeyboardInterrupt()
    with pytest.raises(SweepInterrupted) as caught:
        sweep(cases(1, 2, 3, 4, 5), cache=tmp_path, jobs=1)
    done = [run for run in caught.value.finished if run is not None]
    assert seeds_of(done) == [1, 2, 3]
    assert str(caught.value) == (
        f"interrupted with 3 of 5 runs finished, kept in {tmp_path}; run it again to resume"
    )
    engine.fail_at = None
    engine.asked.clear()
    assert seeds_of(sweep(cases(1, 2, 3, 4, 5), cache=tmp_path)) == [1, 2, 3, 4, 5]
    assert sorted(seed for seed, _, _ in engine.asked) == [4, 5]


def test_ctrl_c_without_a_cache_hands_over_what_is_finished(engine):
    engine.fail_at, engine.error = 2, KeyboardInterrupt()
    with pytest.raises(SweepInterrupted, match="2 of 4 runs finished, in this error's") as caught:
        sweep(cases(1, 2, 3, 4), jobs=1)
    assert seeds_of(caught.value.finished[:2]) == [1, 2]
    assert caught.value.finished[2:] == [None, None]


def test_a_real_ctrl_c_while_threads_are_at_work(tmp_path):
    """SIGINT to a process in the middle of a sweep: one line, soon, and the sweep resumes."""
    script = textwrap.dedent(
        f"""
        import sys, time
        sys.path[:0] = {[os.path.dirname(f) for f in (__file__, factories.__file__)]!r}
        import factories, test_sweep
        from tcpcc import models
        from tcpcc.sweeps import sweep
        def simulate(scenario, model="packet"):
            time.sleep(0.05 if scenario.seed < 4 else 0.4)
            return factories.run(scenario, scenario.seed)
        models.simulate = simulate
        sweep(test_sweep.cases(*range(1, 60)), cache="kept", jobs=2)
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    while len(list(tmp_path.glob("kept/*.run"))) < 3 and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert child.returncode != 0
    last = errors.strip().splitlines()[-1]
    told = re.search(r"interrupted with (\d+) of 59 runs finished, kept in kept", last)
    kept = [run_store.take(p) for p in tmp_path.glob("kept/*.run")]
    assert 3 <= len(kept) < 59
    assert int(told[1]) <= len(kept)
    assert {1, 2, 3} <= set(seeds_of(kept))


# Progress


def test_simulations_go_on_before_anybody_waits_for_them(engine, tmp_path):
    """Those that are kept are loaded, and not simulated."""
    sweep(cases(2), cache=tmp_path)
    with Simulations(cases(1, 2, 3), cache=tmp_path) as simulations:
        simulations.begin()
        until = time.monotonic() + 60
        while len(engine.asked) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert sorted(seed for seed, _, _ in engine.asked) == [1, 2, 3]
        assert [run.scenario.seed for run in simulations.runs()] == [1, 2, 3]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_when_the_last_is_under_way_something_else_can_begin(engine, tmp_path, count):
    """Told once, also where all are kept or there are none."""
    asked = []
    for _ in range(2):
        with Simulations(cases(*range(count)), jobs=1, cache=tmp_path) as simulations:
            assert len(simulations.runs(at_last=lambda: asked.append(len(engine.asked)))) == count
    assert asked == [count, count]


@pytest.mark.filterwarnings("ignore:.*tasks which were still being processed")
def test_simulations_end_with_the_block_that_they_are_of(engine):
    with Simulations(cases(*range(1, 1001)), jobs=2) as simulations:
        simulations.begin()
    asked = len(engine.asked)
    time.sleep(0.3)
    assert len(engine.asked) <= asked + 2 < 1000  # two may have been under way


def test_progress_is_silent_unless_asked_or_watched(engine, capfd, monkeypatch):
    sweep(cases(1, 2))
    assert capfd.readouterr().err == ""
    sweep(cases(1, 2), progress=True, title="two papers")
    told = capfd.readouterr().err
    assert "two papers" in told
    assert "2/2" in told
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    sweep(cases(1, 2))
    assert "2/2" in capfd.readouterr().err
    sweep(cases(1, 2), progress=False)
    assert capfd.readouterr().err == ""


# Grids and tables


def make(buffer, seed, queue="droptail"):
    net = factories.dumbbell("10 Mbps", "20 ms", buffer, queue=queue)
    return cases(seed, net=net)[0]


def test_a_grid_is_the_product_with_the_last_axis_fastest(engine):
    table = sweep(make, buffer=[10, 20], seed=range(3), queue="red")
    assert list(table.columns) == ["buffer", "seed", "queue", "run"]
    assert list(zip(table["buffer"], table["seed"], strict=True)) == [
        (10, 0), (10, 1), (10, 2), (20, 0), (20, 1), (20, 2)
    ]  # fmt: skip
    for row in table.itertuples():
        assert row.run.scenario == make(row.buffer, row.seed, "red")
    with pytest.raises(ScenarioError, match=r"buffer = \[\]: an axis needs at least one value"):
        sweep(make, buffer=[], seed=1)


def test_a_list_is_the_axis_scenario(engine):
    table = sweep(cases(4, 2), {"seed": lambda run: run.data.attrs["seed"]})
    assert table.to_dict("list") == {"scenario": [0, 1], "seed": [4, 2]}
    table = sweep(cases(4, 2), model=["packet", "fluid"])
    assert list(table.columns) == ["model", "scenario", "run"]
    assert list(zip(table["model"], table["scenario"], strict=True)) == [
        ("packet", 0), ("packet", 1), ("fluid", 0), ("fluid", 1)
    ]  # fmt: skip
    assert [run.data.attrs["model"] for run in table["run"]] == list(table["model"])
    assert sweep([], Run.jain_index).empty


def test_sweep_measures_every_point(engine):
    keep = {"jain": Run.jain_index, "queue": lambda run: run.queue_mean(after=0.5)}
    table = sweep(make, keep, model=["packet", "fluid"], buffer=[10, 50], seed=[1, 2, 3])
    assert list(table.columns) == ["model", "buffer", "seed", "jain", "queue"]
    assert table["buffer"].tolist() == [10, 10, 10, 50, 50, 50] * 2
    assert sorted(model for _, model, _ in engine.asked) == ["fluid"] * 6 + ["packet"] * 6
    for row in table.itertuples():
        assert row.queue == factories.run(make(row.buffer, row.seed), row.seed).queue_mean(0.5)
    array = table.set_index(["model", "buffer", "seed"]).to_xarray()
    assert array["queue"].sizes == {"model": 2, "buffer": 2, "seed": 3}


def test_metrics_of_several_numbers_fill_several_columns(engine):
    table = sweep(
        make,
        {"rate": Run.throughput, "queue": Run.queue_stats, "two": lambda run: {"a": 1, "b": 2}},
        buffer=[10],
        seed=[1],
    )
    assert list(table.columns[2:]) == [
        "rate_reno1", "queue_mean", "queue_sd", "queue_median", "queue_p95", "queue_max",
        "two_a", "two_b",
    ]  # fmt: skip
    alone = sweep(make, lambda run: pd.Series({"a": 1.0, "b": 2.0}), buffer=[10], seed=[1])
    assert list(alone.columns) == ["buffer", "seed", "a", "b"]
    scalar = sweep(make, lambda run: np.float64(3), buffer=[10], seed=[1])
    assert list(scalar.columns) == ["buffer", "seed", "lambda"]


def test_a_metric_may_not_hide_an_axis(engine):
    with pytest.raises(ScenarioError, match="keep: 'seed' is the name of an axis"):
        sweep(make, {"seed": Run.jain_index}, buffer=[10], seed=[1])
    assert engine.asked == []
    with pytest.raises(ScenarioError, match="keep: 'buffer' is the name of an axis"):
        sweep(make, lambda run: {"buffer": 1}, buffer=[10], seed=[1])


def test_an_interrupted_sweep_hands_over_its_table(engine, tmp_path):
    engine.fail_at, engine.error = 2, KeyboardInterrupt()
    with pytest.raises(SweepInterrupted) as caught:
        sweep(make, Run.queue_max, buffer=[10], seed=[1, 2, 3], jobs=1, cache=tmp_path)
    assert caught.value.finished["seed"].tolist() == [1, 2]
    engine.fail_at = None
    again = sweep(make, Run.queue_max, buffer=[10], seed=[1, 2, 3], cache=tmp_path)
    assert again["seed"].tolist() == [1, 2, 3]
    assert len(engine.asked) == 3


def test_processes_give_the_same_runs(monkeypatch):
    net = tc.dumbbell("10 Mbps", "20 ms", 30)
    flows = [*(tc.Flow(kind) for kind in ("reno", "cubic", "vegas")), tc.Flow.linux("bbr")]
    cases = [tc.Scenario(net, [flow], duration=2) for flow in flows]
    here = [tc.simulate(case) for case in cases]
    monkeypatch.setattr("tcpcc.models.simulate", None)  # a thread would call it
    runs = tc.sweep(cases, processes=True, jobs=2, progress=False)
    assert all(run.identical(other) for run, other in zip(runs, here, strict=True))


@pytest.mark.parametrize(
    "many", [sweep, lambda make, _, **axes: tc.sweep(make, "means", model="fluid", **axes)]
)
def test_a_wrong_axis_is_an_error_of_one_line(many):
    def make(buffer, seed=1):
        raise AssertionError("must not be called")

    for scenario_of in (make, lambda buffer, seed=1: make(buffer)):
        with pytest.raises(ScenarioError, match="unknown axis 'bufer': did you mean 'buffer'"):
            many(scenario_of, Run.jain_index, bufer=[1])
        with pytest.raises(ScenarioError, match=r"axes seed: missing a required .*'buffer'"):
            many(scenario_of, Run.jain_index, seed=[1])


def test_the_public_name_is_the_function_whatever_was_imported_first():
    for first in ("pass", "import tcpcc.sweeps", "from tcpcc.sweeps import Metric"):
        code = f"import tcpcc as tc; {first}; print(callable(tc.sweep))"
        assert printed(code) == "True\n", first


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tc.sweep([None]), r"scenarios\[0\] = None: must be a Scenario"),
        (lambda: tc.sweep(lambda a: None, tc.Run.utilization, a=[1]), "must be a Scenario"),
        (lambda: tc.sweep(lambda a: None, "utilisation", a=[1]), "keep = 'utilisation'"),
        (lambda: tc.estimate(5), "scenario = 5: must be a Scenario"),
        (lambda: tc.analysis.equilibrium(5), "scenario = 5: must be a Scenario"),
        (lambda: tc.sweep(lambda a: 5, "means", a=[1], model="fluid"), r"scenarios\[0\] = 5"),
    ],
)
def test_what_is_no_scenario_and_no_metric_is_named(call, words):
    with pytest.raises(tc.ScenarioError, match=words):
        call()
