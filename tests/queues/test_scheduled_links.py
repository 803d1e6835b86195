"""Links with an event per departure: CoDel compared with RFC 8289's pseudo-code, FQ-CoDel with RFC
8290."""

import math
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
from by_hand import Queue
from drivers import both_drivers
from hypothesis import given, settings
from hypothesis import strategies as st
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.models.packet.simpy_driver import PacketSimulation
from tcpcc.queues import QUEUES
from tcpcc.queues.fq_codel import hashed

# CoDel, step by step


class Listing:
    """RFC 8289, section 5, line by line: a queue of (arrival time, size, name)."""

    def __init__(self, target=0.005, interval=0.1, maxpacket=1500):
        self.TARGET, self.INTERVAL, self.maxpacket = target, interval, maxpacket
        self.queue, self.dropped = deque(), []
        self.first_above_time = self.drop_next = 0.0
        self.count = self.lastcount = 0
        self.dropping = False

    def control_law(self, t, count):
        return t + self.INTERVAL / math.sqrt(count)

    def dodeque(self, now):
        if not self.queue:
            self.first_above_time = 0
            return None, False
        packet = self.queue.popleft()
        ok_to_drop = False
        sojourn_time = now - packet[0]
        if sojourn_time < self.TARGET or sum(p[1] for p in self.queue) <= self.maxpacket:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = now + self.INTERVAL
        elif now >= self.first_above_time:
            ok_to_drop = True
        return packet, ok_to_drop

    def deque(self, now):
        packet, ok_to_drop = self.dodeque(now)
        if packet is None:
            return None
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                self.dropped.append(packet)
                self.count += 1
                packet, ok_to_drop = self.dodeque(now)
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next = self.control_law(self.drop_next, self.count)
        elif ok_to_drop:
            self.dropped.append(packet)
            packet, ok_to_drop = self.dodeque(now)
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * self.INTERVAL:
                self.count = delta
            self.drop_next = self.control_law(now, self.count)
            self.lastcount = self.count
        return packet


class Ours(Queue):
    """The package's rule, called in a loop like that of a scheduled link."""

    def __init__(self, **params):
        super().__init__("codel", params=params)
        self.queue, self.dropped, self.marked = deque(), [], []

    def deque(self, now):
        again = 0.0
        while self.queue:
            packet = self.queue.popleft()
            left = float(sum(p[1] for p in self.queue))
            told = {"now": now, "sojourn": now - packet[0], "again": again, "inner_bytes": left}
            q = self.call("on_departure", **told, drop=0.0, mark=0.0)
            if q.mark:
                self.marked.append(packet)
            if not q.drop:
                return packet
            self.dropped.append(packet)
            again = 1.0
        return None


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.floats(0.0005, 0.01)), min_size=200, max_size=500),
    st.sampled_from([500, 1500]),
)
def test_codel_agrees_with_the_listing_of_rfc_8289(slots, size):
    """With any arrivals and service times the same packets are sent and dropped, with the same
    state."""
    listing, ours = Listing(), Ours()
    now, name = 0.0, 0
    for k, (arrivals, service) in enumerate(slots):
        burst = arrivals // 8 if k % 3 else arrivals // 16
        for _ in range(burst):
            for one in (listing, ours):
                one.queue.append((now, size, name))
            name += 1
        now += service
        assert listing.deque(now) == ours.deque(now)
        assert listing.dropped == ours.dropped
        assert listing.count == ours.s.count
        assert listing.drop_next == ours.s.drop_next


def overloaded(ours, service=0.001, packets=3000, begin=0.0):
    """Offer twice as many packets as the link sends; return the times of drops or marks."""
    found = []
    for k in range(packets):
        now = begin + k * service
        ours.queue.extend([(now, 1000.0, 2 * k), (now, 1000.0, 2 * k + 1)])
        before = len(ours.dropped) + len(ours.marked)
        ours.deque(now)
        found += [now] * (len(ours.dropped) + len(ours.marked) - before)
    return np.array(found)


@pytest.mark.parametrize("ect", [0.0, 1.0])
def test_drop_intervals_follow_the_control_law(ect):
    """The k-th drop or mark follows the previous one by interval/sqrt(k)."""
    ours = Ours(ecn=True)
    ours.q.ect = ect
    times = overloaded(ours)
    assert (len(ours.marked) > 0) == (ect == 1)
    assert (len(ours.dropped) > 0) == (ect == 0)
    gaps = np.diff(times[:60])
    expected = 0.1 / np.sqrt(np.arange(1, len(gaps) + 1))
    assert np.abs(np.cumsum(gaps) - np.cumsum(expected)).max() < 0.002


def test_codel_starts_to_drop_after_an_interval():
    """A queue must exceed the target for 100 ms first."""
    first = overloaded(Ours())[0]
    assert 0.105 <= first < 0.12


def test_codel_begins_anew_after_a_pause():
    """A packet below the target ends the dropping; two seconds later the count starts at 1."""
    ours = Ours()
    first = overloaded(ours, service=2**-10)
    ours.queue.clear()
    ours.queue.extend([(3.0, 1000.0, "below"), (3.0, 2000.0, "behind it")])
    assert ours.deque(3.001)[2] == "below"
    ours.queue.clear()
    again = overloaded(ours, service=2**-10, begin=5.0)
    assert again - 5 == pytest.approx(first)


# In the network

SCHEDULED = [n for n, d in QUEUES.items() if d.is_scheduled and not d.in_amounts]


def scenario(queue, flows=5, duration=8, buffer=200):
    each = [tc.Flow("newreno", start=0.05 * k) for k in range(flows)]
    link = {"rate": "20 Mbps", "buffer": buffer, "queue": queue}
    return on_a_link(*each, tc.CBR("1 Mbps", on=[(1, 4)]), duration=duration, **link)


@pytest.mark.parametrize("name", SCHEDULED)
@pytest.mark.parametrize("buffer", [200, 12, "20 kB"])
def test_both_drivers_give_the_same_bits(name, buffer):
    assert both_drivers(scenario({"name": name}, buffer=buffer)).data["drops"].sum() > 5


@pytest.mark.parametrize("name", SCHEDULED)
def test_packets_are_conserved(name):
    """Each packet that arrived was dropped, waits, is being sent, or has left; the same for
    bytes."""
    sim = PacketSimulation(scenario({"name": name}, buffer=30))
    run = sim.run()
    world = sim.world
    i = [link.name for link in world.resolved.links].index(str(run.data.link.values[0]))
    link = world.links[i]
    lane = world.paths.lanes[i]
    under_way = lane["flight_tail"] - lane["flight_head"]
    assert link["dropped"] > 0
    past = link["arrived"] - link["dropped"] - link["stored"] - under_way
    assert run.data["delivered"].sum() <= past
    assert world.tcp["sent"].sum() + world.cbr["sent"].sum() == link["arrived"]
    assert run.data["arrived"].sum() == link["arrived"]
    assert run.data["drops"].sum() == link["dropped"] == run.data["dropped"].sum()
    inner = world.inner[i]
    assert inner["count"].sum() == link["stored"] == sim.queue_length(run.data.link.values[0])
    assert inner["bytes"].sum() == pytest.approx(link["queue_bytes"])


def test_a_scheduled_link_without_drops_equals_drop_tail():
    """Both kinds of links give the same packets at the same times, with full buffers. (One kind
    counts a packet that arrives just as the previous one leaves as waiting, the other does not.)"""
    tc.register(tc.Discipline(name="pass", summary="passes all", on_departure=passes))
    runs = [tc.simulate(scenario(q, buffer=40)).data for q in ("pass", "droptail")]
    assert runs[0]["drops"].sum() > 20
    for variable in ("cwnd", "drops", "delivered"):
        np.testing.assert_array_equal(runs[0][variable], runs[1][variable])
    for variable in ("queue", "busy", "rtt"):
        np.testing.assert_allclose(runs[0][variable], runs[1][variable], rtol=1e-9, atol=1e-9)
    assert np.abs(runs[0]["queue_max"] - runs[1]["queue_max"]).max() <= 1


def passes(s, p, q):
    pass


def test_a_scheduled_link_changes_its_rate():
    change = tc.Change(4, "bottleneck", rate="5 Mbps")
    link = {"rate": "20 Mbps", "buffer": 100, "queue": tc.queues.CoDel()}
    run = tc.simulate(on_a_link(*["newreno"] * 4, changes=[change], **link))
    assert run.throughput(before=4, after=1).sum() == pytest.approx(20e6, rel=0.1)
    assert run.throughput(after=5).sum() == pytest.approx(5e6, rel=0.06)


@pytest.mark.parametrize("flows", [1, 5, 20, 50])
def test_codel_keeps_the_sojourn_time_near_its_target(flows):
    """Nichols and Jacobson 2012: with 1 to 50 flows, each with a window of 25 packets or more."""
    net = tc.dumbbell("100 Mbps", "50 ms", 4000, queue=tc.queues.CoDel())
    each = tc.Flow("newreno", count=flows, jitter=1)
    run = tc.simulate(tc.Scenario(net, [each], duration=40))
    late = run.data.sel(time=slice(15, None))
    assert float(late["queue"].mean()) * 8e-5 < 0.010
    assert float(late["queue_sojourn"].median()) < 0.008


def test_a_full_buffer_drops_from_the_longest_queue():
    """RFC 8290, 4.1: CBR at half the rate loses nothing beside CBR at twice the rate."""
    sources = [tc.CBR("20 Mbps"), tc.CBR("4 Mbps")]
    queue = tc.queues.FQCoDel(interval=1e3)
    run = tc.simulate(on_a_link(*sources, delay="10 ms", queue=queue, duration=5))
    lost = run.data["dropped"].sum("time")
    assert lost[0] > 5000
    assert lost[1] == 0
    assert run.queue_max() <= 50


def test_the_hash_spreads_flows():
    """1000 flows over 1024 queues; another perturbation gives other queues."""
    places = []
    for start in (1, 77777):
        s, p = SimpleNamespace(perturbation=start), SimpleNamespace(flows=1024.0)
        places.append([hashed(s, p, float(n)) for n in range(1000)])
        assert 0 <= min(places[-1]) <= max(places[-1]) < 1024
        assert len(set(places[-1])) > 600
    assert places[0] != places[1]
