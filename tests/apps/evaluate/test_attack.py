"""Attacks find known weaknesses from ranges alone; what they find replays."""

from __future__ import annotations

import numpy as np
import pytest
from broken import FAULTY
from sampled import some

import tcpcc as tc
from tcpcc.apps.evaluate import space
from tcpcc.apps.evaluate.attack import HARMS, attack
from tcpcc.cli import main

# name: (flow, harm, ranges, what the simplest scenario has)
WEAKNESSES = {
    # Kuzmanovic, Knightly, SIGCOMM 2003: bursts with the period of the least timeout, or a part.
    "shrew": (
        tc.Flow("reno", transport=tc.Transport(min_rto=1.0)), "throughput",
        {"pulse": (0, 0.3), "pulse_period": (0.3, 5), "rtt": (0.02, 0.2), "buffer": (0.3, 4)},
        lambda at: 0.3 <= at["pulse_period"] <= 1.1 and at["pulse"] / at["pulse_period"] < 0.4,
    ),
    # Arun, Alizadeh, Balakrishnan, SIGCOMM 2022: jitter of one flow starves it.
    **{
        f"{name} and jitter": (
            tc.Flow(name), "starvation",
            {"jitter": None, "rtt": (0.02, 0.2), "rate": (5e6, 5e7), "buffer": None},
            lambda at: at["jitter"] > 0,
        )
        for name in ("vegas", "copa", "bbr")
    },
    # Hock, Bless, Zitterbart, ICNP 2017: several BBRv1 flows in a shallow buffer.
    "bbr's losses": (
        tc.Flow("bbr"), "loss",
        {"flows": None, "buffer": None, "rtt": None, "rate": (5e6, 5e7)},
        lambda at: at["flows"] > 1 and at.get("buffer", 1.0) <= 1.5,
    ),
    # Mo, La, Anantharam, Walrand, INFOCOM 1999.
    "vegas beside reno": (
        tc.Flow("vegas"), "throughput",
        {"competitor": ("none", "reno"), "competitors": None, "rtt": None, "rate": (5e6, 5e7)},
        lambda at: at["competitor"] == "reno",
    ),
    # Xu, Harfoush, Rhee, INFOCOM 2004: HSTCP's share falls with the RTT.
    "hstcp and unlike rtts": (
        tc.Flow("hstcp"), "starvation",
        {"longer": None, "rate": None, "buffer": None, "queue": None},
        lambda at: at["longer"] > 2,
    ),
    "cubic, random loss, long paths": (
        tc.Flow("cubic"), "throughput",
        {"loss": None, "rtt": None, "rate": None, "buffer": None},
        lambda at: at["loss"] >= 0.002,
    ),
    # Blanton, Allman, CCR 32(1), 2002: three duplicate ACKs are no loss where packets overtake.
    "reno and reordering": (
        tc.Flow("reno", recovery="newreno"), "throughput",
        {"reordering": None, "rtt": (0.02, 0.2), "buffer": None, "loss": (0, 0.001)},
        lambda at: at["reordering"] > 0.001,
    ),
    # Flach et al., SIGCOMM 2016: policed flows lose many packets.
    "a policer's drops": (
        tc.Flow("scalable"), "loss",
        {"policer": None, "rtt": (0.02, 0.2), "buffer": (0.3, 4), "rate": (5e6, 5e7)},
        lambda at: at["policer"] < 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(WEAKNESSES, {"vegas and jitter"}))
def test_a_known_weakness_is_found(name):
    flow, harm, ranges, known = WEAKNESSES[name]
    found = attack(flow, harm, ranges=ranges, trials=64, progress=False)
    assert found.harm >= (0.15 if harm == "loss" else 0.8), found
    assert known(found.point), found
    assert found.harm >= 0.9 * found.worst_harm
    assert set(found.point) <= {*ranges, "flows"}
    assert len(found.trials) == 64


def test_an_attack_is_deterministic_and_its_scenario_replays(tmp_path, capsys):
    settings = {"ranges": ["loss", "rtt"], "fixed": {"rate": 4e6}, "trials": 20, "progress": False}
    one, other = (attack("cubic", jobs=jobs, **settings) for jobs in (1, 2))
    assert one.trials.equals(other.trials)
    assert one.scenario == other.scenario
    file = tmp_path / "worst.toml"
    one.save(file)
    again = tc.Scenario.load(file)
    assert again == one.scenario
    assert file.read_text().startswith(f"# harm: {one.replayed}")
    runs = [tc.simulate(again, driver=driver) for driver in ("compiled", "simpy")]
    assert [HARMS["throughput"](run) for run in runs] == [one.replayed] * 2
    assert runs[0].identical(runs[1])
    assert main(["run", str(file)]) == 0
    assert "tested" in capsys.readouterr().out


def test_every_quantity_changes_the_scenario_and_can_run():
    flow = tc.Flow("reno")
    neutral = space.scenario(flow, {}, 25.0)
    for name, of in space.QUANTITIES.items():
        value = of.names[-1] if isinstance(of, space.Choice) else of.high
        value = of.low if value == of.plain else value
        more = {
            "competitors": {"competitor": "reno"}, "late": {"competitor": "reno"},
            "swing_period": {"swing": 3.0}, "pulse_period": {"pulse": 0.1},
        }.get(name, {})  # fmt: skip
        changed = space.scenario(flow, {**more, name: value}, 25.0)
        assert changed != space.scenario(flow, more, 25.0), name
        assert float(tc.simulate(changed).throughput().sum()) > 0
    assert neutral == space.scenario(flow, space.plain(), 25.0)


def test_a_fair_share_behind_a_policer_is_of_its_rate():
    point = {"policer": 0.3, "competitor": "reno"}
    run = tc.simulate(space.scenario(tc.Flow("reno"), point, 40.0))
    rates = run.throughput(float(run.data["start"].sel(flow="tested")) + 10).values
    assert 0.9 * 6e6 < rates.sum() < 1.01 * 6e6
    lost, harm = (HARMS[name](run) for name in ("throughput", "others"))
    assert (lost, harm) == pytest.approx(tuple(1 - np.minimum(rates / 3e6, 1)), abs=0.01)
    assert max(lost, harm) > 0.02


def test_harms_are_shares():
    run = tc.simulate(space.scenario(tc.Flow("reno"), {"flows": 2, "competitor": "cubic"}, 20.0))
    for name, measure in HARMS.items():
        assert 0 <= measure(run) <= 1, name


def test_own_harm():
    found = attack(
        "reno", lambda run: float(run.timeouts().sum() > 0), ranges=["loss"], trials=16,
        progress=False,
    )  # fmt: skip
    assert found.harm == 1.0


def test_a_rule_that_fails_is_an_error_and_no_harm_of_zero():
    with pytest.raises(tc.errors.RuleError, match="on_ack"):
        attack(tc.Flow(FAULTY), "throughput", ranges=["rtt"], fixed={"rate": 4e6}, trials=2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"harm": "sadness"}, "unknown harm"),
        ({"ranges": ["buffr"]}, "did you mean 'buffer'"),
        ({"ranges": {"rtt": (2, 1)}}, "rtt.*two rising numbers"),
        ({"ranges": {"rtt": 3}}, "rtt.*two numbers"),
        ({"fixed": {"hops": 3}}, "unknown quantity"),
        ({"trials": 0}, "trials = 0"),
    ],
)
def test_wrong_arguments_are_named(settings, words):
    with pytest.raises(tc.TcpccError, match=words):
        attack("reno", **settings)


def test_the_command(tmp_path, capsys):
    file = tmp_path / "worst.toml"
    arguments = [
        "attack", "vegas", "--harm", "starvation", "--over", "jitter=0:0.02",
        "--over", "queue=droptail,codel", "--trials", "20", "--save", str(file),
    ]  # fmt: skip
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "starvation" in told
    assert tc.Scenario.load(file).flows[0].controller == "vegas"
