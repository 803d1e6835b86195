"""Further inputs of controllers (deliveries, lost packets, marks, times) and pacing, tested with
BBR, Copa, LEDBAT, DCTCP and RACK."""

import ctypes
import dataclasses
import math

import numpy as np
import pytest
from by_hand import Rules
from drivers import both_drivers
from on_a_link import mean_over_seeds, on_a_link

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS, bbr
from tcpcc.controllers.windowed import update_max, update_min
from tcpcc.models.packet.handlers import run_events
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.queues import QUEUES

S = tc.State


def nothing(s, p, a):
    pass


def on_ack(s, p, a):
    s.cwnd = p.window
    s.pacing_rate = p.rate
    s.total += a.delivered
    s.told = a.total_delivered
    s.pipe = a.pipe
    s.rate = a.delivery_rate
    s.owd = a.owd
    s.limited = a.app_limited
    if s.stamp_back > a.total_delivered - a.rate_delivered:
        s.early += 1


def on_lost_packet(s, p, a):
    s.lost += 1


def on_timer(s, p, a):
    s.wakes += 1
    s.wake_at = a.now + 0.1


def on_restart(s, p, a):
    s.restarts += 1


FIELDS = (
    "total", "told", "pipe", "rate", "owd", "limited", "stamp_back", "early", "lost", "wakes",
    "restarts",
)  # fmt: skip
PROBE = tc.Controller(
    name="probe",
    summary="a fixed rate and window, which notes what it is told",
    on_ack=on_ack,
    on_lost_packet=on_lost_packet,
    on_timer=on_timer,
    on_restart=on_restart,
    params={"rate": tc.Param(500, "packets/s", ""), "window": tc.Param(1000, "packets", "")},
    state={"pacing_rate": S(math.inf, "", ""), "wake_at": S(0.05, "s", "")}
    | {name: S(0, "", "") for name in FIELDS},
    stamps={"total": "stamp_back"},
    window="own",
    recovery="rack-tlp",
    record=("rate", "owd"),
)


def path(controller, duration=5.0, *, rate="10 Mbps", buffer=50, loss=0.0, queue=None, **options):
    flow = tc.Flow(controller, **options)
    link = {"rate": rate, "buffer": buffer, "loss": loss, "queue": queue}
    return on_a_link(flow, duration=duration, seed=1, **link)


def states(case):
    """State of the first controller, record of its deliveries, and record of its sender at the
    end."""
    world = PacketWorld(case)
    while run_events(world.address, float(case.duration)):
        world.grow()
    return world.senders.states[0], world.senders.deliveries[0][0], world.tcp[0]


# The contract


@pytest.mark.parametrize("rate", [500, 0.5])
def test_a_paced_sender_sends_at_its_rate(rate):
    run = tc.simulate(path(PROBE, 9.0, rate="100 Mbps", params={"rate": rate}), trace=True)
    sent = run.events[run.events["event"] == 0]
    gaps = np.diff(sent["time"][sent["time"] > 1])
    assert gaps == pytest.approx(1 / rate, abs=1e-9)
    assert len(gaps) > 2


def test_delivery_rate_and_one_way_delay_of_a_path_without_a_queue():
    s, d, _ = states(path(PROBE))
    assert s["rate"] == pytest.approx(500, rel=1e-6)
    assert s["owd"] == pytest.approx(0.02 + 0.0008, abs=1e-9)  # and 1000 bytes at 10 Mbps
    assert s["pipe"] == pytest.approx(500 * 0.0416, abs=1)
    assert s["limited"] == s["lost"] == 0
    assert d["total"] == s["told"] == s["total"]


def test_the_delivery_rate_is_the_bottlenecks_when_packets_queue():
    s, _, _ = states(path(PROBE, params={"rate": 5000, "window": 80}))
    assert s["rate"] == pytest.approx(1250, rel=0.001)
    assert s["owd"] == pytest.approx(0.02 + 80 / 1250 - 0.0416 + 0.0008, abs=0.001)


def test_a_stamp_returns_with_the_ack_of_its_packet():
    """The stamp equals the deliveries that the rate estimator noted when the packet was sent."""
    s, _, _ = states(path(PROBE))
    assert s["early"] == 0
    assert 500 * 0.03 < s["total"] - s["stamp_back"] < 500 * 0.05


def test_the_timer_rule_is_called_at_wake_at():
    assert states(path(PROBE, 2.0))[0]["wakes"] == 20  # 0.05, 0.15, ... 1.95


def test_on_restart_is_called_when_data_arrives_after_an_idle_period():
    """Ten items a second apart: nine idle periods."""
    talk = tc.workloads.Conversation(3000, items=10, gap=1)
    load = tc.Workload(tc.Flow(PROBE), talk, interarrival=0.1, count=1)
    case = tc.Scenario(tc.dumbbell("10 Mbps", "20 ms", 50), flows=[], workloads=[load], duration=15)
    world = PacketWorld(case)
    while run_events(world.address, case.duration):
        world.grow()
    rooms = (ctypes.c_char * PROBE.state_dtype.itemsize).from_address(int(world.tcp["state"][0]))
    assert np.frombuffer(rooms, PROBE.state_dtype)["restarts"] == 9


@pytest.mark.parametrize("recovery", ["sack", "sack-prr", "rack-tlp"])
def test_sent_packets_are_delivered_lost_or_in_flight(recovery):
    s, d, f = states(path(PROBE, 20.0, loss=0.02, recovery=recovery))
    again = f["sent"] - (d["total"] + d["lost"] + d["pipe"])  # although they had been delivered
    # a packet that a timeout marks lost may arrive after all, and is then not sent again
    late = 0 if recovery == "rack-tlp" else 60 * f["timeouts"]
    assert -late <= again <= (0 if recovery == "rack-tlp" else f["duplicates"])
    assert d["total"] == pytest.approx(f["delivered"], abs=30)
    unannounced = d["lost"] - s["lost"]  # sent again after a timeout without a notice
    assert 0 <= unannounced <= (0 if recovery == "rack-tlp" else 10 * f["timeouts"])
    assert d["lost"] > 100


@pytest.mark.parametrize(
    "name", [name for name in CONTROLLERS.names() if CONTROLLERS.find(name).every_ack]
)
def test_a_receivers_window_bounds_the_windows_that_the_transport_leaves_alone(name):
    """The transport takes no growth back from `every_ack` and ``window="own"``: their rules add
    `growing`, or their models of the path leave out what the receiver limited. Twice the used
    window; BBR's and Vivace's are 2 to 3 BDP of a rate in a trial."""
    run = tc.simulate(path(name, 30.0, rate="100 Mbps", buffer=400, transport={"rwnd": 20}))
    most = 7 if name in ("bbr", "bbr2", "bbr3", "vivace") else 2.1
    assert float(run.data["cwnd"].max()) <= 20 * most
    assert float(run.throughput(after=10)[0]) > 0.9 * 20 * 8000 / 0.0402


def test_a_rate_that_the_receiver_limits_is_marked_as_limited_but_not_in_linux():
    """Linux: tcp_rate_check_app_limited asks for data only."""
    for decay, expected in ((False, 1), (True, 0)):
        transport = {"rwnd": 10, "window_decay": decay}
        s, _, _ = states(path(PROBE, transport=transport, params={"rate": math.inf}))
        assert s["limited"] == expected


@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize(
    "name", ["bbr", "bbr3", "copa", "ledbat", "lp", "cdg", "dctcp", "nv", "vivace"]
)
def test_both_drivers_give_the_same_bits(name, loss):
    marked = {"transport": {"ecn": "accurate"}} if name == "dctcp" else {}
    both_drivers(path(name, 4.0, loss=loss, queue=tc.queues.StepMark(threshold=30), **marked))


def test_a_recovery_that_inflates_the_window_is_refused():
    with pytest.raises(tc.ScenarioError, match="needs one that reads selective"):
        path("bbr", recovery="reno")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"window": "mine"}, 'window = \'mine\': must be "shared" or "own"'),
        ({"on_timer": nothing}, "on_timer and the state wake_at go together"),
        ({"stamps": {"cwnd": "nowhere"}}, "'nowhere' is not a real number of its state"),
    ],
)
def test_invalid_controllers_are_refused_when_defined(wrong, complaint):
    with pytest.raises(ValueError, match=complaint):
        tc.Controller("wrong", "", on_ack=nothing, on_loss=nothing, on_timeout=nothing, **wrong)


def test_a_pacing_rate_of_zero_is_an_error():
    def stop(s, p, a):
        s.pacing_rate = 0.0

    wrong = tc.Controller(
        "wrong", "", on_ack=stop, every_ack=True,
        state={"pacing_rate": S(math.inf, "", "")}, recovery="sack",
    )  # fmt: skip
    with pytest.raises(ArithmeticError, match="pacing_rate"):
        tc.simulate(path(wrong, 1.0))


# Filters


@pytest.mark.parametrize(("update", "best"), [(update_max, max), (update_min, min)])
def test_windowed_filters_forget_old_values(update, best):
    """Never worse than the best of the last three quarters of the window, never older than the
    window."""
    values = np.random.default_rng(1).random(3000)
    worst = 0.0 if best is max else math.inf
    at, kept = np.zeros(3), np.full(3, worst)
    for k, value in enumerate(values):
        found = update(at, kept, 40.0, float(k), float(value))
        assert found in values[max(k - 40, 0) : k + 1]
        assert best(found, best(values[max(k - 29, 0) : k + 1])) == found


# RACK


def test_rack_repairs_lost_retransmissions_without_timeout():
    """RFC 8985. With 5 % loss one retransmission in twenty is lost, too."""
    timeouts = {}
    for recovery in ("sack-prr", "rack-tlp"):
        flow = tc.Flow(PROBE, recovery=recovery, rate=800)
        run = tc.simulate(on_a_link(flow, buffer=200, loss=0.05, duration=20))
        timeouts[recovery] = int(run.data["timeouts"][0])
    assert timeouts["rack-tlp"] == 0
    assert timeouts["sack-prr"] > 3


def drop_some(s, p, q):
    s.seen += 1
    if s.seen == p.a or s.seen == p.b or s.seen == p.c or s.seen == p.d:
        q.drop = 1.0


@pytest.fixture
def some():
    """A discipline that drops the arrivals with the given numbers; unregistered after the test."""
    params = {name: tc.Param(0, "", "number of an arrival") for name in "abcd"}
    yield tc.register(
        tc.Discipline(
            "some", "drops some arrivals", drop_some, params=params, state={"seen": S(0, "", "")}
        )
    )
    del QUEUES._known["some"]


def sends(some, lost, recovery="rack-tlp"):
    """Times and numbers of the packets that a sender of P0 to P3 sends after the SYN over a path of
    0.1 s, and its timeouts. The arrivals `lost` at the bottleneck are dropped."""
    queue = some(**dict(zip("abcd", lost, strict=False)))
    flow = tc.Flow("newreno", size=4, recovery=recovery, transport=tc.Transport(initial_window=4))
    link = {"rate": "1 Gbps", "delay": "50 ms", "buffer": 100}
    run = tc.simulate(on_a_link(flow, queue=queue, duration=5, **link), trace=True)
    sent = run.events[run.events["event"] <= 1]
    found = zip(sent["time"].round(2).tolist(), (sent["seq"] - 1).tolist(), strict=True)
    return list(found)[1:], int(run.data["timeouts"][0])


def test_a_probe_repairs_the_loss_of_a_tail(some):
    """RFC 8985's example: P1 to P3 are lost. The probe, P3, leaves two round trips after the ACK of
    P0; its SACK shows that P1 and P2 are lost. RFC 9937 sends one retransmission for it, and the
    other for the ACK of the first."""
    first = [(0.1, 0), (0.1, 1), (0.1, 2), (0.1, 3)]
    lost = (3, 4, 5)
    found, timeouts = sends(some, lost)
    assert found == [*first, (0.4, 3), (0.5, 1), (0.6, 2)]
    assert timeouts == 0
    assert sends(some, lost, "sack-prr")[1] > 0


def test_a_probe_that_repairs_the_last_packet_is_a_loss_event(some):
    """RFC 8985, 7.4.2: only the repair by the probe shows that the packet was lost."""
    found, timeouts = sends(some, (5,))
    assert found[4:] == [(0.4, 3)]
    assert timeouts == 0


# BBR, version 1


def test_bbr_finds_the_bandwidth_and_leaves_startup_after_three_flat_rounds():
    run = tc.simulate(path("bbr", 15.0), trace=True)
    trace = run.trace("bbr1")
    trace = trace[trace["mode"].notna()]
    steady = trace[(trace["mode"] == 2) & (trace["phase"] > 1)]
    assert steady["pacing_rate"].to_numpy() / 0.99 == pytest.approx(1250, rel=0.02)
    assert float(run.throughput(after=2)[0]) > 0.98e7 * 0.99
    drain = trace["time"][trace["mode"] == 1].iloc[0]
    rates = trace[(trace["mode"] == 0) & np.isfinite(trace["pacing_rate"])].set_index("time")[
        "pacing_rate"
    ]
    full = rates[rates >= 0.8 * rates.max()].index[0]
    assert 3 * 0.04 < drain - full < 5 * 0.082  # a full queue doubles the round trip
    probes = trace["time"][trace["mode"] == 3]
    assert 10 < probes.iloc[0] < 10.6
    assert 0.2 <= probes.iloc[-1] - probes.iloc[0] < 0.4
    assert trace["cwnd"][trace["mode"] == 3].max() <= 4


@pytest.mark.parametrize(("loss", "share"), [(0.01, 0.97), (0.05, 0.95), (0.15, 0.7)])
def test_bbr_holds_its_rate_under_random_loss(loss, share):
    """Cardwell et al. 2016, figure 8: nearly all packets that are not lost up to 5 %, most up to
    15 %."""
    bbr, cubic = (
        tc.simulate(path(name, 30.0, rate="20 Mbps", buffer=1000, loss=loss)).throughput(after=5)
        for name in ("bbr", "cubic")
    )
    assert float(bbr[0]) > share * (1 - loss) * 20e6
    assert float(cubic[0]) < 0.4 * 20e6


def test_bbr_has_the_papers_throughput_under_random_loss():
    """Figure 8, 100 Mb/s and 100 ms for 60 s: nearly all packets that are not lost up to 5 %, most
    up to 15 %. Beyond 19 % a probe at 0.99 x 1.25 brings less than the rate before, so the rate
    decays. CUBIC stalls from 1 % on. Means of four seeds."""

    def share(name, loss):
        link = {"rate": "100 Mbps", "delay": "50 ms", "buffer": 2500, "loss": loss}
        case = on_a_link(tc.Flow(name, packet_size=1500), duration=60, **link)
        rate = mean_over_seeds(range(1, 5), lambda run: float(run.throughput()[0]), case)
        return rate / (1 - loss) / 100e6

    assert share("bbr", 0.01) > 0.93
    assert share("bbr", 0.05) > 0.92
    assert share("bbr", 0.15) > 0.65
    assert share("bbr", 0.25) < 0.1
    assert share("cubic", 0.01) < 0.1


def no_total(s, p, a):
    """BBR that counts no losses for its long-term bandwidth."""
    s.losses += 1


def test_bbr_takes_losses_of_a_fifth_for_a_policers():
    """Its rate falls in steps: at the long-term bandwidth for 48 rounds, then measured anew.
    Linux does the same (docs/guides/kernel.md). Without that bandwidth the rate is kept."""
    heedless = dataclasses.replace(bbr.bbr, name="heedless", on_lost_packet=no_total)
    link = {"rate": "20 Mbps", "delay": "50 ms", "buffer": 1000, "loss": 0.2}
    own, other = (
        mean_over_seeds(
            range(3, 9),
            lambda run: float(run.throughput(after=20)[0]),
            on_a_link(tc.Flow(c, packet_size=1500), duration=30, **link),
        )
        for c in ("bbr", heedless)
    )
    assert own < 0.3 * 0.8 * 20e6
    assert other > 2 * own


def test_continued_retransmissions_prevent_timeouts():
    """The first outstanding packet is retransmitted before others, and this restarts the timer."""
    link = {"rate": "100 Mbps", "delay": "50 ms", "buffer": 2500, "loss": 0.1}
    run = tc.simulate(on_a_link(tc.Flow("bbr", packet_size=1500), duration=60, seed=1, **link))
    assert int(run.data["timeouts"][0]) == 0


def test_the_share_of_bbr_beside_cubic_falls_with_the_buffer():
    """Ware et al., IMC 2019; Scholz et al. 2018."""
    shares = []
    for buffer in (20, 100, 800):
        run = tc.simulate(on_a_link("bbr", "cubic", buffer=buffer, duration=60, seed=1))
        one, other = run.throughput(after=10).values
        shares.append(one / (one + other))
    assert shares[0] > 0.6 > shares[1] > shares[2]
    assert shares[2] < 0.35


# Copa, LEDBAT, LP, CDG, DCTCP


def test_copas_velocity_doubles_and_its_queue_is_two_packets():
    """1/delta = 2 packets on average; mvfst's CopaTest lets v run from 1 to 8."""
    run = tc.simulate(path("copa", 20.0, rate="20 Mbps", buffer=300), trace=True)
    assert float(run.data["queue"].where(run.data["time"] > 5).mean()) == pytest.approx(2, abs=1)
    assert run.utilization(after=5) > 0.99
    assert run.trace("copa1")["velocity"].max() >= 2


def test_copas_velocity_from_1_to_8():
    """Without a queue v doubles after the third srtt in one direction and after each further
    one."""
    end = Rules("copa", cwnd=40.0, ssthresh=math.inf, starting=0.0, direction=1.0)
    times = {"rtt": 1 / 8, "srtt": 1 / 8}
    seen = [end.ack(now=k / 8, **times).velocity for k in range(1, 8)]
    assert seen == [1, 1, 1, 2, 4, 8, 16]


@pytest.mark.parametrize("buffer", [50, 300])
def test_copas_competitive_mode_holds_a_share_beside_cubic(buffer):
    """Arun, Balakrishnan 2018, section 2.2. Alone it keeps a queue of two packets."""
    link = {"rate": "20 Mbps", "buffer": buffer}
    shares = []
    for mode in (0, 1):
        flows = [tc.Flow("copa", competitive=mode), "cubic"]
        found = tc.simulate(on_a_link(*flows, duration=300, **link)).throughput(after=20)
        shares.append(float(found[0] / found.sum()))
    assert shares[0] < 0.1
    assert 0.28 < shares[1] < 0.6
    alone = tc.simulate(on_a_link(tc.Flow("copa", competitive=True), duration=20, **link))
    assert alone.queue_mean(after=5) == pytest.approx(2, abs=1)


def test_copas_share_grows_by_one_per_round_trip_and_is_halved_by_a_loss():
    end = Rules("copa", params={"competitive": True}, cwnd=40.0, ssthresh=math.inf)
    shares = []
    for k in range(12):
        now, rtt = 1 + k / 8, 0.1 if k == 0 else 1 / 8
        shares.append(end.ack(now=now, clock=now, rtt=rtt, srtt=1 / 8).share)
    assert shares == [2] * 6 + [3, 4, 5, 6, 7, 8]
    assert end.lose().share == 4


@pytest.mark.parametrize("target", [0.025, 0.1])
def test_ledbat_keeps_its_target(target):
    run = tc.simulate(path("ledbat", 60.0, rate="4 Mbps", buffer=300, target_delay=target))
    wait = float(run.data["queue"].where(run.data["time"] > 40).mean()) / 500
    assert wait == pytest.approx(target, rel=0.1)
    assert run.utilization(after=10) > 0.99


def test_ledbats_window_is_at_most_a_packet_above_the_flight():
    """RFC 6817, 2.4.2: min(cwnd, flightsize + ALLOWED_INCREASE), also where cwnd is above it. Of
    20 packets in flight before this ACK, 19 remain; `inflight` counts one that is acknowledged."""
    end = Rules("ledbat", cwnd=100.0, params={"allowed": 1}, queueing=0.0)
    assert end.ack(phase=0.0, owd=0.0, inflight=20.0).cwnd == 21


@pytest.mark.parametrize("name", ["lp", "cdg"])
def test_low_priority_yields_to_cubic(name):
    link = {"rate": "20 Mbps", "buffer": 100, "seed": 3}
    alone = tc.simulate(on_a_link(name, duration=30, **link))
    assert alone.utilization(after=10) > 0.75
    beside = tc.simulate(on_a_link(name, tc.Flow("cubic", start=3), duration=40, **link))
    mine, other = beside.throughput(after=10).values
    assert mine < 0.3 * other


def of_dctcp(queue, transport=(), **flow):
    """A run of DCTCP over 50 Mb/s and 10 ms, and the mean of its alpha."""
    transport = {"ecn": "accurate", **dict(transport)}
    flow = tc.Flow("dctcp", transport=transport, **flow)
    link = {"rate": "50 Mbps", "delay": "5 ms", "buffer": 1000}
    run = tc.simulate(on_a_link(flow, queue=queue, duration=15, **link), trace=True)
    trace = run.trace("dctcp1")
    return run, trace["alpha"][trace["time"] > 5].mean()


def test_dctcps_alpha_is_that_of_its_sawtooth():
    """Alizadeh et al. 2010, eq. 6: alpha = sqrt(2/W), W = C R + K; no packet is dropped."""
    run, alpha = of_dctcp(tc.queues.StepMark(threshold=65))
    assert alpha == pytest.approx(math.sqrt(2 / (6250 * 0.01016 + 65)), rel=0.15)
    assert run.data["drops"].sum() == 0
    assert run.utilization(after=3) > 0.999


def test_dctcps_alpha_with_codel_that_marks_above_1_ms():
    """Without delayed ACKs alpha is sqrt(2/W) here, too (ns-3's: test_dctcp_against_ns3.py)."""
    queue = tc.queues.CoDel(ecn=True, ce_threshold=0.001)
    run, alpha = of_dctcp(queue, {"initial_window": 10}, packet_size=1500)
    bdp = 50e6 * 0.01 / 12000
    assert alpha == pytest.approx(math.sqrt(2 / (bdp + 4)), rel=0.1)
    assert run.utilization(after=5) > 0.999
    assert run.data["drops"].sel(time=slice(1, None)).sum() == 0
    assert run.queue_mean(after=5) < 4.2  # a millisecond


def test_a_mark_halves_reno_without_a_loss():
    """RFC 3168, 6.1.2: once per window of data, as for a loss."""
    queue = tc.queues.StepMark(threshold=20)
    run = tc.simulate(path("newreno", 30.0, queue=queue, buffer=100, transport={"ecn": "classic"}))
    assert run.data["drops"].sum() == 0
    assert int(run.data["loss_events"][0]) == 0
    assert float(run.data["cwnd"].where(run.data["time"] > 3).max()) < 75
    assert run.queue_max(after=3) < 25


def test_bbr_probes_in_one_phase_of_eight_and_drains_in_the_next():
    end = Rules("bbr", mode=bbr.PROBE_BW)
    gains = []
    for end.s.phase in range(8):
        gains.append(bbr.pacing_gain(end.s, end.p))
    assert gains == [1.25, 0.75, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(("window", "left"), [(5.0, 2.5), (3.0, 2.0), (1.5, 2.0)])
def test_lp_halves_its_threshold_to_at_least_two(window, left):
    state = {"smooth": 0.09, "owd_min": 0.05, "owd_max": 0.1, "dropped_at": -9.0}
    end = Rules("lp", cwnd=window, ssthresh=5.0, **state)
    s = end.ack(acked=0.0, owd=0.09, rtt=0.1, now=5.0)  # a duplicate ACK
    assert (s.ssthresh, s.cwnd) == (left, max(window / 2, 1.0))
