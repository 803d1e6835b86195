"""What is measured for each section of RFC 9743.

The RFC sets no thresholds. A criterion therefore compares with Reno and CUBIC in the same
scenario: what does no worse than the worse of the two passes. `slack` is the difference that does
not matter; it is the same for all criteria of a unit (`SLACK`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from tcpcc.evaluate import casts, readings
from tcpcc.evaluate.bottleneck import Bottleneck, in_words
from tcpcc.evaluate.criterion import ALONE, OTHER, TESTED, WITH, Criterion, Runs
from tcpcc.evaluate.readings import goodput_share, harm, queueing_delay, utilization
from tcpcc.queues import QUEUES
from tcpcc.scenario import Flow

SLACK = {"": 0.1, "ms": 5.0, "packets": 10.0, "s": 2.0, "slowdown": 0.5, "ratio": 0.5}
"""Differences that do not matter, by unit; "": shares of a whole."""

LOSS_SLACK = 0.005
"""The same for drop rates."""

SETTLED = 10.0
"""Means begin after this time, s."""

MB, GB, KB = 1e6, 1e9, 1e3

WIDE = Bottleneck(50 * MB, 0.040)
"""The path of criteria about something else than the path."""


def _one(
    section: str,
    measure: str,
    setting: str,
    unit: str,
    build: Any,
    read: Any,
    better: str,
    **more: Any,
) -> Criterion:
    """A criterion whose slack is that of its unit."""
    more.setdefault("slack", SLACK[unit])
    return Criterion(section, measure, setting, unit, build, read, better == "less", **more)


def _of(read: Callable[..., float], *args: Any, **settings: Any) -> Callable[[Runs], float]:
    """Read a number from the run with the tested flows."""
    return lambda runs: read(runs[WITH], *args, **settings)


def _flows(count: int) -> str:
    return "1 flow" if count == 1 else f"{count} flows"


# Section 5.1: one algorithm alone.


def _collapse() -> Iterator[Criterion]:
    path = WIDE
    yield _one(
        "5.1.1", "packets sent in 60 s without ACKs", "path cut at 10 s", "packets",
        partial(casts.cut, path=path), _of(readings.sent, 11.0), "less", quick=True,
    )  # fmt: skip
    path = Bottleneck(1 * MB, 0.1)
    for count in (20, 100):
        yield _one(
            "5.1.1", "useful share of the link", f"{_flows(count)}, {in_words(path)}", "",
            partial(casts.alone, path=path, count=count), _of(goodput_share, SETTLED), "more",
            quick=count == 100,
        )  # fmt: skip


def _bufferbloat() -> Iterator[Criterion]:
    for count, bdp in ((1, 4.0), (8, 4.0), (1, 1.0)):
        path = Bottleneck(20 * MB, 0.050, bdp)
        yield _one(
            "5.1.2", "mean queueing delay", f"{_flows(count)}, {in_words(path)}", "ms",
            partial(casts.alone, path=path, count=count, seconds=60.0),
            _of(queueing_delay, SETTLED), "less", quick=bdp == 4.0,
        )  # fmt: skip


def _loss() -> Iterator[Criterion]:
    for count, bdp in ((1, 0.25), (1, 1.0), (8, 0.25), (8, 0.5), (8, 1.0)):
        path = Bottleneck(50 * MB, 0.040, bdp)
        yield _one(
            "5.1.3", "drop rate", f"{_flows(count)}, {in_words(path)}", "",
            partial(casts.alone, path=path, count=count), _of(readings.drop_rate, SETTLED), "less",
            slack=LOSS_SLACK, quick=count == 8 and bdp < 1,
        )  # fmt: skip
    path = Bottleneck(50 * MB, 0.040, loss=0.2)
    yield _one(
        "5.1.3", "use of a link that loses 20 %", in_words(path), "",
        partial(casts.alone, path=path), _of(utilization, SETTLED), "less",
    )  # fmt: skip


def _fairness() -> Iterator[Criterion]:
    for count in (2, 10):
        yield _one(
            "5.1.4", "Jain's index", f"{_flows(count)}, {in_words(WIDE)}", "",
            partial(casts.alone, path=WIDE, count=count, seconds=60.0),
            _of(readings.jain, 20.0), "more", quick=count == 2,
        )  # fmt: skip
    path = Bottleneck(20 * MB, 0.040)
    yield _one(
        "5.1.4", "time until a second flow has its share", in_words(path), "s",
        partial(casts.joined, path=path), _of(readings.time_to_share), "less", quick=True,
    )  # fmt: skip
    yield _one(
        "5.1.4", "throughput ratio, 20 ms to 80 ms", "20 Mb/s, 1 BDP", "ratio",
        partial(casts.unlike, path=Bottleneck(20 * MB, 0.020, 2.0), longer=0.080),
        _of(readings.ratio_of_two, SETTLED), "less",
    )  # fmt: skip


def _short() -> Iterator[Criterion]:
    build = partial(casts.with_short, path=Bottleneck(20 * MB, 0.040))
    setting = "30 % short flows, one long flow, 20 Mb/s, 40 ms, 1 BDP"
    yield _one(
        "5.1.5", "slowdown of short flows", setting, "slowdown",
        build, _of(readings.slowdown, casts.WEB), "less", quick=True,
    )  # fmt: skip
    yield _one(
        "5.1.5", "utilization", setting, "", build, _of(utilization, SETTLED), "more",
    )  # fmt: skip


# Section 5.2: beside other algorithms.


def _mixed(against: Iterable[str]) -> Iterator[Criterion]:
    for name in against:
        other = Flow(name)
        for bdp in (0.5, 1.0, 4.0):
            path = Bottleneck(20 * MB, 0.040, bdp)
            build = partial(casts.beside, path=path, other=other)
            setting = f"1 beside 1 {name}, {in_words(path)}"
            quick = bdp == 1.0
            yield _one("5.2.1", f"harm to {name}'s throughput", setting, "", build,
                       _throughput_harm, "less", quick=quick)  # fmt: skip
            yield _one("5.2.1", f"harm to {name}'s delay", setting, "", build, _delay_harm,
                       "less", quick=quick)  # fmt: skip
            yield _one("5.2.1", f"{name}'s loss", setting, "", build, _loss_of_others,
                       "less", slack=LOSS_SLACK)  # fmt: skip
            yield _one("5.2", f"smallest share beside {name}", setting, "", build,
                       _of(readings.least_share, SETTLED), "more", quick=quick)  # fmt: skip
            yield _one("5.2.1", f"own share beside {name}", setting, "", build, _own_share,
                       "more", needed=False)  # fmt: skip
        path = Bottleneck(50 * MB, 0.040)
        build = partial(casts.beside, path=path, other=other, count=(1, 5))
        yield _one("5.2", f"smallest share beside 5 {name}", in_words(path), "", build,
                   _of(readings.least_share, SETTLED), "more")  # fmt: skip


def _throughput_harm(runs: Runs) -> float:
    return harm(*(readings.rate(runs[key], OTHER, SETTLED) for key in (ALONE, WITH)))


def _delay_harm(runs: Runs) -> float:
    delays = []
    for key in (ALONE, WITH):
        base = 1e3 * float(runs[key].data["base_rtt"][0])
        delays.append(base + queueing_delay(runs[key], SETTLED))
    return harm(*delays, less=True)


def _loss_of_others(runs: Runs) -> float:
    run = runs[WITH]
    return float(run.loss_rate(SETTLED).sel(flow=readings.named(run, OTHER)).mean())


def _own_share(runs: Runs) -> float:
    run = runs[WITH]
    own, others = (readings.rate(run, role, SETTLED) for role in (TESTED, OTHER))
    return own / (own + others)


def _real_time() -> Iterator[Criterion]:
    path = Bottleneck(10 * MB, 0.040)
    build = partial(casts.with_cbr, path=path, share=0.05, count=2, packet_size=200)
    setting = f"500 kb/s beside 2 flows, {in_words(path)}"
    yield _one("5.2.2", "loss of a real-time flow", setting, "", build, _loss_of_others,
               "less", slack=LOSS_SLACK, quick=True)  # fmt: skip
    yield _one("5.2.2", "its queueing delay, 95 %", setting, "ms", build,
               _of(queueing_delay, SETTLED, None, 0.95), "less")  # fmt: skip


def _short_of_others() -> Iterator[Criterion]:
    path, other = Bottleneck(20 * MB, 0.040), Flow("cubic")
    yield _one(
        "5.2.3", "slowdown of short CUBIC flows", f"30 %, one long flow, {in_words(path)}",
        "slowdown", partial(casts.with_short, path=path, short=other),
        _of(readings.slowdown, casts.WEB), "less", quick=True,
    )  # fmt: skip
    yield _one(
        "5.2.3", "throughput of a long CUBIC flow", f"30 % short flows, {in_words(path)}", "",
        partial(casts.with_short, path=path, long=other),
        lambda runs: readings.rate(runs[WITH], OTHER, SETTLED) / path.rate, "more",
    )  # fmt: skip


# Section 6: general use.


def _tail_drop() -> Iterator[Criterion]:
    for rate, rtt, bdp in (
        (1 * MB, 0.020, 1), (1 * MB, 0.200, 1), (10 * MB, 0.010, 1), (10 * MB, 0.100, 0.3),
        (10 * MB, 0.100, 1), (100 * MB, 0.020, 0.3), (100 * MB, 0.100, 1), (100 * MB, 0.020, 4),
        (1 * GB, 0.010, 1), (1 * GB, 0.050, 0.3),
    ):  # fmt: skip
        path = Bottleneck(rate, rtt, bdp)
        yield _one(
            "6.1", "utilization", in_words(path), "",
            partial(casts.alone, path=path, seconds=20.0 if rate > 500 * MB else 40.0),
            _of(utilization, 5.0), "more", quick=rate < 100 * MB,
        )  # fmt: skip
    path = Bottleneck(100 * GB, 0.050)
    yield _one(
        "6.1", "utilization", f"{in_words(path)}, fluid", "",
        partial(casts.alone, path=path, seconds=120.0), _of(utilization, 5.0), "more",
        model="fluid",
    )  # fmt: skip


def _wired() -> Iterator[Criterion]:
    path = Bottleneck(100 * MB, 0.020)
    build = partial(casts.alone, path=path, seconds=20.0)
    yield _one("6.3", "utilization in the first 5 s", in_words(path), "", build,
               _of(utilization, 0.0, 5.0), "more", quick=True)  # fmt: skip
    yield _one("6.3", "drop rate in the first 5 s", in_words(path), "", build,
               _of(readings.drop_rate, 0.0, 5.0), "less", slack=LOSS_SLACK)  # fmt: skip


def _wireless() -> Iterator[Criterion]:
    for loss in (0.001, 0.01):
        path = Bottleneck(20 * MB, 0.040, loss=loss)
        yield _one("6.4", f"utilization at {100 * loss:g} % random loss", in_words(path), "",
                   partial(casts.alone, path=path), _of(utilization, SETTLED), "more",
                   quick=loss == 0.001)  # fmt: skip
    path = Bottleneck(20 * MB, 0.040, jitter=0.010)
    yield _one("6.4", "utilization with 10 ms of jitter", in_words(path), "",
               partial(casts.alone, path=path), _of(utilization, SETTLED), "more")  # fmt: skip
    path = Bottleneck(20 * MB, 0.060, 2.0, variable=True)
    build = partial(casts.mobile, path=path)
    setting = f"random rate up to {in_words(path)}"
    yield _one("6.4", "utilization of a mobile link", setting, "", build,
               _of(utilization, SETTLED), "more", quick=True)  # fmt: skip
    yield _one("6.4", "queueing delay of a mobile link", setting, "ms", build,
               _of(queueing_delay, SETTLED), "less", slack=20.0)  # fmt: skip


# Section 7: special cases.


def _queues() -> Iterator[Criterion]:
    for queue in ("fq_codel", "codel", "pie", "red", "dualpi2"):
        if queue not in QUEUES.names():
            continue
        path = Bottleneck(20 * MB, 0.040, 4.0, queue=queue)
        build = partial(casts.alone, path=path, count=4)
        setting = f"4 flows, {queue}, {in_words(path)}"
        yield _one("7.1", "utilization", setting, "", build, _of(utilization, SETTLED), "more",
                   quick=queue == "fq_codel")  # fmt: skip
        yield _one("7.1", "mean queueing delay", setting, "ms", build,
                   _of(queueing_delay, SETTLED), "less", quick=queue == "pie")  # fmt: skip


def _breakers() -> Iterator[Criterion]:
    path = Bottleneck(10 * MB, 0.040, 0.5)
    yield _one("7.2", "largest drop rate over 5 s", f"8 flows, {in_words(path)}", "",
               partial(casts.alone, path=path, count=8),
               _of(readings.worst_drop_rate, 5.0), "less", slack=0.02, quick=True)  # fmt: skip


def _delays() -> Iterator[Criterion]:
    for there, then in ((0.020, 0.080), (0.080, 0.020)):
        path = Bottleneck(20 * MB, there, 2.0 if there < then else 0.5, variable=True)
        yield _one(
            "7.3", f"utilization when {1e3 * there:g} ms become {1e3 * then:g} ms", in_words(path),
            "", partial(casts.changed, path=path, rtt=then),
            _of(utilization, casts.MIDDLE + 5.0), "more", quick=there < then,
        )  # fmt: skip
    path = Bottleneck(20 * MB, 0.040, 2.0)
    for longest in (0.005, 0.020):
        yield _one(
            "7.3", "smaller share of two flows", f"one with {1e3 * longest:g} ms of jitter,"
            f" {in_words(path)}", "", partial(casts.jittered, path=path, longest=longest),
            _of(readings.least_share, SETTLED), "more", quick=longest == 0.005,
        )  # fmt: skip


def _constrained() -> Iterator[Criterion]:
    path = Bottleneck(64 * KB, 0.500, 2.0)
    build = partial(casts.alone, path=path, seconds=200.0)
    yield _one("7.4", "useful share of the link", in_words(path), "", build,
               _of(goodput_share, SETTLED), "more", quick=True)  # fmt: skip


def _high_delay() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.600)
    yield _one("7.5", "utilization", in_words(path), "",
               partial(casts.alone, path=path, seconds=120.0), _of(utilization, 20.0), "more",
               quick=True)  # fmt: skip


def _unresponsive() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.040)
    build = partial(casts.with_cbr, path=path, share=0.6, since=casts.MIDDLE)
    yield _one("7.6", "utilization beside a source that takes 60 %", in_words(path), "", build,
               _of(utilization, casts.MIDDLE + 2.0), "more", quick=True)  # fmt: skip


def _reordering() -> Iterator[Criterion]:
    for longest in (0.005, 0.020):
        path = Bottleneck(20 * MB, 0.040, jitter=longest, reordering=True)
        yield _one("7.7", f"utilization, reordered within {1e3 * longest:g} ms", in_words(path), "",
                   partial(casts.alone, path=path), _of(utilization, SETTLED), "more",
                   quick=longest == 0.005)  # fmt: skip


def _transients() -> Iterator[Criterion]:
    path = Bottleneck(50 * MB, 0.040, variable=True)
    drop = partial(casts.changed, path=path, rate=5 * MB)
    yield _one("7.8", "queueing delay in the 5 s after the rate fell to a tenth", in_words(path),
               "ms", drop, _of(queueing_delay, casts.MIDDLE, casts.MIDDLE + 5), "less",
               slack=20.0, quick=True)  # fmt: skip
    yield _one("7.8", "utilization in the 10 s after an outage of 3 s", in_words(path), "",
               partial(casts.interrupted, path=path, silence=3.0),
               _of(utilization, casts.MIDDLE + 3, casts.MIDDLE + 13), "more",
               quick=True)  # fmt: skip
    rise = partial(casts.changed, path=Bottleneck(10 * MB, 0.040, 2.0, variable=True), rate=50 * MB)
    yield _one("7.8", "utilization in the 10 s after the rate rose fivefold", "from 10 Mb/s, 40 ms",
               "", rise, _of(utilization, casts.MIDDLE, casts.MIDDLE + 10), "more")  # fmt: skip


def _rerouting() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.020, 4.0, variable=True)
    build = partial(casts.changed, path=path, rate=40 * MB, rtt=0.100, count=2)
    yield _one("7.9", "utilization after a new route", f"2 flows, {in_words(path)}, then"
               " 40 Mb/s, 100 ms", "", build, _of(utilization, casts.MIDDLE + 2), "more",
               quick=True)  # fmt: skip


def _data_center() -> Iterator[Criterion]:
    path = Bottleneck(10 * GB, 100e-6, 2.0)
    yield _one("7.11", "last completion of an incast", "32 transfers of 64 packets, 10 Gb/s,"
               " 100 us", "ms", partial(casts.incast, path=path, count=32, size=64),
               _of(readings.last_completion), "less", slack=50.0, quick=True)  # fmt: skip


def criteria(against: Iterable[str]) -> tuple[Criterion, ...]:
    """All criteria, in the order of the RFC's sections.

    Args:
        against: controllers beside which the tested one runs.
    """
    return (
        *_collapse(), *_bufferbloat(), *_loss(), *_fairness(), *_short(), *_mixed(against),
        *_real_time(), *_short_of_others(), *_tail_drop(), *_wired(), *_wireless(), *_queues(),
        *_breakers(), *_delays(), *_constrained(), *_high_delay(), *_unresponsive(),
        *_reordering(), *_transients(), *_rerouting(), *_data_center(),
    )  # fmt: skip
