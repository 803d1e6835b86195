"""Section 5.2 of RFC 9743: beside other algorithms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tcpcc.apps.evaluate import measures, mixes
from tcpcc.apps.evaluate.bottleneck import Bottleneck
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
    Measure,
    Runs,
    case,
)
from tcpcc.apps.evaluate.measures import DELAY, SHARE, SLOWDOWN, harm, queueing_delay
from tcpcc.scenario import Flow


def criteria(against: Iterable[str]) -> Iterator[Criterion]:
    for name in against:
        yield from _mixed(name)
    yield from (*_real_time(), *_short_of_others())


def harmed(name: str, read: Callable[[Runs], float], margin: float | None = None) -> Measure:
    """A harm, or a loss, that is read from all runs."""
    return Measure(name, "", "less", read, margin, of_all=True)


def _mixed(name: str) -> Iterator[Criterion]:
    other = Flow(name)
    for bdp in (0.5, 1.0, 4.0):
        path, quick = Bottleneck(20 * MB, 0.040, bdp), bdp == 1.0
        harms, shares = (
            case(section, mixes.beside, path, f"1 beside 1 {name}, <path>", other=other)
            for section in ("5.2.1", "5.2")
        )
        own = harmed(f"harm by {name} to the own throughput", _harm_by_others)
        throughput = harmed(f"harm to {name}'s throughput", throughput_harm)
        yield harms.criterion(throughput, quick=quick)
        yield harms.criterion(harmed(f"harm to {name}'s delay", _delay_harm), quick=quick)
        yield harms.criterion(harmed(f"{name}'s loss", _loss_of_others, LOSS_MARGIN))
        yield shares.criterion(SHARE.called(f"smallest share beside {name}"), SETTLED, quick=quick)
        yield harms.criterion(own, needed=False, quick=quick)
    path, arguments = Bottleneck(500 * MB, 0.040), {"other": other, "options": mixes.CROWDED}
    many = case(
        "5.2.1", mixes.crowd, path, "crowd of 500 beside 500, <path>", count=500, **arguments
    )
    yield many.criterion(harmed(f"harm to the throughput of 500 {name}", throughput_harm))
    five = case("5.2", mixes.beside, Bottleneck(50 * MB, 0.040), other=other, count=(1, 5))
    yield five.criterion(SHARE.called(f"smallest share beside 5 {name}"), SETTLED)


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
    path, cbr = Bottleneck(10 * MB, 0.040), {"share": 0.05, "count": 2, "packet_size": 200}
    beside = case("5.2.2", mixes.with_cbr, path, "500 kb/s beside 2 flows, <path>", **cbr)
    yield beside.criterion(
        harmed("loss of a real-time flow", _loss_of_others, LOSS_MARGIN), quick=True
    )
    yield beside.criterion(DELAY.called("its queueing delay, 95 %"), SETTLED, None, 0.95)


def _short_of_others() -> Iterator[Criterion]:
    path, other = Bottleneck(20 * MB, 0.040), Flow("cubic")
    short = case("5.2.3", mixes.with_short, path, "30 %, one long flow, <path>", short=other)
    yield short.criterion(SLOWDOWN.called("slowdown of short CUBIC flows"), mixes.WEB, quick=True)
    long = case("5.2.3", mixes.with_short, path, "30 % short flows, <path>", long=other)
    share = Measure("throughput of a long CUBIC flow", "", "more", measures.share_of_link)
    yield long.criterion(share, OTHER, SETTLED, path.rate)
