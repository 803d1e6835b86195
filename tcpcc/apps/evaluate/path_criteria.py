"""Section 6 of RFC 9743: paths of general use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.bottleneck import Bottleneck
from tcpcc.apps.evaluate.criterion import GB, MB, SETTLED, Criterion, Measure, case
from tcpcc.apps.evaluate.measures import BOTTLENECK, DROPS, UTILIZATION
from tcpcc.scenario.link_changes import cellular, mahimahi

MOBILE = 60.0
"""Duration of runs over a cellular link, s."""

TAIL_DROP = (
    *((1 * MB, 0.020, 1), (1 * MB, 0.200, 1), (10 * MB, 0.010, 1), (10 * MB, 0.100, 0.3)),
    *((10 * MB, 0.100, 1), (100 * MB, 0.020, 0.3), (100 * MB, 0.100, 1), (100 * MB, 0.020, 4)),
    *((1 * GB, 0.010, 1), (1 * GB, 0.050, 0.3)),
)
"""Rate (bit/s), RTT (s) and buffer (BDP) of the paths of section 6.1."""

WAITING = Measure("mean waiting time of packets", "ms", "less", measures.waiting_time, margin=20.0)


def criteria(traces: Iterable[str | Path]) -> Iterator[Criterion]:
    yield from (*_tail_drop(), *_tunnels(), *_wired(), *_wireless(), *_cellular(traces))


def _tail_drop() -> Iterator[Criterion]:
    for rate, rtt, bdp in TAIL_DROP:
        path, seconds = Bottleneck(rate, rtt, bdp), 20.0 if rate > 500 * MB else 40.0
        single = case("6.1", mixes.alone, path, seconds=seconds)
        yield single.criterion(UTILIZATION, 5.0, quick=rate < 100 * MB)
    path, arguments = Bottleneck(100 * GB, 0.050), {"seconds": 4.0, "options": {"trains": 16}}
    fast = case("6.1", mixes.alone, path, "<path>, in trains", **arguments)
    yield fast.criterion(UTILIZATION, 2.0)


def _tunnels() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.040)
    setting = "2 flows, signals of a 40 Mb/s router only, <path>"
    tunnel = case("6.2", mixes.tunnelled, path, setting, wider=2.0)
    yield tunnel.criterion(UTILIZATION, SETTLED, quick=True)
    yield tunnel.criterion(DROPS, SETTLED, quick=True)


def _wired() -> Iterator[Criterion]:
    wire = case("6.3", mixes.alone, Bottleneck(100 * MB, 0.020), seconds=20.0)
    yield wire.criterion(UTILIZATION.called("utilization in the first 5 s"), 0.0, 5.0, quick=True)
    yield wire.criterion(DROPS.called("drop rate in the first 5 s"), 0.0, 5.0)


def _wireless() -> Iterator[Criterion]:
    for loss in (0.001, 0.01):
        lossy = case("6.4", mixes.alone, Bottleneck(20 * MB, 0.040, loss=loss))
        used = UTILIZATION.called(f"utilization at {100 * loss:g} % random loss")
        yield lossy.criterion(used, SETTLED, quick=loss == 0.001)
    unsteady = case("6.4", mixes.alone, Bottleneck(20 * MB, 0.040, jitter=0.010))
    yield unsteady.criterion(UTILIZATION.called("utilization with 10 ms of jitter"), SETTLED)


def _cellular(traces: Iterable[str | Path]) -> Iterator[Criterion]:
    links = {"generated cellular link": cellular(BOTTLENECK, until=MOBILE)} | {
        f"cellular trace {Path(trace).name}": mahimahi(BOTTLENECK, trace, until=MOBILE)
        for trace in traces
    }
    for name, changes in links.items():
        path = Bottleneck(mixes.mean_rate(changes, MOBILE), 0.060, 4.0, variable=True)
        arguments = {"changes": changes, "seconds": MOBILE}
        mobile = case("6.4", mixes.alone, path, f"{name}, mean <path>", **arguments)
        yield mobile.criterion(UTILIZATION, SETTLED, quick=True)
        yield mobile.criterion(WAITING, SETTLED, quick=True)
