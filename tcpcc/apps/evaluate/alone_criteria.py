"""Section 5.1 of RFC 9743: one algorithm alone."""

from __future__ import annotations

from collections.abc import Iterator

from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.bottleneck import Bottleneck
from tcpcc.apps.evaluate.criterion import MB, SETTLED, Case, Criterion, Measure, case
from tcpcc.apps.evaluate.measures import DELAY, DROPS, SLOWDOWN, USEFUL, UTILIZATION

WIDE = Bottleneck(50 * MB, 0.040)
"""The path of criteria about something else than the path."""

CROWD = Bottleneck(500 * MB, 0.040)
"""The path of a thousand flows; the fair share is 1.7 packets per base RTT."""

SENT = Measure("packets sent in 60 s without ACKs", "packets", "less", measures.sent)
JAIN = Measure("Jain's index", "", "more", measures.jain)
TIME = Measure("time until a second flow has its share", "s", "less", measures.time_to_share)
RATIO = Measure("throughput ratio, 20 ms to 80 ms", "ratio", "less", measures.ratio_of_two)
LOSSY = Measure("use of a link that loses 20 %", "", "less", measures.utilization)


def criteria() -> Iterator[Criterion]:
    yield from (*_collapse(), *_bufferbloat(), *_loss(), *_fairness(), *_short())


def alone(section: str, path: Bottleneck, count: int, **arguments: float) -> Case:
    setting = "1 flow, <path>" if count == 1 else f"{count} flows, <path>"
    return case(section, mixes.alone, path, setting, count=count, **arguments)


def crowd(section: str) -> Case:
    setting, options = "crowd of 1000 flows, <path>", mixes.CROWDED
    return case(section, mixes.crowd, CROWD, setting, count=1000, options=options)


def _collapse() -> Iterator[Criterion]:
    cut = case("5.1.1", mixes.cut, WIDE, "path cut at 10 s")
    yield cut.criterion(SENT, 11.0, quick=True)
    for count in (20, 100):
        slow = alone("5.1.1", Bottleneck(1 * MB, 0.1), count)
        yield slow.criterion(USEFUL, SETTLED, quick=count == 100)
    yield crowd("5.1.1").criterion(USEFUL, SETTLED, quick=True)


def _bufferbloat() -> Iterator[Criterion]:
    for count, bdp in ((1, 4.0), (8, 4.0), (1, 1.0)):
        flows = alone("5.1.2", Bottleneck(20 * MB, 0.050, bdp), count, seconds=60.0)
        yield flows.criterion(DELAY, SETTLED, quick=bdp == 4.0)


def _loss() -> Iterator[Criterion]:
    for count, bdp in ((1, 0.25), (1, 1.0), (8, 0.25), (8, 0.5), (8, 1.0)):
        flows = alone("5.1.3", Bottleneck(50 * MB, 0.040, bdp), count)
        yield flows.criterion(DROPS, SETTLED, quick=count == 8 and bdp < 1)
    yield crowd("5.1.3").criterion(DROPS, SETTLED, quick=True)
    path = Bottleneck(50 * MB, 0.040, loss=0.2)
    yield case("5.1.3", mixes.alone, path).criterion(LOSSY, SETTLED)


def _fairness() -> Iterator[Criterion]:
    for count in (2, 10):
        flows = alone("5.1.4", WIDE, count, seconds=60.0)
        yield flows.criterion(JAIN, 20.0, quick=count == 2)
    joined = case("5.1.4", mixes.joined, Bottleneck(20 * MB, 0.040))
    yield joined.criterion(TIME, quick=True)
    path = Bottleneck(20 * MB, 0.020, 2.0)
    unlike = case("5.1.4", mixes.unlike, path, "20 Mb/s, 1 BDP", longer=0.080)
    yield unlike.criterion(RATIO, SETTLED)


def _short() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.040)
    short = case("5.1.5", mixes.with_short, path, "30 % short flows, one long flow, <path>")
    yield short.criterion(SLOWDOWN, mixes.WEB, quick=True)
    yield short.criterion(UTILIZATION, SETTLED)
