"""Workloads in the ODE: the traffic of the packet model, places, applications."""

import math

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.errors import ScenarioError
from tcpcc.models.fluid.fluid_records import FREE, RUNNING
from tcpcc.models.fluid.fluid_world import FluidWorld

MEAN = 20 * 1000  # bytes; 20 packets
SIZES = tc.workloads.Distribution("expon", scale=MEAN)


def net(buffer=120, **settings):
    return tc.dumbbell("20 Mbps", "20 ms", buffer, **settings)


def web(load=0.6, flow="newreno", duration=20.0, flows=(), **settings):
    """Transfers of 20 packets in the mean that use a share of the link."""
    rate = load * 20e6 / 8 / (1000 * 20)
    work = tc.Workload(
        flow, tc.workloads.Conversation(SIZES), interarrival=tc.workloads.poisson(rate), name="web"
    )
    return tc.Scenario(net(), flows, workloads=[work], duration=duration, **settings)


def talk(
    duration=20.0, flow="newreno", beginnings=1.0, count=None, changes=(), interval=0.1, **settings
):
    """Conversations that begin every second, one after the other."""
    flow = flow if isinstance(flow, tc.Flow) else tc.Flow(flow)
    kind = tc.workloads.Conversation(**{"size": 50 * 1000, **settings})
    work = tc.Workload(flow, kind, interarrival=beginnings, count=count)
    more = {"changes": changes, "interval": interval, "duration": duration}
    return tc.Scenario(net(math.inf), [], workloads=[work], **more)


def trip(packet=1000, ack=40, rate=20e6):
    """RTT with empty queues of `net`, whose access links have ten times the rate."""
    return 2 * (0.02 + 0.0) + 8 * (packet + ack) / rate


def test_an_idle_connection_acts_when_its_application_does():
    """Ten packets every second; a step is a twentieth of a round trip of 40 ms."""
    scenario = talk(size=10 * 1000, items=20, gap=1, count=1, duration=18.0)
    world = FluidWorld(scenario)
    acted = 0
    for k in range(world.end):
        world.run(k + 1)
        acted += world.flows["acted"][0] == k
    assert 0.01 < acted / world.end < 0.2


@pytest.fixture(scope="module")
def both():
    return [tc.simulate(web(), model) for model in ("packet", "fluid")]


def test_the_traffic_is_that_of_the_packet_model(both):
    """As many items, as large, at the same times, at the same rows."""
    packet, fluid = (run.data for run in both)
    for name in ("item_flow", "item_conversation", "item_number", "item_size", "item_start"):
        assert np.array_equal(packet[name], fluid[name]), name
    assert len(fluid["item_size"]) > 1000


def test_completion_times_are_those_of_packets(both):
    """Within 3 %, and the same items are open at the end."""
    packet, fluid = (run.fct()["fct_s"] for run in both)
    assert fluid.mean() == pytest.approx(packet.mean(), rel=0.03)
    for share in (0.25, 0.5, 0.95):
        assert fluid.quantile(share) == pytest.approx(packet.quantile(share), rel=0.03), share
    assert (packet.isna() == fluid.isna()).mean() > 0.998
    assert fluid.isna().sum() > 0


def test_a_row_has_the_sums_of_its_conversations(both):
    run = both[1]
    row = run.data.sel(flow="web")
    items = run.data["item_size"].values
    done = ~np.isnan(run.data["item_finished"].values)
    assert items[done].sum() <= float(row["delivered"].sum()) <= items.sum()
    sent, dropped, again = (float(row[n].sum()) for n in ("sent", "dropped", "retransmitted"))
    assert 0 <= sent - dropped - float(row["delivered"].sum()) < 200
    assert again == pytest.approx(dropped, abs=20)
    assert np.isnan(row["cwnd"]).all()
    assert float(row["timeouts"]) == pytest.approx(float(both[0].data["timeouts"].sum()), abs=20)


def test_places_are_reused_and_counters_kept():
    world = FluidWorld(web(0.9, duration=30))
    world.run(world.end)
    talks = world.conversations
    assert len(talks.conversations) > 3000
    assert len(world.flows) < 300
    free = int(talks.loads["n_free"][0])
    assert free == np.count_nonzero(world.flows["status"] == FREE)
    assert free + np.count_nonzero(talks.conversations["place"] >= 0) == len(world.flows)
    assert talks.counters("timeouts")[0] >= world.flows["timeouts"].sum() > 0


@pytest.mark.parametrize("name", ["newreno", "cubic", "vegas", "bbr", "compound"])
def test_a_connection_finds_nothing_of_the_one_before(name):
    """Transfers alone on the link all take the same time."""
    times = tc.simulate(talk(flow=name, beginnings=2.0), "fluid").fct()["fct_s"]
    assert len(times) >= 9
    assert times.to_numpy() == pytest.approx(np.full(len(times), times[0]), rel=1e-6)


def test_no_totals_of_the_connection_before():
    """Samples read what the place had sent and delivered a round trip ago."""
    world = FluidWorld(talk(flow="bbr", beginnings=2.0))
    k = round((4 + trip()) / world.step) - 5
    world.run(k)
    for history in world.histories.values():
        history[:] = 7.0
    while not (world.flows["conversation"] * (world.flows["status"] == RUNNING) == 2).any():
        k += 1
        world.run(k)
    (place,) = np.flatnonzero(world.flows["conversation"] == 2)
    rows = np.arange(k - 20, k - 1) & int(world.w["mask"][0])
    assert not world.histories[place][rows].any()


def test_what_is_sent_before_a_place_is_taken_again_counts():
    """Ten transfers in a bin, in one place."""
    run = tc.simulate(talk(beginnings=0.5, interval=6.0, duration=6.0), "fluid")
    done = run.fct()["fct_s"].notna()
    assert done.sum() == 11
    assert float(run.data["delivered"].sum()) == pytest.approx(50 * 11, abs=1e-6)


def test_many_at_once_need_more_places():
    """300 connections that open together share the link."""
    scenario = talk(beginnings=0.0, count=300, duration=12.0)
    run = tc.simulate(scenario, "fluid")
    times = run.fct()["fct_s"]
    assert times.notna().all()
    assert times.max() == pytest.approx(300 * 50 * 8000 / 20e6, rel=0.05)
    assert float(run.data["delivered"].sum()) == pytest.approx(300 * 50, rel=1e-9)


def test_a_reader_pauses_after_the_last_packet():
    """Items wait for the ones before: pause and transfer alternate."""
    scenario = talk(count=1, size=3 * 1000, items=5, gap=1.5)
    items = tc.simulate(scenario, "fluid").data
    start, done = items["item_start"].values, items["item_finished"].values
    assert len(start) == 5
    assert start[1:] - done[:-1] == pytest.approx(np.full(4, 1.5), abs=1e-9)
    assert (done - start)[0] == pytest.approx(2 * trip(), rel=0.05)  # with the handshake
    assert (done - start)[1:] == pytest.approx(np.full(4, trip()), rel=0.1)


def test_keys_do_not_wait_for_the_network():
    scenario = talk(count=1, size=1000, items=200, gap=0.01, waits=False)
    items = tc.simulate(scenario, "fluid").data
    start = items["item_start"].values
    assert np.diff(start) == pytest.approx(np.full(199, 0.01), abs=1e-9)
    assert (items["item_finished"].values[10:] - start[10:]).max() < 1.2 * trip()


def test_an_idle_connection_restarts_with_the_initial_window():
    """RFC 5681, 4.1: a later item takes as long as the first, or if the window is kept less."""

    def later(idle_restart, gap=3.0):
        flow = tc.Flow("newreno", transport=tc.Transport(idle_restart=idle_restart))
        run = tc.simulate(talk(flow=flow, count=1, size=100 * 1000, items=4, gap=gap), "fluid")
        return run.fct()["fct_s"].to_numpy()

    restarts, stays = later(True), later(False)
    assert restarts[1:] == pytest.approx(np.full(3, restarts[0] - trip()), rel=0.02)
    assert (stays[1:] < restarts[1:] - 1.5 * trip()).all()
    assert later(True, gap=0.05)[1:] == pytest.approx(stays[1:], rel=0.02)  # before the timeout


def hold(s, p, a):
    s.cwnd = max(s.cwnd, 1.0)


def reopen(s, p, a):
    s.cwnd = 40.0 if a.idle > p.long else 4.0


PATIENT = tc.Controller(
    name="patient",
    summary="a window that depends on the length of the last pause",
    on_ack=hold,
    on_loss=hold,
    on_timeout=hold,
    on_restart=reopen,
    params={"long": tc.Param(1 + 0.5 * trip(), "s", "")},
)


def test_on_restart_is_called_with_the_time_since_the_last_packet():
    """That is the pause and a round trip: 40 packets then take one round trip, else ten."""

    tc.register(PATIENT)  # the fixture `registries` takes it out again

    def later(gap):
        run = tc.simulate(talk(flow=PATIENT, count=1, size=40_000, items=3, gap=gap), "fluid")
        return run.fct()["fct_s"].to_numpy()[1:]

    assert later(1.0) == pytest.approx(np.full(2, trip() + 40 * 8000 / 20e6), rel=0.1)
    assert later(0.9) == pytest.approx(np.full(2, 10 * trip()), rel=0.1)


def test_an_open_conversation_sees_a_change_of_delay():
    """The delay of the bottleneck doubles at 5 s; one key each 0.1 s."""
    changes = [tc.Change(5, "bottleneck", delay="50 ms")]
    scenario = talk(
        count=1, size=1000, items=80, gap=0.1, waits=False, changes=changes, duration=10.0
    )
    items = tc.simulate(scenario, "fluid").data
    took = items["item_finished"].values - items["item_start"].values
    before, after = took[10:40].mean(), took[60:80].mean()
    assert after - before == pytest.approx(0.03, abs=0.004)


def test_kinds_have_their_own_rows_and_sizes_of_packets():
    kinds = [
        tc.workloads.Conversation(100_000, share=1, name="large"),
        tc.workloads.Conversation(20_000, packet_size=500, share=3, name="small"),
    ]
    work = tc.Workload("newreno", kinds, interarrival=tc.workloads.poisson(10), name="w")
    scenario = tc.Scenario(net(), [tc.Flow("cubic")], workloads=[work], duration=20)
    packet, fluid = (tc.simulate(scenario, model) for model in ("packet", "fluid"))
    assert list(fluid.data.flow.values) == ["cubic1", "w/large", "w/small"]
    for name in ("w/large", "w/small"):
        one, other = (float(r.data["delivered"].sel(flow=name).sum()) for r in (packet, fluid))
        assert other == pytest.approx(one, rel=0.01)
    bits = (8 * fluid.data["packet_size"] * fluid.data["delivered"].sum("time")).sum()
    assert float(fluid.data["sent_bits"].sum()) == pytest.approx(float(bits), rel=0.005)


def test_the_length_of_the_tables_changes_no_bit(monkeypatch):
    """They become longer three times, or are long enough from the start."""
    case = tc.Scenario(
        tc.dumbbell("2 Mbps", "4 ms", 400),
        [tc.Flow("cubic", access_delay=0.002 * k, recovery="sack") for k in range(40)],
        duration=12,
    )
    runs = []
    for reach in (32, 4096):
        monkeypatch.setattr("tcpcc.models.fluid.fluid_world.SHORTEST_REACH", reach)
        world = FluidWorld(case)
        first = int(world.links["mask"][0])
        world.run(world.end)
        runs.append((first < world.links["mask"][0], world.flow_bins, world.link_bins))
    assert [longer for longer, _, _ in runs] == [True, False]
    for of_short, of_long in zip(*(run[1:] for run in runs), strict=True):
        assert of_short.tobytes() == of_long.tobytes()


@pytest.mark.parametrize(("controller", "loss"), [("vegas", 0.0), ("vegas", 0.02), ("bbr", 0.0)])
def test_a_connection_leaves_nothing_in_the_tables(monkeypatch, controller, loss):
    """Thousands of them in a few places, whose rows are used again sooner or later."""
    case = web(0.95, controller, duration=30.0).replace(net=net(20, loss=loss))
    bins = []
    for reach in (32, 512):
        monkeypatch.setattr("tcpcc.models.fluid.fluid_world.SHORTEST_REACH", reach)
        world = FluidWorld(case)
        world.run(world.end)
        assert np.bincount(world.conversations.conversations["place"] + 1)[0] > 3 * len(world.flows)
        bins.append(world.flow_bins.tobytes() + world.link_bins.tobytes())
    assert bins[0] == bins[1]


def test_tables_of_a_link_are_as_long_as_its_own_waits():
    """One hop of a path with a long queue: the tables of the others stay short."""
    net = tc.chain(8, [20e6] * 7 + [1e6], 0.004, [20] * 7 + [300])
    world = FluidWorld(tc.Scenario(net, [tc.Flow("newreno", recovery="reno")], duration=20))
    world.run(world.end)
    rows = (world.links["mask"] + 1).tolist()
    assert max(rows) >= 4 * min(rows)
    assert sum(rows) < 3 * max(rows)
    assert not world.histories


# Links of whole packets and header fields


def beside_one(queue):
    """One long flow beside the transfers."""
    return web(flows=[tc.Flow("newreno")]).replace(net=net(queue=queue))


@pytest.mark.parametrize("queue", ["codel", "drr", "fq_codel"])
def test_completion_times_behind_links_of_whole_packets_are_those_of_packets(queue):
    packets, fluid = (
        tc.simulate(beside_one(queue), model).fct()["fct_s"] for model in ("packet", "fluid")
    )
    assert len(fluid) == len(packets)
    assert fluid.mean() == pytest.approx(packets.mean(), rel=0.08)
    assert fluid.quantile(0.5) == pytest.approx(packets.quantile(0.5), rel=0.08)


@pytest.mark.parametrize(
    ("queue", "flow"),
    [
        (tc.queues.DropTail(), "newreno"),
        (tc.queues.CoDel(), "newreno"), (tc.queues.FQ(), "newreno"),
        (tc.queues.XCPRouter(), "xcp"), (tc.queues.DRR(), "xcp"),
    ],
)  # fmt: skip
def test_places_may_be_added_at_any_time(queue, flow, monkeypatch):
    """Also while packets wait. With room for all from the beginning the numbers are the same."""
    net = tc.chain(2, [30e6, 20e6], 0.005, 60, queue=[tc.queues.DropTail(), queue])
    flows = [tc.Flow(flow), tc.Flow("cubic", count=2)]
    scenario = web(0.9, flow, 8.0, flows=flows).replace(net=net)
    runs = []
    for places in (1, 128):
        monkeypatch.setattr("tcpcc.models.fluid.fluid_world.FIRST_PLACES", places)
        runs.append(tc.simulate(scenario, "fluid").data)
    for name in ("delivered", "sent", "dropped", "cwnd", "queue", "item_finished"):
        assert np.array_equal(runs[0][name], runs[1][name], equal_nan=True), name


def test_connections_end_though_their_last_acks_are_dropped():
    """A timeout brings another ACK, which says what they had to say."""
    there, back = net().links
    back = back.replace(rate=30e3, buffer=1, queue="codel", loss=0.3)
    case = talk(size=20_000, beginnings=0.5, count=20, duration=120.0)
    world = FluidWorld(case.replace(net=net().replace(links=[there, back])))
    world.run(world.end)
    assert world.link_bins["drops"].sum() > 20
    assert (world.flows["status"] == FREE).all()


def test_links_of_whole_packets_have_all_flows():
    net = tc.dumbbell("100 Mbps", "25 ms", 400, queue="codel")
    crowd = tc.Scenario(net, [tc.Flow("newreno", count=150, jitter=2)], duration=5.0)
    assert len(tc.simulate(crowd, "fluid").data.flow) == 150
    many = crowd.replace(flows=[tc.Flow("newreno", count=20_000)])
    with pytest.raises(ScenarioError, match="'codel' decides about each packet: must be at most"):
        tc.simulate(many, "fluid")


def test_a_router_counts_the_packets_of_all_that_a_sender_stands_for():
    net = tc.dumbbell("200 Mbps", "25 ms", 400, queue=tc.queues.XCPRouter())
    crowd = tc.Scenario(net, [tc.Flow("xcp", count=200, jitter=2)], duration=8.0)
    windows = []
    for senders in (20, 200):
        late = tc.simulate(crowd, "fluid", senders=senders).data.sel(time=slice(4, 8))
        windows.append(float(late["cwnd"].mean()))
        assert float(late["delivered"].sum()) == pytest.approx(4 * 25_000, rel=0.02)
    assert windows[0] == pytest.approx(windows[1], rel=0.05)
