"""`Flow(writes=...)`: an application that hands given amounts to the sender at given times."""

import math

import numpy as np
import pytest
from drivers import both_drivers
from every_model import EVERY_MODEL, simulate_in

import tcpcc as tc
from tcpcc.transport.recovery import RECOVERIES

NET = tc.dumbbell("10 Mbps", "20 ms", buffer=50)
TRIP = 0.04 + 8 * (1000 + 40) / 10e6  # s
SENT_IN = 8 * 1000 / 10e6  # s for a packet on the bottleneck


def scenario(writes, controller="reno", duration=12.0, net=NET, **settings):
    flow = tc.Flow(controller, writes=writes, **{"name": "f", **settings})
    return tc.Scenario(net, [flow], duration=duration)


# ------------------------------------------------------------------------------- scenario


def test_sizes_have_units_and_toml_gives_back_the_writes():
    case = scenario([(0, "2 MB"), ("500 ms", 3), (7, None)], packet_size=1500, header=500)
    assert case.flows[0].writes == ((0.0, 2000), (0.5, 3), (7.0, None))
    assert "writes = [[0, 2000], [0.5, 3], [7, inf]]" in case.to_toml()
    again = tc.Scenario.from_toml(case.to_toml())
    assert again == case
    assert again.digest == case.digest
    assert case.digest != scenario([(0, 2000)], packet_size=1500, header=500).digest


# ------------------------------------------------------------------- packet for packet

WRITES = [(0, 500), (5, 200), (8.5, 3), (8.6, 300), (8.62, 1)]


def as_calls(case):
    """The same traffic by a process that calls `LiveFlow.send`."""
    flow = case.flows[0].replace(writes=(), size=WRITES[0][1])
    sim = tc.PacketSimulation(case.replace(flows=[flow, *case.flows[1:]]), trace=True)

    def application():
        for time, size in WRITES[1:]:
            yield sim.env.timeout(flow.start + time - sim.env.now)
            sim.flow("f").send(size)

    sim.env.process(application())
    return sim.run()


@pytest.mark.parametrize("beside", [[], [tc.Flow("reno", start=0.5)]], ids=["alone", "beside"])
@pytest.mark.parametrize(
    ("controller", "recovery", "transport"),
    [
        ("reno", "newreno", {}),
        ("reno", "sack", {"handshake": False}),
        ("cubic", "sack-prr", {"idle_restart": False}),
        ("cubic", "rack-tlp", tc.Transport.linux().given()),
        ("bbr3", "rack-tlp", {}),
        ("vegas", "vegas", {}),
    ],
)
def test_writes_are_bit_by_bit_what_a_process_sends(controller, recovery, transport, beside):
    case = scenario(WRITES, controller, recovery=recovery, transport=transport, start=1)
    case = case.replace(flows=[*case.flows, *beside])
    written, sent = tc.simulate(case, trace=True), as_calls(case)
    assert written.trace().equals(sent.trace())
    for name in sent.data:
        assert written.data[name].values.tobytes() == sent.data[name].values.tobytes(), name
    assert float(written.data["delivered"].sel(flow="f").sum()) == 1004


@pytest.mark.parametrize("model", ["packet", "hybrid"])
def test_both_drivers_agree(model):
    case = scenario(WRITES, "cubic")
    if model == "hybrid":
        behind = tc.Flow("reno", writes=WRITES, background=True, count=3, jitter=1)
        case = case.replace(flows=[*case.flows, behind])
    run = both_drivers(case, model)
    assert len(run.fct()) == len(WRITES) * (4 if model == "hybrid" else 1)


# ----------------------------------------------------------------------- every model


@EVERY_MODEL
def test_small_writes_take_the_ideal_time(model):
    """An initial window takes a round trip and the time of all packets but the first."""
    run = simulate_in(model, scenario([(0, 10), (2, 10), (2.5, 5), (7, None)], start=1))
    table = run.fct()
    assert table["item"].tolist() == [0, 1, 2]
    assert table["size"].tolist() == [10, 10, 5]
    assert table["start_s"].tolist() == [1.0, 3.0, 3.5]
    syn = 0.04 + 8 * 80 / 10e6
    ideal = [TRIP + 9 * SENT_IN + syn, TRIP + 9 * SENT_IN, TRIP + 4 * SENT_IN]
    exact = {"rel": 0.1} if model == "fluid" else {"rel": 1e-9}
    assert table["fct_s"].tolist() == pytest.approx(ideal, **exact)
    assert np.isinf(run.data["item_size"].values[3])
    assert math.isnan(float(run.data["finished"][0]))


@EVERY_MODEL
def test_a_flow_finishes_with_its_last_write(model):
    run = simulate_in(model, scenario([(0, 10), (4, 200)]))
    assert float(run.data["finished"][0]) == run.data["item_finished"].values[-1] > 4.1
    assert float(run.totals()["delivered"].iloc[0]) == pytest.approx(210)
    quiet = run.data["sent"].sel(time=slice(0.5, 3.99), flow="f")
    assert float(quiet.sum()) == 0


@EVERY_MODEL
@pytest.mark.parametrize("handshake", [True, False])
def test_a_connection_can_open_before_its_first_write(model, handshake):
    case = scenario([(3, 10), (6, 10)], start=1, transport={"handshake": handshake})
    table = simulate_in(model, case).fct()
    assert table["start_s"].tolist() == [4.0, 7.0]
    exact = {"rel": 0.1} if model == "fluid" else {"rel": 1e-9}
    assert table["slowdown"].tolist() == pytest.approx([1, 1], **exact)


@EVERY_MODEL
def test_each_flow_of_a_count_writes_after_its_own_start(model):
    case = scenario([(0, 3), (4, 3)], count=3, jitter=2)
    run = simulate_in(model, case)
    starts = run.fct().pivot(index="flow", columns="item", values="start_s")
    assert (starts[1] - starts[0]).tolist() == pytest.approx([4.0] * 3)
    assert starts[0].nunique() == 3


@pytest.mark.parametrize("model", ["trains", "hybrid"])
def test_completion_times_in_trains_are_those_of_packets(model):
    """Each write is acknowledged amid a train of ACKs, for there is more data behind it."""
    writes = [(0, 300), *((0.2 + 0.005 * k, 7) for k in range(100)), (0.8, 500)]
    case = scenario(writes, transport={"rwnd": 60}, net=NET, background=True)
    times = simulate_in(model, case).data["item_finished"].values
    exact = simulate_in("packet", case).data["item_finished"].values
    assert len(times) == len(writes)
    assert times == pytest.approx(exact, abs=1e-6)


FAST = tc.dumbbell("100 Mbps", "25 ms", buffer=150)


def after_pause(model, controller, pause, every=None, **transport):
    """W before a pause that begins at 1 s, and once per RTT of 50 ms after it."""
    little = [(1 + every * k, 2) for k in range(round(pause / every))] if every else []
    writes = [(0, 4000), *little, (1 + pause, None)]
    case = scenario(writes, controller, net=FAST, duration=3 + pause, transport=transport)
    run = simulate_in(model, case.replace(interval=0.01))
    window = run.data["cwnd"].sel(flow="f")
    assert run.fct()["fct_s"][0] < 0.96
    times = [0.97, *(1 + pause + 0.05 * k + 0.02 for k in range(12))]
    return np.array([float(window.sel(time=t, method="nearest")) for t in times])


@EVERY_MODEL
def test_after_an_idle_time_the_window_is_the_initial_window(model):
    """RFC 5681, 4.1; then slow start doubles it in each round trip up to ssthresh."""
    for controller in ("reno", "cubic"):
        before, *after = after_pause(model, controller, 3.0)
        assert before > 300
        assert after[:6] == pytest.approx([10, 20, 40, 80, 160, 320], rel=0.04)


@EVERY_MODEL
def test_without_idle_restart_the_window_is_kept(model):
    before, first, *_ = after_pause(model, "reno", 3.0, idle_restart=False)
    assert first == before > 300


@EVERY_MODEL
def test_with_window_decay_the_window_halves_once_per_timeout(model):
    """Linux, ``tcp_cwnd_restart``: RTO = 0.05 + 0.2 s; the pause is of 1 s less the transfer."""
    before, *after = after_pause(model, "cubic", 0.6, window_decay=True)
    halvings = round(math.log2(before / after[0]))
    assert after[0] == pytest.approx(before / 2**halvings, abs=1.1)
    assert halvings == 3


@EVERY_MODEL
@pytest.mark.parametrize("every", [None, 0.04], ids=["idle", "trickle"])
def test_time_of_little_use_is_no_time_since_a_loss(model, every):
    """RFC 9438, 4.2 and 5.8: CUBIC resumes alike after 0.4 s and after 20 s."""
    settings = {"idle_restart": False, "every": every}
    short, long = (after_pause(model, "cubic", pause, **settings) for pause in (0.4, 20.0))
    assert long == pytest.approx(short, rel=0.01)
    assert short[1] > 300


@EVERY_MODEL
@pytest.mark.parametrize(("controller", "left"), [("reno", 0.5), ("cubic", 0.7)])
def test_a_loss_in_a_trickle_leaves_a_share_of_the_packets_in_flight(model, controller, left):
    """RFC 5681, equation 4: two to five writes of three packets, in a window of 300."""

    def ssthresh(**transport):
        writes = [(0, 4000), *((1 + 0.04 * k, 3) for k in range(75))]
        lossy = [tc.Change(at, "bottleneck", loss=p) for at, p in ((2.0, 0.9), (2.1, 0.0))]
        sender = {"idle_restart": False, **transport}
        case = scenario(writes, controller, net=FAST, duration=5, transport=sender)
        run = simulate_in(model, case.replace(changes=lossy, interval=0.01))
        assert run.data["cwnd"].sel(flow="f", time=1.9, method="nearest") > 300
        values = run.data["ssthresh"].sel(flow="f", time=slice(2.02, 2.6)).values
        return float(values[np.flatnonzero(np.diff(values))[0] + 1])

    assert left * 6 <= ssthresh() <= left * 15
    assert ssthresh(flight_ssthresh=False) > 0.9 * left * 300


@EVERY_MODEL
@pytest.mark.parametrize("recovery", RECOVERIES.names())
def test_data_written_after_two_duplicate_acks_spare_a_timeout(model, recovery):
    """RFC 5681, 3.2: the first of three packets is lost; the fourth, within cwnd, leaves when it is
    written and causes the third duplicate ACK. The initial timeout is 1 s."""
    net = tc.dumbbell("10 Mbps", "20 ms", buffer=50, access_rate="1 Mbps")
    only_first = [tc.Change(at, "bottleneck", loss=p) for at, p in ((0.0, 0.999999), (0.012, 0.0))]
    case = scenario([(0, 3), (0.1, 1)], net=net, recovery=recovery, transport={"handshake": False})
    run = simulate_in(model, case.replace(changes=only_first))
    totals = run.totals().iloc[0]
    assert (totals["loss_events"], totals["timeouts"]) == (1, 0)
    assert run.fct()["fct_s"][0] <= 0.1 + 2 * (TRIP + 2 * 8 * 1040 / 1e6) + 1e-9


# ------------------------------------------------------------------ beside other things


def test_items_of_flows_and_of_workloads_are_in_one_record():
    load = tc.workloads.web("reno", rate=20, name="web")
    for model in ("packet", "fluid"):
        alone = tc.simulate(tc.Scenario(NET, [tc.Flow("reno")], duration=5, workloads=load), model)
        flows = [tc.CBR("1 kbps"), tc.Flow("reno", writes=[(0, 3), (2, 4)], name="f")]
        both = tc.simulate(tc.Scenario(NET, flows, duration=5, workloads=load), model)
        table = both.fct()
        assert table[table["flow"] == "f"]["size"].tolist() == [3, 4]
        web = table[table["flow"] == "web"]
        assert web["size"].tolist() == alone.fct()["size"].tolist()
        assert web["start_s"].tolist() == alone.fct()["start_s"].tolist()
        assert web["conversation"].tolist() == alone.fct()["conversation"].tolist()
        assert web["fct_s"].notna().any()


@pytest.mark.parametrize("options", [{"trains": 16}, {"steps": 20}], ids=["trains", "fluid"])
def test_a_background_flow_has_its_completion_times_beside_those_of_packets(options):
    flows = [
        tc.Flow("reno", writes=[(0, 10), (2, 10)], name="front"),
        tc.Flow("reno", writes=[(0.5, 12), (2.5, None)], name="back", background=True),
        tc.Flow("reno", writes=[(1, 14)], name="last"),
    ]
    load = tc.workloads.web("reno", rate=5, name="web")
    case = tc.Scenario(NET, flows, duration=4, workloads=load)
    found = tc.simulate(case, "hybrid", **options).fct().query("flow != 'web'")
    exact = tc.simulate(case).fct().query("flow != 'web'")
    assert found["flow"].tolist() == ["front", "front", "back", "last"]
    for column in ("flow", "item", "size", "start_s"):
        assert found[column].tolist() == exact[column].tolist()
    assert found["fct_s"].tolist() == pytest.approx(exact["fct_s"].tolist(), rel=0.15)


def test_a_trace_names_conversations_beside_writes():
    flows = [tc.Flow("reno", writes=[(0, 3), (2, 4)], name="f")]
    load = tc.workloads.web("reno", rate=20, name="web")
    run = tc.simulate(tc.Scenario(NET, flows, duration=3, workloads=load), trace=True)
    assert set(run.trace()["flow"]) >= {"f", "web#0", "web#1"}


def test_a_flow_without_a_record_has_totals_only():
    case = scenario([(0, 3), (2, 4)], record=False)
    run = tc.simulate(case.replace(flows=[*case.flows, tc.Flow("reno", size=5)]))
    assert run.fct()["size"].tolist() == [5]
    assert run.totals()["delivered"].tolist() == [7, 5]


def test_representatives_count_for_all_their_flows():
    case = scenario([(0, 3), (2, 4)], count=200, jitter=1)
    table = tc.simulate(case, "fluid").fct()
    assert len(table) == 400
    assert sorted(set(table["size"])) == [3, 4]


def test_a_stop_by_hand_ends_the_writes():
    case = scenario([(0, 30), (4, 50), (6, 50)])
    for stop, delivered in ((3.0, 30), (5.0, 80)):
        sim = tc.PacketSimulation(case)
        ends = []

        def process(sim=sim, stop=stop, ends=ends):
            yield sim.env.timeout(stop)
            sim.flow("f").stop()
            ends.append((yield sim.flow("f").finished))

        sim.env.process(process())
        run = sim.run()
        assert float(run.totals()["delivered"].iloc[0]) == delivered
        assert ends == [pytest.approx(stop)]
        assert run.fct()["size"].tolist() == [30, 50][: 1 + (stop > 4)]


def test_writes_of_a_flow_that_is_added():
    flow = tc.Flow("cubic", writes=[(0, 300), (2, 40)], name="f", start=1)
    first = tc.Flow("reno", writes=[(0, 5), (3, 5)])
    both = tc.simulate(tc.Scenario(NET, [first, flow], duration=8))
    sim = tc.PacketSimulation(tc.Scenario(NET, [first], duration=8), growing=True)
    sim.add(flow)
    added = sim.run()
    assert added.fct().equals(both.fct())
    assert added.fct()["fct_s"].notna().all()


def test_a_process_cannot_send_more_than_the_writes():
    sim = tc.PacketSimulation(scenario([(0, 3)]))
    with pytest.raises(tc.ScenarioError, match="flow 'f': has writes: give it a size to add to"):
        sim.flow("f").send(3)
