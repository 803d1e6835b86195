"""Section 7 of RFC 9743: special cases."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.bottleneck import Bottleneck, in_words
from tcpcc.apps.evaluate.criterion import (
    GB,
    KB,
    LOSS_MARGIN,
    MB,
    SETTLED,
    Criterion,
    compared,
    reader,
)
from tcpcc.apps.evaluate.measures import goodput_share, queueing_delay, utilization
from tcpcc.apps.evaluate.mixed_criteria import throughput_harm
from tcpcc.scenario import Flow


def criteria() -> Iterator[Criterion]:
    yield from (
        *_queues(), *_breakers(), *_delays(), *_constrained(), *_high_delay(), *_unresponsive(),
        *_reordering(), *_transients(), *_rerouting(), *_multipath(),
        *_data_center(),
    )  # fmt: skip


def _queues() -> Iterator[Criterion]:
    for queue in ("fq_codel", "codel", "pie", "red", "dualpi2"):
        path = Bottleneck(20 * MB, 0.040, 4.0, queue=queue)
        build = partial(mixes.alone, path=path, count=4)
        setting = f"4 flows, {queue}, {in_words(path)}"
        yield compared("7.1", "utilization", setting, "", build,
                       reader(utilization, SETTLED), "more", quick=queue == "fq_codel")  # fmt: skip
        yield compared("7.1", "mean queueing delay", setting, "ms", build,
                       reader(queueing_delay, SETTLED), "less", quick=queue == "pie")  # fmt: skip

    path = Bottleneck(5 * GB, 0.040, queue="pie")
    build = partial(mixes.crowd, path=path, count=10_000)
    setting = f"crowd of 10,000 flows, pie, {in_words(path)}"
    yield compared("7.1", "drop rate", setting, "", build, reader(measures.drop_rate, SETTLED),
                   "less", margin=LOSS_MARGIN, options=mixes.CROWDED)  # fmt: skip
    yield compared("7.1", "mean queueing delay", setting, "ms", build,
                   reader(queueing_delay, SETTLED), "less", options=mixes.CROWDED)  # fmt: skip


def _breakers() -> Iterator[Criterion]:
    path = Bottleneck(10 * MB, 0.040, 0.5)
    yield compared("7.2", "largest drop rate over 5 s", f"8 flows, {in_words(path)}", "",
                   partial(mixes.alone, path=path, count=8), reader(measures.worst_drop_rate, 5.0),
                   "less", margin=0.02, quick=True)  # fmt: skip


def _delays() -> Iterator[Criterion]:
    for there, then in ((0.020, 0.080), (0.080, 0.020)):
        path = Bottleneck(20 * MB, there, 2.0 if there < then else 0.5, variable=True)
        yield compared(
            "7.3", f"utilization when {1e3 * there:g} ms become {1e3 * then:g} ms", in_words(path),
            "", partial(mixes.changed, path=path, rtt=then),
            reader(utilization, mixes.MIDDLE + 5.0), "more", quick=there < then,
        )  # fmt: skip
    path = Bottleneck(20 * MB, 0.040, 2.0)
    for longest in (0.005, 0.020):
        yield compared(
            "7.3", "smaller share of two flows", f"one with {1e3 * longest:g} ms of jitter,"
            f" {in_words(path)}", "", partial(mixes.jittered, path=path, longest=longest),
            reader(measures.least_share, SETTLED), "more", quick=longest == 0.005,
        )  # fmt: skip


def _constrained() -> Iterator[Criterion]:
    path = Bottleneck(64 * KB, 0.500, 2.0)
    build = partial(mixes.alone, path=path, seconds=200.0)
    yield compared("7.4", "useful share of the link", in_words(path), "", build,
                   reader(goodput_share, SETTLED), "more", quick=True)  # fmt: skip


def _high_delay() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.600)
    yield compared("7.5", "utilization", in_words(path), "",
                   partial(mixes.alone, path=path, seconds=120.0), reader(utilization, 20.0),
                   "more", quick=True)  # fmt: skip


def _unresponsive() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.040)
    build = partial(mixes.with_cbr, path=path, share=0.6, since=mixes.MIDDLE)
    yield compared("7.6", "utilization beside a source that takes 60 %", in_words(path), "", build,
                   reader(utilization, mixes.MIDDLE + 2.0), "more", quick=True)  # fmt: skip


def _reordering() -> Iterator[Criterion]:
    for longest in (0.005, 0.020):
        path = Bottleneck(20 * MB, 0.040, jitter=longest, reordering=True)
        yield compared("7.7", f"utilization, reordered within {1e3 * longest:g} ms", in_words(path),
                       "", partial(mixes.alone, path=path), reader(utilization, SETTLED), "more",
                       quick=longest == 0.005)  # fmt: skip


def _transients() -> Iterator[Criterion]:
    path = Bottleneck(50 * MB, 0.040, variable=True)
    drop = partial(mixes.changed, path=path, rate=5 * MB)
    yield compared("7.8", "queueing delay in the 5 s after the rate fell to a tenth",
                   in_words(path), "ms", drop,
                   reader(queueing_delay, mixes.MIDDLE, mixes.MIDDLE + 5), "less",
                   margin=20.0, quick=True)  # fmt: skip
    yield compared("7.8", "utilization in the 10 s after an outage of 3 s", in_words(path), "",
                   partial(mixes.interrupted, path=path, silence=3.0),
                   reader(utilization, mixes.MIDDLE + 3, mixes.MIDDLE + 13), "more",
                   quick=True)  # fmt: skip
    path = Bottleneck(10 * MB, 0.040, 2.0, variable=True)
    rise = partial(mixes.changed, path=path, rate=50 * MB)
    yield compared("7.8", "utilization in the 10 s after the rate rose fivefold",
                   f"from {in_words(path)}", "", rise,
                   reader(utilization, mixes.MIDDLE, mixes.MIDDLE + 10), "more")  # fmt: skip


def _rerouting() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.020, 4.0, variable=True)
    build = partial(mixes.changed, path=path, rate=40 * MB, rtt=0.100, count=2)
    yield compared("7.9", "utilization after a new route", f"2 flows, {in_words(path)}, then"
                   " 40 Mb/s, 100 ms", "", build, reader(utilization, mixes.MIDDLE + 2), "more",
                   quick=True)  # fmt: skip


def _multipath() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.040)
    yield compared("7.10", "harm to reno's throughput by two paths", in_words(path), "",
                   partial(mixes.two_paths, path=path, other=Flow("reno")),
                   throughput_harm, "less", quick=True)  # fmt: skip


def _data_center() -> Iterator[Criterion]:
    path = Bottleneck(10 * GB, 100e-6, 2.0)
    yield compared("7.11", "last completion of an incast", "32 transfers of 64 packets, 10 Gb/s,"
                   " 100 us", "ms", partial(mixes.incast, path=path, count=32, size=64),
                   reader(measures.last_completion), "less", margin=50.0, quick=True)  # fmt: skip
    yield compared("7.11", "utilization", f"2 flows, {in_words(path)}", "",
                   partial(mixes.alone, path=path, count=2, seconds=1.0),
                   reader(utilization, 0.6), "more")  # fmt: skip
