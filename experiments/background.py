"""Scenarios that show how far the cheaper models agree with packets.

Each scenario has foreground flows and more background flows (``background=True``), so it runs in
every model. `measure` returns the numbers that are compared. ``python -m experiments.background``
writes the table of docs/models.md: ten CPU minutes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

import tcpcc as tc
from experiments import markdown_tables
from tcpcc.files import write_between

RATE = 2e6  # bit/s, fair share per flow
PACKET = 8000  # bits
ROOM = 12  # packets of buffer per flow
DELAYS = (0.004, 0.008, 0.012, 0.016)  # s, of access links: base round trips of 48 to 72 ms
JITTER = 4.0  # s, over which flows start
NS2 = tc.Transport.ns2()
AFTER = 20.0  # s, start of the measurement
SEVERAL_SIZES = "packets of several sizes"  # packet model of the scenario from `several_sizes`
OPTIONS: dict[str, dict[str, Any]] = {
    "trains": {"model": "packet", "trains": 16},
    "hybrid, fluid": {"model": "hybrid", "steps": 20},
}
SPREAD = 0.05  # largest relative deviation of a packet size in `several_sizes`


def red(flows: int) -> Any:
    """RED for `flows` flows. The time constant of its average does not depend on their number."""
    return tc.queues.RED(
        min_thresh=1.5 * flows, max_thresh=9 * flows, max_p=0.1, gentle=True, weight=0.2 / flows
    )


def flow(controller: str, name: str, **settings: Any) -> tc.Flow:
    """A flow of ns-2 that starts at a random time."""
    return tc.Flow(controller, jitter=JITTER, transport=NS2, name=name, **settings)


def dumbbell(
    background: int,
    controllers: Iterable[str],
    queue: Callable[[int], Any] | None = None,
    n_foreground: int = 8,
    rate: float = RATE,
) -> Callable[[int, float], tc.Scenario]:
    """Flows of each controller and delay over one link; its rate and buffer scale with them."""

    def make(seed: int, duration: float) -> tc.Scenario:
        total = background + n_foreground
        net = tc.dumbbell(
            rate * total,
            "20 ms",
            ROOM * total,
            queue=queue(total) if queue else tc.queues.DropTail(),
        )
        kinds = [(name, delay) for name in controllers for delay in DELAYS]
        flows = [
            flow(name, f"front{k}", access_delay=delay)
            for k, (name, delay) in zip(range(n_foreground), itertools.cycle(kinds), strict=False)
        ]
        edges = np.linspace(0, background, len(kinds) + 1).round().astype(int)
        flows += [
            flow(name, f"b{k}", access_delay=delay, count=int(n), background=True)
            for k, ((name, delay), n) in enumerate(zip(kinds, np.diff(edges), strict=True))
        ]
        return tc.Scenario(net, flows, duration=duration, seed=seed)

    return make


def parking_lot(background: int, n_foreground: int = 8) -> Callable[[int, float], tc.Scenario]:
    """Three RED links: half of the foreground flows cross all three, the other flows one each."""

    def make(seed: int, duration: float) -> tc.Scenario:
        long = n_foreground // 2
        total = long + background // 3 + (n_foreground - long) // 3
        net = tc.parking_lot(
            3, RATE * total, "10 ms", ROOM * total, queue=red(total), access_delay="5 ms"
        )
        ends = [(f"r{k}", f"r{k + 1}") for k in range(3)]
        flows = [flow("newreno", f"front{k}", access_delay=DELAYS[k % 4]) for k in range(long)]
        for k in range(n_foreground - long):
            a, b = ends[k % 3]
            flows.append(flow("newreno", f"front{long + k}", source=a, target=b))
        for k in range(12):
            a, b = ends[k % 3]
            group = {"access_delay": DELAYS[k // 3], "count": background // 12, "background": True}
            flows.append(flow("newreno", f"b{k}", source=a, target=b, **group))
        return tc.Scenario(net, flows, duration=duration, seed=seed)

    return make


SCENARIOS: dict[str, Callable[[int, float], tc.Scenario]] = {
    "drop-tail, 10 NewReno": dumbbell(10, ["newreno"]),
    "drop-tail, 100 NewReno": dumbbell(100, ["newreno"]),
    "drop-tail, 1000 NewReno": dumbbell(1000, ["newreno"]),
    "drop-tail, 100 CUBIC": dumbbell(100, ["cubic"]),
    "RED, 10 NewReno": dumbbell(10, ["newreno"], red),
    "RED, 100 NewReno": dumbbell(100, ["newreno"], red),
    "RED, 1000 NewReno": dumbbell(1000, ["newreno"], red),
    "RED, 100 CUBIC": dumbbell(100, ["cubic"], red),
    "RED, 1000 CUBIC": dumbbell(1000, ["cubic"], red),
    "RED, 100 NewReno and CUBIC": dumbbell(100, ["newreno", "cubic"], red),
    "100 Vegas": dumbbell(100, ["vegas"]),
    "parking lot, RED, 120 NewReno": parking_lot(120),
}


def several_sizes(scenario: tc.Scenario) -> tc.Scenario:
    """The same scenario with a different packet size per flow, within +- `SPREAD` of the original.

    Start times do not change. All flows become foreground flows. With equal packet sizes, packets
    reach a full drop-tail buffer in a fixed order, so some flows starve permanently (S. Floyd,
    V. Jacobson, "On traffic phase effects in packet-switched gateways", 1992). Models without
    packets do not show this. Different packet sizes break the order.
    """
    single = scenario.resolve().flows
    draw = np.random.default_rng(scenario.seed)
    sizes = draw.permutation(np.linspace(1 - SPREAD, 1 + SPREAD, len(single)))
    return scenario.replace(
        flows=[
            flow.spec.replace(
                name=flow.name,
                packet_size=round(flow.spec.packet_size * share),
                **({"background": False} if flow.is_tcp else {}),
            )
            for flow, share in zip(single, sizes, strict=True)
        ]
    )


def queueing_delays(run: tc.Run) -> np.ndarray:
    """Queueing delays of foreground flows: RTT minus base RTT in s, one per time bin and flow."""
    late = run.data.sel(time=slice(AFTER, None))
    foreground = [k for k, name in enumerate(run.flows) if name.startswith("front")]
    rtt = late["rtt"].values[:, foreground] - run.data["base_rtt"].values[foreground]
    return rtt[np.isfinite(rtt)]


def measure(run: tc.Run) -> dict[str, float]:
    """Numbers of one run that are compared between models.

    Returns:
        `goodput`: mean over foreground flows, bit/s; `queue`: mean queue of the first link,
        packets; `delay_p99`: 99th percentile of the foreground queueing delay, s; `loss`: loss rate
        of the first link; `cpu`: CPU time, s.
    """
    late = run.data.sel(time=slice(AFTER, None))
    late = late.isel(time=late["time"].values > AFTER)
    foreground = [k for k, name in enumerate(run.flows) if name.startswith("front")]
    delays = queueing_delays(run)
    return {
        "goodput": float(run.throughput(after=AFTER).values[foreground].mean()),
        "queue": float(late["queue"].values[:, 0].mean()),
        "delay_p99": float(np.quantile(delays, 0.99)) if len(delays) else math.nan,
        "loss": float(late["drops"].values[:, 0].sum() / late["arrived"].values[:, 0].sum()),
        "cpu": float(run.data.attrs["cpu_seconds"]),
    }


def compare(
    names: Iterable[str], models: Iterable[str], seeds: Iterable[int], duration: float = 60.0
) -> pd.DataFrame:
    """`measure` of each scenario, model (`SEVERAL_SIZES`, one of `OPTIONS`, a model) and seed."""
    rows = []
    for name in names:
        for model in models:
            for seed in seeds:
                scenario = SCENARIOS[name](seed, duration)
                if model == SEVERAL_SIZES:
                    run = tc.simulate(several_sizes(scenario))
                else:
                    run = tc.simulate(scenario, **OPTIONS.get(model, {"model": model}))
                rows.append({"scenario": name, "model": model, "seed": seed, **measure(run)})
    return pd.DataFrame(rows)


def foreground_share(
    name: str, seeds: Iterable[int], duration: float = 60.0, model: str = "hybrid"
) -> np.ndarray:
    """Goodput of a foreground flow in a hybrid, relative to the mean of all flows, by seed.

    If background flows equal the foreground flows and start like them, the mean over many seeds is
    1 in the packet model.
    """
    shares = []
    for seed in seeds:
        options = OPTIONS.get(model, {"model": model})
        run = tc.simulate(SCENARIOS[name](seed, duration), **options)
        rates = run.throughput(after=AFTER).values
        foreground = [k for k, flow in enumerate(run.flows) if flow.startswith("front")]
        number = sum(getattr(flow, "count", 1) for flow in run.scenario.flows)
        shares.append(rates[foreground].mean() * number / rates.sum())
    return np.array(shares)


TABLE = (
    "RED, 10 NewReno", "RED, 100 NewReno", "RED, 1000 NewReno", "RED, 100 CUBIC",
    "drop-tail, 10 NewReno", "drop-tail, 100 NewReno", "drop-tail, 1000 NewReno",
    "drop-tail, 100 CUBIC",
)  # fmt: skip
"""Scenarios of the table in docs/models.md."""
HYBRIDS = ("hybrid", "hybrid, fluid")
COMPARED = (SEVERAL_SIZES, *HYBRIDS)
SEEDS, SHARE_SEEDS = range(1, 5), range(1, 13)
PAGE = Path(__file__).parents[1] / "docs" / "models.md"
MARKS = (
    "<!-- backgrounds: written by python -m experiments.background -->",
    "<!-- end of backgrounds -->",
)


def table_row(name: str) -> list[str]:
    """Mean queue and loss of packets and both hybrids, and the foreground's share in the hybrids
    with its standard error."""
    means = compare([name], COMPARED, SEEDS).groupby("model").mean(numeric_only=True)
    cells = [f"{means['queue'][model]:.0f}" for model in COMPARED]
    cells += [f"{100 * means['loss'][model]:.2f}" for model in COMPARED]
    for model in HYBRIDS:
        shares = foreground_share(name, SHARE_SEEDS, model=model)
        error = shares.std(ddof=1) / math.sqrt(len(shares))
        cells.append(f"{shares.mean():.3f} ± {error:.3f}")
    return [name, *cells]


def main() -> None:
    """Write the table."""
    rows = joblib.Parallel(-1)(joblib.delayed(table_row)(name) for name in TABLE)
    head = ["case", "queue: packets", "trains", "fluid", "loss (%): packets", "trains", "fluid"]
    write_between(PAGE, MARKS, markdown_tables.table([*head, "share: trains", "fluid"], rows))


if __name__ == "__main__":
    main()
