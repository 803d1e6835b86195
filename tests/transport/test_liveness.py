"""A sender with data to send never falls silent, whichever packets are lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.models.packet.handlers import run_events
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.transport.recovery import RECOVERIES

CONTROLLER = {"tahoe": "tahoe", "vegas": "vegas"}  # others: reno's window


def longest_silence(run, flow=0):
    """Largest gap between two packets sent by `flow`, s."""
    events = run.events
    times = events["time"][(events["flow"] == flow) & (events["event"] < 2)]
    return float(np.diff(times, append=run.duration).max())


@pytest.mark.parametrize("recovery", RECOVERIES)
@settings(max_examples=12)
@given(
    loss=st.floats(0.001, 0.1),
    ack_loss=st.sampled_from([0.0, 0.05]),
    buffer=st.integers(3, 60),
    seed=st.integers(0, 10_000),
)
def test_no_sender_falls_silent(recovery, loss, ack_loss, buffer, seed):
    net = tc.dumbbell(rate="10 Mbps", delay="10 ms", buffer=buffer)
    links = tuple(
        link.replace(loss=loss if link.name == "bottleneck" else ack_loss) for link in net.links
    )
    flow = tc.Flow(
        CONTROLLER.get(recovery, "reno"), recovery=recovery, transport=tc.Transport(max_rto=1.0)
    )
    scenario = tc.Scenario(net.replace(links=links), [flow], duration=30, seed=seed)
    run = tc.simulate(scenario, trace=True)
    # the timer runs from the last ACK, up to a round trip after the last packet
    assert longest_silence(run) <= 1.0 + 0.1


@pytest.mark.parametrize("recovery", RECOVERIES)
@settings(max_examples=12)
@given(loss=st.floats(0.0, 0.1), size=st.integers(1, 3000), seed=st.integers(0, 10_000))
def test_a_transfer_ends_with_an_empty_pipe(recovery, loss, size, seed):
    flow = tc.Flow(CONTROLLER.get(recovery, "reno"), recovery=recovery, size=size)
    link = {"delay": "10 ms", "buffer": 20, "loss": loss}
    world = PacketWorld(on_a_link(flow, duration=4000, seed=seed, **link))
    while run_events(world.address, 4000.0):
        world.grow()
    sender = world.tcp[0]
    assert sender["finished"] > 0
    assert sender["delivered"] == size + 1  # the SYN counts here
    if recovery.startswith("sack"):
        assert world.senders.recoveries[0]["pipe"][0] == 0


@pytest.mark.parametrize("controller", ["reno", "newreno", "vegas", "quick_vegas"])
def test_nothing_is_sent_beyond_the_size(controller):
    """Late duplicate ACKs of a finished transfer do not make it send more."""
    flow = tc.Flow(controller, size=353)
    case = on_a_link(flow, rate="5 Mbps", buffer=8, loss=0.03, duration=60)
    for seed in range(30):
        events = tc.simulate(case.replace(seed=seed), trace=True).events
        assert events["seq"][events["event"] < 2].max() == 353  # the SYN is number 0
