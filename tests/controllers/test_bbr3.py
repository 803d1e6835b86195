"""BBR, version 3, beside the cases of the draft's appendix, by their numbers there."""

import math

import numpy as np
import pytest
from bbr_sender import BBR3, BDP, Sender
from late_packets import all_late, overtaken
from on_a_link import mean_over_seeds, on_a_link

import tcpcc as tc
from tcpcc.controllers.bbr3 import (
    CRUISE,
    DOWN,
    DRAIN,
    PROBE_RTT,
    REFILL,
    STARTUP,
    UP,
    extra,
)

# STARTUP and DRAIN


def test_01_startup_ends_on_a_plateau():
    """The rate within 2 %; three rounds later DRAIN, at half of it."""
    trace = traced(buffer=1000)
    startup = trace[trace["mode"] == STARTUP]
    assert startup["max_bw"].iloc[-1] == pytest.approx(1250, rel=0.02)
    found = startup["time"][startup["max_bw"] > 0.98 * 1250].iloc[0]
    drain = trace[trace["mode"] == DRAIN].iloc[0]
    assert 3 * 0.041 < drain["time"] - found < 4 * 0.082
    assert drain["pacing_rate"] == pytest.approx(0.99 * 0.5 * 1250, rel=0.02)
    # three and not two rounds without growth
    s = Sender(STARTUP, full_bw=1000.0)
    assert [s.round(rate=1200.0).flat_rounds for _ in range(2)] == [1, 2]
    assert (s.s.full, s.s.mode) == (0, STARTUP)
    s.round(rate=1200.0)
    assert (s.s.full, s.s.full_now, s.s.mode) == (1, 1, DRAIN)


@pytest.mark.parametrize(
    ("acks", "lost", "phase", "mode"),
    [(6, 3, 1, DRAIN), (5, 3, 1, STARTUP), (6, 2, 1, STARTUP), (6, 3, 0, STARTUP)],
)
def test_02_startup_ends_on_loss_though_the_application_limits(acks, lost, phase, mode):
    sender = Sender(STARTUP)
    for _ in range(acks):
        sender.lose(app_limited=1, phase=phase)
        sender.ack(app_limited=1, phase=phase)
    s = sender.round(app_limited=1, phase=phase, lost=lost)
    assert s.mode == mode
    if mode == DRAIN:
        assert (s.full, s.full_now) == (1, 1)
        assert s.inflight_longterm == BDP  # more than what the round delivered


def test_03_drain_ends_when_the_queue_is_gone():
    s = Sender(DRAIN, drain_round=0.0)
    assert s.ack(pipe=BDP + 1).mode == DRAIN
    assert s.s.pacing_rate == pytest.approx(0.99 * 0.5 * 1000)
    assert s.ack(pipe=BDP).mode in (DOWN, CRUISE)


def test_04_drain_ends_after_three_rounds():
    s = Sender(DRAIN, drain_round=0.0)
    assert [s.round(pipe=2 * BDP).mode for _ in range(4)] == [DRAIN, DRAIN, DRAIN, DOWN]


# Probing for bandwidth


def test_05_up_ends_on_a_plateau():
    s = Sender(UP)
    modes = [s.round(rate=1100.0).mode for _ in range(3)]
    assert modes[:2] == [UP, UP]
    assert modes[2] in (DOWN, CRUISE)


def test_05_not_while_the_window_is_bound_by_inflight_longterm():
    s = Sender(UP, inflight_longterm=150.0, cwnd=150.0)
    assert {s.round(rate=1000.0, pipe=400, inflight=150).mode for _ in range(5)} == {UP}


@pytest.mark.parametrize(("limited", "left"), [(1, 180), (0, 99)])
def test_06_up_ends_on_loss_though_the_application_limits(limited, left):
    """What was in the network counts only if the application did not limit it."""
    s = Sender(UP, probe_sample=1.0, inflight_longterm=180.0)
    assert s.lose(app_limited=limited, lost=2).mode == UP
    assert s.lose(app_limited=limited, lost=3).mode == DOWN
    assert s.s.inflight_longterm == left
    assert s.s.probed_too_high == 1
    assert s.round().bw_shortterm == math.inf  # these losses bound nothing more in DOWN


@pytest.mark.parametrize("mode", [STARTUP, UP])
def test_07_never_while_the_application_limits_and_nothing_is_lost(mode):
    s = Sender(mode)
    assert {s.round(app_limited=1, rate=500.0, after=0.1).mode for _ in range(40)} == {mode}


@pytest.mark.parametrize(("longterm", "room"), [(math.inf, BDP), (100.0, 85), (1000.0, BDP)])
def test_08_down_ends_with_headroom_and_no_queue(longterm, room):
    s = Sender(DOWN, inflight_longterm=longterm)
    assert s.ack(pipe=room + 1).mode == DOWN
    assert s.s.pacing_rate == pytest.approx(0.99 * 0.9 * 1000)
    assert s.ack(pipe=room).mode == CRUISE


@pytest.mark.parametrize("mode", [DOWN, CRUISE])
def test_09_down_and_cruise_end_after_2_to_3_s_or_so_many_rounds(mode):
    s = Sender(mode)
    assert s.ack(pipe=2 * BDP, after=2.4).mode == mode
    assert s.ack(pipe=2 * BDP, after=0.2).mode == REFILL
    s = Sender(mode, rounds_since_probe=62.0)
    assert s.ack(pipe=2 * BDP).mode == mode
    assert s.round(pipe=2 * BDP).mode == REFILL


def test_refill_lasts_a_round_and_forgets_short_term_bounds():
    s = Sender(CRUISE, probe_wait=0.0, bw_shortterm=700.0, inflight_shortterm=70.0)
    assert s.ack().mode == REFILL
    assert (s.s.bw_shortterm, s.s.inflight_shortterm) == (math.inf, math.inf)
    assert s.ack().mode == REFILL
    assert s.round().mode == UP
    assert s.s.pacing_rate == pytest.approx(0.99 * 1.25 * 1000)


def test_21_a_loss_in_up_leaves_seven_tenths_at_least():
    """What was in the network when 2 % were passed, or 0.7 of min(BDP, cwnd)."""
    s = Sender(UP, probe_sample=1.0, inflight_longterm=150.0)
    assert s.lose(lost=2, inflight=50).mode == DOWN
    assert s.s.inflight_longterm == 0.7 * BDP
    s = Sender(UP, probe_sample=1.0, inflight_longterm=150.0)
    s.lose(lost=3, inflight=120)
    assert s.s.inflight_longterm == pytest.approx(119 + (0.02 * 119 - 2) / 0.98)


def test_the_probe_after_one_that_lost_too_much_is_cautious():
    """It ends when so much is in the network; a round without loss later the next begins."""
    s = Sender(UP, probed_too_high=1.0, inflight_longterm=130.0)
    assert s.ack(pipe=129, inflight=120).mode == UP
    assert s.ack(pipe=130, inflight=120).mode == DOWN
    assert (s.s.precautionary, s.s.probed_too_high) == (1, 0)
    assert s.round(pipe=125, inflight=120).mode == REFILL
    s = Sender(DOWN, ending=1.0, precautionary=1.0, probed_too_high=1.0, inflight_longterm=130.0)
    assert s.round(pipe=125, inflight=120).mode == DOWN


def test_15_inflight_longterm_grows_by_1_2_4_packets_a_round():
    s = Sender(UP, inflight_longterm=100.0, cwnd=100.0, up_rounds=1.0, acked_per_step=100.0)
    grown = []
    for _ in range(5):
        before, acked = s.s.inflight_longterm, s.s.cwnd
        for _ in range(int(acked) - 1):
            s.ack(pipe=300, inflight=100)
        s.round(pipe=300, inflight=100)
        grown.append(s.s.inflight_longterm - before)
    assert grown == pytest.approx([1, 2, 4, 8, 16], abs=1)


def test_22_what_the_application_limits_in_refill_tells_no_rate():
    s = Sender(REFILL)
    assert s.ack(app_limited=1, rate=300.0).max_bw == 1000
    assert s.round(app_limited=1, rate=300.0).mode == UP
    assert s.s.max_bw == 1000
    assert s.ack(app_limited=1, rate=1300.0).max_bw == 1300


def test_the_largest_rate_is_of_this_and_the_last_cycle():
    s = Sender(DOWN, ending=1.0)
    assert s.round(rate=800.0).max_bw == 1000
    s.s.ending = 1.0
    assert s.ack(rate=800.0).max_bw == 1000
    assert s.round(rate=800.0).max_bw == 800


# Losses that answer no probe


@pytest.mark.parametrize(("rate", "bound"), [(500.0, 700.0), (900.0, 900.0)])
def test_a_round_with_losses_bounds_what_is_sent(rate, bound):
    s = Sender(CRUISE, bw_latest=rate)
    s.lose()
    before = s.ack(rate=rate).cwnd
    assert s.s.bw_shortterm == math.inf
    s.round(rate=rate)
    assert s.s.bw_shortterm == s.s.bw == bound
    assert s.s.inflight_shortterm == 0.7 * before
    assert s.round(rate=rate).bw_shortterm == bound  # nothing was lost in that one


@pytest.mark.parametrize("mode", [STARTUP, REFILL, UP])
def test_probing_bounds_nothing_short_term(mode):
    s = Sender(mode)
    s.lose()
    s.round()
    assert s.s.bw_shortterm == s.s.inflight_shortterm == math.inf


def test_a_mark_counts_as_a_loss():
    s = Sender(UP, probe_sample=1.0)
    BBR3.on_mark(*s.sample(pipe=130))
    assert (s.s.mode, s.s.inflight_longterm, s.s.probed_too_high) == (DOWN, 130, 1)
    s = Sender(CRUISE, bw_latest=500.0)
    BBR3.on_mark(*s.sample(pipe=130))
    assert s.round(rate=500.0).bw_shortterm == 700


def test_extra_is_at_most_the_packets_of_a_time_at_the_rate_in_force():
    """As in Linux, which `Flow.linux("bbr3")` sets with its gains in DOWN and DRAIN."""
    linux = dict(tc.Flow.linux("bbr3").params)
    assert linux == {
        "drain_gain": 1000 / 2885, "down_gain": 0.91, "extra_time": 0.1, "startup_extra": 0,
    }  # fmt: skip
    s, p, _ = BBR3.example()
    s.bw = 1000.0
    s.extra_best[0] = 250.0
    for p.startup_extra, s.full, p.extra_time, packets in (
        (1.0, 0.0, 0.0, 250), (1.0, 0.0, 0.1, 100), (1.0, 1.0, 1.0, 250), (0.0, 0.0, 0.0, 0),
        (0.0, 1.0, 0.1, 100),
    ):  # fmt: skip
        assert extra(s, p) == packets


def test_a_timeout_and_a_recovery_end_with_the_window_before():
    s = Sender(CRUISE)
    BBR3.on_timeout(*s.sample())
    assert s.s.cwnd == 1
    assert s.ack(phase=2).cwnd == 4
    assert s.ack(phase=0).cwnd == 2 * BDP + 1


# Recoveries in which nothing had been lost


def spurious(sender, *, told=3, phase=1, **after):
    """A loss event of as many packets, a round with it, and the notice that there was none."""
    for lost in range(1, told + 1):
        sender.lose(lost=lost)
    BBR3.on_loss(*sender.sample())
    for _ in range(3):
        sender.round(phase=phase, rate=500.0, **after)
    BBR3.on_undo(*sender.sample(phase=phase))
    return sender.s


def test_18_the_bounds_of_before_are_back():
    bounds = {"bw_shortterm": 900.0, "inflight_shortterm": 150.0, "inflight_longterm": 180.0}
    s = Sender(CRUISE, **bounds)
    s.lose()
    BBR3.on_loss(*s.sample())
    for _ in range(2):
        s.lose(phase=1)
        s.round(phase=1, rate=400.0)
    s.lose(phase=1)
    assert s.s.bw_shortterm < 900
    assert s.s.inflight_shortterm < 150
    BBR3.on_undo(*s.sample(phase=1))
    assert {name: getattr(s.s, name) for name in bounds} == bounds
    assert (s.s.loss_in_round, s.s.full_bw, s.s.full_now, s.s.full) == (0, 0, 0, 1)
    assert s.s.cwnd == 150  # what it was before the loss, 200, but for the bound


def test_18_a_probe_that_was_ended_begins_anew():
    s = spurious(Sender(UP, probe_sample=1.0, inflight_longterm=180.0))
    assert (s.mode, s.inflight_longterm) == (REFILL, 180)
    assert s.bw_shortterm == s.inflight_shortterm == math.inf
    assert spurious(Sender(CRUISE)).mode == CRUISE
    probing_rtt = Sender(UP, probe_sample=1.0)
    for lost in (1, 2, 3):
        probing_rtt.lose(lost=lost)
    probing_rtt.s.mode = PROBE_RTT
    BBR3.on_undo(*probing_rtt.sample())
    assert probing_rtt.s.mode == PROBE_RTT
    assert probing_rtt.s.cwnd <= BDP / 2


def test_18_each_recovery_has_its_own_bounds():
    """Also one that begins with the ACK that ends another, or without a packet deemed lost."""
    s = Sender(CRUISE, inflight_longterm=180.0)
    s.lose()
    s.ack(phase=1)
    s.s.inflight_longterm = 170.0
    s.lose(phase=0)
    assert s.s.undo_inflight_longterm == 170
    s = Sender(CRUISE, inflight_longterm=160.0)
    BBR3.on_loss(*s.sample())
    assert s.s.undo_inflight_longterm == 160


def test_18_startup_goes_on():
    s = Sender(STARTUP, loss_acks=5.0)
    s.lose()
    BBR3.on_loss(*s.sample())
    assert s.round(phase=1, lost=3).mode == DRAIN
    BBR3.on_undo(*s.sample(phase=1))
    assert (s.s.mode, s.s.full, s.s.inflight_longterm) == (STARTUP, 0, math.inf)


def test_19_a_timeout_that_was_none():
    s = Sender(UP, probe_sample=1.0, inflight_longterm=180.0)
    for lost in (1, 2, 3):
        s.lose(lost=lost, phase=2)
    BBR3.on_timeout(*s.sample())
    assert (s.s.mode, s.s.cwnd) == (DOWN, 1)
    s.ack(phase=2)
    BBR3.on_undo(*s.sample(phase=2))
    assert (s.s.mode, s.s.inflight_longterm, s.s.cwnd) == (REFILL, 180, 180)


def probing_again(path, *when, dsack):
    """Modes from 2.85 s on, in the middle of UP, when packets begin to be late; window and bounds
    before and a second later."""
    trace = tc.simulate(path("bbr3", *when, duration=7.0, dsack=dsack), trace=True).trace("flow")
    trace = trace[trace["mode"].notna()]
    assert trace["mode"][trace["time"] < 2.85].iloc[-1] == UP
    later = trace[trace["time"] > 2.85]
    modes = later["mode"][later["mode"] != later["mode"].shift()].tolist()
    return modes, trace[trace["time"] < 2.85].iloc[-1], later[later["time"] < 3.66]


@pytest.mark.parametrize(
    ("path", "when"), [(overtaken, (2.85, 2.9)), (all_late, (2.85,))], ids=["18", "19"]
)
def test_18_19_packets_that_are_late_interrupt_a_probe(path, when):
    """Nothing is lost: the probe begins anew and the bounds are gone. Without D-SACK it stays over,
    or goes on below a bound."""
    more = {"share": 0.2} if path is overtaken else {"frto": False}

    def run(dsack):
        return probing_again(lambda *a, **b: path(*a, **b, **more), *when, dsack=dsack)

    modes, before, later = run(True)
    assert modes[:2] == [UP, DOWN]
    assert modes[modes.index(REFILL) : modes.index(REFILL) + 2] == [REFILL, UP]
    assert later["inflight_longterm"].min() < math.inf
    last = later.iloc[-1]
    bounds = ["inflight_longterm", "inflight_shortterm", "bw_shortterm"]
    assert last[bounds].tolist() == before[bounds].tolist() == [math.inf] * 3
    assert last["cwnd"] > 2 * 1250 * 0.041
    _, _, later = run(False)
    assert later["inflight_longterm"].iloc[-1] < before["cwnd"]


# PROBE_RTT


def test_10_probe_rtt_after_5_s_for_0_2_s_and_a_round():
    trace = traced(duration=16.0)
    probing = (trace["mode"] == PROBE_RTT).to_numpy()
    times = trace["time"].to_numpy()
    begins = times[1:][probing[1:] & ~probing[:-1]]
    ends = times[1:][~probing[1:] & probing[:-1]]
    assert len(begins) == 3
    assert begins[1:] - ends[:-1] == pytest.approx(5, abs=0.1)
    assert np.all((ends - begins >= 0.2) & (ends - begins < 0.2 + 3 * 0.041))
    assert trace["cwnd"][probing].max() <= 0.5 * 1250 * 0.041 + 1
    assert set(trace["mode"][1:][~probing[1:] & probing[:-1]]) == {CRUISE}


def test_11_no_probe_rtt_after_a_silence():
    s = Sender(CRUISE)
    assert s.ack(after=5.1, rtt=0.12).mode == PROBE_RTT
    s = Sender(CRUISE, bw=900.0, max_bw=900.0, bw_now=900.0)
    BBR3.on_restart(*s.sample(after=5.1, pipe=0))
    assert (s.s.idle, s.s.pacing_rate) == (1, pytest.approx(0.99 * 900))
    assert s.ack(rtt=0.12, rate=500.0).mode != PROBE_RTT
    assert s.s.base_rtt == 0.1
    assert s.s.probed_rtt == 0.12


def test_20_probe_rtt_in_startup_returns_there():
    s = Sender(STARTUP)
    assert s.ack(after=5.1, rtt=0.12, app_limited=1).mode == PROBE_RTT
    s.ack(pipe=40, app_limited=1)
    assert s.round(pipe=40, app_limited=1).mode == PROBE_RTT  # not yet 0.2 s
    assert s.ack(pipe=40, app_limited=1, after=0.21).mode == STARTUP
    assert s.s.cwnd >= 2 * BDP


def test_what_is_sent_in_probe_rtt_tells_no_rate():
    s = Sender(PROBE_RTT, bw_now=0.0, limited_from=900.0, limited_until=2000.0)
    s.ack(rate=400.0, pipe=40)
    assert s.s.limited == 1
    assert s.s.bw_now == 0


@pytest.mark.parametrize("name", ["bbr", "bbr3"])
def test_a_flow_that_starts_late_begins_with_startup(name):
    run = tc.simulate(scenario(name, duration=22.0, start=20.0), trace=True)
    modes = run.trace(f"{name}1")["mode"].dropna()
    later = PROBE_RTT if name == "bbr3" else 3.0
    assert modes.iloc[0] == STARTUP
    assert later not in set(modes)


# Whole runs


def scenario(name="bbr3", duration=10.0, *, start=0.0, transport=(), **link):
    """A flow over 10 Mb/s and 40 ms unless told otherwise."""
    flow = tc.Flow(name, start=start, transport=dict(transport))
    return on_a_link(flow, duration=duration, seed=1, **link)


def traced(**case):
    return tc.simulate(scenario(**case), trace=True).trace("bbr31").dropna(subset="mode")


@pytest.mark.parametrize("buffer", [25, 200])
def test_alone_it_has_the_link(buffer):
    """But for PROBE_RTT, which takes half of it for 0.25 of 5.25 s, and PROBE_CRUISE, which leaves
    1 %; with a long buffer no loss after STARTUP."""
    run = tc.simulate(scenario(duration=30.0, buffer=buffer))
    assert run.utilization(after=5) > 0.96
    if buffer == 200:
        assert int(run.data["drops"].sel(time=slice(5, None)).sum()) == 0


def test_it_holds_its_rate_up_to_one_percent_of_random_loss_and_yields_to_two():
    """Draft, "Design considerations for choosing constant parameters"; version 1 keeps its rate."""

    def share(name, loss):
        case = scenario(name, 60.0, rate="20 Mbps", buffer=1000, loss=loss)
        return mean_over_seeds(range(1, 9), lambda run: run.throughput(after=5), case) / 20e6

    assert share("bbr3", 0.01) > 0.76  # 0.78 +- 0.01
    assert share("bbr3", 0.05) < 0.2
    assert share("bbr", 0.05) > 0.9


def test_beside_cubic_it_takes_about_half_where_version_1_takes_most_or_little():
    """In 0.5 and 20 BDP of buffer, where each phase takes a minute."""

    def share(name, buffer):
        cubic = tc.Flow("cubic", slow_start="standard")
        run = tc.simulate(on_a_link(name, cubic, buffer=buffer, duration=300, seed=1))
        return float(run.throughput(after=10)[0] / run.throughput(after=10).sum())

    assert share("bbr", 20) > 0.65
    assert share("bbr", 800) < 0.4
    assert 0.4 < share("bbr3", 20) < 0.55
    assert 0.4 < share("bbr3", 800) < 0.55


def test_two_of_them_share_evenly():
    run = tc.simulate(on_a_link("bbr3", tc.Flow("bbr3", start=5), duration=60, seed=1))
    assert float(run.jain_index(after=20)) > 0.98


def test_with_marks_nothing_is_lost():
    marks = {"queue": tc.queues.StepMark(threshold=20), "transport": {"ecn": "classic"}}
    run = tc.simulate(scenario(duration=30.0, buffer=200, **marks))
    assert int(run.data["drops"].sum()) == 0
    assert int(run.data["marks"].sum()) > 10
    assert run.queue_max(after=5) < 60


def test_14_a_path_that_holds_less_than_a_packet():
    """64 kb/s and 2 ms: 4 packets at least, and the whole rate."""
    case = scenario(rate="64 kbps", delay="1 ms", duration=60.0, buffer=20)
    run = tc.simulate(case, trace=True)
    trace = run.trace("bbr31")
    assert trace["cwnd"][trace["time"] > 2].min() >= 4
    assert run.utilization(after=20) > 0.98


def test_15_ten_times_the_bandwidth_is_found():
    change = tc.Change(at=10, link="bottleneck", rate="100 Mbps")
    run = tc.simulate(scenario(duration=25.0, buffer=400, changes=[change]))
    assert run.utilization(after=10, before=11) < 0.5
    assert run.utilization(after=20) > 0.9


def test_16_a_tenth_of_the_bandwidth_is_found():
    change = tc.Change(at=10, link="bottleneck", rate="10 Mbps")
    case = scenario(rate="100 Mbps", duration=25.0, buffer=100, changes=[change])
    trace = tc.simulate(case, trace=True).trace("bbr31").dropna(subset="max_bw")
    before = trace["max_bw"][trace["time"] < 10].iloc[-1]
    assert before == pytest.approx(12500, rel=0.02)
    soon = trace[trace["time"].between(10, 11)]
    assert soon["bw_shortterm"].min() < 0.5 * before
    assert trace["max_bw"].iloc[-1] == pytest.approx(1250, rel=0.02)


def aggregating(period, duration=20.0):
    """10 Mb/s and 40 ms: 50 packets; ACKs come together."""
    there = tc.Link("left", "right", rate="10 Mbps", delay="20 ms", buffer=400, name="bottleneck")
    back = tc.Link("right", "left", rate="10 Mbps", delay="20 ms", aggregation=period)
    net = tc.Network([there, back], default_path=("left", "right"))
    case = tc.Scenario(net, [tc.Flow("bbr3")], duration=duration, interval=0.1)
    run = tc.simulate(case, trace=True)
    return run, run.trace("bbr31").dropna(subset="mode")


@pytest.mark.parametrize(("mode", "rounds"), [(STARTUP, 1), (CRUISE, 10)])
def test_12_13_what_came_at_once_counts_for_so_many_rounds(mode, rounds):
    """50 packets in an instant, then 1 in 10 ms."""
    s = Sender(mode, epoch_at=10.0)
    s.ack(delivered=50)
    kept = [s.round(after=0.01).extra_best[0] >= 45 for _ in range(13)]
    assert sum(kept) == rounds
    assert kept == sorted(kept, reverse=True)


@pytest.mark.parametrize("period", [0.01, 0.04, 0.06])
def test_12_startup_finds_the_bandwidth_though_acks_come_together(period):
    """At most by a burst more, since the rate is bounded by that of sending; with a window above
    2 BDP."""
    _, trace = aggregating(period, 5.0)
    startup = trace[trace["mode"] == STARTUP]
    assert 1250 < startup["max_bw"].iloc[-1] < 1.3 * 1250
    assert startup["cwnd"].max() > 2 * 1250 * 0.041


def test_13_cruise_bridges_the_silence_between_acks():
    """100 ms without an ACK are 125 packets, more than the 2 BDP of 82 to 104 that the window had
    by itself; with what came at once the link stays full."""
    run, trace = aggregating(0.1)
    cruise = trace[(trace["mode"] == CRUISE) & (trace["time"] > 5)]
    assert cruise["cwnd"].min() > 2 * 1250 * cruise["base_rtt"].max()
    assert run.utilization(after=5) > 0.93


def test_17_a_policer_bounds_the_rate():
    """100 Mb/s with tokens for 10: losses bound the short term, and then few packets are lost."""
    queue = tc.queues.Policer(rate=10e6, burst=100e3)
    case = scenario(duration=40.0, rate="100 Mbps", buffer=1000, queue=queue)
    run = tc.simulate(case, trace=True)
    trace = run.trace("bbr31").dropna(subset="bw_shortterm")
    assert trace["bw_shortterm"].min() < 1.1 * 1250
    later = slice(15, None)
    lost = float(run.data["drops"].sel(time=later).sum() / run.data["sent"].sel(time=later).sum())
    assert lost < 0.05
    assert 0.7 * 10e6 < float(run.throughput(after=15)[0]) < 1.02 * 10e6
