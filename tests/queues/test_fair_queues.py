"""Shapers and schedulers: token bucket, DRR, SFQ, FQ-PIE, strict priority, and what their rules may
read of inner queues."""

import itertools
import math
from collections import deque
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from by_hand import Queue
from drivers import both_drivers
from hypothesis import given, settings
from hypothesis import strategies as st
from on_a_link import on_a_link
from traced import events

import tcpcc as tc
from tcpcc.errors import ScenarioError
from tcpcc.queues import QUEUES, pie
from tcpcc.queues.discipline import EACH, SAMPLE


class Packet(SimpleNamespace):
    """A packet with `flow`, `size`, `level` (traffic class), `at` (arrival) and `name`."""


class Alone(Queue):
    """A discipline's rules with inner queues of plain Python, as a scheduled link calls them."""

    def __init__(self, name, capacity=math.inf, **params):
        sample = dict.fromkeys(SAMPLE, math.nan) | {"rate": 8e6}
        super().__init__(name, params=params, sample=sample)
        d = self.d
        for field in EACH:
            setattr(self.q, field, np.full(d.inner, math.nan if "head" in field else 0.0))
        self.inner = [deque() for _ in range(d.inner)]
        self.capacity, self.dropped = capacity, []

    @property
    def stored(self):
        return sum(len(queue) for queue in self.inner if queue)

    def show(self, i):
        queue, q = self.inner[i], self.q
        q.waiting[i], q.waiting_bytes[i] = len(queue), sum(p.size for p in queue)
        q.head_at[i] = queue[0].at if queue else math.nan
        q.head_size[i] = queue[0].size if queue else math.nan

    def take(self, i):
        packet = self.inner[i].popleft()
        self.show(i)
        return packet

    def tell(self, packet, now, **more):
        vars(self.q).update(
            now=now, size=packet.size, flow=packet.flow, traffic_class=packet.level,
            ecn=0.0, drop=0.0, mark=0.0, **more,
        )  # fmt: skip

    def arrive(self, now, flow=0, size=1000.0, level=0, name=None):
        """Offer a packet; returns whether it joins a queue."""
        packet = Packet(flow=float(flow), size=float(size), level=float(level), at=now, name=name)
        full = self.stored >= self.capacity
        self.tell(packet, now, full=float(full), inner=0.0, evict=-1.0, evictions=1.0)
        self.call("on_arrival")
        if self.q.drop or self.q.mark or (full and self.q.evict < 0):
            self.dropped.append(packet)
            return False
        i = int(self.q.inner)
        self.inner[i].append(packet)
        self.show(i)
        for _ in range(int(self.q.evictions) if self.q.evict >= 0 else 0):
            self.dropped.append(self.take(int(self.q.evict)))
        return True

    def send(self, now):
        """The next packet, or the time before which none is sent."""
        self.call("on_select", now=now, inner=0.0, not_before=now)
        if self.q.not_before > now:
            return self.q.not_before
        i = int(self.q.inner)
        packet = self.take(i)
        if self.d.on_departure is not None:
            self.tell(packet, now, sojourn=now - packet.at, inner_queue=len(self.inner[i]))
            self.call("on_departure")
        return packet

    def drain(self, now=0.0):
        return [self.send(now) for _ in range(self.stored)]


# --- DRR


def test_drr_sends_what_the_example_of_its_paper_sends():
    """Shreedhar and Varghese, Figures 2 and 3: quantum 500, queues of 200, 750, 20; 500, 500; 100,
    600, 200; 180, 700, 50 bytes, the head first."""
    queues = [[200, 750, 20], [500, 500], [100, 600, 200], [180, 700, 50]]
    drr = Alone("drr", quantum=500)
    for flow, sizes in enumerate(queues):
        for size in sizes:
            drr.arrive(0.0, flow, size)
    first = [drr.send(0.0) for _ in range(4)]
    assert [(p.flow, p.size) for p in first] == [(0, 200), (1, 500), (2, 100), (3, 180)]
    following = drr.send(0.0)  # 300 and a quantum are enough for 750
    assert (following.flow, following.size) == (0, 750)
    assert sorted(x for x in drr.s.deficit if x > 0) == [50, 320, 400]
    rest = [(p.flow, p.size) for p in drr.drain()]
    assert rest == [(0, 20), (1, 500), (2, 600), (2, 200), (3, 700), (3, 50)]
    assert not drr.s.deficit.any()


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.integers(40, 1500), min_size=60, max_size=60), min_size=2, max_size=5),
    st.sampled_from([100, 500, 1500, 9000]),
)
def test_drr_keeps_its_fairness_bound_over_any_time(flows, quantum):
    """Theorem 2: the bytes of two backlogged queues differ by at most quantum + 2 Max."""
    drr = Alone("drr", quantum=quantum)
    for flow, sizes in enumerate(flows):
        for size in sizes:
            drr.arrive(0.0, flow, size)
    if sum(bool(queue) for queue in drr.inner) < len(flows):
        return  # two flows have one hash
    left, sent = [len(sizes) for sizes in flows], [np.zeros(len(flows))]
    while min(left) > 0:
        packet = drr.send(0.0)
        left[int(packet.flow)] -= 1
        sent.append(sent[-1].copy())
        sent[-1][int(packet.flow)] += packet.size
    sent = np.array(sent)
    for a, b in itertools.combinations(range(len(flows)), 2):
        lead = sent[:, a] - sent[:, b]
        assert lead.max() - lead.min() <= quantum + 2 * 1500


@pytest.mark.parametrize(("name", "shares"), [("drr", [1, 1, 1]), ("sfq", [1, 2, 3])])
def test_drr_shares_bytes_and_sfq_shares_packets(name, shares):
    """Sources of 500, 1000 and 1500 bytes, each at the link's rate."""
    flows = [tc.CBR("10 Mbps", packet_size=500 * k) for k in (1, 2, 3)]
    run = tc.simulate(on_a_link(*flows, delay="5 ms", buffer=300, queue=name))
    expected = 10e6 * np.array(shares) / sum(shares)
    np.testing.assert_allclose(run.throughput(after=2).values, expected, rtol=0.02)


@pytest.mark.parametrize(
    ("name", "buffer"), [("drr", 1000), ("sfq", 1000), ("fq_pie", 10_240), ("fq_codel", 1000)]
)
def test_a_queue_per_flow_isolates_flows(name, buffer):
    """Beside a source of 1.5 times the link's rate Reno gets most of its half, and a source below
    its share loses nothing. Behind one drop-tail queue, or CoDel, Reno gets a tenth of it. (FQ-PIE
    needs the room until PIE drops two thirds of that source: it pushes nothing out.)"""
    flows = [tc.CBR("30 Mbps"), tc.Flow("newreno"), tc.CBR("1 Mbps")]
    one = "codel" if name == "fq_codel" else "droptail"
    runs = [
        tc.simulate(on_a_link(*flows, rate="20 Mbps", buffer=room, queue=queue, duration=20))
        for queue, room in ((name, buffer), (one, 1000))
    ]
    assert runs[0].data["dropped"][:, 2].sum() == 0
    own, single = (run.throughput(after=5)[1] for run in runs)
    assert own > 0.75 * 9.5e6
    assert single < 0.1 * 9.5e6


# --- SFQ


def test_sfq_sends_one_packet_of_each_queue_in_turn():
    sfq = Alone("sfq", perturb=0)
    for flow, number in enumerate([3, 1, 2]):
        for k in range(number):
            sfq.arrive(0.0, flow, 100 * (flow + 1), name=f"{flow}{k}")
    assert [p.name for p in sfq.drain()] == ["00", "10", "20", "01", "21", "02"]


@pytest.mark.parametrize("name", ["sfq", "drr"])
def test_a_full_buffer_takes_from_the_longest_queue(name):
    """SFQ counts packets, DRR bytes."""
    link = Alone(name, capacity=5)
    for flow, size in [(0, 100), (0, 100), (0, 100), (1, 1500), (2, 50)]:
        assert link.arrive(0.0, flow, size)
    assert link.arrive(0.0, 2, 50)
    assert [p.flow for p in link.dropped] == [0 if name == "sfq" else 1]
    assert len(link.drain()) == 5


@pytest.mark.parametrize(("flow", "batch", "dropped"), [(0, 64, 3), (1, 64, 2), (0, 1, 1)])
def test_a_full_buffer_of_fq_codel_drops_half_of_the_longest_queue(flow, batch, dropped):
    """Of five packets and an arrival; at most `drop_batch`, from the head."""
    link = Alone("fq_codel", capacity=5, drop_batch=batch)
    for k in range(5):
        assert link.arrive(0.0, 0, 1000, name=k)
    assert link.arrive(0.0, flow, 50)
    assert [p.name for p in link.dropped] == list(range(dropped))


def test_sfq_changes_its_hash_every_perturb_seconds():
    """Two flows of one queue come apart; without perturbation they stay together."""
    for perturb, apart in ((2, True), (0, False)):
        sfq = Alone("sfq", flows=4, perturb=perturb)
        found = []
        for k in range(40):
            for flow in (1, 2):
                sfq.arrive(k / 2, flow)
                found.append(sfq.q.inner)
            sfq.drain(k / 2)
        pairs = [a == b for a, b in zip(found[::2], found[1::2], strict=True)]
        changes = {k for k in range(1, 40) if found[2 * k] != found[2 * k - 2]}
        assert (len(set(pairs)) == 2) == apart
        assert changes <= ({k for k in range(1, 40) if k % 4 == 0} if apart else set())


# --- Strict priority


def test_the_highest_class_is_sent_first_and_each_class_in_order():
    link = Alone("strict_priority")
    for k, level in enumerate([0, 46, 10, 46, 0, 63]):
        link.arrive(0.0, level=level, name=k)
    assert [p.name for p in link.drain()] == [5, 1, 3, 2, 0, 4]


@pytest.mark.parametrize("push_out", [1, 0])
def test_a_full_buffer_drops_lower_classes_first(push_out):
    link = Alone("strict_priority", capacity=3, push_out=push_out)
    for k, level in enumerate([10, 5, 10]):
        assert link.arrive(0.0, level=level, name=k)
    assert not link.arrive(0.0, level=5, name="equal")
    assert link.arrive(0.0, level=20, name="high") == bool(push_out)
    assert [p.name for p in link.dropped] == ["equal", 1 if push_out else "high"]


def test_waiting_times_are_those_of_cobhams_formula():
    """M/D/1 with two classes: W_1 = R / (1 - r_1), W_2 = W_1 / (1 - r_1 - r_2), R = r s / 2."""
    rng, s, loads = np.random.default_rng(3), 1.0, (0.3, 0.4)
    number = 100_000
    arrivals = sorted(
        (t, level)
        for load, level in zip(loads, (63, 62), strict=True)
        for t in np.cumsum(rng.exponential(s / load, int(number * load)))
    )
    link, waits, now, k = Alone("strict_priority"), {63: [], 62: []}, 0.0, 0
    while k < len(arrivals):
        if link.inner[63] or link.inner[62]:
            packet = link.send(now)
            waits[packet.level].append(now - packet.at)
            now += s
        else:
            now = max(now, arrivals[k][0])
        while k < len(arrivals) and arrivals[k][0] <= now:
            link.arrive(float(arrivals[k][0]), level=arrivals[k][1])
            k += 1
    high = (sum(loads) * s / 2) / (1 - loads[0])
    low = high / (1 - sum(loads))
    assert np.mean(waits[63]) == pytest.approx(high, rel=0.03)
    assert np.mean(waits[62]) == pytest.approx(low, rel=0.08)


def test_a_high_class_waits_only_for_the_packet_being_sent():
    """A source of 2 Mb/s in class 46 beside an overload in class 0: nothing is lost, and its queue
    is never longer than a packet."""
    flows = [tc.CBR("2 Mbps", traffic_class=46), tc.CBR("20 Mbps"), "reno"]
    run = tc.simulate(on_a_link(*flows, delay="5 ms", queue=tc.queues.StrictPriority()))
    assert run.data["dropped"][:, 0].sum() == 0
    assert run.throughput(after=1)[0] == pytest.approx(2e6, rel=0.01)
    assert run.throughput(after=1)[1] > 7e6


@pytest.mark.parametrize("make", [partial(tc.Flow, "reno"), partial(tc.CBR, 1e6)])
def test_a_traffic_class_is_between_0_and_63_and_is_saved(make):
    case = on_a_link(make(traffic_class=34), make(traffic_class=8), duration=1)
    assert [one.traffic_class for one in tc.Scenario.from_toml(case.to_toml()).flows] == [34, 8]
    for bad in (64, -1, 1.5):
        with pytest.raises(ScenarioError, match=f"traffic_class = {bad}: must be a whole"):
            make(traffic_class=bad)


# --- Token bucket


def departures(arrivals, rate, burst):
    """When packets may leave, by counting tokens: (time, size) pairs in, times out."""
    tokens, last, found, before = burst, 0.0, [], 0.0
    for at, size in arrivals:
        now = max(at, before)
        tokens, last = min(tokens + rate / 8 * (now - last), burst), now
        if tokens < size:
            now += (size - tokens) * 8 / rate
            tokens, last = size, now
        tokens -= size
        found.append(now)
        before = now
    return found


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.floats(0, 0.05), st.integers(40, 1500)), min_size=1, max_size=60),
    st.sampled_from([1500, 4000, 15_000]),
    st.sampled_from([1e5, 1e6, 9.7e6]),
)
def test_a_shaper_sends_as_early_as_its_tokens_allow(gaps, burst, rate):
    """And never more than burst + rate x time, over any time."""
    bucket, now, arrivals = Alone("token_bucket", rate=rate, burst=burst), 0.0, []
    for gap, size in gaps:
        now += gap
        arrivals.append((now, float(size)))
    left, now = [], 0.0
    for at, size in arrivals:
        bucket.arrive(at, size=size)
        now = max(now, at)
        while not isinstance(sent := bucket.send(now), Packet):
            assert sent > now
            now = sent
        left.append(now)
    assert left == pytest.approx(departures(arrivals, rate, burst), rel=1e-9, abs=1e-9)
    total = np.cumsum([size for _, size in arrivals])
    for i, j in itertools.combinations_with_replacement(range(len(left)), 2):
        sent = total[j] - (total[i - 1] if i else 0.0)
        assert sent <= burst + rate / 8 * (left[j] - left[i]) + 1e-6


def test_a_packet_larger_than_the_burst_is_dropped():
    bucket = Alone("token_bucket", burst=1000)
    assert bucket.arrive(0.0, size=1000)
    assert not bucket.arrive(0.0, size=1001)


@pytest.mark.parametrize("driver", ["compiled", "simpy"])
def test_a_burst_leaves_at_the_rate_of_the_link_and_the_rest_at_that_of_the_bucket(driver):
    """15 packets of 1000 bytes at 100 Mb/s, then one every 8 ms."""
    transport = tc.Transport(initial_window=40, handshake=False)
    flow = tc.Flow("reno", size=40, transport=transport)
    link = {"rate": "100 Mbps", "delay": "10 ms", "buffer": 100}
    bucket = tc.queues.TokenBucket(rate=1e6, burst=15e3)
    case = on_a_link(flow, queue=bucket, duration=0.3, **link)
    times = events(tc.simulate(case, trace=True, driver=driver), "deliver")["time"]
    gaps = np.diff(times)
    assert gaps[:14] == pytest.approx(8e-5)
    assert gaps[16:] == pytest.approx(8e-3)
    assert len(times) == 40


def test_tcp_through_a_shaper_gets_what_a_slower_link_gives():
    rates = []
    for rate, queue in (("5 Mbps", None), ("50 Mbps", tc.queues.TokenBucket(rate=5e6, burst=3e3))):
        case = on_a_link("cubic", "newreno", rate=rate, buffer=60, queue=queue, duration=30)
        rates.append(float(tc.simulate(case).throughput(after=5).sum()))
    assert rates[1] == pytest.approx(5e6, rel=0.01)
    assert rates[1] == pytest.approx(rates[0], rel=0.01)


def test_a_bucket_below_a_policer_delays_what_that_drops():
    """The same rate and burst: the shaper's queue keeps all of 9 Mb/s in bursts of 100 ms."""
    source = tc.CBR("18 Mbps", on=[(0.2 * k, 0.2 * k + 0.1) for k in range(40)])
    link = {"rate": "100 Mbps", "delay": "5 ms", "buffer": 500}
    drops = []
    for queue in (tc.queues.TokenBucket, tc.queues.Policer):
        run = tc.simulate(on_a_link(source, queue=queue(rate=10e6, burst=5e3), duration=8, **link))
        drops.append(int(run.data["drops"].sum()))
    assert drops[0] == 0
    assert drops[1] > 2000


# --- FQ-PIE


def test_each_queue_of_fq_pie_has_the_state_of_pie():
    """A queue whose packets wait 50 ms follows PIE's equations; another stays at 0."""
    link = Alone("fq_pie", flows=1024)
    alone = SimpleNamespace(drop_prob=0.0, delay=0.0, burst_allowance=0.15, accumulated=0.0)
    p = SimpleNamespace(**QUEUES["pie"].check({}))
    slow = fast = -1
    for k in range(100):
        now = 0.015 * k
        for _ in range(3):
            link.arrive(now - 0.05, flow=1)
        slow = int(link.q.inner)
        link.arrive(now, flow=2)
        fast = int(link.q.inner)
        while link.q.waiting[slow] > 1 or link.q.waiting[fast] > 0:
            link.send(now)
        link.q.now = now
        link.d.on_interval(link.s, link.p, link.q)
        pie.update(alone, p, link.s.sojourn[slow])
        assert link.s.each_drop_prob[slow] == alone.drop_prob
        assert link.s.each_burst_allowance[slow] == alone.burst_allowance
        assert link.q.wake == now + 0.015
    assert link.s.each_drop_prob[slow] > 0.01
    assert link.s.each_drop_prob[fast] == 0


@pytest.mark.parametrize("flows", [8, 16])
def test_fq_pie_keeps_delays_near_the_target_and_shares_equal(flows):
    """Its claim: PIE's control of the delay, and fair queueing's shares between CUBIC and Reno."""
    each = [tc.Flow(("cubic", "newreno")[k % 2], start=0.1 * k) for k in range(flows)]
    link = {"rate": "50 Mbps", "buffer": 2000, "queue": tc.queues.FQPIE()}
    run = tc.simulate(on_a_link(*each, duration=40, **link))
    assert run.utilization(after=10) > 0.9
    assert float(run.jain_index(after=10)) > 0.98
    assert 0.004 < run.queue_mean(after=10) * 8000 / 50e6 < 0.025


# --- FQ


@pytest.mark.parametrize(("ect", "sojourn", "mark"), [(1, 4e-3, 0), (1, 6e-3, 1), (0, 6e-3, 0)])
def test_fq_marks_what_has_waited_too_long_and_drops_nothing(ect, sojourn, mark):
    sample = {"ect": float(ect), "sojourn": sojourn, "size": 1e3}
    q = Queue("fq", params={"ce_threshold": 0.005}, sample=sample).call("on_departure")
    assert (q.mark, q.drop) == (mark, 0)


@pytest.mark.parametrize(("flows", "share"), [(1024, 0.5), (1, 0.97)])
def test_fq_shares_between_flows_and_not_within_a_single_queue(flows, share):
    """CUBIC without ECN beside Prague: with a queue per flow half each; in a single one that marks
    Prague yields."""
    queue = tc.queues.FQ(flows=flows, ce_threshold=0.005)
    each = [tc.Flow.linux("cubic"), tc.Flow.linux("prague")]
    case = on_a_link(*each, rate="50 Mbps", delay="5 ms", buffer=200, queue=queue, duration=30)
    rates = tc.simulate(case).goodput(after=5)
    assert float(rates[0] / rates.sum()) == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize("model", ["packet", "fluid"])
def test_a_flow_has_no_more_packets_in_fq_than_its_limit(model):
    """Linux' flow_limit, which drops although the buffer has room."""
    sources = [tc.CBR("12 Mbps"), tc.CBR("1 Mbps")]
    case = on_a_link(*sources, delay="5 ms", buffer=200, queue=tc.queues.FQ(flow_limit=10))
    run = tc.simulate(case, model=model)
    assert 10 <= float(run.data["queue_max"].max()) <= 12
    assert run.goodput(after=1).values == pytest.approx([9e6, 1e6], rel=0.01)


# --- The contract


def test_rules_see_inner_queues_and_nan_where_nothing_is_known():
    """At each call the arrays are the inner queues: counted here by the rules themselves."""

    def on_arrival(s, p, q):
        i = int(q.traffic_class)
        q.inner = q.traffic_class
        s.wrong += q.waiting[i] != s.mine[i]
        s.wrong += q.sojourn == q.sojourn or q.again == q.again  # NaN differs from itself
        s.mine[i] += 1
        s.calls += 1

    def on_select(s, p, q):
        s.wrong += q.size == q.size or q.flow == q.flow or q.ecn == q.ecn
        s.wrong += q.waiting[0] + q.waiting[1] != q.queue
        s.wrong += q.waiting_bytes[0] != 1000 * q.waiting[0]
        s.wrong += q.waiting_bytes[1] != 500 * q.waiting[1]
        for i in range(2):
            known = q.head_at[i] == q.head_at[i]
            s.wrong += known != (q.waiting[i] > 0)
            s.wrong += known and (q.head_at[i] > q.now or q.head_size[i] != 1000 - 500 * i)
        s.wrong += q.head_at[0] < s.oldest  # the queue is served in order
        q.inner = 0.0 if q.waiting[0] > 0 else 1.0
        if q.waiting[0] > 0:
            s.oldest = q.head_at[0]
        s.mine[int(q.inner)] -= 1

    own = tc.register(
        tc.Discipline(
            "counts", "", on_arrival=on_arrival, on_select=on_select, inner=2,
            state={
                "wrong": tc.State(0, "", "differences"), "calls": tc.State(0, "", "arrivals"),
                "oldest": tc.State(0, "s", "arrival of the newest departure"),
                "mine": tc.State(0, "packets", "counted by the rules", 2),
            },
            record=("wrong", "calls"),
        )
    )  # fmt: skip
    net = tc.dumbbell("10 Mbps", "5 ms", 10_000, queue=own())
    flows = [tc.CBR("6 Mbps"), tc.CBR("5 Mbps", packet_size=500, traffic_class=1)]
    run = tc.simulate(tc.Scenario(net, flows, duration=3))
    assert run.data.queue_calls.max() > 5000
    assert run.data.queue_wrong.max() == 0


def test_rules_see_the_ecn_field():
    """SYNs and ACKs 0, data 2, and 3 after a mark of the link before."""

    def note(s, p, q):
        s.seen[int(q.ecn)] += 1
        s.none, s.first, s.zero, s.marked = s.seen[0], s.seen[1], s.seen[2], s.seen[3]
        s.wrong += q.ect != (q.ecn != 0)

    names = ("none", "first", "zero", "marked", "wrong")
    own = tc.register(
        tc.Discipline(
            "codepoints", "", on_arrival=note, record=names,
            state={"seen": tc.State(0, "packets", "by ECN field", 4)}
            | {name: tc.State(0, "packets", name) for name in names},
        )
    )  # fmt: skip
    net = tc.chain(2, "4 Mbps", "5 ms", 100)
    net = net.replace(
        links=[
            link.replace(queue=(tc.queues.StepMark(threshold=10), own())[k], record=True)
            if k < 2
            else link
            for k, link in enumerate(net.links)
        ]
    )
    flow = tc.Flow("reno", transport=tc.Transport(ecn="classic"))
    run = tc.simulate(tc.Scenario(net, [flow], duration=5))
    at = {name: float(run.data[f"queue_{name}"].max()) for name in names}
    marks = float(run.data["marks"].sum())
    assert marks > 5
    assert at["marked"] == pytest.approx(marks, abs=10)
    assert at["zero"] > 100
    assert at["first"] == at["wrong"] == 0
    assert 1 <= at["none"] <= 3 + float(run.data["retransmitted"].sum())


def test_a_rule_may_not_write_into_the_arrays():
    def writes(s, p, q):
        q.waiting[0] = 1.0

    with pytest.raises(ScenarioError, match=r"q.waiting: a rule may only read this field"):
        tc.Discipline("writes", "", on_select=writes)


def test_not_before_must_be_a_number():
    def never(s, p, q):
        q.not_before = q.sojourn

    own = tc.register(tc.Discipline("never", "", on_select=never))
    with pytest.raises(tc.TcpccError, match=r"q\.not_before to NaN"):
        tc.simulate(on_a_link(tc.CBR("1 Mbps"), queue=own(), duration=1))


def test_an_arrival_may_end_a_wait():
    """A gate that sends once two packets wait: each pair leaves when its second packet comes."""

    def pairs(s, p, q):
        if s.open == 0 and q.queue < 2:
            q.not_before = math.inf
        else:
            s.open = 1.0 - s.open

    own = tc.register(
        tc.Discipline("pairs", "", on_select=pairs, state={"open": tc.State(0, "", "half a pair")})
    )
    link = {"delay": "5 ms", "buffer": 30, "access_rate": "1 Gbps"}
    case = on_a_link(tc.CBR("1 Mbps"), queue=own(), duration=1, **link)
    gaps = np.diff(events(both_drivers(case), "deliver")["time"])
    assert gaps[::2] == pytest.approx(8e-4, abs=1e-6)
    assert gaps[1::2] == pytest.approx(16e-3 - 8e-4, abs=1e-6)


def test_evictions_go_on_until_the_bytes_fit():
    """A packet of 1500 bytes needs the room of 30 packets of 50 bytes."""
    low, high = (
        tc.CBR(rate, packet_size=size, traffic_class=level)
        for rate, size, level in (("2 Mbps", 50, 0), ("0.5 Mbps", 1500, 46))
    )
    link = {"rate": "1 Mbps", "delay": "5 ms", "buffer": "3 kB"}
    run = tc.simulate(on_a_link(low, high, queue=tc.queues.StrictPriority(), duration=5, **link))
    assert run.data["dropped"][:, 1].sum() == 0
    assert run.throughput(after=1)[1] == pytest.approx(0.5e6, rel=0.02)
