"""Every controller in the fluid model beside packets: four flows on one drop-tail link."""

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS

RATE = 20e6
PACKET = 8000  # bits
AFTER = 15.0  # s
SEEDS = range(1, 13)
LEAST = 0.92  # of the values within 10 %; 94 % when this was written (of three seeds 90 to 93 %)


def group(controller, number, name="flow"):
    """Flows with RTTs of 60 ms and up to a tenth more, of hosts that take random times."""
    return [
        tc.Flow(
            controller,
            access_delay=0.025 * (1 + 0.1 * k / number),
            jitter=1.0,
            processing=PACKET / RATE,
            name=f"{name}{k}",
        )
        for k in range(number)
    ]


def values(flows, number, model):
    """Goodput of the first flows and of all, Mb/s; mean queue, packets; share of lost packets."""
    found = []
    for seed in SEEDS:
        net = tc.dumbbell(RATE, 0.005, 75)
        run = tc.simulate(tc.Scenario(net, flows, duration=45, seed=seed), model=model)
        late = run.data.isel(time=run.data["time"].values > AFTER)
        rates = run.goodput(after=AFTER).values / 1e6
        lost = float(late["dropped"].sum() / late["sent"].sum())
        queue = float(run.queue_mean(after=AFTER, link="bottleneck"))
        found.append([rates[:number].sum(), rates.sum(), queue, lost])
    return np.mean(found, 0)


def is_near(packets, fluid):
    """Within 10 %, a packet of queue, two lost packets in 10,000."""
    return abs(fluid - packets) <= np.maximum(0.1 * packets, [0, 0, 1, 2e-4])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_most_values_of_all_controllers_are_those_of_packets():
    """Alone and beside NewReno."""
    near = []
    for name in CONTROLLERS:
        beside = [*group(name, 2), *group("newreno", 2, "other")]
        for number, flows in ((4, group(name, 4)), (2, beside)):
            near += list(is_near(*(values(flows, number, m) for m in ("packet", "fluid"))))
    assert len(near) == 8 * len(CONTROLLERS)
    assert np.mean(near) >= LEAST
