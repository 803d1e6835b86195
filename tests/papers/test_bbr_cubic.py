"""BBR beside CUBIC: ours against the test-bed, the closed form, harm, and starvation."""

import itertools

import numpy as np
import pytest

import tcpcc as tc
from experiments import bbr_cubic
from experiments.bbr_cubic import command, figures, scenarios, studies, tables
from experiments.bbr_cubic.scenarios import Network, Point

pytestmark = pytest.mark.slow

SMALL = Network(50, 5)
MIDDLE = Network(50, 40)
SLOW = Network(100, 80)
NETWORKS = scenarios.networks()


def goodput(network, buffer, n, **settings):
    """BBR's and CUBIC's share of the link, ours."""
    run = tc.simulate(scenarios.point(network, buffer, n, **settings))
    return np.array(tables.throughputs(run)) / network.rate


def told(network, buffer, n):
    """The test-bed's."""
    return np.array(scenarios.testbed()[Point(network, buffer, n)]) / network.rate


# The numbers


@pytest.mark.parametrize("model", tables.STORED)
def test_a_few_points_are_those_stored(model):
    points = [Point(SMALL, 30.0, 10), Point(MIDDLE, 5.0, 20)]
    found, seconds = tables.simulated(points, model=model)
    assert tables.moved(found, bbr_cubic.stored(model)) == []
    assert seconds > 0


@pytest.mark.long
@pytest.mark.parametrize("model", tables.STORED)
def test_every_eighth_point_of_the_sample_and_some_others_are_those_stored(model):
    """`tcpcc reproduce bbr_cubic` compares the sample, `bbr_cubic all` all of them."""
    accepted = bbr_cubic.stored(model)
    others = [p for p in accepted if p.n not in scenarios.SAMPLE]
    wanted = [*bbr_cubic.sample()[::8], *others[:: max(len(others) // 5, 1)]]
    found, _ = tables.simulated(wanted, model=model)
    assert set(found) <= set(accepted)
    assert tables.moved(found, accepted) == []


def test_points_of_an_accepted_sample_join_the_others(tmp_path, monkeypatch):
    others = dict(list(bbr_cubic.stored().items())[:20])
    file = tmp_path / "stored.csv"
    tables.store(others, file)
    monkeypatch.setitem(tables.STORED, "packet", file)
    (point, (bbr, cubic)), *_ = others.items()
    new = {point: (float(f"{bbr + 1:.6g}"), cubic), Point(SMALL, 30.0, 44): (40.0, 8.0)}
    monkeypatch.setattr(tables, "simulated", lambda points, model: (new, 1.0))
    monkeypatch.setattr(tables, "summary", lambda found: [])
    command._shares("sample", "packet", accept=True)
    assert bbr_cubic.stored() == {**others, **new}


def test_a_moved_point_is_found():
    accepted = bbr_cubic.stored()
    point, (bbr, cubic) = next(iter(accepted.items()))
    assert len(tables.moved({point: (bbr * 1.001, cubic)}, accepted)) == 1


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_median_distance_to_the_test_bed_is_at_most_6_percent_of_the_link(network):
    """Of packets; docs/bbr_cubic.md has the fluid model's, which is larger."""
    away = tables.distances(bbr_cubic.stored(), network)
    assert away.size >= len(scenarios.SAMPLE) * (len(scenarios.BUFFERS) - 1)
    assert np.median(away) <= tables.DISTANCE


@pytest.mark.long
def test_the_median_distance_of_five_seeds_in_the_smallest_network():
    points = [p for p in bbr_cubic.sample() if p.network == SMALL]
    medians = [
        np.median(tables.distances(tables.simulated(points, seed)[0], SMALL))
        for seed in range(1, 6)
    ]
    assert np.mean(medians) <= tables.DISTANCE


ALONG_THE_LINE = Network(100, 20), 5.0
"""The buffer whose equilibrium is further away; the test after the next has the cause."""

BY_ONE_POINT = Point(Network(100, 20), 10.0, 41)
"""The run that decides the equilibrium of its buffer."""


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_equilibria_are_within_6_flows_of_the_test_beds(network):
    pairs = tables.equilibria(bbr_cubic.stored(), network)
    apart = {b for b, (ours, other) in pairs.items() if abs(ours - other) > tables.EQUILIBRIUM}
    assert apart == {b for net, b in (ALONG_THE_LINE, BY_ONE_POINT[:2]) if net == network}


def test_without_the_one_point_the_equilibrium_is_near():
    """41 BBR flows get 0.83 of the link (an equal share: 0.82), 39 and 43 get 0.66 and 0.71."""
    others = dict(bbr_cubic.stored())
    del others[BY_ONE_POINT]
    ours, other = (tables.equilibrium(x, *BY_ONE_POINT[:2]) for x in (others, scenarios.testbed()))
    assert abs(ours - other) <= tables.EQUILIBRIUM


def test_an_accepted_distance_moves_an_equilibrium_on_a_curve_along_the_line():
    """The test-bed's own curve, lowered by less than `DISTANCE`, has an equilibrium as far away."""
    network, buffer = ALONG_THE_LINE
    lower = {
        p: (bbr - 0.05 * network.rate, cubic + 0.05 * network.rate)
        for p, (bbr, cubic) in scenarios.testbed().items()
    }
    whole = tables.equilibrium(scenarios.testbed(), network, buffer)
    ours = tables.equilibrium(bbr_cubic.stored(), network, buffer)
    assert tables.equilibrium(lower, network, buffer) == pytest.approx(ours, abs=1.5)
    assert whole - ours > tables.EQUILIBRIUM


def test_sampled_mixtures_give_the_equilibrium_of_all_mixtures():
    """The test-bed's own: the sample costs at most 4 flows where its curve crosses once."""
    whole = scenarios.testbed()
    few = {p: both for p, both in whole.items() if p.n in scenarios.SAMPLE}
    for net, b in itertools.product(NETWORKS, scenarios.BUFFERS[1:]):
        one, other = (tables.equilibrium(found, net, b) for found in (whole, few))
        assert abs(one - other) <= 4.5, (net, b)


def test_neighbouring_mixtures_of_the_test_bed_scatter_by_two_percent():
    """One trial a point: the reason for the accepted distances."""
    apart = []
    for net, b in itertools.product(NETWORKS, scenarios.BUFFERS[1:]):
        p = np.array(list(tables.shares(scenarios.testbed(), net, b).values()))
        apart.append((p[2:-2] - (p[:-4] + p[1:-3] + p[3:-1] + p[4:]) / 4)[1:-1])
    spread = np.concatenate(apart).std() / np.sqrt(1.25)
    assert 0.015 < spread < 0.03


# The settings


@pytest.mark.parametrize("n", [0, 50])
def test_a_kind_alone_fills_the_link_less_headers(n):
    """Ethernet's header is on the wire, so the test-bed's goodput is 1448 / 1514 of the rate."""
    ours, theirs = goodput(MIDDLE, 5.0, n), told(MIDDLE, 5.0, n)
    assert ours.sum() == pytest.approx(1448 / 1514, abs=2e-3)
    assert theirs.sum() == pytest.approx(1448 / 1514, abs=2e-3)


@pytest.mark.parametrize("n", [2, *(pytest.param(n, marks=pytest.mark.long) for n in (5, 10, 15))])
def test_the_sum_shows_by_how_much_bbr_is_ahead(n):
    """While one process sends alone, its data count beside 120 s of the other."""
    ours, theirs = goodput(SLOW, 5.0, n).sum(), told(SLOW, 5.0, n).sum()
    assert ours == pytest.approx(theirs, abs=5e-3)
    assert theirs > 1.02 * 1448 / 1514
    without = goodput(SLOW, 5.0, n, ahead=False).sum()
    assert without < theirs - 0.02


def test_bbr_that_is_ahead_gets_more():
    """The head start moves the share towards the test-bed's."""
    theirs, ours = told(SLOW, 20.0, 10)[0], goodput(SLOW, 20.0, 10)[0]
    without = goodput(SLOW, 20.0, 10, ahead=False)[0]
    assert abs(ours - theirs) < tables.DISTANCE < theirs - without


def test_with_equal_processes_none_is_ahead():
    assert scenarios.lead(MIDDLE, 5.0, 25) == 0
    starts = [flow.start for flow in scenarios.point(MIDDLE, 5.0, 25).flows]
    assert max(starts) - min(starts) < scenarios.SPREAD + 2e-3


def test_handshakes_wait_in_the_queue_of_the_first_process():
    rtts = (50 - 2 * 10) * SLOW.rtt / 1e3
    assert 1.5 * rtts < scenarios.lead(SLOW, 5.0, 10) < 3 * rtts


@pytest.mark.long
def test_the_receive_window_keeps_a_lone_cubic_flow_small():
    """With 49 BBR flows and no such limit CUBIC takes most of a link with a deep buffer."""
    theirs = told(SLOW, 50.0, 49)[0]
    limited, free = (goodput(SLOW, 50.0, 49, window=w)[0] for w in (scenarios.WINDOW, 1e9))
    assert abs(limited - theirs) < 0.12 < theirs - free


def share(n, *, rtt=None, **settings):
    """BBR's share at 50 Mb/s, 5 ms and 5 BDP: mean of two seeds; `settings` replace the flows'."""
    found = []
    for seed in (1, 2):
        case = scenarios.point(SMALL, 5.0, n, seed)
        pieces = settings.get("gso_segments")
        flows = [
            flow.replace(
                processing=settings.get("processing", flow.processing),
                transport=flow.transport.replace(
                    gso_segments=pieces or flow.transport.gso_segments
                ),
            )
            for flow in case.flows
        ]
        net = case.net if rtt is None else scenarios.bottleneck(Network(50, rtt), 5.0 * 5 / rtt)
        run = tc.simulate(case.replace(flows=flows, net=net))
        found.append(tables.throughputs(run)[0] / SMALL.rate)
    return np.mean(found)


@pytest.mark.long
def test_without_processing_times_the_rtt_modulo_a_packets_time_decides_in_a_small_buffer():
    """A packet takes 0.242 ms: 5.1 ms are 21.05 and 5.3 ms 21.9 of it."""
    phased = {rtt: share(10, rtt=rtt, processing=0) for rtt in (5.1, 5.3)}
    assert phased[5.3] - phased[5.1] > 0.25
    mixed = [share(10, rtt=rtt) for rtt in (5.1, 5.3)]
    assert abs(mixed[1] - mixed[0]) < 0.1
    assert abs(phased[5.1] - told(SMALL, 5.0, 10)[0]) < 0.12


@pytest.mark.long
def test_processing_times_bring_small_buffers_nearer_to_the_test_bed():
    for n in (2, 10):
        theirs = told(SMALL, 5.0, n)[0]
        assert theirs < share(n) < share(n, processing=0) - 0.04


def test_larger_pieces_too():
    """Linux sends pieces of packets, which a byte-limited queue takes or drops as one."""
    assert told(SMALL, 5.0, 2)[0] < share(2, gso_segments=4) < share(2) - 0.1


# The closed form


@pytest.mark.parametrize(
    ("network", "buffer", "n"), [(MIDDLE, 10.0, 5), (SLOW, 40.0, 2), (Network(500, 20), 5.0, 45)]
)
def test_wares_part_solves_the_equation_of_the_full_queue(network, buffer, n):
    p = 1 - tables.ware(network, buffer, n)
    bdp = network.bdp
    q = buffer * bdp
    assert (1 - p) * (q + bdp) == pytest.approx(2 * (1 - p) * (p * q + 4 * n + bdp))


def test_wares_share_is_one_in_small_buffers_and_one_half_in_deep_ones():
    assert tables.ware(SLOW, 0.5, 1) == 1
    assert tables.ware(SLOW, 1e4, 1) == pytest.approx(0.5, abs=1e-3)


def test_wares_share_is_too_high_after_two_minutes_with_deep_buffers():
    of = bbr_cubic.stored()
    high = [
        tables.ware(net, b, n) - of[Point(net, b, n)][0] / net.rate
        for net in (SLOW, Network(500, 80))
        for b in (20.0, 30.0, 40.0, 50.0)
        for n in (10, 20, 30)
    ]
    assert min(high) > 0.1


@pytest.mark.long
def test_the_share_rises_towards_wares_for_minutes():
    """The buffer is nearly full from the first minute on."""
    network = Network(100, 20)
    base = scenarios.point(network, 50.0, 10)
    flows = [flow.replace(stop=None) for flow in base.flows]
    run = tc.simulate(base.replace(flows=flows, duration=480))
    bbr = run.data["group"].values == "bbr"
    first, last = (
        run.goodput(at, at + 60).values[bbr].sum() / (network.rate * 1e6) for at in (0, 420)
    )
    assert first < 0.2
    assert last > 0.75 * tables.ware(network, 50.0, 10)
    assert run.data["queue"].sel(time=slice(30, 60)).mean() > 0.8 * run.data["buffer"].values[0]


def test_an_equilibrium_is_where_both_kinds_have_equal_throughput():
    line = {Point(SLOW, 5.0, n): (30 + 0.4 * n, 70 - 0.4 * n) for n in range(1, 50)}
    assert tables.equilibrium(line, SLOW, 5.0) == pytest.approx(0.3 / (1 / 50 - 0.004))
    more = {Point(SLOW, 5.0, n): (99.0, 1.0) for n in range(1, 50)}
    assert tables.equilibrium(more, SLOW, 5.0) == 50
    less = {Point(SLOW, 5.0, n): (1.0, 99.0) for n in range(1, 50)}
    assert tables.equilibrium(less, SLOW, 5.0) == 0


# Harm, unlike RTTs, starvation


def two_runs():
    """Of one and of two seconds."""
    net = tc.dumbbell("1 Mbps", "10 ms", 10)
    return {
        ("reno", 0.5, seed): tc.Scenario(net, [tc.Flow("reno")], duration=seed, seed=seed)
        for seed in (1, 2)
    }


def whole(run):
    return float(run.utilization())


def test_the_notebook_takes_the_numbers_of_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(studies.STUDIES, "small", (two_runs, whole))
    found = studies.measured("small", cache=tmp_path / "runs")
    monkeypatch.setattr(tc, "sweep", lambda *_, **__: pytest.fail("it simulates again"))
    assert studies.measured("small", cache=tmp_path / "runs") == found
    assert list(found) == [("reno", 0.5)]
    assert found["reno", 0.5].seeds == 2


def harm(rate, queue, contender, seed=1):
    return studies.harm_share(
        tc.simulate(studies.harm(studies.HARM_RATES[rate], queue, contender, seed))
    )


def test_ecn_gives_one_bbr3_flow_most_of_what_five_cubic_flows_had():
    """A mark costs CUBIC 30 % of its window, once a round trip; BBRv3 keeps the delivered rate."""
    drops, marks = (harm("100 Mb/s", q, "BBRv3") for q in ("drop-tail", "marks above BDP/4"))
    assert drops < 0.5
    assert marks > 0.7
    assert harm("100 Mb/s", "marks above BDP/4", "CUBIC") < 0.3


@pytest.mark.long
def test_only_without_a_response_to_marks_bbr3_takes_nearly_all():
    """The claim of ANRW 2024, more than 99 %: CUBIC is left with its smallest windows."""
    with_response, without = (
        harm("500 Mb/s", "marks above BDP/4", c) for c in ("BBRv3", "BBRv3 without response")
    )
    assert with_response < 0.96
    assert without > 0.98


def test_the_two_flows_have_the_rtts_of_the_table():
    scenario = studies.unlike("Reno", 1.0, 1).replace(duration=3)
    trips = tc.simulate(scenario).data["base_rtt"].values
    assert trips == pytest.approx(studies.TRIPS, rel=0.2)  # with the packet's transmission


def test_of_two_bbr3_flows_the_one_with_the_longer_rtt_gets_more_in_a_deep_buffer():
    deep, shallow = (
        studies.trip_ratio(tc.simulate(studies.unlike("BBRv3", b, 1))) for b in (16.0, 0.5)
    )
    assert deep > 2
    assert shallow < 0.5


@pytest.mark.long
@pytest.mark.parametrize("kind", ["BBRv1", "Copa", "Vegas", "Vivace"])
def test_jitter_beyond_the_range_of_delays_is_unfair(kind):
    def ratio(multiple):
        late = multiple * studies.delta(kind)
        return np.mean(
            [
                studies.unfairness(tc.simulate(studies.starved(kind, "random", late, seed)))
                for seed in (1, 2, 3)
            ]
        )

    assert ratio(0.5) < 1.8
    assert ratio(8.0) > 3


def test_fast_starves_slowly():
    """FAST keeps many packets queued, so jitter must be compared with that delay, not with its
    range, which is a single packet's time."""
    late = 16 * studies.delta("FAST")
    run = tc.simulate(studies.starved("FAST", "constant", late, 1))
    assert 1.5 < studies.unfairness(run) < 2.5


# The figures


def test_figures_show_all_points():
    found = bbr_cubic.stored()
    figure = figures.draw_shares(SLOW, found)
    shown = [line for ax in figure.axes for line in ax.lines if line.get_label() == "packets"]
    assert [list(line.get_xdata()) for line in shown] == [
        sorted(p.n for p in found if p[:2] == (SLOW, b)) for b in scenarios.BUFFERS
    ]
    assert len(figures.draw_equilibria(found).axes) == len(NETWORKS)
