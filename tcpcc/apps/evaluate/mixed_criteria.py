"""Section 5.2 of RFC 9743: beside other algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.bottleneck import Bottleneck, in_words
from tcpcc.apps.evaluate.criterion import (
    ALONE,
    BY_ITSELF,
    LOSS_MARGIN,
    MB,
    OTHER,
    SETTLED,
    TESTED,
    WITH,
    Criterion,
    Runs,
    compared,
    reader,
)
from tcpcc.apps.evaluate.measures import harm, queueing_delay
from tcpcc.scenario import Flow


def criteria(against: Iterable[str]) -> Iterator[Criterion]:
    yield from (*_mixed(against), *_real_time(), *_short_of_others())


def _mixed(against: Iterable[str]) -> Iterator[Criterion]:
    for name in against:
        other = Flow(name)
        for bdp in (0.5, 1.0, 4.0):
            path = Bottleneck(20 * MB, 0.040, bdp)
            build = partial(mixes.beside, path=path, other=other)
            setting = f"1 beside 1 {name}, {in_words(path)}"
            quick = bdp == 1.0
            yield compared("5.2.1", f"harm to {name}'s throughput", setting, "", build,
                           throughput_harm, "less", quick=quick)  # fmt: skip
            yield compared("5.2.1", f"harm to {name}'s delay", setting, "", build, _delay_harm,
                           "less", quick=quick)  # fmt: skip
            yield compared("5.2.1", f"{name}'s loss", setting, "", build, _loss_of_others,
                           "less", margin=LOSS_MARGIN)  # fmt: skip
            yield compared("5.2", f"smallest share beside {name}", setting, "", build,
                           reader(measures.least_share, SETTLED), "more", quick=quick)  # fmt: skip
            yield compared("5.2.1", f"harm by {name} to the own throughput", setting, "", build,
                           _harm_by_others, "less", needed=False, quick=quick)  # fmt: skip
        path = Bottleneck(500 * MB, 0.040)
        yield compared("5.2.1", f"harm to the throughput of 500 {name}",
                       f"crowd of 500 beside 500, {in_words(path)}", "",
                       partial(mixes.crowd, path=path, count=500, other=other), throughput_harm,
                       "less", options=mixes.CROWDED)  # fmt: skip
        path = Bottleneck(50 * MB, 0.040)
        build = partial(mixes.beside, path=path, other=other, count=(1, 5))
        yield compared("5.2", f"smallest share beside 5 {name}", in_words(path), "", build,
                       reader(measures.least_share, SETTLED), "more")  # fmt: skip


def throughput_harm(runs: Runs) -> float:
    return harm(*(measures.rate(runs[key], OTHER, SETTLED) for key in (ALONE, WITH)))


def _delay_harm(runs: Runs) -> float:
    delays = []
    for key in (ALONE, WITH):
        base = 1e3 * float(runs[key].data["base_rtt"][0])
        delays.append(base + queueing_delay(runs[key], SETTLED))
    return harm(*delays, less=True)


def _harm_by_others(runs: Runs) -> float:
    return harm(*(measures.rate(runs[key], TESTED, SETTLED) for key in (BY_ITSELF, WITH)))


def _loss_of_others(runs: Runs) -> float:
    run = runs[WITH]
    return float(run.loss_rate(SETTLED).sel(flow=measures.named(run, OTHER)).mean())


def _real_time() -> Iterator[Criterion]:
    path = Bottleneck(10 * MB, 0.040)
    build = partial(mixes.with_cbr, path=path, share=0.05, count=2, packet_size=200)
    setting = f"500 kb/s beside 2 flows, {in_words(path)}"
    yield compared("5.2.2", "loss of a real-time flow", setting, "", build, _loss_of_others,
                   "less", margin=LOSS_MARGIN, quick=True)  # fmt: skip
    yield compared("5.2.2", "its queueing delay, 95 %", setting, "ms", build,
                   reader(queueing_delay, SETTLED, None, 0.95), "less")  # fmt: skip


def _short_of_others() -> Iterator[Criterion]:
    path, other = Bottleneck(20 * MB, 0.040), Flow("cubic")
    yield compared(
        "5.2.3", "slowdown of short CUBIC flows", f"30 %, one long flow, {in_words(path)}",
        "slowdown", partial(mixes.with_short, path=path, short=other),
        reader(measures.slowdown, mixes.WEB), "less", quick=True,
    )  # fmt: skip
    yield compared(
        "5.2.3", "throughput of a long CUBIC flow", f"30 % short flows, {in_words(path)}", "",
        partial(mixes.with_short, path=path, long=other),
        lambda runs: measures.rate(runs[WITH], OTHER, SETTLED) / path.rate, "more",
    )  # fmt: skip
