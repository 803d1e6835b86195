"""The record of a run: what it answers, how it looks, and its way to a file and back."""

import csv
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import factories
import numpy as np
import pytest
import xarray as xr

from tcpcc.controllers import Controller
from tcpcc.errors import ScenarioError, TcpccError
from tcpcc.models import simulate
from tcpcc.queues import RED
from tcpcc.results import Run, convergence, metrics
from tcpcc.results.comparison_table import side_by_side
from tcpcc.results.recording import VARIABLES
from tcpcc.scenario import CBR, Change, Flow, Link, Network, Scenario
from tcpcc.scenario.topologies import chain, dumbbell


@pytest.fixture(scope="module")
def run():
    return factories.run()


def by_hand(run, name, column, after, before):
    """Sum of a series over the bins that end in (after, before], one bin at a time."""
    total = 0.0
    for end, value in zip(run.data["time"].values, run.data[name].values[:, column], strict=True):
        if after < round(end, 9) <= before:
            total += value
    return total


# The record


def test_every_variable_is_there_with_its_meaning_and_unit(run):
    assert set(run.data.data_vars) == set(VARIABLES)
    for name, (dims, units, long_name) in VARIABLES.items():
        assert run.data[name].dims == dims
        assert run.data[name].attrs["long_name"] == long_name
        assert run.data[name].attrs.get("units", "") == units
    assert run.data["time"].attrs == {"long_name": "end of the bin", "units": "s"}


def test_the_record_says_where_it_comes_from(run):
    attrs = run.data.attrs
    case = factories.scenario()
    assert (attrs["model"], attrs["driver"]) == ("packet", "compiled")
    assert (attrs["duration"], attrs["interval"], attrs["seed"]) == (10, 0.1, 1)
    assert attrs["digest"] == case.digest
    assert run.scenario == case
    assert run.flows == ["vegas1", "reno2", "cbr3"]
    assert run.links == ["bottleneck"]


@pytest.mark.parametrize("model", ["packet", "fluid"])
def test_a_run_of_a_controller_that_is_not_registered_knows_its_scenario(model):
    """Not its copy in another process, which may not have the rules."""
    mine = Controller("mine", "fixed window", no_growth, recovery="newreno")
    scenario = Scenario(dumbbell("10 Mbps", "20 ms", 50), [Flow(mine, size=50)], duration=5)
    run = simulate(scenario, model)
    assert run.scenario is scenario
    assert run.fct()["fct_s"][0] < 5
    with pytest.raises(ScenarioError, match="unknown controller 'mine'"):
        _ = pickle.loads(pickle.dumps(run)).scenario


def no_growth(s, p, a):
    s.cwnd = 10.0


def test_facts_of_flows_and_links():
    net = dumbbell("10 Mbps", "20 ms", "64 kB", access_rate="100 Mbps", access_delay="1 ms")
    flows = [
        Flow("vegas", packet_size=1500, header=40, start=1, stop=5),
        CBR("1 Mbps", on=[(2, 3), (4, 6)]),
    ]
    data = factories.run(factories.scenario(flows, net=net)).data
    assert data["controller"].values.tolist() == ["vegas", "cbr"]
    assert data["payload"].values.tolist() == [1460, 1000]
    assert data["packet_size"].values.tolist() == [1500, 1000]
    assert data["start"].values.tolist() == [1, 2]
    assert data["stop"].values.tolist() == [5, 6]
    # 2 x (20 + 1 + 1) ms; 12000 bits at 10 and twice at 100 Mb/s; 320 bits on the same way back.
    assert float(data["base_rtt"][0]) == pytest.approx(0.044 + 0.00144 + 0.0000384)
    assert math.isnan(data["base_rtt"][1])
    assert (float(data["rate"][0]), float(data["delay"][0])) == (10e6, 0.02)
    assert (float(data["buffer"][0]), str(data["buffer_unit"].values[0])) == (64000, "bytes")


def test_which_flows_cross_which_links():
    net = chain(3, "10 Mbps", "5 ms", 20)
    flows = [Flow("reno"), Flow("reno", source="r1", target="r2")]
    crosses = factories.run(factories.scenario(flows, net=net)).data["crosses"]
    assert crosses.values.tolist() == [[True, True, True], [False, True, False]]
    assert crosses["link"].values.tolist() == ["r0>r1", "r1>r2", "r2>r3"]


def test_an_array_of_the_wrong_shape_is_named():
    case = factories.scenario()
    given_arrays = factories.arrays(case) | {"rtt": np.zeros((100, 2))}
    with pytest.raises(ValueError, match=r"rtt has shape \(100, 2\): must be \(100, 3\)"):
        factories.record(case, given_arrays)


def test_a_record_keeps_no_memory_of_the_engine():
    case = factories.scenario()
    block = np.zeros((3, 100), [("cwnd", float), ("rest", float, 1000)])
    run = factories.run(case, cwnd=block["cwnd"].T)
    assert not np.shares_memory(run.data["cwnd"].values, block)


def test_capacity_follows_the_changes_of_a_rate():
    changes = [
        Change(2.05, "bottleneck", rate="20 Mbps"),
        Change(6, "bottleneck", rate="5 Mbps"),
        Change(7, "bottleneck", delay="1 ms"),
    ]
    capacity = factories.run(factories.scenario(changes=changes)).data["capacity"].values[:, 0]
    assert capacity[0] == pytest.approx(1e6)
    assert capacity[20] == pytest.approx(0.05 * 10e6 + 0.05 * 20e6)
    assert capacity[40] == pytest.approx(2e6)
    assert capacity[80] == pytest.approx(0.5e6)
    assert capacity.sum() == pytest.approx(2.05 * 10e6 + 3.95 * 20e6 + 4 * 5e6)


# Rates


@pytest.mark.parametrize("window", [(0, 10), (2, 5), (0.3, 0.7), (9.9, 10), (1.1, 4.4)])
def test_throughput_of_a_window(run, window):
    seconds = window[1] - window[0]
    for column, name in enumerate(run.flows):
        packets = by_hand(run, "delivered", column, *window)
        found = run.throughput(*window).sel(flow=name)
        assert float(found) == pytest.approx(packets * 8000 / seconds)


def test_a_window_between_bin_edges_is_divided_by_what_its_bins_cover(run):
    assert run.throughput(2.04, 5.06).values == pytest.approx(run.throughput(2, 5).values)


@pytest.mark.parametrize("window", [(5, 5), (6, 5), (10, None), (2.01, 2.09)])
def test_an_empty_window_is_an_error_of_one_line(run, window):
    with pytest.raises(ScenarioError, match=r"window \(.*\] s: contains no bin") as caught:
        run.throughput(*window)
    assert "\n" not in str(caught.value)


def test_the_last_bin_may_be_shorter():
    case = factories.scenario()
    times = np.append(0.11 * np.arange(1, 91), 10.0)
    given_arrays = {
        k: v[:91] if len(v) == 100 else v for k, v in factories.arrays(case).items()
    } | {"time": times}
    run = Run(factories.record(case, given_arrays))
    packets = given_arrays["delivered"][-1]
    assert run.throughput(9.9).values == pytest.approx(packets * 8000 / 0.1)
    assert run.data["capacity"].values[-1, 0] == pytest.approx(1e6)


def test_goodput_leaves_headers_out():
    run = factories.run(factories.scenario([Flow("reno", packet_size=1040, header=40)]))
    assert run.goodput().values * 1.04 == pytest.approx(run.throughput().values)


def test_throughput_by_packets_sent(run):
    first_sent = by_hand(run, "sent", 1, 0, 10) - by_hand(run, "retransmitted", 1, 0, 10)
    assert float(run.throughput(count="sent")[1]) == pytest.approx(first_sent * 800)
    with pytest.raises(ScenarioError, match="unknown count 'send': did you mean 'sent'"):
        run.throughput(count="send")


def test_throughput_series(run):
    fine = run.throughput_series()
    assert fine.shape == (100, 3)
    assert fine.values[7, 1] == pytest.approx(run.throughput(0.7, 0.8).values[1])
    coarse = run.throughput_series(0.3)
    assert coarse.sizes["time"] == 34
    assert coarse.values[2] == pytest.approx(run.throughput(0.6, 0.9).values)
    assert coarse.values[-1] == pytest.approx(run.throughput(9.9).values)


def test_utilization(run):
    expected = by_hand(run, "sent_bits", 0, 2, 5) / (10e6 * 3)
    assert run.utilization(after=2, before=5) == pytest.approx(expected)
    assert run.utilization("bottleneck", 2, 5) == run.utilization(after=2, before=5)
    with pytest.raises(ScenarioError, match="unknown recorded link 'botleneck': did you mean"):
        run.utilization("botleneck")


def test_utilization_by_payload_counts_the_flows_of_that_link():
    net = chain(2, "10 Mbps", "5 ms", 20)
    flows = [Flow("reno", header=40), Flow("reno", source="r1", target="r2", header=500)]
    run = factories.run(factories.scenario(flows, net=net))
    long, short = (by_hand(run, "delivered", i, 0, 10) for i in (0, 1))
    assert run.utilization("r0>r1", payload=True) == pytest.approx(long * 960 * 8 / 1e8)
    both = (long * 960 + short * 500) * 8 / 1e8
    assert run.utilization("r1>r2", payload=True) == pytest.approx(both)


def test_utilization_of_a_link_of_infinite_rate_is_not_a_number():
    links = [
        Link("a", "b", rate=math.inf, delay=0.01, record=True),
        Link("b", "a", rate=math.inf, delay=0),
    ]
    net = Network(links, default_path=("a", "b"))
    assert math.isnan(factories.run(factories.scenario([Flow("reno")], net=net)).utilization())


def test_no_recorded_link_is_said():
    links = [Link("a", "b", rate=1e6, delay=0.01), Link("b", "a", rate=1e6, delay=0)]
    net = Network(links, default_path=("a", "b"))
    run = factories.run(factories.scenario([Flow("reno")], net=net))
    assert run.links == []
    assert "1 reno" in repr(run)
    assert len(run.link_summary()) == 0
    with pytest.raises(ScenarioError, match="no link was recorded: give one a finite buffer"):
        run.utilization()


# Fairness and selection


def test_jain_index_of_flows_with_a_controller(run):
    x = run.throughput(2, 9).values[:2]
    assert run.jain_index(2, 9) == pytest.approx(x.sum() ** 2 / (2 * (x[0] ** 2 + x[1] ** 2)))
    everyone = run.throughput(2, 9).values
    expected = everyone.sum() ** 2 / (3 * (everyone**2).sum())
    assert run.jain_index(2, 9, flows=run.flows) == pytest.approx(expected)


def test_active_flows_are_those_of_table_three_of_the_quick_vegas_paper():
    """60 flows start in groups of 20 at 0, 100, 200 s and stop 300 s later."""
    flows = [Flow("vegas", start=100.0 * g, stop=100.0 * g + 300) for g in (0, 1, 2)] * 20
    run = factories.run(factories.scenario(flows, duration=500, interval=5))
    counts = [len(run.active(after, after + 100)) for after in (0, 100, 200, 300, 400)]
    assert counts == [20, 40, 60, 40, 20]


def test_a_finished_flow_is_not_active():
    run = factories.run(finished=np.array([3.0, np.nan, np.nan]))
    assert run.active(3, 10) == ["reno2"]
    assert run.active(2.9, 10) == ["vegas1", "reno2"]
    with pytest.raises(ScenarioError, match=r"no flow is active in \(0, 0.5\] s"):
        factories.run(factories.scenario([CBR("1 Mbps")])).jain_index(0, 0.5)


def test_throughput_ratio_of_groups():
    run = factories.run(factories.scenario([Flow("vegas"), Flow("vegas"), Flow("reno")]))
    a, b, c = run.throughput(1, 4).values
    assert run.throughput_ratio("vegas", "reno", 1, 4) == pytest.approx((a + b) / 2 / c)
    assert run.throughput_ratio("vegas2", ["vegas1"], 1, 4) == pytest.approx(b / a)


MEASURES = {
    "goodput": {}, "busiest_link": {}, "queue_mean": {}, "queue_max": {}, "loss_rate": {},
    "active": {}, "summary": {}, "link_summary": {},
    "throughput": {"payload": True, "count": "sent"},
    "utilization": {"link": "bottleneck", "payload": True},
    "jain_index": {"flows": ["vegas1", "reno2"]},
    "throughput_ratio": {"a": "vegas", "b": "reno"},
    "queue_stats": {"link": "bottleneck"},
    "queue_quantile": {"q": 0.3, "link": "bottleneck"},
    "drop_rate": {"link": "bottleneck"},
}  # fmt: skip


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_of_a_run_is_that_of_its_window(run, name):
    def of_window(window):
        if name in ("queue_mean", "queue_max"):
            return getattr(window.queue_stats(), name.removeprefix("queue_"))
        return getattr(window, name)(**MEASURES[name])

    def text(measured):
        return measured.to_csv() if name.endswith("summary") else str(measured)

    measured = getattr(run, name)(after=2, before=5, **MEASURES[name])
    assert text(measured) == text(of_window(run.window(2, 5)))
    if name not in ("active", "busiest_link"):
        assert text(measured) != text(of_window(run.window()))


@pytest.fixture(scope="module")
def sums():
    """A fluid run: one row for each of the foreground flows, 100 rows for 250 background flows."""
    flows = [
        Flow("newreno", name="few", count=5),
        Flow("newreno", name="many", count=250, background=True, access_delay=0.02),
    ]
    return simulate(Scenario(dumbbell("100 Mbps", "10 ms", 300), flows, duration=12), model="fluid")


def one_by_one(run, values):
    """A value for each flow that a row stands for."""
    return np.repeat(np.asarray(values), run.data["count"].values)


def test_a_row_says_how_many_flows_it_stands_for(sums):
    counts = sums.data["count"].sel(flow=sums.select("newreno")).values
    assert (counts[:5] == 1).all()
    assert set(counts[5:]) == {2, 3}
    assert counts.sum() == 255
    assert "255 newreno" in repr(sums)
    assert len(sums.flows) == 105


def test_fairness_counts_flows_and_not_rows(sums):
    """Throughput is the row's sum; indices compare its flows, which have equal rates."""
    rates = sums.throughput(after=1).values
    each = one_by_one(sums, rates / sums.data["count"].values)
    assert each.sum() == pytest.approx(rates.sum())
    assert sums.jain_index(after=1) == pytest.approx(metrics.jain_index(each), rel=1e-12)
    few, many = (sums.select([n for n in sums.flows if n.startswith(k)]) for k in ("few", "many"))
    expected = metrics.throughput_ratio(each[:5], each[5:])
    assert sums.throughput_ratio(few, many, after=1) == pytest.approx(expected, rel=1e-12)
    assert abs(metrics.jain_index(rates) - metrics.jain_index(each)) > 1e-6


def test_times_of_convergence_count_flows_and_not_rows(sums):
    width = sums.averaging_time(after=0.5)
    amounts = (sums.data["delivered"] * sums.data["packet_size"] * 8).values
    each = np.repeat(amounts / sums.data["count"].values, sums.data["count"].values, axis=1)
    times = sums.data["time"].values
    shared = {"event": 0.5, "width": width, "end": float(times[-1])}
    for level in (0.7, 0.8, 0.9):
        expected = convergence.fair_time(times, each, level=level, **shared)
        assert sums.fair_time(0.5, level=level) == pytest.approx(expected, nan_ok=True)
    for delta in (0.8, 0.9, 1.0):
        expected = convergence.delta_fair_time(times, each, delta=delta, **shared)
        assert sums.delta_fair_time(0.5, delta=delta) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("model", ["fluid", "hybrid"])
def test_totals_and_completion_times_count_flows_and_not_rows(model):
    """Flow "few" is not recorded."""
    flows = [
        Flow("newreno", name="many", count=250, size=20, background=True, jitter=1),
        Flow("reno", name="few", count=3, size=10, record=False),
    ]
    run = simulate(Scenario(dumbbell("50 Mbps", "20 ms", 500), flows, duration=5), model=model)
    totals = run.totals()
    few = totals.index.str.startswith("few")
    assert totals["count"][few].tolist() == [1, 1, 1]
    assert set(totals["count"][~few]) == {2, 3}
    assert totals["count"].sum() == 253
    times = run.fct()
    assert times["flow"].str.startswith("few").sum() == 3
    assert (times["size"] == np.where(times["flow"].str.startswith("few"), 10, 20)).all()
    assert times.groupby("flow").size().to_dict() == totals["count"].to_dict()
    assert (times["slowdown"] > 0.9).all()


def test_the_mean_rtt_of_runs_side_by_side_counts_flows(sums):
    rtts = sums.summary(after=1)["rtt_mean_ms"]
    expected = one_by_one(sums, rtts).mean()
    table = side_by_side({"fluid": sums}, after=1)
    assert table.loc["mean RTT (ms)", "fluid"] == pytest.approx(expected, rel=1e-12)
    assert abs(rtts.mean() / expected - 1) > 1e-3


def test_selection(run):
    assert run.select(None) == run.flows
    assert run.select("reno") == ["reno2"]
    assert run.select(["cbr", "cbr3", "vegas1"]) == ["cbr3", "vegas1"]
    with pytest.raises(ScenarioError, match="unknown flow 'vegsa1': did you mean 'vegas1'"):
        run.select("vegsa1")
    for what in (Flow("vegas"), 0):  # a user's first guesses
        for measure in (run.select, run.states):
            with pytest.raises(ScenarioError, match="unknown flow"):
                measure(what)


# Queues and losses


def test_queue_statistics(run):
    inside = run.data["queue"].values[20:50, 0]
    assert run.queue().values == pytest.approx(run.data["queue"].values[:, 0])
    assert run.queue_mean(2, 5) == pytest.approx(inside.mean())
    assert run.queue_max(2, 5) == run.data["queue_max"].values[20:50, 0].max()
    assert run.queue_quantile(0.5, 2, 5) == np.sort(inside)[14]
    assert run.queue_stats(2, 5).p95 == np.sort(inside)[28]


def test_losses(run):
    for column, name in enumerate(run.flows):
        dropped, sent = (by_hand(run, v, column, 1, 6) for v in ("dropped", "sent"))
        assert float(run.loss_rate(1, 6).sel(flow=name)) == pytest.approx(dropped / sent)
        again = float(run.retransmissions().sel(flow=name))
        assert again == by_hand(run, "retransmitted", column, 0, 10)
    drops, arrived = (by_hand(run, v, 0, 1, 6) for v in ("drops", "arrived"))
    assert run.drop_rate(after=1, before=6) == pytest.approx(drops / arrived)
    assert run.timeouts().values.tolist() == run.data["timeouts"].values.tolist()


def test_loss_rate_of_a_silent_flow_is_not_a_number():
    run = factories.run(sent=np.zeros((100, 3)))
    assert np.isnan(run.loss_rate().values).all()


# Transients


@pytest.fixture
def ramp():
    """Climbs by 10 packets a second from 1 s on to 50 at 6 s, and falls to 20 from 7 to 8.5 s."""
    at = 0.1 * np.arange(1, 101)
    window = np.where(at < 7, np.clip(10 * (at - 1), 0, 50), np.clip(50 - 20 * (at - 7), 20, 50))
    return factories.run(cwnd=np.stack([window] * 3, axis=1))


def test_convergence_time_from_an_event(ramp):
    up = ramp.convergence_time("reno2", before=7)  # from the flow's start at 1 s
    assert 4.85 - 1e-9 <= up <= 4.95 + 1e-9
    down = ramp.convergence_time("reno2", 7)
    assert 1.425 <= down <= 1.525
    base_rtt = float(ramp.data["base_rtt"].sel(flow="reno2"))
    assert ramp.convergence_time("reno2", 7, in_base_rtt=True) == pytest.approx(down / base_rtt)


def test_convergence_time_takes_the_band(ramp):
    assert ramp.convergence_time("reno2", 7, band=10) < ramp.convergence_time("reno2", 7, band=1)
    with pytest.raises(ScenarioError, match="unknown flow 'reno'"):
        ramp.convergence_time("reno", 7)


# Tables and display


def test_summary(run):
    table = run.summary(2, 5)
    assert list(table.index) == run.flows
    assert table["throughput_mbps"].to_numpy() == pytest.approx(run.throughput(2, 5).values / 1e6)
    assert table["share"].sum() == pytest.approx(1)
    assert table.loc["reno2", "sent"] == by_hand(run, "sent", 1, 2, 5)
    assert table.loc["vegas1", "cwnd_mean"] == pytest.approx(
        run.data["cwnd"].values[20:50, 0].mean()
    )


def test_summary_of_a_flow_without_samples():
    run = factories.run(rtt=np.full((100, 3), np.nan))
    assert run.summary()["rtt_mean_ms"].isna().all()


def test_link_summary(run):
    row = run.link_summary(1, 6).loc["bottleneck"]
    assert row["rate_mbps"] == 10
    assert row["utilization"] == run.utilization(after=1, before=6)
    assert row["queue_max"] == run.queue_max(1, 6)


def test_dataframe_is_tidy(run):
    table = run.to_dataframe()
    assert len(table) == 100 * 3
    assert list(table.columns[:2]) == ["time", "flow"]
    row = table[(table["flow"] == "reno2") & np.isclose(table["time"], 4.2)].iloc[0]
    assert row["cwnd"] == run.data["cwnd"].values[41, 1]
    links = run.to_dataframe("link")
    assert len(links) == 100
    assert {"time", "link", "queue", "drops"} <= set(links.columns)


@pytest.mark.parametrize("of", ["flow", "link"])
def test_csv_reads_back_unchanged(run, tmp_path, of):
    run.to_csv(tmp_path / "run.csv", of)
    with open(tmp_path / "run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    table = run.to_dataframe(of)
    assert len(rows) == len(table)
    for row, (_, wanted) in zip(rows, table.iterrows(), strict=True):
        assert row.pop(of) == wanted.pop(of)
        assert {k: float(v) for k, v in row.items()} == wanted.to_dict()


def test_repr_is_one_line(run):
    assert repr(run).startswith("<Run: packet model, 1 vegas, 1 reno, 1 cbr, 10 s, seed 1, ")
    assert "\n" not in repr(run)


# Files


def test_saving_and_loading_is_exact(tmp_path):
    run = factories.run(events=factories.events())
    run.data["cwnd"].values[3, 0] = np.nan
    run.data["ssthresh"].values[5, 1] = np.inf
    run.save(tmp_path / "run.nc")
    again = Run.load(tmp_path / "run.nc")
    xr.testing.assert_identical(again.data, run.data)
    assert {k: type(v) for k, v in again.data.attrs.items()} == {
        k: type(v) for k, v in run.data.attrs.items()
    }
    for name in run.data.variables:
        assert again.data[name].dtype == run.data[name].dtype
    assert again.events.dtype == run.events.dtype
    assert again.events.tobytes() == run.events.tobytes()
    assert again.identical(run)
    assert again.scenario == run.scenario


def test_what_queues_record_survives_a_file_and_is_in_the_tables(tmp_path):
    """With RED at the bottleneck its average is a variable like the others."""
    average = np.random.default_rng(2).uniform(0, 9, (100, 1))
    average[:7] = np.nan
    case = factories.scenario(net=dumbbell("10 Mbps", "20 ms", 50, queue=RED()))
    run = factories.run(case, states={"avg": average})
    assert set(run.data.data_vars) == {*VARIABLES, "queue_avg"}
    assert run.data["queue_avg"].dims == ("time", "link")
    assert run.data["queue_avg"].attrs == {"units": "packets", "long_name": "average queue"}
    run.save(tmp_path / "run.nc")
    again = Run.load(tmp_path / "run.nc")
    assert again.identical(run)
    assert again.data["queue_avg"].values.tobytes() == average.tobytes()
    assert run.to_dataframe("link")["queue_avg"].values == pytest.approx(average[:, 0], nan_ok=True)
    with pytest.raises(ValueError, match=r"queue_avg has shape \(99, 1\): must be \(100, 1\)"):
        factories.run(case, states={"avg": average[1:]})


def test_every_float_survives_a_file(tmp_path):
    """Any 64 bits: NaN with a payload and subnormals too."""
    bits = np.random.default_rng(1).integers(0, 2**64, 300, dtype=np.uint64)
    bits[:6] = 0, 1, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, (0x7FF8 << 48) + 1
    run = factories.run(cwnd=bits.view(float).reshape(100, 3))
    run.save(tmp_path / "run.nc")
    assert Run.load(tmp_path / "run.nc").data["cwnd"].values.tobytes() == bits.tobytes()


def test_an_empty_trace_and_no_recorded_link_survive(tmp_path):
    links = [Link("a", "b", rate=1e6, delay=0.01), Link("b", "a", rate=1e6, delay=0)]
    case = factories.scenario([Flow("reno", name="é")], net=Network(links, None, ("a", "b")))
    run = factories.run(case, events=factories.events(0))
    run.save(tmp_path / "run.nc")
    assert Run.load(tmp_path / "run.nc").identical(run)


def test_a_long_scenario_fits_in_a_file(tmp_path):
    """HDF5 keeps small attributes in a header of 64 KiB; 2000 flows are more than that."""
    flows = [Flow("vegas", name=f"flow-{k:060d}") for k in range(2000)]
    run = factories.run(factories.scenario(flows, duration=1, interval=0.5))
    assert len(run.data.attrs["scenario"]) > 100_000
    run.save(tmp_path / "run.nc")
    assert Run.load(tmp_path / "run.nc").identical(run)


def test_other_tools_can_read_the_file(run, tmp_path):
    run.save(tmp_path / "run.nc")
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as plain:
        assert plain["rtt"].dtype == float
        assert plain["rtt"].attrs["units"] == "s"
        assert plain["time"].values == pytest.approx(run.data["time"].values)


@pytest.mark.parametrize("existing", [False, True])
def test_an_interrupted_save_leaves_nothing_new(run, tmp_path, monkeypatch, existing):
    """Ctrl-C when the data are written and the file has not got its name yet."""
    place = tmp_path / "run.nc"
    if existing:
        factories.run(seed=9).save(place)
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}

    def interrupted(part, target):
        assert os.path.getsize(part) > 1000
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    for write in (run.save, run.to_csv):
        with pytest.raises(KeyboardInterrupt):
            write(place)
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_killed_save_leaves_no_file_that_looks_whole(tmp_path):
    """SIGKILL at whatever moment: the old run is there, whole, and nothing else ends in .nc."""
    script = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {os.path.dirname(factories.__file__)!r})
        import factories
        case = factories.scenario(duration=2000, interval=0.05)
        runs = [factories.run(case, seed) for seed in (1, 2)]
        runs[0].save("run.nc")
        print("saved", flush=True)
        while True:
            for run in runs:
                run.save("run.nc")
        """
    )
    for delay in (0.05, 0.12):
        child = subprocess.Popen(
            [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout.readline() == "saved\n"
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert [p.name for p in tmp_path.glob("*.nc")] == ["run.nc"]
        assert len(Run.load(tmp_path / "run.nc").data["time"]) == 40_000


def test_files_that_are_no_runs_are_refused_in_one_line(run, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.*: no such file"):
        Run.load(tmp_path / "none.nc")
    with pytest.raises(FileNotFoundError, match="nowhere: no such directory"):
        run.save(tmp_path / "nowhere" / "run.nc")
    (tmp_path / "text.nc").write_text("not a run")
    xr.Dataset({"x": 1}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    run.save(tmp_path / "run.nc")
    whole = (tmp_path / "run.nc").read_bytes()
    (tmp_path / "half.nc").write_bytes(whole[: len(whole) // 2])
    for name in ("text", "other", "half"):
        with pytest.raises(TcpccError, match=f"{name}.nc: not a saved run") as caught:
            Run.load(tmp_path / f"{name}.nc")
        assert "\n" not in str(caught.value)


def test_saving_over_a_run_that_was_loaded(tmp_path):
    """Loading holds no file open, so the same name can be written again."""
    factories.run(seed=1).save(tmp_path / "run.nc")
    first = Run.load(tmp_path / "run.nc")
    factories.run(seed=2).save(tmp_path / "run.nc")
    assert not Run.load(tmp_path / "run.nc").identical(first)


# Comparison


def test_identical_looks_at_everything_but_the_driver():
    run = factories.run(events=factories.events())
    same = factories.run(events=factories.events(), driver="simpy", cpu_seconds=3.0)
    assert run.identical(same)
    assert not run.identical(factories.run(events=factories.events(seed=1)))
    assert not run.identical(factories.run())
    assert not run.identical(factories.run(seed=1, events=factories.events()))
    assert not run.identical(factories.run(model="fluid", events=factories.events()))


def test_a_question_about_one_of_several_links_asks_which():
    net = chain(3, "10 Mbps", "5 ms", 20)
    given_arrays = factories.arrays(factories.scenario(net=net))
    bits = given_arrays["sent_bits"] * [0.5, 0.9, 0.7]
    run = factories.run(factories.scenario(net=net), sent_bits=bits)
    assert run.busiest_link() == "r1>r2"
    for ask in (run.utilization, run.queue, run.queue_mean, run.drop_rate):
        with pytest.raises(ScenarioError, match=r"3 links are recorded: name one.*'r1>r2'"):
            ask()
    assert "r1>r2" in repr(run)
    assert [ax.get_ylabel() for ax in run.plot().axes][1] == "Queue at r0>r1\n(packets)"
    assert run.compare(run, names="ab").axes[2].get_ylabel() == "Queue at r0>r1\n(packets)"
    assert run.utilization("r1>r2") == max(run.utilization(link) for link in run.links)
