"""Large backgrounds: where the hybrid warns, and completion times."""

import resource

import pytest
from every_model import simulate_in
from warned import warnings_of

import tcpcc as tc
from tcpcc.errors import ModelWarning
from tcpcc.models.trains.train_world import resolved_for
from tcpcc.scenario.resolve import Senders


def warnings_beside(
    number, mbps, buffer, processing=0.0, model="hybrid", queue="droptail", name="newreno"
):
    net = tc.dumbbell(mbps * 1e6, "20 ms", buffer, queue=queue)
    crowd = tc.Flow(name, count=number, background=True, processing=processing)
    flows = [crowd, tc.Flow("newreno")]
    case = tc.Scenario(net, flows, duration=0.1)
    return warnings_of(lambda: simulate_in(model, case, senders=10), ModelWarning)


@pytest.mark.parametrize("model", ["hybrid", "trains"])
def test_representatives_that_differ_from_packets_are_warned_of(model):
    """One line with what is off and by how much."""
    (text,) = warnings_beside(10_000, 400, 1000, model=model)
    assert "10001 flows with windows of at most 0.3 packets" in text
    assert "the loss rate can be half as high again" in text
    (text,) = warnings_beside(1000, 2000, 12_000, model=model)
    assert "the loss rate and the mean queue can be a third higher or lower" in text
    assert "processing = 8e-06" in text
    (text,) = warnings_beside(1000, 2000, 12_000, model=model, queue="red")
    assert "one packet is more than min_thresh: the loss rate can be a quarter too high" in text
    assert warnings_beside(1000, 2000, 12_000, "10 us", model=model) == []
    assert warnings_beside(5, 1, 5, model=model) == []


@pytest.mark.parametrize("model", ["hybrid", "trains"])
def test_crowds_that_read_the_delay_are_warned_of_at_larger_windows(model):
    """400 Vegas flows with windows of 5 packets lose 0.9 % in packets, else 2.2 %."""
    (text,) = warnings_beside(400, 200, 1000, "1 ms", model=model, name="vegas")
    assert "401 flows with windows of at most 5 packets" in text
    assert warnings_beside(400, 200, 1000, "1 ms", model=model) == []


def test_the_fluid_model_warns_of_small_windows_of_controllers_that_read_the_delay():
    """40 Vegas flows with windows of 2.5 packets lose 4 to 8 % for 8 to 11 %."""
    (text,) = warnings_beside(40, 12, 40, model="fluid", name="vegas")
    assert "windows of at most 2.4 packets" in text
    assert "the loss rate can be half of theirs" in text
    assert warnings_beside(40, 12, 40, model="fluid") == []
    assert warnings_beside(40, 120, 40, model="fluid", name="vegas") == []


CROWDS = [
    ("cubic", 200, 1, 0.0), ("cubic", 1000, 2, 0.0), ("reno", 1000, 8, 0.0),
    ("reno", 200, 1, 0.001), ("newreno", 700, 12, 0.0), ("bbr", 150, 20, 0.0),
    ("vegas", 1000, 2, 0.0), ("vegas", 3000, 4, 0.0),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::tcpcc.errors.ModelWarning")
@pytest.mark.parametrize("model", ["trains", "fluid", "hybrid"])
@pytest.mark.parametrize(("name", "number", "window", "jitter"), CROWDS)
def test_representatives_that_start_at_once_use_the_link_as_flows_do(
    name, number, window, jitter, model
):
    """Within a tenth of the packet model's throughput; they timed out in step for ever."""
    front = 4 if model == "hybrid" else 0
    room = number * window
    rate = room / 1.5 * 8000 / 0.05
    net = tc.dumbbell(rate, "50 ms", room // 3)
    more = {"count": number, "jitter": jitter, "record": False}
    flows = [tc.Flow(name, background=True, name="back", **more)]
    flows += [tc.Flow("cubic", start=0.5, name=f"front{i}") for i in range(front)]
    case = tc.Scenario(net, flows, duration=16)
    used = simulate_in(model, case, senders=100).utilization(after=8)
    assert used == pytest.approx(tc.simulate(case).utilization(after=8), rel=0.1)


def test_the_starts_of_a_million_representatives_are_within_the_run():
    net = tc.dumbbell("60 Mbps", "20 ms", 60)
    flow = tc.Flow("reno", count=1_000_000, record=False, start=1, stop=3)
    row = resolved_for(tc.Scenario(net, [flow], duration=4), Senders(100, 100)).flows
    assert 1 <= min(x.spec.start for x in row) < max(x.spec.start for x in row) <= 2


@pytest.mark.parametrize("model", ["hybrid", "trains", "fluid"])
@pytest.mark.parametrize("number", [3, 150])
def test_completion_times_do_not_depend_on_the_order_of_flows(model, number):
    """More than 100 background flows are representatives."""
    net = tc.dumbbell("300 Mbps", "20 ms", 1800)
    flows = [
        tc.Flow("newreno", count=number, background=True, name="b"),
        tc.Flow("newreno", size=100, start=0.5, name="x"),
    ]
    for order in (flows, flows[::-1]):
        case = tc.Scenario(net, order, duration=2)
        times = simulate_in(model, case, senders=100).fct()
        assert times["flow"].tolist() == ["x"]
        assert 0.1 < times["fct_s"].item() < 1.0
        assert times["ideal_s"].item() == pytest.approx(0.0829, rel=0.01)


def test_completion_times_beside_a_million_flows_cost_nothing():
    number = 1_000_000
    queue = tc.queues.RED(min_thresh=1.5 * number, max_thresh=9 * number, weight=0.2 / number)
    net = tc.dumbbell(number * 2e6, "20 ms", 12 * number, queue=queue)
    flows = [
        tc.Flow("newreno", count=number, background=True, record=False),
        tc.Flow("newreno", size=100, start=0.1),
    ]
    run = tc.simulate(tc.Scenario(net, flows, duration=0.5, interval=0.1), "hybrid")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(run.fct()) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50e3  # kB
