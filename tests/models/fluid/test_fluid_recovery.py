"""Loss recovery in the fluid model: single losses, placed by hand, against the packet model."""

import math

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.controllers import Param, State
from tcpcc.models.fluid import steps
from tcpcc.models.fluid.automaton import simulate as simulate_fluid
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.fluid.timeline import events
from tcpcc.models.layout import find_routes, queueing_links


def drop_in_packets(s, p, q):
    s.n += 1
    if s.n == p.first or s.n == p.second:
        q.drop = 1.0


def drop_in_fluid(s, p, q):
    before = s.n
    s.n += q.arrivals
    hits = 0.0
    if before < p.first <= s.n + 1e-6:
        hits += 1
    if before < p.second <= s.n + 1e-6:
        hits += 1
    q.anew = 1.0
    q.prob = hits / q.arrivals * (1 + 1e-6)


@pytest.fixture(scope="module", autouse=True)
def two_drops():
    """A discipline that drops two arrivals, counted from 1."""
    name = "two_drops"
    return tc.register(
        tc.Discipline(
            name, "drops two arrivals", drop_in_packets, drop_in_fluid,
            params={
                "first": Param(1, "packets", "number of the first one dropped", 0),
                "second": Param(0, "packets", "number of the second one dropped", 0),
            },
            state={"n": State(0, "packets", "arrivals so far")},
        )
    )  # fmt: skip


def after_losses(
    discipline,
    model,
    controller,
    window,
    *,
    duration=1.0,
    rate="10 Mbps",
    recovery=None,
    params=None,
    **settings,
):
    """A run that begins with a whole window, in which `discipline` drops packets; bins of a tenth
    of a round trip."""
    net = tc.dumbbell(rate, "50 ms", 1e9, queue=discipline)
    transport = tc.Transport(initial_window=window, handshake=False, **settings)
    flow = tc.Flow(controller, recovery=recovery, transport=transport, **(params or {}))
    case = tc.Scenario(net, [flow], duration=duration, interval=0.01)
    return tc.simulate(case, model).data.isel(flow=0)


def after_placed_losses(
    lost, recovery, *, controller="reno", duration=3.0, rate="10 Mbps", size=None, **settings
):
    """Timeouts and loss events of a fluid flow that begins with a whole window and loses the
    arrivals `lost`, counted from 1. They are placed through the random loss of the link."""
    net = tc.dumbbell(rate, "50 ms", 1e9, loss=1e-12)
    transport = tc.Transport(handshake=False, **settings)
    flow = tc.Flow(controller, recovery=recovery, transport=transport, size=size)
    world = FluidWorld(tc.Scenario(net, [flow], duration=duration))
    gaps = list(np.diff(lost, prepend=0))
    never = 1e6
    world.links["loss_clock"] = 1
    for _, happen in events(world):
        happen()
    for until in np.arange(5e-4, duration, 5e-4):
        if gaps and (world.links["loss_at"][0] == 0 or world.links["loss_at"][0] > never):
            world.links["loss_at"] = gaps.pop(0)
        world.run(until)
    return int(world.flows["timeouts"][0]), int(world.flows["loss_events"][0])


@pytest.mark.parametrize("k", range(35, 41))
def test_only_later_packets_cause_duplicate_acks(two_drops, k):
    """A transfer of 40 packets that arrive in one step: packet 37 is the last one whose loss causes
    three duplicate ACKs. A lost packet keeps its position in the fluid, too."""
    settings = {"initial_window": 40, "limited_transmit": False}
    net = tc.dumbbell("10 Gbps", "50 ms", 1e9, queue=two_drops(first=k))
    flow = tc.Flow(
        "reno", recovery="newreno", size=40, transport=tc.Transport(handshake=False, **settings)
    )
    packet = tc.simulate(tc.Scenario(net, [flow], duration=3)).data.isel(flow=0)
    assert (packet["timeouts"], packet["loss_events"]) == ((0, 1) if k <= 37 else (1, 0))
    fluid = after_placed_losses([k], "newreno", rate="10 Gbps", size=40, **settings)
    assert fluid == (packet["timeouts"], packet["loss_events"])


@pytest.mark.parametrize(
    ("recovery", "waits"), [("sack", True), ("sack-prr", True), ("rack-tlp", False)]
)
@pytest.mark.parametrize("holes", [[5], [5, 8, 12]])
def test_lost_retransmissions_wait_for_the_timer(recovery, waits, holes):
    """After a window with holes, the loss of one later packet needs the timer as often as there are
    retransmissions, in both models. With RACK it never does, because the sender detects lost
    retransmissions."""
    after = range(21, 45)
    runs = [after_placed_losses([*holes, n], recovery, initial_window=20)[0] for n in after]
    assert sum(runs) == (len(holes) if waits else 0)


@pytest.mark.parametrize("recovery", ["newreno", "reno", "sack"])
def test_two_losses_have_the_same_effect_in_both_models(two_drops, recovery):
    """The second packet of a window of four is lost, and one of the packets of the next two round
    trips: the rest of the window, a limited transmit, the retransmission, new packets.

    Duplicate ACKs never reveal the loss of the first new packet after a fast retransmit, unless
    they are selective: RFC 6582 requires more to be acknowledged than was outstanding (`recover`).
    """
    packet, fluid = {}, {}
    for second in range(7, 19):
        settings = {"controller": "holds_four", "duration": 1.5, "recovery": recovery}
        run = after_losses(two_drops(first=6, second=second), "packet", window=4, **settings)
        packet[second] = int(run["timeouts"]), int(run["loss_events"])
        fluid[second] = after_placed_losses([6, second], initial_window=4, **settings)
    assert fluid == packet
    assert packet[13] == ((0, 2) if recovery == "sack" else (1, 1))


def test_random_loss_has_its_probability():
    net = tc.Network([tc.Link("a", "b", rate="10 Mbps", delay="1 ms", loss=0.1)])
    run = tc.simulate(
        tc.Scenario(net, [tc.CBR(1e6, source="a", target="b")], duration=800), "fluid"
    )
    assert float(run.data["dropped"].sum() / run.data["sent"].sum()) == pytest.approx(0.1, rel=0.02)


def keep_window(s, p, a):
    s.cwnd = p.window


def hold_four(s, p, a):
    s.cwnd = min(s.cwnd + a.acked, 4.0)


def stay(s, p, a):
    s.cwnd = 4.0


def begin_again(s, p, a):
    s.cwnd = 1.0


def show_flight(s, p, a):
    s.ssthresh = a.inflight


def show_rest(s, p, a):
    s.ssthresh = 1000 * a.acked + 10 * a.rtt + a.transmits


@pytest.fixture(scope="module", autouse=True)
def spies():
    """Controllers with a constant window whose ssthresh shows fields of the sample at a loss or
    timeout."""
    window = {"window": Param(20, "packets", "congestion window", 0)}
    for name, show in {"show_flight": show_flight, "show_rest": show_rest}.items():
        tc.register(tc.Controller(name, "keeps its window", keep_window, show, show, params=window))
    tc.register(tc.Controller("holds_four", "four packets", hold_four, stay, begin_again))


@pytest.mark.parametrize("k", [3, 4, 10, 20, 30, 37, 38, 39])
@pytest.mark.parametrize("recovery", ["newreno", "sack", "sack-prr"])
def test_two_losses_in_one_burst_are_repaired_without_timeout(two_drops, recovery, k):
    """The window is a burst, shorter than a time step."""
    lost = two_drops(first=1, second=k)
    packet, fluid = (
        after_losses(lost, model, "reno", 40, duration=5, rate="10 Gbps", recovery=recovery)
        for model in ("packet", "fluid")
    )
    assert fluid["timeouts"] == packet["timeouts"] == 0
    assert fluid["loss_events"] == packet["loss_events"] == 1
    delivered = float(packet["delivered"].sum())
    assert float(fluid["delivered"].sum()) == pytest.approx(delivered, rel=0.025)


@pytest.mark.parametrize("k", [3, 20, 39])
def test_reno_waits_for_its_timer_after_two_losses(two_drops, k):
    lost = two_drops(first=1, second=k)
    for model in ("packet", "fluid"):
        run = after_losses(lost, model, "reno", 40, duration=5, rate="10 Gbps", recovery="reno")
        assert (run["timeouts"], run["loss_events"]) == (1, 1)


@pytest.mark.parametrize(
    ("settings", "size"),
    [({}, 22), ({"limited_transmit": False}, 20), ({"rwnd": 20}, 20), ({"rwnd": 21}, 21)],
)
def test_inflight_at_a_loss_is_the_flight_size(two_drops, settings, size):
    """Window 20, first packet lost: 20 packets, and one for each of the first two duplicate ACKs,
    if the receiver's window has room (RFC 5681, 2; RFC 3042)."""
    run = after_losses(
        two_drops(), "fluid", "show_flight", 20, duration=0.19, recovery="reno", **settings
    )
    assert float(run["ssthresh"][-1]) == pytest.approx(size, abs=1e-6)


@pytest.mark.parametrize("model", ["packet", "fluid"])
def test_the_sample_of_a_loss_has_no_acks(two_drops, model):
    """The values of the previous ACK are gone; the packet had been sent once."""
    run = after_losses(two_drops(first=30), model, "show_rest", 20, duration=0.29)
    assert float(run["loss_events"]) == 1
    assert float(run["ssthresh"][-1]) == 1


@pytest.mark.parametrize("model", ["packet", "fluid"])
def test_the_sample_of_a_timeout_has_no_acks(two_drops, model):
    run = after_losses(
        two_drops(first=5, second=6), model, "show_rest", 2, duration=1.2, params={"window": 2}
    )
    assert float(run["timeouts"]) == 1
    assert float(run["ssthresh"][-1]) == 1


def test_proportional_rate_reduction_sends_evenly(two_drops):
    """RFC 6937: when the window is halved, half of the delivered packets are sent, from the first
    duplicate ACKs on. RFC 6675 waits for half of a window and then sends one packet per delivered
    packet."""
    sent = {}
    for recovery in ("sack", "sack-prr"):
        for model in ("packet", "fluid"):
            run = after_losses(two_drops(), model, "reno", 100, duration=0.2, recovery=recovery)
            sent[recovery, model] = np.cumsum(run["sent"].values)
    for recovery in ("sack", "sack-prr"):
        assert sent[recovery, "fluid"] == pytest.approx(sent[recovery, "packet"], abs=3)
    early = 13  # bins: 25 packets have come back by then
    assert sent["sack", "fluid"][early] < 105
    assert sent["sack-prr", "fluid"][early] > 110


def test_a_window_below_one_packet_counts_as_one():
    net = tc.dumbbell("10 Mbps", "50 ms", 100)
    run = tc.simulate(tc.Scenario(net, [tc.Flow("show_rest", window=0.5)], duration=20), "fluid")
    rate = float(run.throughput(after=10)[0]) / 8000
    assert rate * float(run.data["base_rtt"][0]) == pytest.approx(1, rel=0.05)


def test_the_default_step_is_the_documented_one():
    for part in (steps.STEPS, steps.DRAIN_STEPS, steps.MOST_STEPS):
        assert f"1/{part}" in simulate_fluid.__doc__
    for buffer, step in [(math.inf, 0.1 / 25), (10, 0.008 / 8), (2, 0.1 / 200)]:
        net = tc.dumbbell("10 Mbps", "50 ms", buffer)
        resolved = tc.Scenario(net, [tc.Flow("reno")], duration=1).resolve()
        kept = queueing_links(resolved)
        found = steps.step_length(resolved, kept, find_routes(resolved, kept), None)
        assert found == pytest.approx(step, rel=0.02)


def test_an_answered_retransmission_of_vegas_restarts_the_timer(two_drops):
    """Two losses of a window take two round trips, as long as the minimum timeout here."""
    net = tc.dumbbell("20 Mbps", "99.8 ms", 1e9, queue=two_drops(first=300, second=306))
    transport = tc.Transport(initial_window=14, handshake=False, min_rto=0.2)
    case = tc.Scenario(net, [tc.Flow("vegas", transport=transport)], duration=4)
    for model in ("packet", "fluid"):
        run = tc.simulate(case, model)
        assert (int(run.timeouts()[0]), int(run.data["loss_events"][0])) == (0, 1)
