"""A full drop-tail buffer of the ODE: which packets find no room (docs/fluid.md, full buffers)."""

import numpy as np
import pytest

import tcpcc as tc

PACKET_TIME = 8 * 1000 / 10e6


def beside_a_constant_window(model, processing=0.0):
    """Lost packets of a flow that its receiver limits, and of one whose window grows."""
    constant = tc.Flow("newreno", transport=tc.Transport(rwnd=20), processing=processing)
    growing = tc.Flow("newreno", start=5, processing=processing)
    net = tc.dumbbell("10 Mbps", "20 ms", 30)
    run = tc.simulate(tc.Scenario(net, [constant, growing], duration=120), model)
    return run.data["dropped"].sel(time=slice(10, None)).sum("time").values


@pytest.mark.parametrize("model", ["packet", "fluid"])
def test_who_grows_loses_and_random_times_in_hosts_make_others_lose_too(model):
    still, grows = beside_a_constant_window(model)
    assert still <= (0.05 * grows if model == "fluid" else 0)
    assert grows > 10
    still, grows = beside_a_constant_window(model, processing=3 * PACKET_TIME)
    assert 0.1 < still / grows < 1


def loss_rate(kind, count, buffer, model):
    net = tc.chain(2, ["50 Mbps", "20 Mbps"], "15 ms", [400, buffer])
    flows = [tc.Flow(kind, jitter=3)] * count
    runs = [tc.simulate(tc.Scenario(net, flows, duration=60, seed=k), model) for k in range(1, 5)]
    return np.mean([float(run.drop_rate("r1>r2", after=20)) for run in runs])


@pytest.mark.parametrize(
    ("kind", "count", "buffer"), [("newreno", 4, 75), ("newreno", 8, 50), ("cubic", 8, 75)]
)
def test_growth_is_known_behind_another_link(kind, count, buffer):
    """Where the model does not know who grows, a third more packets are lost."""
    packets, fluid = (loss_rate(kind, count, buffer, model) for model in ("packet", "fluid"))
    assert fluid == pytest.approx(packets, rel=0.1)
