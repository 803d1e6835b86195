"""Packets in trains against single packets."""

import numpy as np
import pytest
from every_model import simulate_in

import tcpcc as tc
from experiments import response
from experiments.battery.scenarios import CASES, phase_free
from tcpcc.models.packet import run_to_end
from tcpcc.models.packet.simpy_driver import PacketSimulation
from tcpcc.models.trains.train_world import TrainWorld
from tcpcc.transport.recovery import RECOVERIES

RATE = 20e6
PACKET_TIME = 8000 / RATE


def scenario(controller: str, n: int, *, queue: object = None, buffer: int = 100, **settings):
    """`n` flows with unlike round trips over a bottleneck of 20 Mbit/s."""
    net = tc.dumbbell(RATE, "1 ms", buffer, access_delay="12 ms", queue=queue)
    flows = [
        tc.Flow(controller, start=0.21 * k, access_delay=0.012 * (1 + 0.05 * k / n), **settings)
        for k in range(n)
    ]
    return tc.Scenario(net, flows, duration=30, seed=1)


def in_trains(one: tc.Scenario, number: float) -> tc.Run:
    """The run of a scenario in trains, even if each would have one packet."""
    return run_to_end(TrainWorld(one, number), "compiled", False, 0.0)


def measured(run: tc.Run) -> dict[str, float]:
    return {
        "util": float(run.utilization(after=8)),
        "queue": float(run.queue_mean(after=8)),
        "rtx": float(run.retransmissions().values.sum()),
    }


@pytest.mark.parametrize("number", [4, 8, 32])
def test_lone_vegas_measures_the_queue_that_packets_measure(number):
    """A train that saw one packet of queue too many would stop Vegas below the link's rate. Vegas
    keeps any queue from alpha to beta, 1 to 3 packets."""
    run = scenario("vegas", 1)
    packets = measured(tc.simulate(run))
    trains = measured(tc.simulate(run, trains=number))
    assert trains["util"] == pytest.approx(packets["util"], abs=0.005)
    assert 0.95 <= trains["queue"] <= 3.0


@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize("delayed_ack", ["0 ms", "40 ms"])
@pytest.mark.parametrize("recovery", ["reno", "newreno", "sack"])
@pytest.mark.parametrize("controller", ["newreno", "cubic", "vegas"])
def test_a_lone_flow_with_a_small_window_is_that_of_packets(
    controller, recovery, delayed_ack, loss
):
    """Its trains are single packets, and its queue is known when a packet is sent."""
    transport = tc.Transport(delayed_ack=delayed_ack)
    flow = tc.Flow(controller, recovery=recovery, size=400, transport=transport)
    net = tc.dumbbell("0.1 Mb/s", "20 ms", 5.5, loss=loss)
    run = tc.Scenario(net, [flow], duration=60)
    packets, trains = tc.simulate(run).data, in_trains(run, 16).data
    assert packets.drops.sum() > 0
    for name in ("delivered", "retransmitted", "dropped", "drops", "arrived", "queue_max"):
        assert np.array_equal(packets[name], trains[name]), name
    for name in ("queue", "busy", "cwnd", "rtt"):
        np.testing.assert_allclose(trains[name], packets[name], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("controller", ["newreno", "cubic", "illinois"])
def test_a_lone_flow_loses_the_packets_that_packets_lose(controller):
    """With short trains the results are the same; with those of the default about the same."""
    net = tc.dumbbell("100 Mb/s", "20 ms", 333, loss=0.01)
    sent = {"packet": 0.0, "short": 0.0, "trains": 0.0}
    for seed in (1, 2, 3):
        run = tc.Scenario(net, [tc.Flow(controller)], duration=60, seed=seed)
        sent["packet"] += float(tc.simulate(run).data.sent.sum())
        sent["short"] += float(in_trains(run, 5000).data.sent.sum())
        sent["trains"] += float(tc.simulate(run, trains=16).data.sent.sum())
    assert sent["short"] == sent["packet"]
    assert sent["trains"] == pytest.approx(sent["packet"], rel=0.1)


def test_the_queue_of_a_lone_flow_is_recorded_as_packets_record_it():
    run = tc.Scenario(
        tc.dumbbell("10 Mb/s", "20 ms", 1000),
        [tc.Flow("reno", transport=tc.Transport(rwnd=60))],
        duration=20,
    )
    packets, trains = tc.simulate(run).data, tc.simulate(run, trains=16).data
    late = slice(10, None)
    for name in ("queue", "busy", "arrived", "sent_bits"):
        assert float(trains[name].sel(time=late).mean()) == pytest.approx(
            float(packets[name].sel(time=late).mean()), rel=2e-3
        ), name


def test_red_acts_on_the_packets_of_a_train():
    """The mean of three seeds; packets repeated after a timeout vary too much for one."""
    run = scenario("newreno", 5, queue=tc.queues.RED(min_thresh=10, max_thresh=40), buffer=200)
    seeds = [run.replace(seed=seed) for seed in (1, 2, 3)]
    packets = [measured(tc.simulate(one)) for one in seeds]
    trains = [measured(tc.simulate(one, trains=16)) for one in seeds]
    for name, off in (("util", 0.02), ("queue", 0.08), ("rtx", 0.2)):
        mean = np.mean([m[name] for m in packets])
        assert np.mean([m[name] for m in trains]) == pytest.approx(mean, rel=off)


def test_lost_packets_take_no_time_of_the_link():
    """Copa fills a link that loses 10 % of the packets before they reach the queue."""
    case = response.scenario("copa", 0.1)
    rates = [
        float(simulate_in(m, case).throughput(after=response.AFTER)[0])
        for m in ("packet", "trains")
    ]
    assert rates[0] > 99e6
    assert rates[1] == pytest.approx(rates[0], rel=0.002)


def test_acks_at_times_a_rounding_apart_are_at_one_time():
    """Fusion divides by the distance of two ACKs; with this seed two ACKs of a train are 1e-16 s
    apart."""
    run = tc.simulate(response.scenario("fusion", 0.01).replace(seed=2), trains=16)
    assert 1 <= run.data["cwnd"].max() < 1500


def test_a_start_up_overflows_a_buffer_by_as_much_as_with_packets():
    net = tc.dumbbell("100 Mb/s", "1 ms", 312, access_delay="12 ms")
    run = tc.Scenario(net, [tc.Flow("newreno")], duration=0.6, interval=0.1)
    runs = [tc.simulate(run), tc.simulate(run, trains=1)]
    drops = [float(one.data["dropped"].values.sum()) for one in runs]
    assert drops[0] > 250
    assert drops[1] == pytest.approx(drops[0], rel=0.05)


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("size", [1000, 1001, 1002])
def test_delayed_acks_are_those_of_packets(every, size):
    """Also the last one, for which the receiver's timer waits if the size is no multiple."""
    transport = tc.Transport(delayed_ack=0.1, ack_every=every, rwnd=64)
    net = tc.dumbbell("50 Mb/s", "20 ms", 300)
    run = tc.Scenario(net, [tc.Flow("newreno", transport=transport, size=size)], duration=5)
    found = [simulate_in(model, run) for model in ("packet", "trains")]
    times = [float(one.fct()["fct_s"].iloc[0]) for one in found]
    assert times[1] == pytest.approx(times[0], abs=1e-9)
    rtts = [float(one.data["rtt"].mean()) for one in found]
    assert rtts[1] == pytest.approx(rtts[0], rel=0.001)


def test_delayed_acks_are_handled_in_trains():
    """Fewer than one event for each three packets, as without delayed ACKs."""
    transport = tc.Transport(delayed_ack=0.1)
    flows = [tc.Flow("cubic", transport=transport, start=0.3 * k) for k in range(3)]
    run = tc.Scenario(tc.dumbbell("100 Mb/s", "20 ms", 300), flows, duration=20)
    world = TrainWorld(run, 16)
    record = run_to_end(world, "compiled", False, 0.0).data
    assert 3 * world.w["events"][0] < float(record["sent"].sum())
    packets = float(tc.simulate(run).data["delivered"].sum())
    assert float(record["delivered"].sum()) == pytest.approx(packets, rel=0.01)


@pytest.mark.parametrize("limit", [1, 2])
def test_a_train_of_delayed_acks_opens_the_window_as_its_acks_do(limit):
    """By at most `abc_limit` packets for each ACK, in slow start and after it."""
    transport = tc.Transport(delayed_ack=0.1, abc_limit=limit, initial_window=100)
    net = tc.dumbbell("20 Mb/s", "20 ms", 20_000)
    run = tc.Scenario(net, [tc.Flow("newreno", transport=transport)], duration=5)
    windows = [simulate_in(m, run).data["cwnd"].values[-1, 0] for m in ("packet", "trains")]
    assert windows[0] > 400
    assert windows[1] == pytest.approx(windows[0], rel=0.02)


def test_trains_of_one_packet_meet_the_queue_of_packets_on_average():
    """As the packets of the hybrid's foreground do; the mean of three seeds."""
    run = scenario("newreno", 20, buffer=20).jittered(processing=PACKET_TIME)
    seeds = [run.replace(seed=seed) for seed in (1, 2, 3)]
    packets = [measured(tc.simulate(one)) for one in seeds]
    trains = [measured(in_trains(one, 1e9)) for one in seeds]
    for name, off in (("queue", 0.06), ("rtx", 0.1)):
        mean = np.mean([m[name] for m in packets])
        assert np.mean([m[name] for m in trains]) == pytest.approx(mean, rel=off)


@pytest.mark.parametrize("controller", ["cubic", "bbr", "copa", "htcp"])
def test_a_controller_reaches_the_queue_of_packets(controller):
    run = scenario(controller, 2).jittered(processing=PACKET_TIME)
    packets, trains = measured(tc.simulate(run)), measured(tc.simulate(run, trains=16))
    assert trains["util"] == pytest.approx(packets["util"], abs=0.02)
    assert trains["queue"] == pytest.approx(packets["queue"], rel=0.12, abs=1.5)


@pytest.mark.parametrize(
    ("name", "seed", "duration"),
    [
        # a train of thousands, every other packet of which is dropped: one train for each packet
        ("one RTT: 4 HSTCP, 1 Gb/s", 1, 4),
        # a train whose packets are sent within rounding error
        ("one RTT: 50 NewReno, 100 Mb/s", 4, 2),
    ],
)
def test_all_packets_are_accounted_for(name, seed, duration):
    """The fixture `conserved` counts them at the end of each run."""
    run = tc.simulate(phase_free(CASES[name].scenario.replace(duration=duration), seed), trains=16)
    assert float(run.data["dropped"].sum()) > 100


def without_records(name):
    """A copy of a recovery that the model does not know to coast."""
    known = RECOVERIES[name]
    return tc.Recovery(
        "mine", "a copy", known.on_ack, known.on_timeout, known.resume, known.on_alarm,
        known.on_undo, params=known.params, state=known.state, selective=known.selective,
        stale_rounds=known.stale_rounds, newest_only=known.newest_only,
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name, r in RECOVERIES.items() if r.coasts])
def test_coasting_changes_no_bit(name):
    """Through the overshoot of slow start, its recovery, and losses in congestion avoidance."""
    tc.register(without_records(name))
    runs = []
    for recovery in ("mine", name):
        net = tc.dumbbell("50 Mb/s", "10 ms", 60)
        flows = [tc.Flow("newreno", recovery=recovery, start=0.3 * k) for k in range(3)]
        runs.append(tc.simulate(tc.Scenario(net, flows, duration=8), trains=16).data)
    assert float(runs[0]["dropped"].sum()) > 20
    for of in ("cwnd", "sent", "delivered", "retransmitted", "timeouts", "queue"):
        np.testing.assert_array_equal(runs[0][of].values, runs[1][of].values)


def test_flows_wait_for_each_other_at_a_slower_link_behind_a_shared_one():
    """Its queue is not recorded, and all its packets come from one link."""
    links = [
        tc.Link("a", "b", rate="20 Mb/s", delay="20 ms", buffer=100),
        tc.Link("b", "c", rate="5 Mb/s", delay="5 ms"),
        tc.Link("c", "a", rate="20 Mb/s", delay="20 ms"),
    ]
    way = {"path": ("a", "b", "c"), "ack_path": ("c", "a")}
    flows = [tc.Flow(controller, **way) for controller in ("vegas", "vegas", "newreno")]
    run = tc.Scenario(tc.Network(links), flows, duration=20)
    packets, trains = (
        simulate_in(m, run).data.delivered.sum("time").values for m in ("packet", "trains")
    )
    np.testing.assert_allclose(trains, packets, rtol=0.01)


def test_of_packets_that_arrive_together_the_one_that_began_earlier_is_first():
    """The late one is sent at the moment at which both arrive; the buffer has room for one."""
    early = tc.Flow("newreno", size=1, start=0.5, access_delay=0.25, name="early")
    late = tc.Flow("newreno", size=1, start=0.75, access_delay=0.0, name="late")
    net = tc.dumbbell("1 Mb/s", "10 ms", 1, access_delay=0.25)
    for model in ("packet", "trains"):
        run = simulate_in(model, tc.Scenario(net, [early, late], duration=10))
        dropped = run.data.dropped.sum("time").values
        assert dropped[0] == 0 < dropped[1], model


def test_flows_wait_for_each_other_behind_a_link_that_gets_faster():
    links = [
        tc.Link("a", "b", rate="5 Mb/s", delay="5 ms", buffer=100, name="first"),
        tc.Link("b", "c", rate="10 Mb/s", delay="5 ms"),
        tc.Link("c", "a", rate="100 Mb/s", delay="20 ms"),
    ]
    way = {"path": ("a", "b", "c"), "ack_path": ("c", "a"), "transport": tc.Transport(rwnd=100)}
    faster = tc.Change(2, "first", rate="50 Mb/s")
    flows = [tc.Flow("newreno", **way) for _ in range(3)]
    run = tc.Scenario(tc.Network(links), flows, duration=20, changes=[faster])
    packets, trains = (float(simulate_in(m, run).data.sent.sum()) for m in ("packet", "trains"))
    assert trains == pytest.approx(packets, rel=0.01)


def test_flows_cross_a_link_without_a_rate_limit():
    links = [
        tc.Link("a", "b", rate=np.inf, delay="2 ms", buffer=10, record=True),
        tc.Link("b", "c", rate="10 Mb/s", delay="20 ms", buffer=50),
        tc.Link("c", "a", rate="100 Mb/s", delay="20 ms"),
    ]
    flows = [tc.Flow("newreno", path=("a", "b", "c"), ack_path=("c", "a")) for _ in range(3)]
    run = tc.Scenario(tc.Network(links), flows, duration=20)
    packets, trains = (simulate_in(m, run).data for m in ("packet", "trains"))
    for name in ("sent", "arrived", "sent_bits"):
        assert float(trains[name].sum()) == pytest.approx(float(packets[name].sum()), rel=0.02)


def test_a_link_that_is_not_full_is_recorded_as_busy_while_it_sends():
    links = [
        tc.Link("a", "b", rate="10 Mb/s", delay="10 ms", buffer=50),
        tc.Link("b", "c", rate="20 Mb/s", delay="10 ms", buffer=50),
        tc.Link("c", "a", rate="0.2 Mb/s", delay="10 ms"),
    ]
    flow = tc.Flow("newreno", path=("a", "b", "c"), ack_path=("c", "a"))
    run = tc.Scenario(tc.Network(links), [flow], duration=20)
    packets, trains = (simulate_in(m, run).data.busy.mean("time") for m in ("packet", "trains"))
    np.testing.assert_allclose(trains, packets, rtol=0.01)


def test_a_packet_that_arrives_as_another_departs_finds_it_still_there():
    """If its own last transmission began earlier (`comes_first`). All times are exact."""
    for delay, access in ((0.25, None), (0.125, 2**-10)):
        net = tc.dumbbell(512e3, delay, 8, access_delay=access)
        run = tc.Scenario(net, [tc.Flow("newreno", ack_size=125, access_delay=access)], duration=60)
        packets, trains = tc.simulate(run).data, in_trains(run, 1e4).data
        assert packets.drops.sum() > 0
        for name in ("sent", "delivered", "drops"):
            assert np.array_equal(packets[name], trains[name]), (name, access)


def test_acks_leave_one_by_one_if_the_timer_expires_between_two_packets_of_a_train():
    """Of every second packet alone, the window would grow half as fast."""
    flow = tc.Flow("newreno", size=3000, transport=tc.Transport(delayed_ack="1 ms"))
    run = tc.Scenario(tc.dumbbell("5 Mb/s", "50 ms", 300), [flow], duration=10)
    packets, trains = (float(simulate_in(m, run).data.finished[0]) for m in ("packet", "trains"))
    assert trains == pytest.approx(packets, rel=0.01)


def test_a_streamed_record_is_that_in_memory(tmp_path):
    net = tc.dumbbell("10 Mb/s", "20 ms", 50)
    case = tc.Scenario(net, [tc.Flow("cubic"), tc.Flow("vegas", start=1)], duration=8)
    kept = tc.simulate(case, trains=16)
    streamed = tc.simulate(case, trains=16, stream=tmp_path / "run.nc")
    assert streamed.identical(kept)
    assert streamed.data.attrs["trains"] == 16


@pytest.mark.parametrize("trains", [None, 16])
def test_a_source_that_is_on_cannot_be_switched_on_again(trains):
    net = tc.dumbbell("10 Mbps", "50 ms", 50)
    one = tc.Scenario(net, [tc.CBR("8 Mbps", name="source")], duration=2)
    sim = PacketSimulation(one, world=None if trains is None else TrainWorld(one, trains))

    def again():
        for _ in range(5):
            yield sim.env.timeout(0.1003)
            sim.start("source")

    sim.env.process(again())
    sent = float(sim.run().totals()["sent"].sum())
    assert sent == pytest.approx(2000, abs=1 if trains is None else 20)
    assert sent == tc.simulate(one, trains=trains).totals()["sent"].sum()
