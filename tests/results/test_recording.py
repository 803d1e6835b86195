"""What a run keeps: flows chosen, the others as sums; delays of packets."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from every_model import BESIDE_PACKETS, WAYS, simulate_in
from new_process import python

import tcpcc as tc
from tcpcc.models.packet import read_out

NET = tc.dumbbell("5 Mbps", "20 ms", 20, access_rate="50 Mbps")


def scenario(*flows, **settings):
    return tc.Scenario(NET, flows, **{"duration": 8} | settings)


def flows(record):
    return [
        tc.Flow("reno", size=300, record=record),
        tc.Flow("cubic", name="shown"),
        tc.Flow("vegas", count=3, jitter=1, record=record),
    ]


def both(**settings):
    load = [tc.workloads.web("reno", rate=5)]
    return [scenario(*flows(record), workloads=load, **settings) for record in (True, False)]


def test_what_is_not_recorded_changes_nothing_else():
    whole, some = (tc.simulate(case, trace=True) for case in both())
    assert whole.flows == ["reno1", "shown", "vegas3.1", "vegas3.2", "vegas3.3", "workload1"]
    assert some.flows == ["shown", "workload1"]
    for name, series in some.data.data_vars.items():
        if "each" not in series.dims:
            at = whole.data[name]
            at = at.sel(flow=some.flows) if "flow" in at.dims else at
            if name != "item_flow":
                np.testing.assert_array_equal(series, at, name)
    one, other = (run.trace(["shown", "workload1"]) for run in (whole, some))
    for name in other.columns.drop("flow"):  # Vegas' own are not among them
        assert one[name].equals(other[name]), name
    assert list(one.flow) == list(other.flow)
    assert whole.fct().equals(some.fct())


def test_totals_are_those_of_everyone():
    whole, some = (tc.simulate(case) for case in both())
    all_of_it, kept = whole.totals(), some.totals()
    assert list(kept.index) == whole.flows == list(all_of_it.index)
    assert kept.loc[some.flows].equals(all_of_it.loc[some.flows])
    delivered = ["delivered", "throughput_mbps"]
    assert kept.drop(columns=delivered).equals(all_of_it.drop(columns=delivered))
    behind = all_of_it["delivered"] - kept["delivered"]  # on their way to be acknowledged
    assert (behind >= 0).all()
    assert (behind <= whole.data["cwnd"].isel(time=-1).fillna(0).to_numpy() + 1).all()
    assert kept["delivered"]["reno1"] == 300


@BESIDE_PACKETS
def test_every_model_records_the_same_choice(model):
    whole, some = (
        simulate_in(model, scenario(tc.Flow("cubic", name="shown"), tc.Flow("reno", record=r)))
        for r in (True, False)
    )
    assert some.flows == ["shown"]
    np.testing.assert_array_equal(some.data["cwnd"], whole.data["cwnd"].sel(flow=["shown"]))
    own = ["delivered", "throughput_mbps"]  # of a flow without a record: what is acknowledged
    assert some.totals().drop(columns=own).equals(whole.totals().drop(columns=own))


def test_both_drivers_and_files_keep_it(tmp_path):
    case = both()[1]
    run = tc.simulate(case, trace="shown")
    assert run.identical(tc.simulate(case, trace="shown", driver="simpy"))
    run.save(tmp_path / "run.nc")
    assert tc.Run.load(tmp_path / "run.nc").identical(run)
    assert tc.Scenario.from_toml(case.to_toml()) == case
    assert run.to_pcap(tmp_path / "run.pcapng") > 0


def test_a_run_may_record_no_flow():
    run = tc.simulate(scenario(tc.Flow("reno", count=5, record=False)))
    assert run.flows == []
    assert run.utilization() > 0.8
    assert run.totals()["delivered"].sum() > 3000
    assert run.summary().empty
    assert "<div>" in run._repr_html_()


def test_a_question_about_what_is_not_recorded_says_so():
    run = tc.simulate(scenario(tc.Flow("reno", record=False), tc.Flow("cubic")))
    for ask in (run.select, run.jain_index, run.convergence_time):
        with pytest.raises(tc.ScenarioError, match=r"flow 'reno1': is not recorded; run\.totals"):
            ask(**{"flows" if ask != run.convergence_time else "flow": "reno1"})
    with pytest.raises(tc.ScenarioError, match=r"trace = .reno1.: record = False"):
        tc.simulate(scenario(tc.Flow("reno", record=False)), trace="reno1")


def test_memory_hangs_on_what_is_recorded():
    most, least = (
        tc.estimate(scenario(tc.Flow("reno", count=10_000, record=record))).memory
        for record in (True, False)
    )
    assert most > 1.3e9
    assert least < most / 3


@BESIDE_PACKETS
def test_no_series_is_kept_of_what_is_not_recorded(model):
    flows = [tc.Flow("reno", record=k % 10 == 0, start=0.1 * k) for k in range(50)]
    case = scenario(*flows)
    assert simulate_in(model, case).data.sizes["flow"] == 5
    most = tc.estimate(scenario(*(f.replace(record=True) for f in flows)), **WAYS[model]).memory
    assert tc.estimate(case, **WAYS[model]).memory < most
    assert len(simulate_in(model, case).totals()) == 50


# Delays


def test_delays_of_packets_are_those_of_the_path_and_the_queue():
    net = tc.dumbbell("8 Mbps", "20 ms", 10)
    flow = tc.Flow("reno", transport={"initial_window": 4, "handshake": False})
    run = tc.simulate(tc.Scenario(net, [flow], duration=0.05), trace=True)
    found = run.delays()
    assert list(found["seq"]) == [0, 1, 2, 3]  # at once: each waits for those before it
    np.testing.assert_allclose(found["delay"], 0.02 + 0.001 * np.arange(1, 5))
    assert list(found["transmissions"]) == [1] * 4


def test_a_packet_that_was_lost_takes_as_long_as_its_repair():
    net = tc.dumbbell("5 Mbps", "20 ms", 20)
    run = tc.simulate(tc.Scenario(net, [tc.Flow("reno"), tc.CBR("1 Mbps")], duration=8), trace=True)
    found = run.delays("reno1")
    assert list(found["delivered"]) == sorted(found["delivered"])
    assert len(found) == run.data["delivered"].sel(flow="reno1").sum() + 1  # and the SYN
    trace = run.trace("reno1")
    dropped = set(trace[trace.event == "drop"].seq)
    again = found[found["transmissions"] > 1]
    assert dropped & set(found.seq) == set(again.seq)
    once = found[found["transmissions"] == 1]["delay"]
    assert once.max() < 0.02 + 22 * 0.0016 < again["delay"].min()
    assert set(run.delays()["flow"]) == {"reno1", "cbr2"}


def test_delays_need_a_trace():
    with pytest.raises(tc.ScenarioError, match="simulate with trace=True"):
        tc.simulate(scenario(tc.Flow("reno"))).delays()


def busy(**settings):
    """All that a record may hold: a queue's state, marks, items, sums, an outage, changes."""
    red = tc.queues.RED(min_thresh=5, max_thresh=15)
    net = tc.dumbbell("5 Mbps", "20 ms", 20, access_rate="50 Mbps", queue=red)
    marked = tc.Flow("reno", transport={"ecn": "classic"}, name="marked")
    return tc.Scenario(
        net,
        [*flows(False), marked, tc.CBR("200 kbps", on=[(1, 7)])],
        workloads=[tc.workloads.web("reno", rate=5)],
        changes=[
            *tc.changes.outage(net, "bottleneck", 2, 3),
            *tc.changes.rate_series("bottleneck", [3e6, 4e6], interval=0.73, start=4),
        ],
        **{"duration": 8.05} | settings,
    )


@pytest.mark.parametrize(
    ("driver", "part"),
    [
        ("compiled", 20_000),
        *(pytest.param(d, 2**25, marks=pytest.mark.long) for d in ("compiled", "simpy")),
        pytest.param("simpy", 20_000, marks=pytest.mark.long),
    ],
)
def test_a_streamed_run_is_the_same(driver, part, tmp_path, monkeypatch):
    monkeypatch.setattr(read_out, "PART", part)
    case = busy()
    whole = tc.simulate(case, driver=driver)
    run = tc.simulate(case, driver=driver, stream=tmp_path / "run.nc")
    assert {"queue_avg", "marks", "each_sent", "item_start"} <= set(run.data.variables)
    assert run.identical(whole)
    for one in (run, tc.Run.load(tmp_path / "run.nc", lazy=True)):
        assert not one.data["cwnd"].variable._in_memory
        pd.testing.assert_frame_equal(
            one.summary(after=2), whole.summary(after=2), check_exact=True
        )
        assert one.queue_stats(after=1) == whole.queue_stats(after=1)
        assert one.utilization(after=1.5) == whole.utilization(after=1.5)
        assert one.fct().equals(whole.fct())
        assert one.totals().equals(whole.totals())
        assert not one.data["cwnd"].variable._in_memory, "it was left in the file"
    assert tc.Run.load(tmp_path / "run.nc").identical(whole)
    run.save(tmp_path / "again.nc")
    assert tc.Run.load(tmp_path / "again.nc").identical(whole)
    assert {path.name for path in tmp_path.iterdir()} == {"run.nc", "again.nc"}


@pytest.mark.long
@pytest.mark.parametrize("part", [2**25, 2000])
def test_a_streamed_run_may_record_no_flow(part, tmp_path, monkeypatch):
    monkeypatch.setattr(read_out, "PART", part)
    case = scenario(tc.Flow("reno", record=False))
    assert tc.simulate(case, stream=tmp_path / "run.nc").identical(tc.simulate(case))


def test_a_streamed_run_that_is_interrupted_leaves_nothing(tmp_path):
    sim = tc.PacketSimulation(busy(), stream=tmp_path / "run.nc")

    def enough():
        yield sim.env.timeout(4)
        assert not list(tmp_path.iterdir()), "what is not complete has no name"
        raise KeyboardInterrupt

    sim.env.process(enough())
    with pytest.raises(KeyboardInterrupt):
        sim.run()
    assert not list(tmp_path.iterdir())
    half = sim.result()
    assert half.duration == pytest.approx(4, abs=0.01)
    assert half.identical(tc.Run.load(tmp_path / "run.nc"))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"trace": True}, "trace = True: events are kept"),
        ({"stream": 3}, "stream = 3: must be the name of a file"),
        ({"model": "fluid"}, "the fluid model has no such option"),
        ({"model": "hybrid"}, "the hybrid model has no such option"),
    ],
)
def test_what_cannot_be_streamed_is_refused_in_one_line(options, text, tmp_path):
    with pytest.raises(tc.ScenarioError, match=text):
        tc.simulate(scenario(tc.Flow("reno")), **{"stream": tmp_path / "run.nc"} | options)


def test_a_disk_without_room_is_refused_beforehand(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(tc.TcpccError, match="GiB of disk; "):
        tc.simulate(scenario(tc.Flow("reno")), stream=tmp_path / "run.nc")
    with pytest.raises(OSError, match="cannot be written"):
        tc.simulate(scenario(tc.Flow("reno")), stream=tmp_path / "nowhere" / "run.nc")
    assert not list(tmp_path.iterdir())


@BESIDE_PACKETS
def test_an_unrecorded_flow_that_ends_is_summed_up(model):
    """It is taken out of the run long before the last bin is written."""
    one, cubic = tc.Flow("reno", size=100), tc.Flow("cubic")
    vegas = tc.Flow("vegas", record=False)
    with_it, without = (
        simulate_in(model, scenario(cubic, vegas, one.replace(record=record))).totals()
        for record in (True, False)
    )
    assert without["sent"].iloc[2] == with_it["sent"].iloc[2] > 99
    assert without["finished_s"].iloc[2] < 4


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux what is used")
@pytest.mark.long
@pytest.mark.parametrize("streamed", [True, False])
def test_memory_of_a_streamed_run_is_flat_in_its_duration(streamed, tmp_path):
    """A run of 145 MB goes on where 75 MiB are left, which one in memory does not. Pages of files
    do not count: the system takes them back when it needs them."""
    code = """if True:
        import re, resource, sys
        from pathlib import Path
        import tcpcc as tc
        many = [tc.Flow("reno", count=50, size=1)]
        case = tc.Scenario(tc.dumbbell("1 Mbps", "20 ms", 20), many, duration=1, interval=2e-5)
        tc.simulate(case.replace(interval=2e-4), stream=sys.argv[1])
        used = re.search(r"VmData:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
        limit = 1024 * int(used) + 75 * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        tc.simulate(case, stream=sys.argv[1] if sys.argv[2] == "True" else None)
    """
    done = python("-c", code, tmp_path / "run.nc", streamed, ends=0 if streamed else 1)
    assert streamed or "MemoryError" in done.stderr or "GiB" in done.stderr


def hybrid(foreground, background):
    many = tc.Flow("reno", count=4, background=True, name="many", record=background)
    few = [tc.Flow("cubic", name="one", record=foreground), tc.Flow("vegas", name="two")]
    return scenario(few[0], many, few[1], workloads=[tc.workloads.web("reno", rate=5)], duration=6)


def test_a_hybrid_records_the_flows_chosen():
    whole = tc.simulate(hybrid(True, True), "hybrid", trace=True)
    assert whole.flows == ["one", "many.1", "many.2", "many.3", "many.4", "two", "workload1"]
    for foreground, background in ((True, False), (False, True), (False, False)):
        some = tc.simulate(hybrid(foreground, background), "hybrid", trace=True)
        kept = [
            x for x in whole.flows if (foreground or x != "one") and (background or "many" not in x)
        ]
        assert some.flows == kept
        for name in ("cwnd", "delivered", "timeouts", "base_rtt", "crosses"):
            np.testing.assert_array_equal(some.data[name], whole.data[name].sel(flow=kept), name)
        np.testing.assert_array_equal(some.data["queue"], whole.data["queue"])
        sums = some.totals()
        assert list(sums.index) == whole.flows
        shown = sums.loc[kept]
        assert shown.equals(whole.totals().loc[kept])
        assert (sums["delivered"] > 0).all()
        assert set(some.trace()["flow"].str.partition("#")[0]) == set(kept) - {
            x for x in kept if "many" in x
        }
        assert some.identical(
            tc.simulate(hybrid(foreground, background), "hybrid", driver="simpy", trace=True)
        )


def test_what_a_hybrids_workload_sends_is_its_own():
    run = tc.simulate(hybrid(True, True), "hybrid")
    assert set(run.fct()["flow"]) == {"workload1"}
    assert run.fct()["size"].sum() > 50
