"""What a run keeps: flows chosen, the others as sums; delays of packets."""

import numpy as np
import pytest

import tcpcc as tc

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
    load = [tc.web("reno", rate=5)]
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


@pytest.mark.parametrize("model", ["fluid", "meanfield"])
def test_models_with_fluid_record_the_same_choice(model):
    whole, some = (
        tc.simulate(scenario(tc.Flow("cubic", name="shown"), tc.Flow("reno", record=r)), model)
        for r in (True, False)
    )
    assert some.flows == ["shown"]
    np.testing.assert_array_equal(some.data["cwnd"], whole.data["cwnd"].sel(flow=["shown"]))
    assert some.totals().equals(whole.totals())


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
