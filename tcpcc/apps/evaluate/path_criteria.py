"""Section 6 of RFC 9743: paths of general use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.bottleneck import Bottleneck, in_words
from tcpcc.apps.evaluate.criterion import GB, LOSS_MARGIN, MB, SETTLED, Criterion, compared, reader
from tcpcc.apps.evaluate.measures import BOTTLENECK, utilization
from tcpcc.scenario.link_changes import cellular, mahimahi

MOBILE = 60.0
"""Duration of runs over a cellular link, s."""


def criteria(traces: Iterable[str | Path]) -> Iterator[Criterion]:
    yield from (*_tail_drop(), *_tunnels(), *_wired(), *_wireless(), *_cellular(traces))


def _tail_drop() -> Iterator[Criterion]:
    for rate, rtt, bdp in (
        (1 * MB, 0.020, 1), (1 * MB, 0.200, 1), (10 * MB, 0.010, 1), (10 * MB, 0.100, 0.3),
        (10 * MB, 0.100, 1), (100 * MB, 0.020, 0.3), (100 * MB, 0.100, 1), (100 * MB, 0.020, 4),
        (1 * GB, 0.010, 1), (1 * GB, 0.050, 0.3),
    ):  # fmt: skip
        path = Bottleneck(rate, rtt, bdp)
        yield compared(
            "6.1", "utilization", in_words(path), "",
            partial(mixes.alone, path=path, seconds=20.0 if rate > 500 * MB else 40.0),
            reader(utilization, 5.0), "more", quick=rate < 100 * MB,
        )  # fmt: skip
    path = Bottleneck(100 * GB, 0.050)
    yield compared(
        "6.1", "utilization", f"{in_words(path)}, in trains", "",
        partial(mixes.alone, path=path, seconds=4.0), reader(utilization, 2.0), "more",
        options={"trains": 16},
    )  # fmt: skip


def _tunnels() -> Iterator[Criterion]:
    path = Bottleneck(20 * MB, 0.040)
    build = partial(mixes.tunnelled, path=path, wider=2.0)
    setting = f"2 flows, signals of a 40 Mb/s router only, {in_words(path)}"
    yield compared("6.2", "utilization", setting, "", build, reader(utilization, SETTLED), "more",
                   quick=True)  # fmt: skip
    yield compared("6.2", "drop rate", setting, "", build, reader(measures.drop_rate, SETTLED),
                   "less", margin=LOSS_MARGIN, quick=True)  # fmt: skip


def _wired() -> Iterator[Criterion]:
    path = Bottleneck(100 * MB, 0.020)
    build = partial(mixes.alone, path=path, seconds=20.0)
    yield compared("6.3", "utilization in the first 5 s", in_words(path), "", build,
                   reader(utilization, 0.0, 5.0), "more", quick=True)  # fmt: skip
    yield compared("6.3", "drop rate in the first 5 s", in_words(path), "", build,
                   reader(measures.drop_rate, 0.0, 5.0), "less", margin=LOSS_MARGIN)  # fmt: skip


def _wireless() -> Iterator[Criterion]:
    for loss in (0.001, 0.01):
        path = Bottleneck(20 * MB, 0.040, loss=loss)
        yield compared("6.4", f"utilization at {100 * loss:g} % random loss", in_words(path), "",
                       partial(mixes.alone, path=path), reader(utilization, SETTLED), "more",
                       quick=loss == 0.001)  # fmt: skip
    path = Bottleneck(20 * MB, 0.040, jitter=0.010)
    yield compared("6.4", "utilization with 10 ms of jitter", in_words(path), "",
                   partial(mixes.alone, path=path), reader(utilization, SETTLED),
                   "more")  # fmt: skip


def _cellular(traces: Iterable[str | Path]) -> Iterator[Criterion]:
    links = {"generated cellular link": cellular(BOTTLENECK, until=MOBILE)} | {
        f"cellular trace {Path(trace).name}": mahimahi(BOTTLENECK, trace, until=MOBILE)
        for trace in traces
    }
    for name, changes in links.items():
        path = Bottleneck(mixes.mean_rate(changes, MOBILE), 0.060, 4.0, variable=True)
        build = partial(mixes.following, path=path, changes=changes, seconds=MOBILE)
        setting = f"{name}, mean {in_words(path)}"
        yield compared("6.4", "utilization", setting, "", build,
                       reader(utilization, SETTLED), "more", quick=True)  # fmt: skip
        yield compared("6.4", "mean waiting time of packets", setting, "ms", build,
                       reader(measures.waiting_time, SETTLED), "less", margin=20.0,
                       quick=True)  # fmt: skip
