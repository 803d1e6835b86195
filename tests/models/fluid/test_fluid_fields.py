"""Header fields in the ODE: XCP, Quick-Start, and fields that cross other links."""

import numpy as np
import pytest

import tcpcc as tc

BASE = {"jitter": 1.0, "processing": 4e-4}


def xcp_behind(queues, rates, seed=1, n=4):
    net = tc.chain(
        len(queues), list(rates), 0.01, 75, queue=list(queues), access_rate=1e9, access_delay=0.005
    )
    return tc.Scenario(net, [tc.Flow("xcp", **BASE)] * n, duration=30, seed=seed)


@pytest.mark.parametrize("second", [tc.queues.DropTail(), tc.queues.XCPRouter(), tc.queues.CoDel()])
def test_xcp_fills_a_link_without_a_loss(second):
    """Its fields cross links of every kind behind the router."""
    case = xcp_behind([tc.queues.XCPRouter(), second], [20e6, 30e6])
    packets, fluid = (tc.simulate(case, model) for model in ("packet", "fluid"))
    assert np.array(fluid.throughput(after=10)) == pytest.approx([5e6] * 4, rel=0.02)
    assert fluid.data["drops"].sum() == 0
    windows = [float(run.data["cwnd"].sel(time=slice(10, 30)).mean()) for run in (packets, fluid)]
    assert windows[1] == pytest.approx(windows[0], rel=0.1)


def test_a_window_approaches_its_share_as_with_packets():
    case = xcp_behind([tc.queues.XCPRouter()], [20e6], n=1)
    rise = [
        tc.simulate(case, m).data["cwnd"].isel(flow=0).dropna("time") for m in ("packet", "fluid")
    ]
    packets, fluid = (window.values[10:40] for window in rise)
    assert fluid == pytest.approx(packets, rel=0.15)


def test_no_router_no_change_of_the_window():
    case = xcp_behind([tc.queues.DropTail()], [20e6])
    window = tc.simulate(case, "fluid").data["cwnd"].values[-1]
    assert window == pytest.approx([10.0] * 4)


def quick_start(queue, asked, background=0):
    quick = {"name": "quick_start", "requested_rate": asked}
    net = tc.dumbbell(20e6, 0.02, 75, queue=queue, access_rate=1e9, access_delay=0.005)
    flows = [tc.Flow("newreno", slow_start=quick, start=5.0, name="quick")]
    if background:
        flows.append(tc.CBR(background))
    return tc.Scenario(net, flows, duration=5.4, interval=0.05)


def in_first_rounds(case, model):
    """Packets of the first 150 ms of data."""
    return float(tc.simulate(case, model).data["sent"].isel(flow=0).sel(time=slice(5, 5.2)).sum())


@pytest.mark.parametrize("asked", [2e6, 6e6, 12e6])
def test_quick_start_begins_at_the_approved_rate(asked):
    case = quick_start(tc.queues.QuickStartRouter(), asked)
    packets, fluid = (in_first_rounds(case, model) for model in ("packet", "fluid"))
    assert fluid == pytest.approx(packets, rel=0.2)


def test_a_busy_router_or_none_approves_nothing():
    idle = in_first_rounds(quick_start(tc.queues.QuickStartRouter(), 12e6), "fluid")
    busy = in_first_rounds(
        quick_start(tc.queues.QuickStartRouter(), 12e6, background=18e6), "fluid"
    )
    none = in_first_rounds(quick_start(tc.queues.DropTail(), 12e6), "fluid")
    assert none == pytest.approx(busy, abs=2)
    assert idle > 1.5 * busy
