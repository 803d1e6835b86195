"""Speed of the hybrid model: a few foreground flows beside a crowd; run with `make bench`.

Beside it the packet model as far as it goes. With f foreground flows beside N of the same kind the
hybrid cannot be more than (N + f) / f times as fast as packets.
"""

import pytest

from experiments import hybrid_speed
from experiments.background import dumbbell, red
from tcpcc.apps.bench import speed

QUEUES = {"RED": red, "drop-tail": None}


@pytest.fixture(scope="module", autouse=True)
def ready():
    """Machine code is there before the clock runs."""
    for model in ("packet", "hybrid"):
        speed.speed(dumbbell(10, ["newreno"], red)(1, 5), model)


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize(
    ("model", "background"),
    [("hybrid", 1000), ("hybrid", 10_000), ("hybrid", 100_000), ("packet", 100), ("packet", 1000)],
)
def test_a_minute_of_ten_flows_before_a_crowd(benchmark, model, background, queue):
    """1 Mb/s each; 100,000 are 100 Gb/s. At most 100 representatives for each of four delays."""
    case = dumbbell(background, ["newreno"], QUEUES[queue], n_foreground=10, rate=1e6)(1, 60)
    packets, seconds = benchmark.pedantic(speed.speed, (case, model), rounds=1)
    benchmark.extra_info["CPU seconds"] = round(seconds, 2)
    benchmark.extra_info["packets"] = round(packets)


@pytest.mark.parametrize("background", [1000, 100_000])
def test_speed_up_of_one_flow_before_a_crowd(benchmark, background):
    """A minute; packets by a part of it (`experiments/hybrid_speed.py`, which draws the figure)."""
    table = benchmark.pedantic(hybrid_speed.cost, ([background],), {"most": 3e6}, rounds=1)
    for name in hybrid_speed.HYBRIDS:
        speed_up = table.loc[background, "packet"] / table.loc[background, name]
        benchmark.extra_info[name] = round(speed_up)
