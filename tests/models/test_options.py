"""Options of :func:`tcpcc.simulate`: each has its own default."""

import pytest

import tcpcc as tc


def scenario():
    flow = tc.Flow("reno", name="compiled")
    return tc.Scenario(tc.dumbbell("2 Mbps", "20 ms", 20), [flow], duration=2)


def test_a_file_with_the_name_of_a_driver_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = tc.simulate(scenario(), stream="compiled")
    assert (tmp_path / "compiled").is_file()
    assert run.identical(tc.simulate(scenario()))


def test_a_flow_with_the_name_of_a_driver_is_traced():
    assert len(tc.simulate(scenario(), trace="compiled").trace("compiled"))


@pytest.mark.parametrize("option", ["trace", "stream"])
def test_such_a_word_is_refused_where_a_model_has_no_such_option(option):
    with pytest.raises(tc.ScenarioError, match=f"{option} = 'compiled': the fluid model has"):
        tc.simulate(scenario(), "fluid", **{option: "compiled"})


def test_none_is_the_default_of_trace():
    assert tc.simulate(scenario(), trace=None).events is None


def test_a_stream_is_a_file_name():
    with pytest.raises(tc.ScenarioError, match="stream = False: must be the name of a file"):
        tc.simulate(scenario(), stream=False)


@pytest.mark.parametrize(
    ("former", "words"),
    [
        ({"model": "meanfield"}, 'use "fluid"; tc.analysis.equilibrium'),
        ({"model": "ode"}, 'use "fluid"'),
        ({"model": "fluid", "per_rtt": 16}, "give trains=16, in the packet model or the hybrid"),
        ({"model": "fluid", "step": 0.01}, "the fluid model has steps"),
        ({"marking": True}, r"give the flows transport=tc\.Transport\(ecn="),
    ],
)
def test_a_former_name_is_answered_with_the_new_one(former, words):
    with pytest.raises(tc.ScenarioError, match=words) as error:
        tc.simulate(scenario(), **former)
    assert "\n" not in str(error.value)
    if len(former) == 1 and "model" in former:
        with pytest.raises(tc.ScenarioError, match=words):
            tc.estimate(scenario(), **former)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": ["packet", "fluid"]}, r"model = \['packet', 'fluid'\]: must be one of"),
        ({"trains": 0}, "trains = 0: must be a positive"),
        ({"model": "fluid", "trains": 16}, "unknown option of the fluid model 'trains'"),
        ({"steps": 20}, "unknown option of the packet model 'steps'"),
    ],
)
def test_an_invalid_option_is_refused(options, words):
    with pytest.raises(tc.ScenarioError, match=words):
        tc.simulate(scenario(), **options)
