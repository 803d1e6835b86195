"""`Change(flow=..., rwnd=...)`: a receive window that opens and closes while the flow runs."""

import pytest
from drivers import both_drivers
from every_model import EVERY_MODEL, simulate_in

import tcpcc as tc

NET = tc.dumbbell("100 Mbps", "25 ms", buffer=1000)
RTT = 0.05 + 8 * 1040 / 100e6  # s, with an empty queue


def scenario(*windows, rwnd=10, duration=6.0, **settings):
    """Changes to `windows`, pairs of a time and a window."""
    flow = tc.Flow("reno", name="f", transport={"rwnd": rwnd}, **settings)
    changes = [tc.Change(at, flow="f", rwnd=window) for at, window in windows]
    return tc.Scenario(NET, [flow], duration=duration, changes=changes, interval=0.005)


def rate(run, begin, end):
    """Packets per RTT."""
    return float(run.throughput(begin, end)[0]) / 8000 * RTT


@EVERY_MODEL
def test_throughput_is_the_receive_window_over_the_round_trip(model):
    """10/RTT, then 100/RTT, then 30/RTT."""
    run = simulate_in(model, scenario((2.0, 100), (4.0, 30)))
    for begin, end, window in ((1.0, 2.0, 10), (3.0, 4.0, 100), (5.0, 6.0, 30)):
        assert rate(run, begin, end) == pytest.approx(window, rel=0.02), window


@EVERY_MODEL
def test_a_window_that_opens_wakes_the_sender(model):
    """W is 20, twice its use; between two bursts of ACKs the other 10 packets leave without one."""
    run = simulate_in(model, scenario((2.0275, 100), rwnd=10, duration=3.0))
    sent = run.data["sent"].sel(flow="f")
    assert float(run.data["cwnd"].sel(time=2.025, method="nearest")[0]) == pytest.approx(20, abs=1)
    assert float(sent.sel(time=slice(2.011, 2.026)).sum()) == 0
    assert float(sent.sel(time=slice(2.026, 2.031)).sum()) == pytest.approx(10, abs=1)


@EVERY_MODEL
def test_a_window_that_closes_is_used_up_first(model):
    """From 100 to 40 packets: 60 ACKs release none, the last 40 of the round trip release 40."""
    run = simulate_in(model, scenario((3.0, 40), rwnd=100))
    before, after, later = (
        float(run.data["sent"].sel(time=slice(t, t + 0.0499)).sum()) for t in (2.9001, 3.0001, 3.1)
    )
    assert before == pytest.approx(100, abs=2)
    assert after == pytest.approx(40, abs=3)
    assert later == pytest.approx(40, abs=2)
    assert float(run.data["retransmitted"].sum()) == 0


@EVERY_MODEL
def test_what_has_been_offered_may_be_sent(model):
    """The window falls to 5 before data come: the old edge, 100 packets on, still lets 10 leave at
    once, the initial window. When the data reach that edge, 5 leave in each round trip."""
    case = scenario((2.0, 5), rwnd=100, duration=5.0)
    flow = case.flows[0].replace(writes=[(0, 10), (3, 1000)])
    run = simulate_in(model, case.replace(flows=[flow]))
    sent = run.data["sent"].sel(flow="f")
    assert float(sent.sel(time=slice(3.0001, 3.0451)).sum()) == pytest.approx(10, abs=0.5)
    assert float(sent.sel(time=slice(4.0001, 4.5001)).sum()) == pytest.approx(50, abs=5)
    assert float(sent.sel(time=slice(3.0001, 3.9951)).sum()) > 95 + 5 * 12


@EVERY_MODEL
def test_an_unlimited_window_can_close(model):
    run = simulate_in(model, scenario((3.0, 40), rwnd=float("inf")))
    assert rate(run, 5, 6) == pytest.approx(40, rel=0.02)
    assert rate(run, 2, 3) > 400


def test_a_change_before_the_start_is_as_a_setting():
    for model in ("packet", "fluid"):
        early = tc.simulate(scenario((0.5, 40), rwnd=10, start=1), model)
        given = tc.simulate(scenario(rwnd=40, start=1), model)
        assert early.data["sent"].equals(given.data["sent"])


def test_both_drivers_agree_and_a_saved_run_replays(tmp_path):
    run = both_drivers(scenario((2.0, 100), (4.0, 30)))
    run.save(tmp_path / "run.nc")
    again = tc.Run.load(tmp_path / "run.nc").scenario
    assert again == scenario((2.0, 100), (4.0, 30))
    assert tc.simulate(again, trace=True).identical(run)


def test_the_hybrid_changes_every_flow_of_a_count():
    case = scenario((2.0, 100), count=3, background=True)
    run = simulate_in("hybrid", case)
    assert run.throughput(3, 6).values * RTT / 8000 == pytest.approx([100] * 3, rel=0.02)


def test_toml_gives_back_the_change():
    text = scenario((2.0, 100)).to_toml()
    assert 'flow = "f"\nrwnd = 100' in text
    assert tc.Scenario.from_toml(text) == scenario((2.0, 100))


@EVERY_MODEL
@pytest.mark.parametrize("controller", ["bbr", "bbr2", "bbr3", "vivace"])
def test_a_rate_that_the_receiver_limits_is_not_the_paths(model, controller):
    """The window opens again after 20 s, in which BBR has probed for the base RTT, as after 0.6 s:
    limited samples neither enter the estimate nor raise the window."""
    flow = tc.Flow(controller, name="f")
    rates = []
    for pause in (0.6, 20.0):
        changes = [
            tc.Change(2, flow="f", rwnd=20),
            tc.Change(2 + pause, flow="f", rwnd=10_000),
        ]
        case = tc.Scenario(NET, [flow], duration=4 + pause, changes=changes)
        run = simulate_in(model, case)
        window = run.data["cwnd"].sel(flow="f")
        assert float(window.max()) < 5000
        rates.append(float(run.throughput(2 + pause, 3 + pause)[0]))
    assert rates[1] > 0.8 * rates[0] > 40e6
