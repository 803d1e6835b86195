"""Section 5.1 of RFC 9743: one algorithm alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.bottleneck import Bottleneck, flows_in_words, in_words
from tcpcc.apps.evaluate.criterion import LOSS_MARGIN, MB, SETTLED, Criterion, compared, reader
from tcpcc.apps.evaluate.measures import goodput_share, queueing_delay, utilization

WIDE = Bottleneck(50 * MB, 0.040)
"""The path of criteria about something else than the path."""

CROWD = Bottleneck(500 * MB, 0.040)
"""The path of a thousand flows; the fair share is 1.7 packets per base RTT."""


def criteria() -> Iterator[Criterion]:
    yield from (*_collapse(), *_bufferbloat(), *_loss(), *_fairness(), *_short())


def _collapse() -> Iterator[Criterion]:
    path = WIDE
    yield compared(
        "5.1.1", "packets sent in 60 s without ACKs", "path cut at 10 s", "packets",
        partial(mixes.cut, path=path), reader(measures.sent, 11.0), "less", quick=True,
    )  # fmt: skip
    path = Bottleneck(1 * MB, 0.1)
    for count in (20, 100):
        yield compared(
            "5.1.1", "useful share of the link", f"{flows_in_words(count)}, {in_words(path)}", "",
            partial(mixes.alone, path=path, count=count), reader(goodput_share, SETTLED), "more",
            quick=count == 100,
        )  # fmt: skip
    yield compared(
        "5.1.1", "useful share of the link", f"crowd of 1000 flows, {in_words(CROWD)}", "",
        partial(mixes.crowd, path=CROWD, count=1000), reader(goodput_share, SETTLED), "more",
        options=mixes.CROWDED, quick=True,
    )  # fmt: skip


def _bufferbloat() -> Iterator[Criterion]:
    for count, bdp in ((1, 4.0), (8, 4.0), (1, 1.0)):
        path = Bottleneck(20 * MB, 0.050, bdp)
        yield compared(
            "5.1.2", "mean queueing delay", f"{flows_in_words(count)}, {in_words(path)}", "ms",
            partial(mixes.alone, path=path, count=count, seconds=60.0),
            reader(queueing_delay, SETTLED), "less", quick=bdp == 4.0,
        )  # fmt: skip


def _loss() -> Iterator[Criterion]:
    for count, bdp in ((1, 0.25), (1, 1.0), (8, 0.25), (8, 0.5), (8, 1.0)):
        path = Bottleneck(50 * MB, 0.040, bdp)
        yield compared(
            "5.1.3", "drop rate", f"{flows_in_words(count)}, {in_words(path)}", "",
            partial(mixes.alone, path=path, count=count), reader(measures.drop_rate, SETTLED),
            "less", margin=LOSS_MARGIN, quick=count == 8 and bdp < 1,
        )  # fmt: skip
    yield compared(
        "5.1.3", "drop rate", f"crowd of 1000 flows, {in_words(CROWD)}", "",
        partial(mixes.crowd, path=CROWD, count=1000), reader(measures.drop_rate, SETTLED), "less",
        margin=LOSS_MARGIN, options=mixes.CROWDED, quick=True,
    )  # fmt: skip
    path = Bottleneck(50 * MB, 0.040, loss=0.2)
    yield compared(
        "5.1.3", "use of a link that loses 20 %", in_words(path), "",
        partial(mixes.alone, path=path), reader(utilization, SETTLED), "less",
    )  # fmt: skip


def _fairness() -> Iterator[Criterion]:
    for count in (2, 10):
        yield compared(
            "5.1.4", "Jain's index", f"{flows_in_words(count)}, {in_words(WIDE)}", "",
            partial(mixes.alone, path=WIDE, count=count, seconds=60.0),
            reader(measures.jain, 20.0), "more", quick=count == 2,
        )  # fmt: skip
    path = Bottleneck(20 * MB, 0.040)
    yield compared(
        "5.1.4", "time until a second flow has its share", in_words(path), "s",
        partial(mixes.joined, path=path), reader(measures.time_to_share), "less", quick=True,
    )  # fmt: skip
    yield compared(
        "5.1.4", "throughput ratio, 20 ms to 80 ms", "20 Mb/s, 1 BDP", "ratio",
        partial(mixes.unlike, path=Bottleneck(20 * MB, 0.020, 2.0), longer=0.080),
        reader(measures.ratio_of_two, SETTLED), "less",
    )  # fmt: skip


def _short() -> Iterator[Criterion]:
    build = partial(mixes.with_short, path=Bottleneck(20 * MB, 0.040))
    setting = "30 % short flows, one long flow, 20 Mb/s, 40 ms, 1 BDP"
    yield compared(
        "5.1.5", "slowdown of short flows", setting, "slowdown",
        build, reader(measures.slowdown, mixes.WEB), "less", quick=True,
    )  # fmt: skip
    yield compared(
        "5.1.5", "utilization", setting, "", build, reader(utilization, SETTLED), "more",
    )  # fmt: skip
