"""The user's seat: what a run will take is told beforehand, nothing hangs, nothing is lost."""

import math
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import factories
import numpy as np
import pytest

import tcpcc as tc
from tcpcc import files
from tcpcc.models import costs as module
from tcpcc.models.packet import compiled_driver
from tcpcc.models.packet.memory import packet_world

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)


def one(net=NET, duration=10, flow=None, **settings):
    return tc.Scenario(net, [flow or tc.Flow("reno", **settings)], duration=duration)


# Estimates

BEYOND = {
    "duration": (lambda: one(duration=1e300), {}),
    "fluid duration": (lambda: one(duration=1e300), {"model": "fluid"}),
    "cbr": (lambda: one(flow=tc.CBR(1e15)), {}),
    "infinite rate": (lambda: one(tc.dumbbell(math.inf, "20 ms", 50)), {}),
    "initial window": (lambda: one(transport={"initial_window": 1e10}), {}),
    "fluid steps": (lambda: one(duration=300), {"model": "fluid", "steps": 1e9}),
    "flows": (lambda: tc.Scenario(NET, [tc.Flow("reno")] * 2000, duration=10), {}),
}


@pytest.mark.parametrize("case", BEYOND)
def test_what_the_machine_cannot_do_is_refused_at_once_in_one_line(case, monkeypatch):
    make, options = BEYOND[case]
    if case == "flows":  # a million would take their time to be written down
        monkeypatch.setattr(module, "memory_left", lambda: 2000 * 1e5)
    scenario = make()
    with pytest.raises(
        tc.errors.ResourceError, match=r"the run would take about .*force=True"
    ) as error:
        tc.simulate(scenario, **options)
    assert "\n" not in str(error.value)


def test_a_refused_run_can_be_forced(monkeypatch):
    monkeypatch.setattr(module, "memory_left", lambda: 0.0)
    monkeypatch.setattr(module, "LITTLE", 0)
    monkeypatch.setattr(module, "is_short_run", lambda scenario, seconds: False)
    with pytest.raises(tc.errors.ResourceError):
        tc.simulate(one())
    assert tc.simulate(one(), force=True).duration == 10


def test_a_long_run_is_announced(monkeypatch):
    monkeypatch.setattr(module, "LONG", 0.0)
    with pytest.warns(tc.errors.LongRun, match=r"the run will take about .* packets, .* s, .* GiB"):
        tc.simulate(one())


@pytest.mark.parametrize("flows", [1, 8])
@pytest.mark.parametrize("controller", ["reno", "vegas", "cubic"])
def test_packets_are_estimated_within_a_half(flows, controller):
    scenario = tc.Scenario(NET, [tc.Flow(controller)] * flows, duration=30)
    sent = float(tc.simulate(scenario).data["sent"].sum())
    assert tc.estimate(scenario).packets == pytest.approx(sent, rel=0.5)


def test_a_buffer_in_bytes_is_estimated_as_one_in_packets():
    for scenario in (one(tc.dumbbell("10 Mbps", "20 ms", room)) for room in (50, 500)):
        (flow,) = scenario.flows
        links = [
            link.replace(buffer=link.buffer * flow.packet_size, buffer_unit="bytes")
            for link in scenario.net.links
        ]
        in_bytes = scenario.replace(net=scenario.net.replace(links=links))
        assert tc.estimate(in_bytes).memory == tc.estimate(scenario).memory


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_memory_is_estimated_within_a_factor_of_two():
    """Of what one process takes beyond a small run, for the record of many flows. (`getrusage`
    would tell the peak of the process that this one was forked from, if that is larger.)"""
    script = """
        import psutil
        from pathlib import Path
        import tcpcc as tc
        net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
        def peak():
            lines = Path("/proc/self/status").read_text().splitlines()
            return 1024 * next(int(line.split()[1]) for line in lines if "VmHWM" in line)
        tc.simulate(tc.Scenario(net, [tc.Flow("reno")], duration=1))
        before = psutil.Process().memory_info().rss
        scenario = tc.Scenario(net, [tc.Flow("reno", size=2)] * 3000, duration=1)
        run = tc.simulate(scenario)
        print((peak() - before) / tc.estimate(scenario).memory)
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert 0.5 < float(found.stdout) < 2


# Ctrl-C


@pytest.mark.parametrize("trains", [None, 16])
def test_ctrl_c_ends_a_run_within_half_a_million_events(monkeypatch, trains):
    """Some tenths of a second."""
    pauses, go_on = [0], packet_world.PacketWorld.release

    def pause(self):
        pauses.append(int(self.w["events"][0]))
        if pauses[-1] > 1e6:
            raise KeyboardInterrupt
        return go_on(self)

    monkeypatch.setattr(packet_world.PacketWorld, "release", pause)
    with pytest.raises(KeyboardInterrupt):
        tc.simulate(one(duration=3000 if trains is None else 30_000), trains=trains, force=True)
    assert max(np.diff(pauses)) <= 2**19


@pytest.mark.parametrize("trains", [None, 16])
def test_pauses_change_no_bit(trains, monkeypatch):
    scenario = tc.Scenario(NET, [tc.Flow("reno"), tc.Flow("vegas", start=1)], duration=10)
    whole = tc.simulate(scenario, trains=trains)
    monkeypatch.setattr(compiled_driver, "EVENTS_AT_ONCE", 97)
    assert tc.simulate(scenario, trains=trains).identical(whole)


# Files


def test_a_flipped_byte_of_a_saved_run_is_noticed(tmp_path):
    place = tmp_path / "run.nc"
    factories.run(events=factories.events()).save(place)
    whole = bytearray(place.read_bytes())
    rng = random.Random(1)
    for at in [0, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(60))]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.randrange(8)
        place.write_bytes(damaged)
        with pytest.raises(tc.TcpccError, match=r"run\.nc: not a saved run, or damaged") as error:
            tc.Run.load(place)
        assert "\n" not in str(error.value)


def test_what_a_killed_process_left_is_removed(tmp_path):
    script = f"""
        import sys, time
        from tcpcc.files import whole_file
        with whole_file({str(tmp_path / "run.nc")!r}) as part:
            part.write_text("half")
            print("writing", flush=True)
            time.sleep(60)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "writing\n"
    files.clean(tmp_path)  # nothing of a process that lives
    assert len(list(tmp_path.iterdir())) == 1
    child.kill()
    child.communicate()
    files._cleaned.discard(tmp_path.resolve())
    factories.run().save(tmp_path / "other.nc")
    assert [p.name for p in tmp_path.iterdir()] == ["other.nc"]


# A run that is not over


def test_a_result_half_way_is_about_the_time_simulated():
    scenario = one(duration=100, flow=tc.CBR("5 Mbps"))
    sim = tc.PacketSimulation(scenario)
    sim.env.run(until=50)
    half = sim.result()
    assert half.duration == 50
    assert float(half.data["time"][-1]) == 50
    assert half.utilization() == pytest.approx(0.5, rel=0.01)
    assert float(half.throughput()[0]) == pytest.approx(5e6, rel=0.01)
    whole = tc.simulate(scenario)
    np.testing.assert_array_equal(half.data["delivered"], whole.data["delivered"][:500])


def test_a_result_before_the_first_bin_is_refused():
    sim = tc.PacketSimulation(one(duration=100))
    sim.env.run(until=0.05)
    with pytest.raises(tc.ScenarioError, match=r"result at t = 0\.05 s: the first bin .* 0\.1 s"):
        sim.result()


# Words


def test_a_file_name_is_no_scenario():
    with pytest.raises(tc.ScenarioError, match=r"scenario = 'x\.toml': .*tc\.Scenario\.load"):
        tc.simulate("x.toml")


def test_a_byte_order_mark_is_passed_over(tmp_path):
    scenario = one()
    (tmp_path / "x.toml").write_bytes(b"\xef\xbb\xbf" + scenario.to_toml().encode())
    assert tc.Scenario.load(tmp_path / "x.toml") == scenario
    assert tc.Scenario.from_toml("\ufeff" + scenario.to_toml()) == scenario


def test_the_analysis_refuses_a_queue_without_a_rule_for_amounts():
    def arrival(s, p, q):
        q.drop = 0.0

    tc.register(tc.Discipline("packets_only", "", on_arrival=arrival))
    net = tc.dumbbell("10 Mbps", "20 ms", 50, queue="packets_only")
    with pytest.raises(tc.ScenarioError, match=r"'packets_only' has no on_fluid"):
        tc.analysis.equilibrium(tc.Scenario(net, [tc.Flow("reno")], duration=1))
