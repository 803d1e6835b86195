"""Series of a controller's own state, ``Flow(record=("alpha", "mode"))``, in every model."""

import numpy as np
import pytest
from drivers import both_drivers
from every_model import WAYS

import tcpcc as tc
from tcpcc.errors import ScenarioError

BBR_MODES = ("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT")
MODELS = {**WAYS, "fluid background": {"model": "hybrid", "steps": 20}}


def scenario(*flows, duration=15):
    net = tc.dumbbell(rate="10 Mb/s", delay="20 ms", buffer=40)
    return tc.Scenario(net, flows, duration=duration)


BBR = tc.Flow("bbr", record=("mode", "pacing_rate"), name="bbr")
BEHIND = tc.Flow("reno", background=True, record=False, name="behind")


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_every_model_records_the_modes_of_bbr(options):
    states = tc.simulate(scenario(BBR, BEHIND), **options).states("bbr")
    assert list(states) == ["mode", "pacing_rate"]
    modes = states["mode"].dropna()
    assert tuple(modes.cat.categories) == BBR_MODES
    assert modes.iloc[0] == "STARTUP"
    assert modes.iloc[-1] in ("PROBE_BW", "PROBE_RTT")
    assert (modes == "PROBE_RTT").sum() == pytest.approx(0.2 / 0.015, abs=6)  # once in 10 s
    assert 100 < states["pacing_rate"].median() < 1500  # of 1,250 packets/s


@pytest.mark.parametrize("model", ["hybrid", "fluid background"])
def test_a_background_flow_records_its_state(model):
    behind = BBR.replace(background=True)
    run = tc.simulate(scenario(tc.Flow("reno"), behind), **MODELS[model])
    assert set(run.states("bbr")["mode"].dropna()) >= {"STARTUP", "PROBE_BW", "PROBE_RTT"}


def test_a_series_is_the_trace_at_the_ends_of_bins():
    flow = tc.Flow("dctcp", record="alpha", name="d", transport={"ecn": "accurate"})
    net = tc.dumbbell(
        rate="10 Mb/s", delay="20 ms", buffer=80, queue=tc.queues.StepMark(threshold=10)
    )
    run = tc.simulate(tc.Scenario(net, [flow], duration=10), trace=True)
    events = run.trace().dropna(subset="alpha")
    alpha = run.states("d")["alpha"]
    assert alpha.nunique() > 20
    for end, value in alpha.iloc[100::97].items():
        # an event at the end of a bin belongs to the next one
        assert value == events["alpha"][events["time"] < end - 1e-9].iloc[-1]


def test_both_drivers_record_the_same():
    of = scenario(BBR, tc.Flow("bbr3", start=1, record="mode", name="bbr3"), duration=5)
    assert "state_mode" in both_drivers(of).data


def test_packets_and_fluid_agree_on_dctcps_alpha():
    """At a marking threshold alpha settles near sqrt(2 / W) (SIGCOMM 2010, section 3.3)."""
    flow = tc.Flow("dctcp", record="alpha", name="d", transport={"ecn": "accurate"})
    net = tc.dumbbell(
        rate="10 Mb/s", delay="20 ms", buffer=80, queue=tc.queues.StepMark(threshold=20)
    )
    found = [
        tc.simulate(tc.Scenario(net, [flow], duration=30), model).states("d")["alpha"][10:].mean()
        for model in ("packet", "fluid")
    ]
    assert found == pytest.approx([(2 / 70) ** 0.5] * 2, rel=0.35)


def test_the_state_is_nan_before_the_start_and_after_the_end():
    short = tc.Flow("bbr3", start=2, size=1000, record="mode", name="short")
    run = tc.simulate(scenario(short, tc.Flow("reno", name="reno")))
    mode, end = run.states("short")["mode"], float(run.data["finished"].sel(flow="short"))
    assert 3 < end < 10
    assert mode[:2].isna().all()
    assert mode[2.05 : end - 0.05].notna().all()
    assert mode[end + 0.05 :].isna().all()
    assert run.data["state_mode"].sel(flow="reno").isnull().all()


def test_names_of_values_are_flags_of_the_cf_conventions():
    attributes = tc.simulate(scenario(BBR, duration=1)).data["state_mode"].attrs
    assert attributes["flag_meanings"].split() == list(BBR_MODES)
    assert list(attributes["flag_values"]) == [0, 1, 2, 3]
    other = tc.Flow("bbr3", record="mode", name="other")  # numbers its modes differently
    run = tc.simulate(scenario(BBR, other, duration=1))
    assert "flag_values" not in run.data["state_mode"].attrs
    assert "CRUISE" in run.states("other")["mode"].cat.categories


def test_saved_and_streamed_runs_have_the_series(tmp_path):
    of = scenario(BBR, tc.Flow("reno", record=False), duration=5)
    run = tc.simulate(of)
    run.save(tmp_path / "run.nc")
    assert tc.Run.load(tmp_path / "run.nc").identical(run)
    streamed = tc.simulate(of, stream=tmp_path / "stream.nc")
    np.testing.assert_array_equal(streamed.data["state_mode"], run.data["state_mode"])
    assert streamed.states("bbr").equals(run.states("bbr"))


def test_an_added_flow_records_its_state():
    net = tc.dumbbell(rate="10 Mb/s", delay="20 ms", buffer=40)
    sim = tc.PacketSimulation(tc.Scenario(net, [tc.Flow("reno")], duration=5), growing=True)

    def add():
        yield sim.env.timeout(1)
        sim.add(BBR)
        sim.add(tc.Flow("bbr", record="mode", name="later", start=2))

    sim.env.process(add())
    run = sim.run()
    for name in ("bbr", "later"):
        assert set(run.states(name)["mode"].dropna()) >= {"STARTUP", "DRAIN", "PROBE_BW"}


def test_each_flow_of_a_count_and_each_representative_has_its_series():
    many = tc.Flow("bbr", count=3, record="mode", name="many")
    run = tc.simulate(scenario(many, duration=3))
    assert all(run.states(f"many.{k}")["mode"].notna().sum() > 900 for k in (1, 2, 3))
    few = tc.simulate(scenario(many.replace(count=1000), duration=3), "fluid")
    assert few.states(few.flows[-1])["mode"].notna().sum() > 900


def test_variables_of_the_slow_start_rule_are_recorded():
    flow = tc.Flow("newreno", record=("css_round",), name="f")
    net = tc.dumbbell(rate="10 Mb/s", delay="20 ms", buffer=400)
    run = tc.simulate(tc.Scenario(net, [flow], duration=3))
    assert run.states("f")["css_round"].max() > 0


def test_toml_keeps_the_names():
    of = scenario(BBR, tc.Flow("reno", record=False))
    assert 'record = ["mode", "pacing_rate"]' in " ".join(of.to_toml().split())
    assert tc.Scenario.from_toml(of.to_toml()) == of


def test_errors():
    with pytest.raises(
        ScenarioError, match="record of controller 'bbr' 'modee': did you mean 'mode'"
    ):
        tc.Flow("bbr", record=("modee",))
    with pytest.raises(ScenarioError, match="record"):
        tc.Flow("reno", record="css_found", slow_start="standard")
    with pytest.raises(ScenarioError, match="record = 3: must be True or False"):
        tc.Flow("reno", record=3)
    with pytest.raises(ScenarioError, match="record"):
        tc.Flow("reno", record=(3,))
    run = tc.simulate(scenario(tc.Flow("reno", name="reno"), duration=1))
    with pytest.raises(ScenarioError, match="flow 'reno' has no recorded states"):
        run.states("reno")
