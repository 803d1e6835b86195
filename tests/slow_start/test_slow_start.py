"""Slow-start rules with any controller: what they do, and that they are part of the scenario."""

import os
import subprocess
import sys

import numpy as np
import pytest
from by_hand import Rules
from drivers import both_drivers
from every_model import EVERY_MODEL, PACKETS_AND_TRAINS, simulate_in
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS, Param
from tcpcc.slow_start import SLOW_STARTS, composed
from tcpcc.sweeps.parallel import _fingerprint

RULES = ["limited", "hystart", "hystart++"]


def scenario(controller, slow_start, *, buffer=333, duration=5.0, rate="100 Mbps"):
    """One flow alone, on 100 Mb/s and 40 ms: 333 packets in the pipe."""
    sender = {"recovery": "sack", "transport": tc.Transport.ns2(), "packet_size": 1500}
    flow = tc.Flow(controller, slow_start=slow_start, **sender)
    return on_a_link(flow, rate=rate, buffer=buffer, duration=duration, interval=0.005)


class Rounds(Rules):
    """A controller with a slow-start rule, in its first slow start."""

    def __init__(self, slow_start, controller="reno", **params):
        super().__init__(controller, slow_start, params=params, cwnd=1.0, ssthresh=np.inf)

    def rounds(self, *rtts):
        """One round trip after the other, all packets of one with one round-trip time; the windows
        at their ends."""
        windows = []
        for rtt in rtts:
            told = {"rtt": rtt, "base_rtt": min(rtts)}
            if self.c.on_round:
                self.round(**told)
            for _ in range(int(self.s.cwnd)):
                self.ack(**told)
            windows.append(self.s.cwnd)
        return windows


# What they do


@pytest.mark.parametrize("max_ssthresh", [100, 40])
def test_limited_slow_start_adds_half_of_max_ssthresh_per_round(max_ssthresh):
    end = Rounds("limited", max_ssthresh=max_ssthresh)
    windows = np.array([1.0, *end.rounds(*[0.1] * 60)])
    below = windows[windows <= max_ssthresh]
    assert below == pytest.approx(2.0 ** np.arange(len(below)))
    steps = np.diff(windows[windows > 10 * max_ssthresh])
    assert len(steps) > 20
    assert steps == pytest.approx(max_ssthresh / 2, rel=0.1)


@pytest.mark.long
@EVERY_MODEL
def test_limited_slow_start_loses_less(model):
    """On overflow at 666 packets, about what a round adds, not a window."""
    dropped = {
        rule: simulate_in(model, scenario("hstcp", rule)).data["dropped"].sum().item()
        for rule in ("standard", "limited")
    }
    assert dropped["standard"] > 666
    assert 0 < dropped["limited"] < 150


@PACKETS_AND_TRAINS
def test_hystart_ends_by_the_ack_train(model):
    """A train of more than half of the base RTT and 1 ms, 171 gaps of 0.12 ms, comes first in the
    round after 256 packets: at 256 + 172, with a queue, without a loss in a buffer of one BDP. In
    trains a train of slow start has a 64th of the window."""
    run = simulate_in(model, scenario("reno", {"name": "hystart", "hystart_detect": 1}, duration=2))
    first = run.data["ssthresh"].values[:, 0]
    reach = 3 if model == "packet" else 428 / 64
    assert first[np.isfinite(first)][0] == pytest.approx(256 + 172, abs=reach)
    assert run.data["dropped"].sum() == 0


@EVERY_MODEL
def test_hystart_ends_by_delay(model):
    """Delay alone tells it later, once a whole window waits: at 1024 packets and a few."""
    hystart = tc.SlowStart("hystart", hystart_detect=2)
    run = simulate_in(model, scenario("reno", hystart, buffer=5000, duration=2))
    first = run.data["ssthresh"].values[:, 0]
    assert 1024 < first[np.isfinite(first)][0] < 1024 + 32


def test_hystart_waits_for_its_low_window():
    end = Rounds("hystart", hystart_detect=2)
    assert end.rounds(0.1, 0.2, 0.2)[-1] == 8  # eight samples, but W < 16
    assert end.s.ssthresh == np.inf
    end.rounds(0.1, 0.2, 0.2)
    assert 16 <= end.s.ssthresh <= 32 + 8


def test_hystart_ends_slow_start_once_and_again_after_a_timeout():
    """Linux: ``found``. A slow start after an idle time goes on to ssthresh."""
    end = Rounds("hystart", hystart_detect=2)
    end.rounds(*[0.1] * 6, 0.2)
    assert end.s.ssthresh < np.inf
    for rule, phase, ends in (("on_loss", 1.0, False), ("on_timeout", 2.0, True)):
        s = end.call(rule, phase=phase)
        s.cwnd, s.ssthresh, end.a.phase = 10.0, 300.0, 0.0
        end.rounds(*[0.1] * 3, 0.2)
        assert (s.ssthresh < 300) == ends


@pytest.mark.parametrize(("base", "rise"), [(0.016, 0.004), (0.1, 0.0125), (0.5, 0.016)])
@pytest.mark.parametrize("slow_start", ["hystart", "hystart++"])
def test_delay_counts_above_an_eighth_between_4_and_16_ms(slow_start, base, rise):
    for factor, told in ((0.99, False), (1.01, True)):
        end = Rounds(slow_start, **({"hystart_detect": 2} if slow_start == "hystart" else {}))
        end.rounds(*[base] * 6, base + factor * rise)
        plus = slow_start == "hystart++"
        assert (end.s.css_round > 0 if plus else end.s.cwnd >= end.s.ssthresh) == told


@pytest.mark.parametrize(("rise", "slower"), [(2**-7, True), (2**-7 - 2**-40, False)])
def test_hystart_plus_counts_a_rise_of_just_an_eighth(rise, slower):
    """RFC 9406 has >=; an eighth of 62.5 ms is exact in binary."""
    end = Rounds("hystart++")
    end.rounds(*[2**-4] * 6, 2**-4 + rise)
    assert (end.s.css_round > 0) == slower


def test_hystart_plus_slows_down_and_ends_after_five_rounds():
    """A quarter of the growth, so that W grows by 1.25 a round, in rounds after the first, which
    begins with eight samples at full speed."""
    end = Rounds("hystart++")
    windows = end.rounds(*[0.1] * 6, *[0.15] * 6)
    assert windows[5] == 64
    assert windows[6] == pytest.approx(64 + 8 + 56 / 4)
    assert np.divide(windows[7:11], windows[6:10]) == pytest.approx(1.25, rel=0.01)
    assert end.s.ssthresh == windows[10]  # five rounds, that in which it began among them
    assert windows[11] == pytest.approx(windows[10] + 1, abs=0.1)


def test_hystart_plus_resumes_when_the_delay_was_a_blip():
    end = Rounds("hystart++")
    windows = end.rounds(*[0.1] * 6, 0.15, 0.1, 0.1)
    assert end.s.ssthresh == np.inf
    assert windows[-1] == pytest.approx(2 * windows[-2], abs=1)


@pytest.mark.parametrize("rule", ["on_loss", "on_timeout"])
def test_hystart_plus_is_for_the_first_slow_start(rule):
    end = Rounds("hystart++")
    end.call(rule, window=1000.0).cwnd = 1.0
    assert end.rounds(*[0.1] * 3, *[0.2] * 4)[-1] == 2**7


def test_hystart_plus_loses_less_than_standard():
    """It notices as late as delay can tell, at 1024 packets, and from there a buffer of three BDP
    overflows by a quarter of what it would."""
    cases = (scenario("reno", rule, buffer=1000, duration=2) for rule in ("standard", "hystart++"))
    standard, plus = (tc.simulate(case).data["dropped"].sum().item() for case in cases)
    assert plus == pytest.approx(standard / 4, rel=0.02)


def test_the_controller_s_own_slow_start_is_left_when_it_is_slower():
    """Vegas doubles every other round and leaves early: nothing is left for the rules to do."""
    rules = ("standard", "limited", "hystart")
    plain, *watched = (tc.simulate(scenario("vegas", rule)).data for rule in rules)
    assert all(np.array_equal(plain["cwnd"], data["cwnd"]) for data in watched)


# With any controller, in every engine


@pytest.mark.parametrize(
    "name", [n for n in CONTROLLERS.names() if CONTROLLERS.find(n).window == "shared"]
)
@pytest.mark.parametrize("slow_start", RULES)
def test_any_controller_takes_any_rule(name, slow_start):
    both = composed(CONTROLLERS.find(name), SLOW_STARTS[slow_start])
    assert both is composed(CONTROLLERS.find(name), SLOW_STARTS[slow_start])
    assert both.name == name
    end = Rounds(slow_start, name)
    end.rounds(*[0.1] * 8, *[0.3] * 8)
    end.lose(window=end.s.cwnd)
    assert 1 <= end.time_out().cwnd < np.inf


def test_a_controller_with_a_start_of_its_own_takes_none():
    with pytest.raises(tc.ScenarioError, match="'hystart' does not go with controller 'bbr'"):
        on_a_link(tc.Flow("bbr", slow_start="hystart"))


def test_standard_is_the_controller_itself():
    assert composed(CONTROLLERS.find("vegas"), SLOW_STARTS["standard"]) is CONTROLLERS.find("vegas")


@pytest.mark.parametrize("pair", [("vegas", "hystart++"), ("cubic", "hystart")])
def test_both_drivers_agree(pair):
    both_drivers(scenario(*pair, duration=1.5, rate="20 Mbps"))


INTERPRETED = """
import sys, tcpcc as tc
for way in ({}, {"trains": 16}, {"model": "fluid"}):
    run = tc.simulate(tc.Scenario.from_toml(sys.argv[1]), **way)
    print(run.data["cwnd"].values.tobytes().hex())
"""


@pytest.mark.long
def test_interpreted_rules_give_the_same_bits():
    text = scenario("cubic", "hystart++", duration=0.8, rate="5 Mbps").to_toml()
    output = [
        subprocess.run(
            [sys.executable, "-c", INTERPRETED, text],
            env=os.environ | {"NUMBA_DISABLE_JIT": off}, capture_output=True, text=True, check=True,
        ).stdout
        for off in "01"
    ]  # fmt: skip
    assert output[0] == output[1]


def test_a_controller_of_one_s_own_takes_a_rule():
    """Also with a helper in a notebook's cell; its parameters come first, the rule's after them."""

    def on_ack(s, p, a):
        s.cwnd += p.gain * a.acked if s.cwnd < s.ssthresh else a.acked / s.cwnd

    def own(**params):
        params["gain"] = Param(1.0, "", "of the test")
        return CONTROLLERS.find("reno").variant(name="own", on_ack=on_ack, params=params)

    run = tc.simulate(scenario(own(), {"name": "limited", "max_ssthresh": 50}, duration=1))
    assert run.data["cwnd"].max() < 600
    clash = own(max_ssthresh=Param(1.0, "", "of the test"))
    with pytest.raises(tc.ScenarioError, match="'limited' does not go with controller 'own'"):
        scenario(clash, "limited")


# As a part of the scenario


def test_it_is_saved_and_read():
    for rule, text in (
        (tc.SlowStart("hystart", hystart_detect=2), '{ name = "hystart", hystart_detect = 2 }'),
        ("limited", '"limited"'),
    ):
        case = scenario("cubic", rule)
        assert f"slow_start = {text}" in case.to_toml()
        assert tc.Scenario.from_toml(case.to_toml()) == case
    assert "slow_start =" not in scenario("cubic", None).to_toml()


def test_it_decides_the_digest_and_the_fingerprint_of_a_sweep():
    specs = ["standard", *RULES, tc.SlowStart("limited", max_ssthresh=50)]
    cases = [scenario("cubic", spec) for spec in specs]
    assert len({case.digest for case in cases}) == len(cases)
    assert len({_fingerprint(case, {}) for case in cases}) == len(cases)
    explicit = scenario("cubic", tc.SlowStart("limited", max_ssthresh=100))
    assert explicit.digest == scenario("cubic", "limited").digest


def test_a_sweep_varies_it():
    cases = [scenario("reno", rule, duration=1) for rule in ("standard", "limited")]
    runs = list(tc.sweep(cases))
    assert runs[1].data["cwnd"].max() < runs[0].data["cwnd"].max()
