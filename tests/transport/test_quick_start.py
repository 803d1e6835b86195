"""Quick-Start (RFC 4782): compared with ns-2 packet by packet, the router's arithmetic by hand, and
the RFC's requirements on the sender."""

import json
from dataclasses import replace
from functools import cache

import ns2_runs
import numpy as np
import pytest
from by_hand import Queue, Rules
from drivers import both_drivers
from every_model import BESIDE_PACKETS, EVERY_MODEL, simulate_in
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.errors import ScenarioError
from tcpcc.queues.quick_start_router import code_of, rate_of

PATH = {"rate": "10 Mbps", "delay": "50 ms", "buffer": 100}
RECORDED = json.loads((ns2_runs.SCRIPTS / "quick_start.json").read_text())


def case(rate, delay, buffer, duration, *flows, allocation=0.85, near=2, deaf=0):
    """Mb/s, ms, packets, s; for a flow its start (s), request (KB/s of 1024 bytes), size (packets)
    and receiver's window."""
    return {
        "rate": rate, "delay": delay, "buffer": buffer, "near": near, "duration": duration,
        "allocation": allocation, "deaf": deaf, "flows": flows,
    }  # fmt: skip


CASES = {
    "alone, more than the link": case(10, 50, 100, 3, (0.1, 1250, 200, 1000)),
    "alone, little": case(10, 50, 100, 3, (0.1, 80, 200, 1000)),
    "one of three in time for more": case(
        10, 50, 100, 6, (0.1, 400, 400, 1000), (1.1, 700, 400, 1000), (1.2, 800, 400, 1000)
    ),
    "beside a flow that does not ask": case(
        10, 50, 100, 6, (0.1, 0, 4000, 20), (1.1, 1250, 400, 1000), (3.2, 1250, 400, 1000)
    ),
    "a full link approves nothing": case(
        0.64, 50, 10, 20, (0.1, 0, 4000, 8), (1.1, 80, 400, 1000), allocation=1.0
    ),
    "a router that knows nothing of it": case(10, 50, 100, 3, (0.1, 400, 200, 1000), deaf=1),
    "losses among packets sent at the rate": case(
        0.64, 500, 28, 12, (1.0, 80, 82, 1000), (1.45, 80, 150, 1000), allocation=1.0
    ),
    # of ns-2's own test-suite-quickstart.tcl, with drop-tail for its RED
    "suite: quickstart": case(100, 500, 100, 6, (0.0, 0, 9999, 8), (2.0, 40, 80, 1000)),
    "suite: many_requests": case(
        10, 200, 50, 10, (0.0, 0, 9999, 8), (2.0, 100, 400, 1000), (3.0, 100, 200, 1000),
        (4.0, 100, 100, 1000), (6.0, 100, 100, 1000),
    ),
    "suite: routers6": case(
        0.64, 500, 100, 4, (1.0, 40, 100, 1000), (1.1, 40, 100, 1000), (1.2, 40, 100, 1000),
        allocation=1.0,
    ),
}  # fmt: skip


def network(rate, delay, buffer, near, allocation, deaf=0, **router):
    """A host, two routers, another host: Mb/s, ms, packets."""
    share = {"threshold": allocation, "allocation": allocation, "rounded": 0}
    asked = tc.queues.QuickStartRouter(**share | router)
    links = []
    for a, b, bits, ms, queue in (
        ("source", "left", 1e9, near, asked),
        ("left", "right", rate * 1e6, delay, asked),
        ("right", "target", 1e9, near, None if deaf else asked),
    ):
        room = {"buffer": buffer, "record": True} if a == "left" else {}
        links.append(tc.Link(a, b, rate=bits, delay=ms / 1e3, queue=queue, **room))
        links.append(tc.Link(b, a, rate=bits, delay=ms / 1e3))
    return tc.Network(links, default_path=("source", "target"))


@cache
def in_ours(name):
    """Packets that leave the source, in order: times; sequence numbers and flows."""
    path = dict(CASES[name])
    flows, duration = path.pop("flows"), path.pop("duration")
    transport = {"initial_window": 2, "tick": 1e-6, "partial_deflation": False}
    each = []
    for start, request, packets, window in flows:
        asks = {"name": "quick_start", "requested_rate": 8192 * request}
        flow = tc.Flow("newreno", recovery="newreno-steady", start=start, size=packets)
        each.append(
            flow.replace(
                packet_size=1040,
                transport=tc.Transport.ns2(**transport, rwnd=window),
                slow_start=asks if request else "standard",
            )
        )
    run = tc.simulate(tc.Scenario(network(**path), each, duration=duration), trace=True)
    trace = run.trace()
    left = trace[trace["event"].isin(["send", "retransmit"])]
    numbers = {name: k for k, name in enumerate(run.data.flow.values.tolist())}
    return left["time"].values, np.stack([left["seq"], left["flow"].map(numbers)], axis=1).astype(
        int
    )


def in_ns2(folder, flows, deaf=0, kind="Newreno", **path):
    """The same from ns-2."""
    order = ("rate", "delay", "buffer", "near", "duration", "allocation")
    words = [folder / "trace", kind, *(path[name] for name in order), deaf]
    words += [" ".join(map(str, flow)) for flow in flows]
    ns2_runs.run("quick_start.tcl", *words)
    rows = ns2_runs.words((folder / "trace").read_text())
    kept = np.array([(float(r[1]), int(r[10]), int(r[7])) for r in rows if r[0] == "+"])
    return kept[:, 0], kept[:, 1:].astype(int)


EVERY = 20  # packets, of which one is recorded


@ns2_runs.needs_ns2
@pytest.mark.parametrize("name", CASES)
def test_equal_to_ns2_packet_by_packet(name, tmp_path):
    """Requests, approvals, windows, pacing and its end, losses: the same packets at the same times,
    except that ns-2 measures RTTs and writes traces in whole microseconds."""
    times, packets = in_ns2(tmp_path, **CASES[name])
    mine, ours = in_ours(name)
    assert ours.tolist() == packets.tolist()
    np.testing.assert_allclose(mine, times, atol=2e-6, rtol=0)
    assert len(times) == RECORDED[name]["packets"]
    assert packets[::EVERY].tolist() == [row[1:] for row in RECORDED[name]["every 20th"]]


@pytest.mark.parametrize("name", CASES)
def test_equal_to_the_recorded_packets_of_ns2(name):
    times, packets = in_ours(name)
    there = np.array(RECORDED[name]["every 20th"])
    assert len(packets) == RECORDED[name]["packets"]
    assert (packets[::EVERY] == there[:, 1:]).all()
    np.testing.assert_allclose(times[::EVERY], there[:, 0], atol=2e-6, rtol=0)


# The router by hand


def test_rates_are_encoded_as_40_kbps_times_powers_of_two():
    """RFC 4782, 3.1: N = 1 is 80 kb/s, N = 15 is 1.31 Gb/s; other rates are rounded down."""
    assert [rate_of(n) for n in (0, 1, 2, 15)] == [0, 80e3, 160e3, 1310.72e6]
    assert [code_of(rate_of(n)) for n in range(16)] == list(range(16))
    assert code_of(79.9e3) == 0
    assert code_of(319e3) == 2
    assert code_of(1e12) == 15


def router(rate=10e6, **params):
    """A function that passes a packet to the router: time, idle time before it, request; it returns
    answer and approvals."""
    sample = {"arrivals": 1.0, "rate": rate}
    asked = Queue("quick_start_router", params=params, sample=sample)

    def arrival(now, code=0, idle=0.0, words=1):
        packet = {"words": words, "qs_approvals": 2.0, "qs_request": code}
        q = asked.call("on_arrival", now=now, idle=idle, **packet)
        return q.qs_request, q.qs_approvals

    return arrival, asked.s


def test_requests_are_approved_reduced_or_denied():
    """10 Mb/s at 0.85: the first gets 5.12 of 8.5 Mb/s, the second 2.56 of 3.38, then 0.64 and 0.16
    Mb/s; the rest is too small to encode."""
    arrival, s = router()
    assert arrival(0.01, 7, idle=0.01) == (7, 3)
    assert [arrival(0.02 + 0.01 * k, 7) for k in range(4)] == [(6, 3), (4, 3), (2, 3), (0, 2)]
    assert s.approved == pytest.approx(8.48e6)
    assert arrival(0.39, 1) == (0, 2)
    assert arrival(0.41, 7) == (0, 2)  # the link has been busy


def test_an_idle_link_forgets_approvals_after_two_slots_at_most():
    arrival, _ = router()
    arrival(0.19, 7, idle=0.19)
    assert arrival(0.39, 7, idle=0.2)[0] == 6  # it is in the slot before
    assert arrival(0.41, 7, idle=0.02)[0] == 7  # only that second approval is, of 2.56 Mb/s
    assert arrival(0.59, 7, idle=0.18)[0] == 4  # both are
    assert arrival(1.01, 7, idle=0.42)[0] == 7  # none is


def test_the_busiest_of_five_intervals_counts():
    """Half of 0.2 s busy leaves 3.5 Mb/s for a second; then five idle intervals have passed."""
    for later, answer in ((0.5, 6), (1.3, 7)):
        arrival, _ = router()
        arrival(0.0)
        arrival(0.2, idle=0.1)
        now = 0.2
        while now < later:
            now += 0.101
            arrival(now, idle=0.1)
        # packets of a millisecond each: 1 % of use
        assert arrival(now + 0.1, 7, idle=0.1)[0] == answer


def test_acks_and_packets_without_a_request_are_ignored():
    arrival, s = router()
    assert arrival(0.1, 0) == (0, 2)
    assert arrival(0.1, 7, words=0) == (7, 2)
    assert s.approved == 0


# The sender


def opened(controller="reno", *, code=7.0, approvals=3.0, rtt=0.1, window=10.0):
    """The sender after the SYN's ACK: N, approvals on 3 hops, RTT, initial window."""
    end = Rules(controller, "quick_start", cwnd=1.0, ssthresh=np.inf)
    end.call("on_start").cwnd = window
    answer = {"qs_request": code, "qs_approvals": approvals, "hops": 3.0}
    end.call("on_open", rtt=rtt, packet_size=1000.0, **answer)
    return end


@pytest.mark.parametrize(
    ("asked", "rule", "sample"),
    [(5.2e6, "on_open", {"qs_request": 0.0}), (None, "on_timeout", {})],
    ids=["answered", "a SYN that is repeated"],
)
def test_only_the_first_syn_carries_a_request(asked, rule, sample):
    params = {"requested_rate": asked} if asked else {}
    end = Rules("reno", "quick_start", cwnd=1.0, ssthresh=np.inf, params=params)
    request = end.call("on_start").request
    assert request == 7 if asked else request > 0
    assert end.call(rule, **sample).request == 0


def test_an_approval_is_a_window_paced_over_a_round_trip():
    """5.12 Mb/s for 0.1 s are 64 packets of 1000 bytes."""
    s = opened().s
    assert (s.cwnd, s.pacing_rate, s.approved_rate) == (64, 640, 5.12e6)


@pytest.mark.parametrize(
    "answer",
    [
        {"approvals": 2.0},  # a router that knows nothing of it
        {"code": 0.0},
        {"rtt": 0.0},  # the SYN was repeated
        {"code": 4.0, "window": 10.0},  # 0.64 Mb/s: 8 packets
    ],
)
def test_without_approval_the_window_is_the_initial_one(answer):
    s = opened(**answer).s
    assert (s.cwnd, s.pacing_rate) == (10, np.inf)


def test_the_first_ack_of_data_reduces_the_window_to_the_used_part():
    s = opened().round(inflight=30.0)
    assert (s.cwnd, s.pacing_rate, s.ssthresh) == (30, np.inf, np.inf)


@pytest.mark.parametrize("controller", ["reno", "cubic", "vegas", "htcp", "compound"])
@pytest.mark.parametrize(("rounds", "back"), [(0, True), (1, True), (2, False)])
def test_only_a_loss_before_quick_start_is_confirmed_resets_the_window(controller, rounds, back):
    end = opened(controller)
    for _ in range(rounds):
        end.round(inflight=64.0, round_rtt=0.1)
    end.s.ssthresh = np.inf
    s = end.lose(inflight=64.0, round_rtt=0.1)
    assert s.pacing_rate == np.inf
    assert ((s.cwnd, s.ssthresh) == (10, np.inf)) == back


# Runs


def transfer(controller="cubic", queue=None, request=1e9, packets=120, **settings):
    asks = {"name": "quick_start", "requested_rate": request}
    sender = {"transport": tc.Transport.ns2()}
    flow = tc.Flow(controller, size=packets, slow_start=asks, **sender | settings)
    return on_a_link(flow, **PATH, queue=queue, access_rate="100 Mbps", duration=5)


def test_both_drivers_give_the_same_bits():
    both_drivers(transfer(queue=tc.queues.QuickStartRouter()))


@pytest.mark.parametrize("controller", ["reno", "cubic", "vegas", "westwood", "fast"])
def test_a_transfer_takes_fewer_round_trips(controller):
    """The access links belong to the hosts: one router approves, and there is only one."""
    asked, plain = (
        tc.simulate(transfer(controller, queue)).data["finished"].item()
        for queue in (tc.queues.QuickStartRouter(), None)
    )
    assert asked < plain - 0.2


def test_the_trace_shows_the_approved_rate():
    run = tc.simulate(transfer(queue=tc.queues.QuickStartRouter()), trace=True)
    approved = run.trace()["approved_rate"].dropna().unique()
    assert approved.tolist() == [0, 5.12e6]


def test_connections_of_workloads_send_requests():
    """Each conversation has its own sample, with the same packet size and hops."""
    asks = tc.Flow("reno", slow_start="quick_start")
    load = tc.Workload(asks, tc.workloads.Conversation("200 KB"), interarrival=0.9)
    link = PATH | {"rate": "100 Mbps", "buffer": 1000, "queue": tc.queues.QuickStartRouter()}
    times = tc.simulate(on_a_link(workloads=[load], **link)).fct()["fct_s"].dropna()
    assert len(times) == 10
    assert (times < 0.33).all()


@pytest.mark.parametrize("controller", ["cubic", "xcp"])
def test_xcp_and_quick_start_routers_leave_each_others_packets_alone(controller):
    asks = controller == "cubic"
    queue = tc.queues.XCPRouter() if asks else tc.queues.QuickStartRouter()
    flow = tc.Flow(controller, slow_start="quick_start" if asks else "standard")
    trace = tc.simulate(on_a_link(flow, **PATH, queue=queue, duration=2), trace=True).trace()
    if asks:
        assert trace["approved_rate"].max() == 0
    else:
        assert trace["cwnd"].max() == tc.Transport().initial_window


def test_incompatible_settings_are_refused_in_one_line():
    with pytest.raises(ScenarioError, match=r"handshake = False: .*'quick_start' needs"):
        transfer(transport={"handshake": False}).resolve()
    with pytest.raises(ScenarioError, match=r"'cubic' needs packets \(on_start\)"):
        tc.analysis.equilibrium(transfer(packets=None))


def test_xcp_and_quick_start_have_fields_of_their_own():
    (flow,) = transfer("xcp").resolve().flows
    names = "xcp_rtt", "xcp_spacing", "xcp_change", "qs_request", "qs_approvals"
    assert tuple(flow.controller.header_sizes) == names


def test_two_protocols_in_one_field_are_refused():
    """The controller sends `qs_request`, as Quick-Start does."""
    own = replace(CONTROLLERS.find("reno"), header={"qs_request": 1})
    with pytest.raises(ScenarioError, match="'qs_request' is in the header of both"):
        transfer(own).resolve()


# Other models beside packets


@pytest.mark.parametrize(
    ("controller", "queue"),
    [
        (name, tc.queues.QuickStartRouter())
        for name in ("reno", "cubic", "vegas", "westwood", "fast")
    ]
    + [("reno", "droptail")],
)
@BESIDE_PACKETS
def test_a_transfer_takes_as_long_as_in_packets(model, controller, queue):
    """Requested, approved, paced over a round trip, and so on; or, if a link on the path has no
    Quick-Start router, as without a request."""
    packets, other = (simulate_in(m, transfer(controller, queue)).data for m in ("packet", model))
    assert other["finished"].item() == pytest.approx(packets["finished"].item(), abs=0.005)
    windows = [run["cwnd"].max().item() for run in (packets, other)]
    assert windows[1] == pytest.approx(windows[0], rel=0.01)


def test_trains_get_the_rate_left_by_earlier_requests_and_traffic():
    """The first windows of three requests one after another, beside a flow without a request."""
    asks = {"name": "quick_start", "requested_rate": 6e6}
    flows = [
        tc.Flow("reno", transport={"rwnd": 20}),
        *(tc.Flow("reno", slow_start=asks, start=t, size=60) for t in (1.1, 1.2, 1.5)),
    ]
    link = PATH | {"buffer": 300, "queue": tc.queues.QuickStartRouter()}
    case = on_a_link(*flows, duration=3, interval=0.01, **link)
    first = []
    for m in ("packet", "trains"):
        cwnd = simulate_in(m, case).data["cwnd"].values[:, 1:]
        first.append([next(x for x in column[~np.isnan(column)] if x != 1) for column in cwnd.T])
    assert len({round(x) for x in first[0]}) > 1  # they did not all get the same
    np.testing.assert_allclose(first[1], first[0], rtol=0.02)


def test_flows_with_a_count_share_the_remaining_rate():
    four = {"rate": 10e6, "words": 1.0, "qs_request": 7.0, "arrivals": 4.0}
    asked = Queue("quick_start_router", sample=four)
    q = asked.call("on_arrival", now=0.01, idle=0.01)
    assert q.qs_request == 5  # 8.5 Mb/s over four: 1.28 Mb/s each can be told
    assert asked.s.approved == pytest.approx(4 * 1.28e6)


@EVERY_MODEL
def test_a_paced_start_keeps_the_queue_short(model):
    """A window of 32 packets sent over a round trip builds no queue; sent at once it builds one of
    29."""
    for queue, longest in ((tc.queues.QuickStartRouter(), 1), (None, 20)):
        run = simulate_in(
            model,
            transfer("vegas", queue, packets=64, transport={"initial_window": 10 if queue else 32}),
        )
        assert (run.queue_max() <= longest) == (queue is not None)


def test_foreground_packets_use_the_quick_start_router():
    asks = tc.Flow("reno", slow_start="quick_start", size=400, start=1.03)
    crowd = [
        tc.Flow("reno", transport={"rwnd": 20}, start=0.01 * k, background=True) for k in range(10)
    ]
    link = PATH | {"rate": "50 Mbps", "buffer": 1000, "queue": tc.queues.QuickStartRouter()}
    case = on_a_link(asks, *crowd, duration=3, **link)
    packets, hybrid = (
        simulate_in(m, case).data["finished"].values[0] for m in ("packet", "hybrid")
    )
    assert hybrid == pytest.approx(packets, abs=0.005)


@EVERY_MODEL
def test_a_quick_start_queue_is_drop_tail(model):
    a, b = (
        simulate_in(model, on_a_link("reno", "reno", buffer=40, queue=queue, duration=5)).data
        for queue in (tc.queues.QuickStartRouter(), None)
    )
    np.testing.assert_array_equal(a["cwnd"], b["cwnd"])
