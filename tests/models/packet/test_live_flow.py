"""Flows and links of a running simulation: events to wait for, values to read and to set."""

import itertools

import pytest

import tcpcc as tc
from tcpcc.engine.jit import INTERPRETED
from tcpcc.models.packet.compiled_driver import CompiledSimulation
from tcpcc.models.packet.handlers import run_events

NET = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=20)


def simulation(*flows, duration=10):
    links = [link.replace(variable=True) for link in NET.links]
    net = NET.replace(links=links)
    return tc.PacketSimulation(tc.Scenario(net, flows, duration=duration))


def run(sim, *processes):
    for process in processes:
        sim.env.process(process())
    return sim.run()


def test_a_process_can_wait_for_the_end_of_a_flow():
    sim = simulation(tc.Flow("reno", size=500), tc.Flow("vegas"))
    ends = []

    def wait():
        ends.append((yield sim.flow("reno1").finished))
        ends.append(sim.now)

    record = run(sim, wait)
    assert ends[0] == ends[1] == float(record.data["finished"][0])


def test_a_process_can_wait_for_every_loss_and_timeout():
    sim = simulation(tc.Flow("reno"))
    seen = {"loss": 0, "timeout": 0}

    def count(what):
        def process():
            flow = sim.flow("reno1")
            while True:
                yield getattr(flow, what)()
                seen[what] += 1

        return process

    def failure():
        yield sim.env.timeout(5)
        sim.fail("bottleneck")
        yield sim.env.timeout(2)
        sim.restore("bottleneck")

    record = run(sim, count("loss"), count("timeout"), failure)
    assert seen["timeout"] == float(record.timeouts()[0]) > 0
    assert seen["loss"] == float(record.data["loss_events"][0]) > 0


def test_watching_a_flow_changes_no_bit():
    alone, watched = (simulation(tc.Flow("reno"), tc.Flow("cubic", start=1)) for _ in range(2))

    def watch():
        while True:
            yield watched.flow("reno1").loss()

    assert run(watched, watch).identical(alone.run())


def test_a_window_set_by_a_process_is_used():
    sim = simulation(tc.Flow("reno"))

    def process():
        yield sim.env.timeout(5)
        sim.flow("reno1").set(cwnd=2, ssthresh=2)
        assert sim.flow("reno1").state["cwnd"] == 2
        assert 0.04 < sim.flow("reno1").base_rtt <= sim.flow("reno1").rtt

    cwnd = run(sim, process).data["cwnd"].sel(flow="reno1")
    assert float(cwnd.sel(time=5.01, method="nearest")) < 6
    assert float(cwnd.sel(time=4.9, method="nearest")) > 10


def test_data_sent_later_by_a_process_arrives():
    sim = simulation(tc.Flow("reno", size=10))
    times = []

    def process():
        flow = sim.flow("reno1")
        for _ in range(3):
            times.append((yield flow.finished))
            yield sim.env.timeout(1)
            flow.send(100)
        times.append((yield flow.finished))

    record = run(sim, process)
    assert float(record.data["delivered"].sum()) == 310
    assert len(times) == 4
    assert all(b - a > 1 for a, b in itertools.pairwise(times))


PAUSE, PACKETS = 3.0, 500


def as_conversation(flow):
    payload = flow.packet_size - flow.header
    kind = tc.workloads.Conversation(PACKETS * payload, items=2, gap=PAUSE)
    load = tc.Workload(flow, kind, interarrival=1, count=1)
    case = tc.Scenario(NET, [], duration=12, workloads=load)
    return tc.simulate(case, trace=True)


def as_calls(flow, add):
    flow = flow.replace(size=PACKETS, name="f", start=1)
    flows = [tc.CBR("1 kbps", on=[(11, 12)])] if add else [flow]
    case = tc.Scenario(NET, flows, duration=12)
    sim = tc.PacketSimulation(case, trace=True, growing=add)

    def application():
        live = sim.add(flow) if add else sim.flow("f")  # ties depend on the start
        yield live.finished
        yield sim.env.timeout(PAUSE)
        live.send(PACKETS)

    sim.env.process(application())
    return sim.run()


def sent_by(run):
    rows = run.trace()
    rows = rows[(rows["event"] == "send") & (rows["cwnd"] > 0)]
    times = rows["time"].to_numpy()
    return times - times[0], rows["cwnd"].to_numpy()


@pytest.mark.parametrize(
    ("controller", "recovery"),
    [("reno", "newreno"), ("cubic", "sack-prr"), ("bbr3", "rack-tlp"), ("vegas", "vegas")],
)
def test_a_conversation_and_a_process_that_sends_are_one_sender(controller, recovery):
    """Packet by packet: an idle period ends alike, however the application is stated."""
    flow = tc.Flow(controller, recovery=recovery)
    times, windows = sent_by(as_conversation(flow))
    for add in (False, True):
        other_times, other_windows = sent_by(as_calls(flow, add))
        assert other_times == pytest.approx(times, abs=1e-9)
        assert other_windows == pytest.approx(windows, rel=1e-9)


@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_after_a_pause_a_process_sends_at_most_an_initial_window_at_once(controller):
    """RFC 5681, 4.1."""
    run = as_calls(tc.Flow(controller), add=False)
    times, windows = sent_by(run)
    k = 1 + (times[1:] - times[:-1] > PAUSE / 2).argmax()
    assert windows[k] == 10
    assert (abs(times - times[k]) < 0.005).sum() == 10


def test_data_added_before_the_first_packet_is_part_of_the_transfer():
    """``send`` in the instant in which the flow starts, before its start is handled."""
    case = tc.Scenario(NET, [tc.Flow("reno", size=5)], duration=5)
    sim = tc.PacketSimulation(case, growing=True)
    whole = tc.simulate(tc.Scenario(NET, [tc.Flow("reno", size=5)] * 2, duration=5))

    def application():
        sim.add(tc.Flow("reno", size=2)).send(3)
        yield sim.env.timeout(0)

    sim.env.process(application())
    run = sim.run()
    assert list(run.totals()["sent"]) == list(whole.totals()["sent"])
    assert list(run.totals()["delivered"]) == [5, 5]


def test_data_sent_in_fast_recovery_wait_for_the_window():
    """As items of a conversation do: ssthresh plus three packets (RFC 5681, 3.2) is less than what
    is outstanding."""
    net = tc.dumbbell("10 Mbps", "20 ms", 10)
    sim = tc.PacketSimulation(tc.Scenario(net, [tc.Flow("reno", size=300)], duration=9), trace=True)
    called = []

    def application():
        flow = sim.flow("reno1")
        yield flow.loss()
        yield sim.env.timeout(1e-5)
        called.append(sim.now)
        flow.send(200)

    sim.env.process(application())
    run = sim.run()
    rows = run.trace()
    assert not ((rows["event"] == "send") & (rows["time"] == called[0])).any()
    assert float(run.data["delivered"].sum()) == 500


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda sim: sim.flow("cbr3"), "flow 'cbr3': is a CBR source"),
        (lambda sim: sim.flow("reno1").set(cwnds=3), r"unknown state or parameter of 'reno1'"),
        (lambda sim: sim.flow("reno1").set(cwnd=-1), "cwnd = -1"),
        (lambda sim: sim.flow("vegas2").set(alpha=-1), "alpha = -1"),
        (lambda sim: sim.flow("reno1").send(3), "sends for ever"),
        (lambda sim: sim.restore("bottleneck"), "link 'bottleneck': has not failed"),
    ],
)
def test_invalid_calls_are_refused_in_one_line(act, text):
    sim = simulation(tc.Flow("reno"), tc.Flow("vegas"), tc.CBR("1 Mbps"))
    with pytest.raises(tc.ScenarioError, match=text) as error:
        act(sim)
    assert "\n" not in str(error.value)


# Flows that are added


ADDED = {
    "plain": {},
    "access links": {"access_rate": "50 Mbps", "access_delay": "1 ms"},
    "a queue that decides": {"queue": tc.queues.RED(min_thresh=4, max_thresh=12)},
    "a scheduled link": {"queue": tc.queues.CoDel(), "access_delay": "1 ms"},
    "jitter": {"jitter": "3 ms", "reordering": True, "access_delay": "1 ms"},
}
LATER = [
    tc.Flow("cubic", start=1, processing="0.2 ms"),
    tc.Flow("bbr", start=2, size=400, name="short"),
    tc.Flow("reno", start=2.5, transport={"ecn": "classic"}, stop=6),
]


@pytest.mark.parametrize("settings", ADDED)
@pytest.mark.parametrize("first", [tc.Flow("vegas"), tc.CBR("1 Mbps")])
def test_an_added_flow_runs_as_if_it_was_in_the_scenario(settings, first):
    """To the bit; the run's scenario is equal, too."""
    net = tc.dumbbell("10 Mbps", "20 ms", 20, **ADDED[settings])
    case = tc.Scenario(net, [first], duration=8)
    sim = tc.PacketSimulation(case, growing=True, trace=True)

    def add():
        for flow in LATER:
            yield sim.env.timeout(flow.start - 0.25 - sim.now)
            sim.add(flow)

    sim.env.process(add())
    there = tc.simulate(case.replace(flows=[first, *LATER]), trace=True)
    grown = sim.run()
    assert there.data.identical(grown.data.assign_attrs(there.data.attrs))
    assert grown.scenario == there.scenario
    one, other = there.trace(), grown.trace()
    for name in other.columns:  # those of the flows that there were at first
        assert list(one[name].dropna()) == list(other[name].dropna())


def test_a_process_adds_a_flow_now_and_waits_for_it():
    sim = tc.PacketSimulation(tc.Scenario(NET, [tc.Flow("reno")], duration=10), growing=True)
    ends = []

    def fetch():
        for _ in range(3):
            yield sim.env.timeout(1)
            flow = sim.add(tc.Flow("cubic", size=100))
            ends.append((flow.name, sim.now, (yield flow.finished)))

    record = run(sim, fetch)
    assert [name for name, _, _ in ends] == ["cubic2", "cubic3", "cubic4"]
    assert all(0.1 < end - begin < 3 for _, begin, end in ends)
    assert list(record.totals()["delivered"])[1:] == [100] * 3
    assert list(record.fct()["flow"]) == ["cubic2", "cubic3", "cubic4"]


def test_a_process_stops_a_flow():
    sim = tc.PacketSimulation(tc.Scenario(NET, [tc.Flow("reno")], duration=10), growing=True)

    def change():
        yield sim.env.timeout(3)
        sim.flow("reno1").stop()
        sim.add(tc.Flow("vegas"))

    record = run(sim, change)
    rates = record.throughput(after=5)
    assert float(rates[0]) == 0 < float(rates[1])


@pytest.mark.parametrize(
    ("options", "flow", "text"),
    [
        ({}, tc.Flow("reno"), "growing=True"),
        ({"growing": True}, tc.CBR(1e6), r"must be a Flow\(\.\.\.\)"),
        ({"growing": True}, tc.Flow("reno", count=2), "add one by one"),
        ({"growing": True}, tc.Flow("reno", name="reno1"), "duplicate flow name"),
        ({"growing": True}, tc.Flow("reno", source="x"), "unknown source node"),
    ],
)
def test_invalid_flows_are_refused_and_change_nothing(options, flow, text):
    case = tc.Scenario(NET, [tc.Flow("reno")], duration=3)
    sim = tc.PacketSimulation(case, **options)
    with pytest.raises(tc.ScenarioError, match=text):
        sim.add(flow)
    assert sim.run().identical(tc.simulate(case))


def test_the_model_is_never_ahead_of_the_clock_of_simpy():
    """Not even after memory has grown, when a sender continues what it had begun."""
    flows = [tc.Flow("reno", slow_start="standard"), tc.Flow("cubic", start=0.01)]
    net = tc.dumbbell("100 Mbps", "20 ms", 3000)
    sim = tc.PacketSimulation(tc.Scenario(net, flows, duration=1))
    continued, world = 0, sim.world
    while sim.env.peek() <= 1:
        sim.env.step()
        assert world.w["now"][0] <= sim.now
        continued += world.w["pending"][0] >= 0
    assert continued > 3


def test_a_result_before_a_flow_starts_changes_nothing_of_the_later_one():
    flows = [tc.Flow("reno"), tc.Flow("vegas", start=5, record=("incr",), name="late")]
    case = tc.Scenario(NET, flows, duration=10)
    sim = CompiledSimulation(case)
    sim.advance(3)
    assert sim.result().data["cwnd"].sel(flow="late").isnull().all()
    sim.advance(10)
    assert sim.result().identical(tc.simulate(case))
    if not INTERPRETED:
        assert len(run_events.overloads) == 1, "the engine was compiled again for a whole second"
