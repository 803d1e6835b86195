"""Every model counts a flow's lost data packets and its lost ACKs separately."""

import pytest
from every_model import EVERY_MODEL, simulate_in

import tcpcc as tc

RED = tc.queues.RED(min_thresh=5, max_thresh=15, weight=0.02)


@EVERY_MODEL
def test_lost_acks_are_no_losses_of_data(model):
    """The data's link has no finite buffer, so that only ACKs are lost."""
    net = tc.Network(
        [
            tc.Link("a", "b", rate="10 Mbps", delay="20 ms", record=True),
            tc.Link("b", "a", rate="150 kbps", delay="20 ms", buffer=10, record=True),
        ]
    )
    flow = tc.Flow("newreno", source="a", target="b", transport={"rwnd": 60})
    run = simulate_in(model, tc.Scenario(net, [flow], duration=20))
    assert run.data["dropped"].sum() == 0 == run.loss_rate()[0]
    lost = float(run.data["acks_dropped"].sum())
    assert lost > 1000
    assert lost == pytest.approx(float(run.data["drops"].sum()), rel=1e-6)


@pytest.mark.parametrize("model", ["packet", "trains", "fluid", "hybrid"])
def test_data_and_acks_add_up_to_the_links_drops(model):
    net = tc.Network(
        [
            tc.Link(*ends, rate="10 Mbps", delay="20 ms", buffer=100, queue=RED, record=True)
            for ends in ("ab", "ba")
        ]
    )
    flows = [
        tc.Flow("newreno", source=a, target=b, start=k / 7, background=k > 3)
        for k, (a, b) in enumerate(("ab", "ba") * 5)
    ]
    run = simulate_in(model, tc.Scenario(net, flows, duration=20))
    data, acks = (float(run.data[name].sum()) for name in ("dropped", "acks_dropped"))
    assert data > 50
    assert acks > 5
    assert data + acks == pytest.approx(float(run.data["drops"].sum()), rel=0.02, abs=4)
