"""Section 7 of RFC 9743: special cases."""

from __future__ import annotations

from collections.abc import Iterator

from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.alone_criteria import alone
from tcpcc.apps.evaluate.bottleneck import Bottleneck
from tcpcc.apps.evaluate.criterion import GB, KB, MB, SETTLED, Criterion, Measure, case
from tcpcc.apps.evaluate.measures import DELAY, DROPS, SHARE, USEFUL, UTILIZATION
from tcpcc.apps.evaluate.mixed_criteria import harmed, throughput_harm
from tcpcc.scenario import Flow

WORST = Measure("largest drop rate over 5 s", "", "less", measures.worst_drop_rate, margin=0.02)
LAST = Measure("last completion of an incast", "ms", "less", measures.last_completion, margin=50.0)


def criteria() -> Iterator[Criterion]:
    yield from (*_queues(), *_breakers(), *_delays(), *_constrained(), *_high_delay())
    yield from (*_unresponsive(), *_reordering(), *_transients(), *_rerouting(), *_multipath())
    yield from _data_center()


def _queues() -> Iterator[Criterion]:
    for queue in ("fq_codel", "codel", "pie", "red", "dualpi2"):
        path = Bottleneck(20 * MB, 0.040, 4.0, queue=queue)
        four = case("7.1", mixes.alone, path, f"4 flows, {queue}, <path>", count=4)
        yield four.criterion(UTILIZATION, SETTLED, quick=queue == "fq_codel")
        yield four.criterion(DELAY, SETTLED, quick=queue == "pie")
    path, setting = Bottleneck(5 * GB, 0.040, queue="pie"), "crowd of 10,000 flows, pie, <path>"
    crowd = case("7.1", mixes.crowd, path, setting, count=10_000, options=mixes.CROWDED)
    yield crowd.criterion(DROPS, SETTLED)
    yield crowd.criterion(DELAY, SETTLED)


def _breakers() -> Iterator[Criterion]:
    yield alone("7.2", Bottleneck(10 * MB, 0.040, 0.5), 8).criterion(WORST, 5.0, quick=True)


def _delays() -> Iterator[Criterion]:
    for there, then in ((0.020, 0.080), (0.080, 0.020)):
        path = Bottleneck(20 * MB, there, 2.0 if there < then else 0.5, variable=True)
        longer = case("7.3", mixes.changed, path, rtt=then)
        name = f"utilization when {1e3 * there:g} ms become {1e3 * then:g} ms"
        yield longer.criterion(UTILIZATION.called(name), mixes.MIDDLE + 5.0, quick=there < then)
    path = Bottleneck(20 * MB, 0.040, 2.0)
    for longest in (0.005, 0.020):
        setting = f"one with {1e3 * longest:g} ms of jitter, <path>"
        unsteady = case("7.3", mixes.jittered, path, setting, longest=longest)
        share = SHARE.called("smaller share of two flows")
        yield unsteady.criterion(share, SETTLED, quick=longest == 0.005)


def _constrained() -> Iterator[Criterion]:
    slow = case("7.4", mixes.alone, Bottleneck(64 * KB, 0.500, 2.0), seconds=200.0)
    yield slow.criterion(USEFUL, SETTLED, quick=True)


def _high_delay() -> Iterator[Criterion]:
    satellite = case("7.5", mixes.alone, Bottleneck(20 * MB, 0.600), seconds=120.0)
    yield satellite.criterion(UTILIZATION, 20.0, quick=True)


def _unresponsive() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.040)
    cbr = case("7.6", mixes.with_cbr, path, share=0.6, since=mixes.MIDDLE)
    used = UTILIZATION.called("utilization beside a source that takes 60 %")
    yield cbr.criterion(used, mixes.MIDDLE + 2.0, quick=True)


def _reordering() -> Iterator[Criterion]:
    for longest in (0.005, 0.020):
        path = Bottleneck(20 * MB, 0.040, jitter=longest, reordering=True)
        used = UTILIZATION.called(f"utilization, reordered within {1e3 * longest:g} ms")
        yield case("7.7", mixes.alone, path).criterion(used, SETTLED, quick=longest == 0.005)


def _transients() -> Iterator[Criterion]:
    middle, path = mixes.MIDDLE, Bottleneck(50 * MB, 0.040, variable=True)
    fall = case("7.8", mixes.changed, path, rate=5 * MB)
    name = "queueing delay in the 5 s after the rate fell to a tenth"
    yield fall.criterion(DELAY.called(name, margin=20.0), middle, middle + 5, quick=True)
    outage = case("7.8", mixes.interrupted, path, silence=3.0)
    used = UTILIZATION.called("utilization in the 10 s after an outage of 3 s")
    yield outage.criterion(used, middle + 3, middle + 13, quick=True)
    path = Bottleneck(10 * MB, 0.040, 2.0, variable=True)
    rise = case("7.8", mixes.changed, path, "from <path>", rate=50 * MB)
    used = UTILIZATION.called("utilization in the 10 s after the rate rose fivefold")
    yield rise.criterion(used, middle, middle + 10)


def _rerouting() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.020, 4.0, variable=True)
    setting = "2 flows, <path>, then 40 Mb/s, 100 ms"
    route = case("7.9", mixes.changed, path, setting, rate=40 * MB, rtt=0.100, count=2)
    used = UTILIZATION.called("utilization after a new route")
    yield route.criterion(used, mixes.MIDDLE + 2, quick=True)


def _multipath() -> Iterator[Criterion]:
    two = case("7.10", mixes.two_paths, Bottleneck(20 * MB, 0.040), other=Flow("reno"))
    harm = harmed("harm to reno's throughput by two paths", throughput_harm)
    yield two.criterion(harm, quick=True)


def _data_center() -> Iterator[Criterion]:
    path = Bottleneck(10 * GB, 100e-6, 2.0)
    setting = "32 transfers of 64 packets, 10 Gb/s, 100 us"
    incast = case("7.11", mixes.incast, path, setting, count=32, size=64)
    yield incast.criterion(LAST, quick=True)
    yield alone("7.11", path, 2, seconds=1.0).criterion(UTILIZATION, 0.6)
