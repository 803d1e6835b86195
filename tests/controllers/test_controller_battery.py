"""One battery for every registered controller: what any of them must survive, and five scenarios.

The rules run twice side by side, interpreted on plain objects and compiled on records, and must
agree to the last bit after every step.
"""

import math
from decimal import Decimal

import numpy as np
import pytest
from by_hand import Both, call, rules_of
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sampled import some

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.controller import sample_dtype
from tcpcc.engine.jit import rule_address

SMALLEST_WINDOW, SMALLEST_THRESHOLD = 1.0, 2.0

WINDOWED = [name for name in CONTROLLERS.names() if not CONTROLLERS.find(name).every_ack]
"""Whose window answers ACKs; the others are run with a transport, below and in test_delivery.py."""
BY_THEMSELVES = [name for name in WINDOWED if not CONTROLLERS.find(name).header and name != "nv"]
"""Of these, whose window grows without a router that says so in a header (XCP), nor waits for so
many measurements that small windows do not grow for many rounds (NV: test_linux_controllers.py)."""


class Pair(Both):
    """A controller on plain objects and, compiled, on records."""

    def __init__(self, name, *, cwnd=2.0, ssthresh=math.inf):
        self.controller, *plain = rules_of(name, cwnd=cwnd, ssthresh=ssthresh)
        super().__init__(self.controller, *plain)

    def call(self, name, **sample):
        """Call a rule, both ways, if the controller has it; the states must stay the same."""
        given = vars(self.sample) | {k: float(v) for k, v in sample.items()}
        given |= {"growing": given["acked"], "clock": given["now"]}
        super().call(self.controller.rules[name], **given)


class AnySequence(RuleBasedStateMachine):
    """Any order of ACKs, rounds, losses and timeouts, each with a sample that a path could give."""

    controller = ""

    @initialize(
        start=st.floats(1, 100),
        base=st.floats(1e-4, 1),
        receiver=st.one_of(st.just(math.inf), st.floats(2, 1e4)),
    )
    def begin(self, start, base, receiver):
        self.pair = Pair(self.controller, cwnd=start)
        self.now, self.base, self.longest, self.srtt = 0.0, base, base, base
        self.receiver = receiver

    def sample(self, used, queueing, **more):
        """A sample with `used` of the window in flight and the RTT at base (1 + queueing)."""
        rtt = self.base * (1 + queueing)
        self.now += 1e-5 + rtt / 10
        self.longest = max(self.longest, rtt)
        self.srtt += (rtt - self.srtt) / 8
        window = min(self.pair.s.cwnd, self.receiver)
        inflight = max(1, math.floor(used * window))
        return {
            "now": self.now, "rtt": rtt, "srtt": self.srtt, "base_rtt": self.base,
            "max_rtt": self.longest, "round_rtt": rtt, "round_min_rtt": self.base,
            "round_time": rtt, "round_packets": inflight, "inflight": inflight,
            "window": window, "acked": 1.0, "delivered": 1.0, "transmits": 1.0, "marked": 0.0,
            **more,
        }  # fmt: skip

    used, queueing = st.floats(0, 1.2), st.floats(0, 20)

    @rule(used=used, queueing=queueing, acked=st.floats(1e-6, 2), repeat=st.integers(1, 50))
    def acks(self, used, queueing, acked, repeat):
        for _ in range(repeat):
            sample = self.sample(used, queueing, acked=acked, delivered=math.ceil(acked))
            self.pair.call("on_ack", **sample)

    @rule(
        used=used,
        queueing=queueing,
        news=st.integers(1, 5),
        share=st.floats(0, 1),
        phase=st.integers(0, 2),
        repeat=st.integers(1, 30),
    )
    def deliveries(self, used, queueing, news, share, phase, repeat):
        """ACKs with news, in recovery or not, each with a packet lost or a mark now and then."""
        for k in range(repeat):
            sample = self.sample(
                used, queueing, delivered=news, phase=phase, app_limited=k % 7 == 0
            )
            self.total = getattr(self, "total", 0) + news
            interval = sample["rtt"]
            sample |= {
                "pipe": math.floor(share * sample["inflight"]), "total_delivered": self.total,
                "rate_interval": interval, "rate_delivered": min(share * self.total, 1e4),
                "delivery_rate": min(share * self.total, 1e4) / interval,
                "lost": k % 3, "lost_inflight": sample["inflight"],
                "owd": 0.0 if k % 5 == 4 else sample["rtt"] / 2, "marked": k % 2,
            }  # fmt: skip
            if k % 3 == 2:
                self.pair.call("on_lost_packet", **sample)
            if k % 4 == 3:
                self.pair.call("on_mark", **sample)
            if self.pair.controller.every_ack:
                self.pair.call("on_ack", **sample)

    @rule(used=used, queueing=queueing)
    def timer(self, used, queueing):
        self.pair.call("on_timer", **self.sample(used, queueing))

    @rule(used=used, queueing=queueing, sent=st.floats(0, 2))
    def round_ends(self, used, queueing, sent):
        sample = self.sample(used, queueing)
        sample["round_packets"] = math.floor(sent * sample["inflight"])
        self.pair.call("on_round", **sample)
        self.pair.call("on_ack", **sample)

    @rule(used=used, queueing=queueing)
    def retransmission_acknowledged(self, used, queueing):
        """No round-trip time can be told of a packet that was sent twice."""
        self.pair.call("on_ack", **self.sample(used, queueing, rtt=0.0))

    @rule(used=used, queueing=queueing, transmits=st.integers(1, 5))
    def loss(self, used, queueing, transmits):
        self.pair.call("on_loss", **self.sample(used, queueing, transmits=transmits))

    @rule(used=used, queueing=queueing)
    def timeout(self, used, queueing):
        self.pair.call("on_timeout", **self.sample(used, queueing))

    @invariant()
    def window_is_sound(self):
        if not hasattr(self, "pair"):
            return
        s = self.pair.s
        assert math.isfinite(s.cwnd)
        assert s.cwnd >= SMALLEST_WINDOW
        assert s.ssthresh >= SMALLEST_THRESHOLD
        assert not any(np.isnan(value).any() for value in vars(s).values())
        assert getattr(s, "pacing_rate", 1.0) > 0


@pytest.mark.parametrize("name", CONTROLLERS.names())
def test_any_sequence_leaves_a_sound_window(name):
    machine = type("AnySequence", (AnySequence,), {"controller": name})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=6,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# Five scenarios: the rules on a path in rounds, without any transport


LARGE = 2**11
"""Packets in a window that has grown enough: each of them is a call of a rule."""


class Path:
    """A window on one bottleneck: `pipe` packets fit without queueing, `buffer` more wait.

    Each round sends floor(W) packets; the RTT is the base one and the wait for those in excess.
    """

    def __init__(self, name, *, pipe=math.inf, buffer=math.inf, base=0.1, **start):
        self.pair = Pair(name, **start)
        self.pipe, self.buffer, self.base = pipe, buffer, base
        self.now = 0.0
        self.windows = [self.cwnd]
        self.losses = 0

    @property
    def cwnd(self):
        return self.pair.s.cwnd

    def round(self, limit=math.inf):
        """One round trip; the application has `limit` packets to send in it."""
        sent = min(math.floor(self.cwnd), limit)
        rtt = self.base * max(1.0, sent / self.pipe)
        lost = self.cwnd > self.pipe + self.buffer
        for k in range(sent):
            self.now += rtt / sent
            sample = {
                "now": self.now, "rtt": rtt, "srtt": rtt, "base_rtt": self.base, "max_rtt": rtt,
                "round_rtt": rtt, "round_min_rtt": rtt, "round_time": rtt, "round_packets": sent,
                "inflight": min(math.floor(self.cwnd), limit), "window": self.cwnd,
                "acked": 1.0, "delivered": 1.0, "transmits": 1.0,
            }  # fmt: skip
            if k == 0:
                self.pair.call("on_round", **sample)
            self.pair.call("on_ack", **sample)
        if lost:
            self.losses += 1
            self.pair.call("on_loss", **(sample | {"window": self.cwnd}))
        self.windows.append(self.cwnd)

    def rounds(self, count, **options):
        """So many, or until the window is `LARGE`."""
        for _ in range(count):
            if self.cwnd > LARGE:
                break
            self.round(**options)
        return self


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_slow_start_unlimited(name):
    """On an empty path the window at least doubles every other round and never shrinks."""
    windows = Path(name).rounds(12).windows
    assert windows == sorted(windows)
    for earlier, later in zip(windows, windows[2:], strict=False):
        assert later >= 2 * earlier


@pytest.mark.parametrize("name", WINDOWED)
def test_loss_in_slow_start(name):
    """A loss in slow start takes window and threshold down to at most what they were, and the
    window comes back without passing the size at which it was lost at once."""
    path = Path(name).rounds(10)
    before = path.cwnd
    path.pair.call("on_loss", window=before, inflight=math.floor(before), transmits=1.0)
    assert SMALLEST_WINDOW <= path.cwnd <= before
    assert path.pair.s.ssthresh <= before
    path.rounds(1)
    assert path.cwnd <= before + 1


@pytest.mark.parametrize("event", ["on_loss", "on_timeout"])
@pytest.mark.parametrize("ssthresh", [math.inf, 2.0])
@pytest.mark.parametrize("name", WINDOWED)
def test_nothing_measured_yet(name, ssthresh, event):
    """The first packet is lost, and what was sent again tells no round-trip time."""
    path = Path(name, cwnd=10.0, ssthresh=ssthresh)
    times = dict.fromkeys(("rtt", "srtt", "base_rtt", "max_rtt", "round_rtt", "round_min_rtt"), 0)
    sample = times | {"window": 10, "inflight": 10, "acked": 1, "delivered": 1, "transmits": 1}
    path.pair.call(event, **sample, now=0.1)
    assert SMALLEST_WINDOW <= path.cwnd <= 10
    assert path.pair.s.ssthresh >= SMALLEST_THRESHOLD
    for k in range(1, 20):
        path.pair.call("on_ack", **sample, now=0.1 + k / 10)
    grown = path.cwnd
    assert grown <= 10 + 19
    path.pair.call("on_loss", **(sample | {"window": grown}), now=3.0)
    assert SMALLEST_WINDOW <= path.cwnd <= grown


@pytest.mark.parametrize("ssthresh", [math.inf, 2.0])
@pytest.mark.parametrize("name", WINDOWED)
def test_application_limited(name, ssthresh):
    """Two packets a round on an empty path, in slow start and beyond: the window is not taken away,
    and does not outgrow that of a sender who fills it."""
    limited, filled = (
        Path(name, cwnd=10.0, ssthresh=ssthresh).rounds(7, limit=limit).cwnd
        for limit in (2, math.inf)
    )
    assert 10 <= limited <= filled


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_a_filled_window_grows_beyond_slow_start(name):
    """Thirty rounds on an empty path without a loss: by two packets at least, or the window would
    never find room that others leave."""
    path = Path(name, cwnd=10.0, ssthresh=2.0).rounds(30)
    assert path.cwnd >= 12


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_minimum_window(name):
    """Losses and timeouts without an ACK between them cannot push the window under its least
    size, nor keep it there: it grows again on the first rounds."""
    path = Path(name, cwnd=100.0)
    for k in range(50):
        path.pair.call("on_loss" if k % 2 else "on_timeout", window=path.cwnd, transmits=k + 1)
        assert path.cwnd >= SMALLEST_WINDOW
        assert path.pair.s.ssthresh >= SMALLEST_THRESHOLD
    least = path.cwnd
    assert least <= 4
    path.rounds(10)
    assert path.cwnd > least


VEGAS_KIND = {"vegas", "newvegas", "vegas_a", "vegas_plus", "quick_vegas", "adavegas"}
"""Whose timeout leaves two packets."""


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_a_timeout_begins_slow_start_anew(name):
    """From the least window, to a threshold well below the window at which packets were lost."""
    path = Path(name, cwnd=50.0, ssthresh=20.0).rounds(5)
    before = path.cwnd
    path.pair.call("on_timeout", window=before, inflight=math.floor(before), transmits=1.0)
    first = 2 if name in VEGAS_KIND else 1
    assert path.cwnd == first
    assert 0.4 * before <= path.pair.s.ssthresh <= 0.95 * before
    path.rounds(2)
    assert path.cwnd >= 2 * first


@pytest.mark.parametrize("name", WINDOWED)
def test_long_congestion_avoidance(name):
    """Many rounds on a path of 20 packets and a buffer of 20: the window stays between the
    least one and what path and buffer hold (and a round's growth), and uses over half of it."""
    path = Path(name, pipe=20, buffer=20, cwnd=20.0, ssthresh=20.0).rounds(150)
    later = np.array(path.windows[60:])
    assert later.min() >= SMALLEST_WINDOW
    assert later.max() <= 40 + 20
    assert np.minimum(later, 20).mean() > 0.5 * 20


@pytest.mark.parametrize(("name", "mean", "losses"), [("reno", 75, 10), ("vegas", 52, 0)])
def test_long_congestion_avoidance_by_theory(name, mean, losses):
    """Reno's sawtooth from 50 to 100 takes just over 50 rounds and has its mean at 75, so 520
    rounds see 10 of them. Vegas stays with alpha to beta packets queued."""
    path = Path(name, pipe=50, buffer=50, cwnd=50.0, ssthresh=2.0).rounds(520)
    assert np.mean(path.windows[100:]) == pytest.approx(mean, abs=1.5)
    assert abs(path.losses - losses) <= 1


# Real-valued acknowledgements


@pytest.mark.parametrize("pieces", [2, 7, 100])
@pytest.mark.parametrize("window", [4.0, 30.0, 1000.0])
@pytest.mark.parametrize("phase", ["slow start", "avoidance"])
@pytest.mark.parametrize("name", WINDOWED)
def test_an_ack_can_be_split(name, phase, window, pieces):
    """`acked` is real: k ACKs of 1/k packet come to one of a packet, up to the second order in
    what it adds, or O(1/W)."""
    threshold = 10 * window if phase == "slow start" else 2.0

    def after(acked, count):
        pair = Pair(name, cwnd=window, ssthresh=threshold)
        sample = {"inflight": math.floor(window), "window": window, "round_packets": window}
        pair.call("on_round", **sample, round_rtt=0.1, acked=1.0)
        pair.call("on_round", **sample, round_rtt=0.1, acked=1.0)
        for _ in range(count):
            pair.call("on_ack", **sample, acked=acked, delivered=1.0)
        return pair.s.cwnd

    whole, parts = after(1.0, 1), after(1 / pieces, pieces)
    assert parts == pytest.approx(whole, abs=max(1.0, (whole - window) ** 2) / window)


def test_a_rule_that_does_not_compile_is_refused_in_one_line():
    def on_ack(s, p, a):
        s.cwnd = float(Decimal(1))

    reno = CONTROLLERS.find("reno")
    with pytest.raises(TypeError, match=r"rule .*on_ack does not compile") as error:
        rule_address(on_ack, reno.state_dtype, reno.params_dtype, sample_dtype)
    assert "\n" not in str(error.value)


def test_an_error_in_a_compiled_rule_reaches_the_caller():
    """Division by zero is Python's, not a silent infinity."""
    pair = Pair("reno", cwnd=0.0, ssthresh=0.0)
    with pytest.raises(ZeroDivisionError):
        call(pair.address(pair.controller.on_ack), *pair.places)


#: Their windows follow what they measured of the path, which a trickle changes: a smaller rate or
#: delay, or a slowdown that fell due. XCP asks routers.
MEASURE_THE_TRICKLE = ("bbr", "bbr2", "bbr3", "ledbat", "ledbat_plus", "nv", "xcp")


def windows_after_a_trickle(name, pause):
    """cwnd 0, 5 and 10 round trips after an application resumes that has sent two packets per
    40 ms for `pause` s, after a loss at a large window."""
    net = tc.dumbbell("100 Mbps", "25 ms", buffer=1300)
    changes = [tc.Change(0.4, "bottleneck", loss=0.02), tc.Change(0.45, "bottleneck", loss=0.0)]
    flow = tc.Flow(name, size=1500, name="f", slow_start="standard")
    case = tc.Scenario(net, [flow], duration=pause + 8, changes=changes, interval=1)
    sim, windows = tc.PacketSimulation(case), []

    def application():
        live = sim.flow("f")
        yield live.finished
        for _ in range(round(pause / 0.04)):
            yield sim.env.timeout(0.04)
            live.send(2)
        windows.append(live.state["cwnd"])
        live.send(10**6)
        for _ in range(2):
            yield sim.env.timeout(0.25)
            windows.append(live.state["cwnd"])

    sim.env.run(until=sim.env.process(application()))
    return windows


@pytest.mark.parametrize(
    "name",
    some(
        (name for name in CONTROLLERS.names() if name not in MEASURE_THE_TRICKLE),
        {"compound", "cubic", "vegas", "westwood_rbe"},
    ),
)
def test_a_window_grows_after_a_long_trickle_as_after_a_short_one(name):
    """Nothing that moves while the application limits the flow lifts the window later: no clock, no
    second window, no step that waits (RFC 9438, 5.8; RFC 7661)."""
    short, long = (windows_after_a_trickle(name, pause) for pause in (0.4, 20.0))
    assert all(late < 1.15 * early for early, late in zip(short, long, strict=True))
