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


@EVERY_MODEL
@pytest.mark.parametrize("number", [1, 10])
@pytest.mark.parametrize("loss", [0.02, 0.3, 0.9, 0.999])
def test_a_link_loses_its_share_of_the_packets(model, number, loss):
    """Within four standard deviations."""
    net = tc.dumbbell("10 Mbps", "20 ms", 50, loss=loss)
    sources = [tc.CBR(5e6 / number) for _ in range(number)]
    data = simulate_in(model, tc.Scenario(net, sources, duration=30)).data
    sent = float(data["sent"].sum())
    deviation = (loss * (1 - loss) / sent) ** 0.5
    assert float(data["dropped"].sum()) / sent == pytest.approx(loss, abs=4 * deviation)
    passed = float(data["delivered"].sum()) / sent
    assert passed == pytest.approx(1 - loss, abs=4 * deviation + 10 / sent)


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
