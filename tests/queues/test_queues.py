"""Queue disciplines: RED compared with Floyd and Jacobson's equations, drop-tail, and a battery for
every registered discipline."""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from by_hand import Both, Queue, discipline_of, stream
from every_model import EVERY_MODEL, simulate_in
from hypothesis import given, settings
from hypothesis import strategies as st
from on_a_link import on_a_link
from traced import events

import tcpcc as tc
from tcpcc.engine.streams import M1, M2, STREAM_FIELDS, uniform
from tcpcc.errors import ScenarioError
from tcpcc.queues import QUEUES
from tcpcc.queues import discipline as contract
from tcpcc.queues.adaptive_red import adapt, least
from tcpcc.queues.discipline import QueueSpec
from tcpcc.queues.red import base_probability, spaced_probability
from tcpcc.results.recording import VARIABLES


class Red(Queue):
    """RED's rules on plain objects."""

    def __init__(self, seed=1, avg=0.0, **params):
        sample = {"rate": 10e6, "size": 500.0, "arrivals": 1.0}
        super().__init__("red", seed, params=params, sample=sample, avg=avg)

    def arrive(self, queue=5.0, rule="on_arrival", **sample):
        waiting = {"queue": queue, "queue_bytes": 500 * queue, "idle": 0.0}
        return self.call(rule, **waiting | sample).drop == 1


@pytest.mark.parametrize(
    ("params", "delay", "seconds"),
    [
        ({"weight": 0}, 0.1, 1.0),
        ({"weight": 0, "mean_packet": 1000}, 0.1, 0.5),
        ({"weight": -1}, 0.01, 1.0),
        ({"weight": -1}, 0.04, 10 * 3 * (0.04 + 1 / 2500)),
    ],
)
def test_the_automatic_weight_has_a_time_constant_of_one_second_or_ten_rtts(params, delay, seconds):
    """w = 1 - exp(-1/C): after the C arrivals of a busy second, 2500 packets of the mean size, 1/e
    of the past remains, at any delay of the link. With -1 it is 1 - exp(-1/(10 R C)), where R is
    three times delay and transmission, at least 0.1 s."""
    red = Red(avg=1.0, min_thresh=50, max_thresh=60, **params)
    red.arrive(0.0, delay=delay)
    assert red.s.avg == pytest.approx(math.exp(-1 / (2500 * seconds)))


def held(p_b, seed=1, **params):
    """RED with its average kept at max_thresh, its base probability at `p_b`, and a started count.

    With a power of 2 as the weight the average of 15 and 15 is 15 to the last bit.
    """
    red = Red(seed, avg=15.0, max_p=p_b, min_thresh=5, max_thresh=15, weight=2.0**-30, **params)
    red.arrive(15.0)
    return red


def spacings(red, drops, **sample):
    """Numbers of arrivals from one drop to the next."""
    found, count = [], 0
    while len(found) <= drops:
        count += 1
        if red.arrive(15.0, **sample):
            found.append(count)
            count = 0
    return found[1:]


# The average


@given(st.floats(1e-4, 0.5), st.integers(1, 200), st.floats(0, 100), st.floats(0, 100))
def test_the_average_forgets_geometrically(w, n, start, queue):
    """(1) n times: (1 - w)^n of the initial value remains."""
    red = Red(avg=start, weight=w, min_thresh=1000, max_thresh=2000)
    for _ in range(n):
        red.arrive(queue)
    expected = queue + (start - queue) * (1 - w) ** n
    assert red.s.avg == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_idle_time_counts_as_packets_that_could_have_been_sent():
    """(2): 10 Mb/s sends 2500 packets of 500 bytes in a second, 25 whole ones in 10.1 ms."""
    red = Red(avg=10.0, weight=0.01)
    red.arrive(0, idle=0.0101)
    assert red.s.avg == pytest.approx(10 * 0.99**25 * 0.99)


@pytest.mark.parametrize("make", [tc.queues.RED, tc.queues.ConnectionRED])
def test_a_weight_between_the_automatic_ones_is_refused(make):
    with pytest.raises(ScenarioError, match=r"weight = -0.5 must be in \[0, 1\], or -1"):
        make(weight=-0.5)


def test_in_byte_mode_the_average_is_in_mean_packets():
    red = Red(weight=0.5, byte_queue=True, mean_packet=500)
    red.arrive(queue=3, queue_bytes=4500)
    assert red.s.avg == 0.5 * 9


# The base probability


@pytest.mark.parametrize(
    ("avg", "gentle", "p_b"),
    [
        (4.99, 1, 0), (5, 1, 0), (10, 1, 0.05), (15, 1, 0.1), (20, 1, 0.1 + 0.9 / 3), (30, 1, 1),
        (99, 1, 1), (14.9, 0, 0.099), (15, 0, 1), (20, 0, 1),
    ],
)  # fmt: skip
def test_base_probability(avg, gentle, p_b):
    """(3) with thresholds 5 and 15 and max_p = 0.1."""
    red = Red(avg=avg, gentle=gentle)
    found = base_probability(red.s.avg, red.p.min_thresh, red.p.max_thresh, red.p)
    assert found == pytest.approx(p_b)


@pytest.mark.parametrize(("avg", "gentle"), [(31.0, 1), (15.1, 0)])
def test_above_the_last_threshold_every_arrival_is_dropped(avg, gentle):
    red = Red(avg=avg, gentle=gentle, weight=1e-15)
    red.arrive()
    assert all(red.arrive() for _ in range(20))


def test_nothing_is_dropped_below_the_first_threshold():
    red = Red(avg=4.9, weight=1e-15, max_p=1)
    assert not any(red.arrive() for _ in range(100))


@pytest.mark.parametrize("queue", [0, 1, 1.99])
def test_nothing_is_dropped_early_while_fewer_than_two_wait(queue):
    red = Red(avg=100.0, weight=1e-15)
    assert not any(red.arrive(queue) for _ in range(100))


def test_the_first_arrival_above_the_threshold_only_starts_the_count():
    red = Red(avg=14.0, weight=1e-15, max_p=1, wait=False)
    red.s.count = 1000.0
    assert not red.arrive()
    assert red.s.count == 1
    red.s.avg = 4.0
    red.arrive()
    red.s.avg = 14.0
    assert not red.arrive()


# How drops are spaced


def spaced(p_b, wait):
    """Probability of each spacing, from (4) applied to one arrival after the other."""
    left, shares, k = 1.0, {}, 0
    while left > 1e-12:
        k += 1
        if not wait:
            p_a = p_b / (1 - k * p_b) if k * p_b < 1 else 1.0
        else:
            p_a = 0.0 if k * p_b < 1 else p_b / (2 - k * p_b) if k * p_b < 2 else 1.0
        p_a = min(p_a, 1.0)
        shares[k] = left * p_a
        left *= 1 - p_a
    return {k: share for k, share in shares.items() if share > 0}


def chi_square(found, shares):
    """Pearson's statistic as a standard normal deviate (Wilson and Hilferty 1931)."""
    counts, n = Counter(found), len(found)
    assert set(counts) <= set(shares)
    x = sum((counts[k] - n * share) ** 2 / (n * share) for k, share in shares.items())
    df = len(shares) - 1
    return ((x / df) ** (1 / 3) - (1 - 2 / (9 * df))) / math.sqrt(2 / (9 * df))


@pytest.mark.parametrize(("wait", "least", "most"), [(0, 1, 19), (1, 20, 39)])
def test_drops_are_spaced_uniformly(wait, least, most):
    """With p_b = 1/20: over 1 .. 19 arrivals, or with `wait` over 20 .. 39."""
    shares = spaced(1 / 20, wait)
    assert (min(shares), max(shares)) == (least, most)
    assert list(shares.values()) == pytest.approx([1 / len(shares)] * len(shares))
    found = spacings(held(1 / 20, wait=wait), 4000)
    assert abs(chi_square(found, shares)) < 3


@pytest.mark.parametrize("wait", [0, 1])
@pytest.mark.parametrize("p_b", [0.07, 0.3, 0.45])
def test_drops_are_spaced_by_the_law_at_any_probability(p_b, wait):
    found = spacings(held(p_b, seed=3, wait=wait), 4000)
    assert abs(chi_square(found, spaced(p_b, wait))) < 3


@pytest.mark.parametrize("size", [250, 500, 1000])
def test_in_byte_mode_large_packets_are_dropped_more_often(size):
    """(5): a packet of twice the mean size counts twice and has twice the drop probability."""
    red = held(0.01, byte_drop=True, mean_packet=500)
    mean = np.mean(spacings(red, 800, size=float(size)))
    assert mean == pytest.approx(1.5 * 500 / size / 0.01, rel=0.02)


def test_byte_mode_counts_bytes_in_whole_mean_packets():
    red = held(0.1, byte_drop=True, wait=False)
    red.s.count_bytes = 1749.0
    red.q.size = 250.0
    assert spaced_probability(red.s, red.p, red.q, 0.1) == pytest.approx(0.1 / (1 - 0.3) / 2)


# One law for packets and fluid


@pytest.mark.parametrize("wait", [0, 1])
@pytest.mark.parametrize("p_b", [0.01, 0.1, 0.26, 1 / 3, 0.5, 0.7, 1.0])
def test_fluid_and_packets_have_one_drop_law(p_b, wait):
    """The long-term drop probability and the smallest and mean spacing are those of the fluid rule,
    up to three standard errors."""
    red = held(p_b, seed=5, wait=wait)
    found = np.array(spacings(red, 1000))
    red.arrive(15.0, rule="on_fluid")
    error = found.std() / math.sqrt(len(found))
    assert 1 / red.q.prob == pytest.approx(found.mean(), abs=3 * error + 1e-9)
    shares = spaced(p_b, wait)
    assert 1 / red.q.prob == pytest.approx(sum(k * x for k, x in shares.items()), rel=1e-9)
    assert (1 - red.q.spread) / red.q.prob == pytest.approx(min(shares), rel=1e-9)


@pytest.mark.parametrize("size", [500, 1000, 2000])
def test_fluid_and_packets_have_one_drop_law_in_byte_mode(size):
    red = held(0.02, seed=7, byte_drop=True)
    found = np.array(spacings(red, 800, size=float(size)))
    red.arrive(15.0, rule="on_fluid", size=float(size))
    assert 1 / red.q.prob == pytest.approx(found.mean(), rel=0.02)


@given(st.floats(1e-4, 0.3), st.integers(1, 100), st.floats(0, 50), st.floats(0, 50))
def test_the_fluid_average_after_n_arrivals_is_that_of_n_packets(w, n, start, queue):
    packets, fluid = Red(avg=start, weight=w), Red(avg=start, weight=w)
    for _ in range(n):
        packets.arrive(queue)
    fluid.arrive(queue, rule="on_fluid", arrivals=float(n))
    assert fluid.s.avg == pytest.approx(packets.s.avg, rel=1e-9, abs=1e-9)


def test_the_fluid_average_decays_while_idle():
    red = Red(avg=10.0, weight=0.01)
    red.arrive(0.0, rule="on_fluid", idle=0.0101, arrivals=0.0)
    assert red.s.avg == pytest.approx(10 * 0.99**25.25)


def test_fluid_drops_nothing_below_two_packets_or_the_threshold():
    red = held(0.5)
    red.arrive(1.9, rule="on_fluid")
    assert red.q.prob == 0
    red.s.avg = 4.0
    red.arrive(rule="on_fluid")
    assert red.q.prob == 0


# In a network


def burst(count, buffer, packet_size=1000):
    """Sequence numbers dropped from `count` packets that arrive at once at an idle link."""
    transport = tc.Transport(initial_window=count, handshake=False)
    flow = tc.Flow("reno", packet_size=packet_size, transport=transport)
    case = on_a_link(flow, rate="1 Mbps", delay="10 ms", buffer=buffer, duration=0.015)
    return list(events(tc.simulate(case, trace=True), "drop")["seq"])


@pytest.mark.parametrize(
    ("buffer", "packet_size", "kept"), [(10, 1000, 10), ("10 kB", 1000, 10), ("10 kB", 1040, 9)]
)
def test_droptail_counts_packets_or_bytes_with_the_packet_being_sent(buffer, packet_size, kept):
    """10000 bytes hold ten packets of 1000 bytes or nine of 1040."""
    assert burst(30, buffer, packet_size) == list(range(kept, 30))


def test_droptail_in_bytes_accepts_small_packets_when_large_ones_do_not_fit():
    """A packet of 2500 bytes leaves room for 40-byte packets in 2600 bytes, but not for larger
    ones."""
    once = tc.Transport(initial_window=1, handshake=False)
    flows = [
        tc.Flow("reno", packet_size=size, size=1, start=k / 1000, transport=once, name=str(size))
        for k, size in enumerate([2500, 200, 40, 60, 50])
    ]
    case = on_a_link(*flows, rate="1 Mbps", delay="10 ms", buffer="2600 B", duration=0.05)
    run = tc.simulate(case, trace=True)
    dropped = [flows[k].name for k in events(run, "drop")["flow"]]
    assert dropped == ["200", "50"]


class ByHand:
    """A FIFO link with RED, written from the paper's listing: average, idle time, count, drop. With
    `wait` and gentle; as in ns-2 the first packet above min and packets with fewer than two waiting
    are not dropped, and the count restarts after a drop for lack of room."""

    def __init__(self, rate, buffer, rng, *, w, low, high, max_p, mean_packet=500):
        self.rate, self.buffer, self.rng, self.w = rate, buffer, rng, w
        self.low, self.high, self.max_p, self.mean_packet = low, high, max_p, mean_packet
        self.free, self.starts = 0.0, []
        self.avg, self.count, self.began = 0.0, 0, False
        self.overflows = 0

    def takes(self, now, size):
        self.starts = [start for start in self.starts if start >= now]
        waiting, busy = len(self.starts), self.free >= now
        refused = self.red(waiting, 0.0 if busy else now - self.free)
        if waiting + busy >= self.buffer:
            self.count = 0
            self.overflows += not refused
            refused = True
        if refused:
            return False
        start = max(now, self.free)
        if start > now:
            self.starts.append(start)
        self.free = start + 8 * size / self.rate
        return True

    def red(self, waiting, idle):
        missed = math.floor(self.rate / (8 * self.mean_packet) * idle)
        self.avg = (1 - self.w) * self.avg * (1 - self.w) ** missed + self.w * waiting
        self.count += 1
        if self.avg < self.low or waiting < 2:
            self.began = False
            return False
        if not self.began:
            self.began, self.count = True, 1
            return False
        if self.avg < self.high:
            p_b = self.max_p * (self.avg - self.low) / (self.high - self.low)
        else:
            p_b = min(self.max_p + (1 - self.max_p) * (self.avg / self.high - 1), 1.0)
        k = self.count * p_b
        p_a = 0.0 if k < 1 else p_b / (2 - k) if k < 2 else 1.0
        if self.rng() > p_a:
            return False
        self.count = 0
        return True


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("buffer", [15, 25])
def test_drops_of_a_run_are_those_of_the_papers_listing(seed, buffer):
    """Each packet of two TCP flows and a CBR source is accepted or dropped as in the paper, or
    dropped because there is no room."""
    red = tc.queues.RED(min_thresh=4, max_thresh=12, max_p=0.08, weight=0.01)
    flows = [tc.Flow("reno"), tc.Flow("reno", start=0.1, recovery="sack"), tc.CBR("0.5 Mbps")]
    case = on_a_link(*flows, rate="2 Mbps", buffer=buffer, queue=red, duration=20, seed=seed)
    run = tc.simulate(case, trace=True)
    source = SimpleNamespace(**stream(seed, "link bottleneck: queue"))
    link = ByHand(2e6, buffer, lambda: uniform(source), w=0.01, low=4, high=12, max_p=0.08)
    expected = []
    for event in events(run, "send", "retransmit"):
        syn = event["seq"] == 0 and event["flow"] < 2
        if not link.takes(float(event["time"]), 40 if syn else 1000):
            expected.append((event["flow"], event["seq"]))
    found = [(event["flow"], event["seq"]) for event in events(run, "drop")]
    assert found == expected
    assert link.overflows > 20
    assert len(expected) - link.overflows > 20


def test_red_keeps_the_average_queue_between_its_thresholds():
    red = tc.queues.RED(min_thresh=5, max_thresh=15, mean_packet=1000)
    flows = [tc.Flow("reno", start=0.1 * k, recovery="sack") for k in range(4)]
    run = tc.simulate(on_a_link(*flows, buffer=60, queue=red, duration=60))
    assert 5 < run.queue_mean(after=10) < 15
    assert run.queue_max(after=10) < 60


# Specifications


def test_a_spec_is_compared_and_hashed_by_its_meaning():
    assert tc.queues.RED(max_p=0.1, min_thresh=4) == tc.queues.RED(min_thresh=4, max_p=0.1)
    assert (
        len({tc.queues.RED(), tc.queues.RED(), tc.queues.DropTail(), tc.queues.RED(max_p=0.2)}) == 3
    )
    assert repr(tc.queues.RED(max_p=0.2)) == "red(max_p=0.2)"


def test_the_function_that_makes_a_spec_documents_its_parameters():
    for param in QUEUES.find("red").params:
        assert f"\n{param} : " in tc.queues.RED.__doc__


# Every registered discipline


arrivals = st.lists(
    st.tuples(
        st.floats(0, 1), st.floats(0, 60), st.floats(40, 9000), st.floats(0, 20),
        st.integers(1, 40), st.integers(0, 20), st.floats(0, 1),
    ),
    max_size=30,
)  # fmt: skip


switches = st.fixed_dictionaries(
    {
        "estimator": st.sampled_from([0, 1]), "warm_up": st.sampled_from([0, 1]),
        "error": st.sampled_from([-0.2, 0, 0.1]), "zombies": st.sampled_from([1, 2.5, 30, 1000]),
        "full": st.sampled_from([0, 1]), "gentle": st.sampled_from([0, 1]),
    }
)  # fmt: skip


@pytest.mark.parametrize("name", QUEUES.names())
@settings(max_examples=20)
@given(arrivals, st.integers(1, 5), st.sampled_from([1.0, 20.0, math.inf]), switches)
def test_disciplines_stay_valid_for_any_arrivals(name, arrivals, seed, limit, switches):
    """Drops are 0 or 1, probabilities lie in [0, 1], and the state stays finite, for packets and
    fluid."""
    params = {k: v for k, v in switches.items() if k in QUEUES.find(name).params}
    packets, fluid = (
        Both(*discipline_of(name, seed, params=params), outputs=True) for _ in range(2)
    )
    discipline = QUEUES.find(name)
    now = 0.0
    for idle, queue, size, volume, repeat, flow, concentration in arrivals:
        now += idle
        common = {
            "now": now, "size": size, "rate": 1e7, "queue_bytes": queue * size, "limit": limit,
            "flow": float(flow), "flows": float(flow), "concentration": concentration,
            "traffic_class": float(flow),
        }  # fmt: skip
        for k in range(repeat):
            packets.call(
                discipline.on_arrival, **common, queue=float(int(queue)),
                idle=idle if queue < 1 and k == 0 else 0.0, arrivals=1.0, drop=0.0,
            )  # fmt: skip
            assert packets.sample.drop in (0, 1)
        fluid.call(
            discipline.on_fluid, **common, queue=queue,
            idle=idle if queue < 1 else 0.0, arrivals=volume, prob=0.0, spread=0.0,
        )  # fmt: skip
        assert 0 <= fluid.sample.prob <= 1
        assert 0 <= fluid.sample.spread <= 1
        for both in (packets, fluid):
            assert all(np.all(np.isfinite(value)) for value in vars(both.s).values())


@pytest.mark.parametrize("name", QUEUES.names())
def test_every_discipline_stays_within_its_buffer(name):
    link = {"rate": "2 Mbps", "delay": "10 ms", "buffer": 12, "queue": QueueSpec(name)}
    run = tc.simulate(on_a_link("reno", tc.CBR("1 Mbps"), duration=5, **link))
    assert 0 < run.queue_max() <= 11
    assert run.data["drops"].sum() > 0
    assert run.data["drops"].sum() == run.data["dropped"].sum()


@pytest.mark.parametrize("name", QUEUES.names())
def test_every_discipline_is_documented(name):
    discipline = QUEUES.find(name)
    assert discipline.summary
    for thing in [*discipline.params.values(), *discipline.state.values()]:
        assert thing.doc


# What a discipline learns and records


def spy_on_arrival(s, p, q):
    s.open, s.room = q.flows, q.limit
    s.met[int(q.flow)] += 1
    s.first = s.met[0]


def spy_on_fluid(s, p, q):
    s.open, s.room = q.flows, q.limit
    s.met[1] = q.concentration
    s.first = s.met[1]


@pytest.fixture
def spy():
    """A discipline that drops nothing and records its inputs."""
    return tc.register(
        contract.Discipline(
            name="spy",
            summary="look and learn",
            on_arrival=spy_on_arrival,
            on_fluid=spy_on_fluid,
            state={
                "open": tc.State(-1, "", "open flows"),
                "room": tc.State(-1, "packets", "room"),
                "first": tc.State(0, "packets", "of the first flow, or concentration"),
                "met": tc.State(0, "packets", "by flow", 5),
            },
            record=("open", "room", "first"),
        )
    )


def spied(net, queue):
    """`net` with `queue` at every link, all links recorded."""
    return net.replace(links=[link.replace(queue=queue, record=True) for link in net.links])


@pytest.mark.parametrize(
    ("model", "options"),
    [("packet", {}), ("packet", {"driver": "simpy"}), ("trains", {}), ("fluid", {})],
)
@pytest.mark.parametrize("access", [None, "50 Mbps"])
def test_disciplines_get_the_number_of_open_sources(spy, model, options, access):
    """Flows count from start to stop or finish, CBR sources while on; CBR does not count on links
    of ACKs."""
    net = tc.chain(2, "4 Mbps", "5 ms", 100, access_rate=access, access_delay=0.001)
    slow = tc.Transport(rwnd=20)
    flows = [
        tc.Flow("reno", transport=slow),
        tc.Flow("reno", start=1.05, stop=4.05, transport=slow),
        tc.Flow("reno", start=2.05, size=200, transport=slow),
        tc.Flow("reno", start=3.05, source="r1", transport=slow),
        tc.CBR("0.5 Mbps", on=[(1.55, 2.55), (5.05, 6.05)], packet_size=500),
    ]
    case = tc.Scenario(spied(net, spy()), flows, duration=8)
    run = simulate_in(model, case, **options)
    end = float(run.data.finished[2])
    assert 2.1 < end < 7
    lives = [(0, 99), (1.05, 4.05), (2.05, end), (3.05, 99), (1.55, 2.55), (5.05, 6.05)]
    edges = np.array([x for life in lives for x in life])
    checked = 0
    for number, link in enumerate(case.resolve().links):
        if link.name not in run.links:
            continue
        at = run.data[["queue_open", "arrived"]].sel(link=link.name)
        users = [
            (number in flow.forward or number in flow.reverse) for flow in case.resolve().flows
        ]
        mine = [life for life, use in zip(lives, [*users, users[-1]], strict=True) if use]
        rows = zip(at.time.values, at.queue_open.values, at.arrived.values, strict=True)
        for time, found, some in rows:
            if some > 0 and np.abs(edges - time + 0.05).min() > 0.06:
                assert found == sum(a < time < b for a, b in mine), (link.name, time)
                checked += 1
    assert checked > 200


@EVERY_MODEL
def test_a_source_whose_data_and_acks_share_a_link_counts_once(spy, model):
    ends = [("a", "x"), ("x", "y"), ("y", "b"), ("b", "x"), ("y", "a")]
    links = [tc.Link(*pair, rate=4e6, delay=0.005) for pair in ends]
    links[1] = links[1].replace(queue=spy(), record=True)
    ways = {"path": ("a", "x", "y", "b"), "ack_path": ("b", "x", "y", "a")}
    flows = [tc.Flow("vegas", **ways), tc.Flow("reno", **ways)]
    case = tc.Scenario(tc.Network(tuple(links)), flows, duration=1)
    run = simulate_in(model, case)
    assert run.data.queue_open.values[-1, 0] == 2


@EVERY_MODEL
@pytest.mark.parametrize(("buffer", "room"), [(20, 20), ("30 kB", 30), (None, math.inf)])
def test_disciplines_get_the_buffer_size_in_packets(spy, model, buffer, room):
    kwargs = {} if buffer is None else {"buffer": buffer}
    there = tc.Link("a", "b", rate=4e6, delay=0.005, queue=spy(), record=True, **kwargs)
    net = tc.Network((there, tc.Link("b", "a", rate=4e6, delay=0.005)), default_path=("a", "b"))
    run = simulate_in(model, tc.Scenario(net, [tc.Flow("vegas")], duration=2))
    assert run.data.queue_room.values[-1, 0] == pytest.approx(room)


def test_a_state_array_can_count_packets_by_flow(spy):
    net = tc.dumbbell("4 Mbps", "5 ms", 100, queue=spy())
    run = tc.simulate(tc.Scenario(net, [tc.Flow("vegas"), tc.Flow("reno", start=1)], duration=3))
    sent = run.data.sent[:, 0].cumsum()
    assert run.data.queue_first.values[:, 0] == pytest.approx(sent.values)


def test_concentration_is_the_probability_of_two_packets_of_one_flow(spy):
    """Shares of 3 to 1: 9/16 + 1/16. Then only the second source sends."""
    net = tc.dumbbell("4 Mbps", "5 ms", 100, queue=spy())
    flows = [tc.CBR("3 Mbps", on=[(0, 10)]), tc.CBR("1 Mbps")]
    run = tc.simulate(tc.Scenario(net, flows, duration=20), model="fluid")
    at = run.data.queue_first[:, 0].sel(time=[9.9, 19.9], method="nearest")
    assert at.values == pytest.approx([10 / 16, 1], abs=1e-3)


@EVERY_MODEL
def test_a_run_has_the_recorded_state_of_disciplines(spy, model):
    """With name and description of the state variable; NaN before the first arrival and on other
    links, the last known value in bins without arrivals."""
    net = tc.chain(2, "4 Mbps", "5 ms", 30, queue=tc.queues.RED())
    net = net.replace(links=[net.links[0].replace(queue=spy()), *net.links[1:]])
    on = tc.CBR("1 Mbps", on=[(1.0, 1.5), (3.0, 3.2)])
    run = simulate_in(model, tc.Scenario(net, [on], duration=4, interval=0.5))
    assert run.data.queue_avg.attrs == {"long_name": "average queue", "units": "packets"}
    assert run.data.queue_open.attrs == {"long_name": "open flows"}
    first, second = run.links[:2]
    assert run.data.queue_open.sel(link=second).isnull().all()
    assert run.data.queue_avg.sel(link=first).isnull().all()
    assert run.data.queue_avg.sel(link=second).notnull().any()
    expected = [math.nan] * 2 + [1] * 6
    assert run.data.queue_open.sel(link=first).values == pytest.approx(expected, nan_ok=True)


def test_a_run_without_recorded_state_has_no_extra_variables():
    run = tc.simulate(tc.Scenario(tc.dumbbell("4 Mbps", "5 ms", 30), [tc.Flow("reno")], duration=1))
    assert set(run.data.data_vars) == set(VARIABLES)


def test_recorded_variables_must_be_scalars_of_the_state(spy):
    state = {"many": tc.State(0, "", "", 3), "one": tc.State(0, "", "")}
    for name in ("many", "none"):
        with pytest.raises(ValueError, match=f"'x': record '{name}' is not a number .*: one"):
            contract.Discipline("x", "", state=state, record=(name,))


def note_bytes(s, p, q):
    s.avg = q.queue_bytes


def test_a_recorded_name_may_have_another_meaning_in_each_discipline():
    """The run gives the meaning of its own disciplines: one alone, or each with its owner."""
    other = {"avg": tc.State(0, "bytes", "queue at the last arrival")}
    own = tc.register(
        contract.Discipline("x", "", on_arrival=note_bytes, state=other, record=("avg",))
    )
    net = tc.chain(2, "4 Mbps", "5 ms", 30, queue=own())
    mixed = net.replace(links=[net.links[0].replace(queue=tc.queues.RED()), *net.links[1:]])
    both = "red: average queue (packets); x: queue at the last arrival (bytes)"
    for case, attrs in (
        (net, {"long_name": "queue at the last arrival", "units": "bytes"}),
        (mixed, {"long_name": both}),
    ):
        run = tc.simulate(tc.Scenario(case, [tc.Flow("reno")], duration=1))
        assert run.data.queue_avg.attrs == attrs
        assert run.data.queue_avg.max() > 0


def test_a_queues_state_may_have_the_name_of_a_variable_of_the_record():
    def note(s, p, q):
        s.max = -7.0

    state = {"max": tc.State(0, "packets", "of all")}
    queue = tc.register(contract.Discipline("x", "", on_arrival=note, state=state, record=("max",)))
    run = tc.simulate(on_a_link("reno", rate="4 Mbps", queue=queue(), buffer=30, duration=1))
    assert run.data.queue_max.max() > 0
    assert (run.data.queue_max_state[5:] == -7).all()
    assert run.data.queue_max_state.attrs == {"long_name": "of all", "units": "packets"}


class Timed(Queue):
    """A discipline's rules on plain objects, with a clock."""

    def __init__(self, name, *, params=None, **state):
        sample = {"rate": 8e6, "size": 1000.0}  # a packet in a millisecond
        super().__init__(name, params=params, sample=sample, **state)

    def wait(self, queue):
        """Run the timer with `queue` packets waiting."""
        waiting = {"queue": float(queue), "queue_bytes": 1000.0 * queue}
        self.call("on_interval", now=self.q.wake, **waiting)
        return self.s

    def drops(self, arrivals, queue=50):
        """Number of drops among `arrivals` arrivals."""
        return sum(self.arrive(queue=float(queue)) for _ in range(arrivals))


# Random numbers


def test_streams_are_mrg32k3a():
    """First numbers from the seed 12345, six times, as published in L'Ecuyer et al. 2002."""
    s = SimpleNamespace(**{field: 12345 for field, _ in STREAM_FIELDS})
    first = [uniform(s) for _ in range(5)]
    assert first == pytest.approx(
        [0.12701112, 0.31852757, 0.30918602, 0.82584686, 0.22162992], abs=5e-9
    )


def test_streams_agree_with_the_recurrence_in_exact_integers():
    """x_n = (1403580 x_{n-2} - 810728 x_{n-3}) mod m1, and likewise y; u = (x - y) mod m1 / ..."""
    s = SimpleNamespace(**stream(seed=9))
    x = [s.mrg0, s.mrg1, s.mrg2]
    y = [s.mrg3, s.mrg4, s.mrg5]
    for _ in range(1000):
        x.append((1403580 * x[-2] - 810728 * x[-3]) % M1)
        y.append((527612 * y[-1] - 1370589 * y[-3]) % M2)
        z = (x[-1] - y[-1]) % M1
        assert uniform(s) == (z or M1) / (M1 + 1)


def test_streams_differ_by_seed_and_name():
    starts = {
        tuple(stream(seed, name).values()) for seed in (1, 2) for name in ("link a", "link b")
    }
    assert len(starts) == 4
    assert stream(1, "link a") == stream(1, "link a")


def test_a_stream_is_uniform():
    s = SimpleNamespace(**stream())
    numbers = np.array([uniform(s) for _ in range(20000)])
    assert abs(chi_square((numbers * 50).astype(int).tolist(), dict.fromkeys(range(50), 0.02))) < 3
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 3 / math.sqrt(20000)


# --- timers: REM, PI, PIE, and adaptive RED, which needs none


def test_rem_prices_input_and_queue():
    """c T = 2 packets; 5 arrived, 30 wait at a target of 20: price 0.001 (5 + 0.1 x 10 - 2)."""
    rem = Timed("rem")
    rem.drops(5)
    rem.wait(30)
    assert rem.s.price == pytest.approx(0.004)
    assert rem.s.prob == pytest.approx(1 - 1.001**-0.004)
    assert rem.q.wake == pytest.approx(0.002)
    assert rem.wait(0).price == 0.0  # nothing arrived, nothing waits


def test_rem_drops_with_its_probability():
    assert Timed("rem", prob=0.2).drops(5000) == pytest.approx(1000, rel=0.1)


def test_pi_integrates_the_queue():
    pi = Timed("pi", params={"qref": 10, "a": 1e-3, "b": 5e-4})
    assert pi.wait(30).prob == pytest.approx(1e-3 * 20 + 5e-4 * 10)
    assert pi.wait(30).prob == pytest.approx(0.025 + 1e-3 * 20 - 5e-4 * 20)
    assert pi.q.wake == pytest.approx(2 / 170)
    for _ in range(100):
        pi.wait(0)
    assert pi.s.prob == 0.0


@pytest.mark.parametrize(
    ("before", "delay", "queue", "after"),
    [
        *(
            (prob, 0.02, 25, prob + (0.00125 + 0.00625) / divisor)
            for prob, divisor in (
                (0, 2048), (5e-7, 2048), (5e-6, 512), (5e-5, 128), (5e-4, 32), (5e-3, 8), (5e-2, 2)
            )
        ),
        (0.3, 0.0, 250, 0.32),  # steps are limited at a high drop probability
        (0.05, 0.0, 0, 0.98 * (0.05 - 0.125 * 0.015 / 2)),  # decays while the queue is empty
    ],
)  # fmt: skip
def test_pie_steps_fit_the_probability(before, delay, queue, after):
    """RFC 8033, 4.2: at 25 ms for 15, and 20 before: 0.125 x 0.01 + 1.25 x 0.005."""
    pie = Timed("pie", drop_prob=before, delay=delay)
    assert pie.wait(queue).drop_prob - before == pytest.approx(after - before)


def test_pie_drops_nothing_in_a_burst():
    """150 ms, ten updates up to rounding, pass without a drop; again once the queue is calm."""
    pie = Timed("pie", drop_prob=0.5)
    for _ in range(9):
        pie.wait(100)
        assert pie.drops(50) == 0
    pie.wait(100)
    pie.wait(100)
    assert pie.drops(50) > 0
    pie.s.drop_prob, pie.s.delay = 0.0, 0.0
    assert pie.wait(0).burst_allowance == 0.15


def after_bursts(drop_prob):
    """PIE at a delay of 50 ms, beyond its allowance for bursts."""
    state = {"burst_allowance": 0.0, "delay": 0.05, "drop_prob": drop_prob}
    return Timed("pie", params={"max_burst": 0}, **state)


def test_pie_spaces_its_drops():
    """At 0.1 none of the first eight arrivals is dropped, and one of the first 85 is."""
    pie = after_bursts(0.1)
    gaps = []
    for _ in range(200):
        gap = 1
        while pie.drops(1) == 0:
            gap += 1
        gaps.append(gap)
    assert min(gaps) >= 9
    assert max(gaps) <= 85
    assert np.mean(gaps) == pytest.approx(8.5 + 9, rel=0.15)


def test_pie_drops_nothing_from_short_queues():
    pie = after_bursts(0.9)
    assert pie.drops(50, queue=2) == 0
    assert pie.drops(50, queue=3) > 20


@pytest.mark.parametrize(
    ("avg", "before", "after"),
    [(8.9, 0.1, 0.09), (11.1, 0.1, 0.11), (11.1, 0.02, 0.025), (10, 0.1, 0.1), (11.1, 0.5, 0.5),
     (8.9, 0.009, 0.009)],
)  # fmt: skip
def test_adaptive_red_keeps_the_average_in_the_middle(avg, before, after):
    """Thresholds of 5 and 15: max_p decreases below 9 and increases above 11, in steps half a
    second apart."""
    red = Timed("adaptive_red", avg=avg, max_p=before)
    for red.q.now, expected in ((0.4, before), (0.6, after)):
        adapt(red.s, red.p, red.q)
        assert red.s.max_p == pytest.approx(expected)


@pytest.mark.parametrize(("rate", "bottom"), [(1e7, 1 / 125), (7e6, 0.01)])
def test_adaptive_red_drops_at_least_a_packet_of_those_in_a_tenth_of_a_second(rate, bottom):
    """125 of 1000 bytes at 10 Mb/s. The share is never above 0.01."""
    red = Timed("adaptive_red", params={"bottom": 0})
    red.q.rate = rate
    assert least(red.p, red.q) == pytest.approx(bottom, rel=1e-9)


@EVERY_MODEL
@pytest.mark.parametrize(
    ("queue", "mean"),
    [
        (tc.queues.REM(), 20),
        (tc.queues.PI(qref=30, a=1.822e-4, b=1.816e-4), 30),
        (tc.queues.PIE(), 37.5),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_queues_settle_at_their_targets(queue, mean, model):
    """PIE's 15 ms are 37.5 packets at 20 Mb/s."""
    flows = [tc.Flow("newreno", start=0.1 * k) for k in range(8)]
    case = on_a_link(*flows, rate="20 Mbps", buffer=300, queue=queue, duration=60)
    run = simulate_in(model, case)
    assert run.queue_mean(after=20) == pytest.approx(mean, rel=0.12)
    assert run.utilization(after=20) > 0.98


@EVERY_MODEL
def test_a_timer_that_does_not_advance_is_an_error(model):
    def stuck(s, p, q):
        q.wake = q.now

    def nothing(s, p, q):
        q.prob = 0.0

    queue = tc.register(
        tc.Discipline("stuck", "", on_arrival=nothing, on_fluid=nothing, on_interval=stuck)
    )
    net = tc.dumbbell(rate="1 Mbps", delay="1 ms", buffer=100, queue=queue())
    with pytest.raises(tc.TcpccError, match=r"not later than q\.now"):
        simulate_in(model, tc.Scenario(net, [tc.Flow("reno")], duration=1))
    with pytest.raises(ValueError, match="on_interval needs on_arrival and on_fluid"):
        tc.Discipline("half", "", on_interval=stuck)


def test_a_policer_passes_its_burst_and_then_its_rate():
    """20 Mb/s arrive at a policer of 10 Mb/s and 50 packets: 100 pass before the first drop."""
    net = tc.dumbbell("1 Gbps", "1 ms", 1000, queue=tc.queues.Policer(rate=10e6, burst=50e3))
    case = tc.Scenario(net, [tc.CBR("20 Mbps", packet_size=1000)], duration=10)
    run = tc.simulate(case, trace=True)
    table = run.trace()
    first = table[table.event == "drop"].iloc[0]
    assert first.seq == pytest.approx(2 * 50, abs=2)
    passed = (table.event == "deliver").sum()
    assert passed == pytest.approx(10 * 1250 + 50, abs=5)
    assert run.queue_max() == 0


@pytest.mark.parametrize(
    ("used", "after", "size", "full", "drop", "left"),
    [
        (50e3, 0.0, 1000, 0, 1, 50e3),
        (49e3, 0.0, 1000, 0, 0, 50e3),  # what just fits
        (50e3, 0.9e-3, 1000, 0, 0, 49875),  # 1125 bytes came in since
        (49e3, 0.0, 1001, 0, 1, 49e3),
        (49e3, 0.0, 1000, 1, 0, 49e3),  # one that the buffer refuses takes none
        (20e3, 1.0, 1000, 0, 0, 1000),  # no more than the burst is ever there
    ],
)
def test_a_policer_drops_packets_that_exceed_its_bucket(used, after, size, full, drop, left):
    s = SimpleNamespace(used=used, last=1.0)
    q = SimpleNamespace(now=1.0 + after, size=size, full=full, drop=0.0)
    tc.queues.Policer.on_arrival(s, SimpleNamespace(rate=10e6, burst=50e3), q)
    assert (q.drop, s.used, s.last) == (drop, pytest.approx(left), 1.0 + after)


def test_the_table_of_disciplines_finds_one_by_name():
    assert tc.queues["red"] is tc.queues.RED
    for find in (tc.queues.__getitem__, QueueSpec):
        with pytest.raises(ScenarioError, match="unknown queue 'redd': did you mean 'red'"):
            find("redd")
