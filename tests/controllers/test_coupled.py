"""LIA, OLIA and BALIA: their steps by hand, alone, and what their papers say of whole runs."""

import pytest
from by_hand import rules_of
from every_model import PACKETS_AND_TRAINS, WAYS
from on_a_link import mean_over_seeds, on_a_link
from test_controller_battery import Path

import tcpcc as tc

COUPLED = ["balia", "lia", "olia"]


def group(name, *members):
    """States of a group, from mappings of their variables; with parameters and a sample."""
    states = []
    for one in members:
        common = {"ssthresh": 1.0, "members": len(members), "group": states}
        c, s, p, a = rules_of(name, **(common | one))
        states.append(s)
    return c, states, p, a


def steps(name, *members):
    """What an ACK of a packet adds to the window of each member."""
    added = []
    for k, one in enumerate(members):
        c, states, p, a = group(name, *members)
        a.srtt, a.acked, a.delivered = one["rtt"], 1.0, 0.0
        c.on_ack(states[k], p, a)
        added.append(states[k].cwnd - one["cwnd"])
    return added


def path(cwnd, rtt, **more):
    return {"cwnd": float(cwnd), "rtt": rtt, **more}


def test_lia_adds_what_one_tcp_on_the_best_path_would():
    """RFC 6356: A = max(w/r^2) / (sum w/r)^2; no path is faster than Reno there."""
    assert steps("lia", path(10, 0.1), path(20, 0.2)) == pytest.approx([0.025, 0.025])
    slow = 40_000 / 500**2  # 0.16 exceeds 1/w of the long path
    assert steps("lia", path(4, 0.01), path(100, 1.0)) == pytest.approx([slow, 0.01])
    assert steps("lia", path(10, 0.1), path(1, 0.0))[0] == pytest.approx(0.1)  # not measured yet


def test_olia_moves_window_from_the_largest_to_the_best_path():
    base = [10 / (0.1 * 300) ** 2, 20 / (0.1 * 300) ** 2]
    good, large = path(10, 0.1, acked=300.0), path(20, 0.1, acked=50.0, acked_before=100.0)
    assert steps("olia", good, large) == pytest.approx([base[0] + 0.05, base[1] - 0.025])
    assert steps("olia", path(10, 0.1, acked=99.0), large) == pytest.approx(base)
    longer = path(10, 0.2, acked=399.0)  # 399/0.04 is below 100/0.01
    assert steps("olia", longer, large) == pytest.approx([10 / 50**2, 20 / 25**2])


def test_olia_shares_its_transfer_among_equal_paths():
    """n = 3; two largest windows, in whole packets, and one good path."""
    members = path(10, 0.1, acked=9.0), path(20.9, 0.1, acked=1.0), path(20.1, 0.1, acked=2.0)
    total = 51 * 0.1 / 0.1
    expected = [
        m["cwnd"] / total**2 + a / m["cwnd"]
        for m, a in zip(members, (1 / 3, -1 / 6, -1 / 6), strict=True)
    ]
    assert steps("olia", *members) == pytest.approx(expected)


def test_a_loss_begins_olias_count_anew():
    c, (s, _), p, a = group("olia", path(10, 0.1, acked=7.0), path(10, 0.1))
    c.on_loss(s, p, a)
    assert (s.acked, s.acked_before) == (0, 7)
    c.on_timeout(s, p, a)
    assert (s.acked, s.acked_before) == (0, 0)


def test_balias_steps_and_cuts():
    """x = 100 and 200 packets/s: a = 2 and 1."""
    first = 100 / (0.1 * 300**2) * 3 / 2 * 6 / 5
    assert steps("balia", path(10, 0.1), path(20, 0.1)) == pytest.approx([first, 20 / 30**2])
    for fast, kept in ((20, 0.25), (12, 0.4), (10, 0.5), (5, 0.5)):
        c, (s, _), p, a = group("balia", path(10, 0.1), path(fast, 0.1))
        a.window = 10.0
        c.on_loss(s, p, a)
        assert s.cwnd == s.ssthresh == pytest.approx(max(10 * kept, 2))


@pytest.mark.parametrize("name", COUPLED)
def test_without_a_group_it_is_reno(name):
    """In every window of 200 rounds with losses, and over a link with random losses."""
    reno, alone = (Path(one, pipe=20, buffer=20).rounds(200) for one in ("reno", name))
    assert reno.losses > 5
    assert alone.windows == pytest.approx(reno.windows)
    rates = []
    for one in ("reno", name):
        run = tc.simulate(tc.Scenario(lossy(1e-3), [along("a", one, group=None)], duration=30))
        rates.append(run.throughput().item())
    assert rates[0] == pytest.approx(rates[1], rel=1e-3)


# Whole runs: paths a and b


def two_paths(rate, buffer, losses=(0.0, 0.0)):
    there = [
        tc.Link(f"{n}0", f"{n}1", rate=rate, delay="20 ms", buffer=buffer, loss=loss)
        for n, loss in zip("ab", losses, strict=True)
    ]
    back = [tc.Link(f"{n}1", f"{n}0", rate=rate, delay="20 ms") for n in "ab"]
    return tc.Network([*there, *back])


def lossy(p, more=1.0):
    """No queues: paths with random losses at rates p and `more` p."""
    return two_paths("1 Gbps", 10_000, (p, p * more))


def along(n, controller, *, group="both", **settings):
    return tc.Flow(controller, path=(f"{n}0", f"{n}1"), group=group, **settings)


def relative(name, more):
    """Rates on a and b, in those of Reno alone on a: means of three seeds."""
    flows = [along("a", name), along("b", name), along("a", "reno", group=None)]
    case = tc.Scenario(lossy(1e-3, more), flows, duration=150)
    a, b, alone = mean_over_seeds(range(3), lambda run: run.throughput(after=20), case)
    return a / alone, b / alone


@pytest.mark.parametrize("name", COUPLED)
def test_on_equal_paths_it_takes_as_much_as_one_tcp(name):
    """RFC 6356's goals 1 and 2; 2.0 without coupling."""
    assert sum(relative(name, 1.0)) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize(
    ("name", "most"), [("reno", 0.6), ("lia", 0.3), ("balia", 0.25), ("olia", 0.2)]
)
def test_it_leaves_the_worse_path(name, most):
    """Goal 3, with four times the losses on b. Without coupling b carries half of what a does (by
    the square-root law), with LIA a quarter (w is inverse to p), with OLIA a packet per RTT or
    two. All but Reno take about as much as one TCP on a."""
    a, b = relative(name, 4.0)
    assert most - 0.15 < b / a < most
    assert a + b == pytest.approx(1.45 if name == "reno" else 0.95, abs=0.12)


@pytest.mark.parametrize("name", ["lia", "balia"])
def test_between_two_bottlenecks_it_takes_the_best_of_both_at_most(name):
    """Reno alone would get 5 Mb/s beside one other on a, and 2.5 beside three on b. A connection
    over both gets at least the 5, and less on each than Reno."""
    others = [along("a", "reno", group=None), *(along("b", "reno", group=None) for _ in range(3))]
    flows = [along("a", name), along("b", name), *others]
    run = tc.simulate(tc.Scenario(two_paths("10 Mbps", 50), flows, duration=120))
    rates = run.throughput(after=20) / 1e6
    assert 5.0 < run.by_group(rates).sel(group="both") < 7.0
    assert rates[0] < rates[2]
    assert rates[1] < rates[3:].mean()


@PACKETS_AND_TRAINS
@pytest.mark.parametrize(("name", "share"), [("reno", 0.667), ("lia", 0.56), ("balia", 0.54)])
def test_at_a_shared_bottleneck_a_connection_of_two_paths_does_little_harm(name, share, model):
    """Share of the link beside one Reno, which gets a third of it without coupling; mean of four
    seeds (its standard error is 0.01)."""

    def share_of(run):
        rates = run.by_group(run.throughput(after=20))
        return float(rates[0] / rates.sum())

    flows = [tc.Flow(name, group="both", jitter=1.0)] * 2 + [tc.Flow("reno", jitter=1.0)]
    case = on_a_link(*flows, duration=120)
    found = mean_over_seeds(range(4), share_of, case, **WAYS[model])
    assert found == pytest.approx(share, abs=0.03)
