"""ACK compression.

Two Reno flows cross in opposite directions, so ACKs wait behind data packets and leave that queue
back to back. Half of them reach the sender 0.03 ms apart, the time of an ACK, instead of 0.8 ms,
the time of a data packet. Each such burst releases a burst of data: the queue jumps, where a
single flow fills it smoothly.
"""

import matplotlib.pyplot as plt
import numpy as np

import tcpcc as tc

net = tc.dumbbell("10 Mbps", "20 ms", 60, reverse_buffer=60)
one_way = [tc.Flow("reno", name="there", recovery="sack")]
two_way = [*one_way, tc.Flow("reno", name="back", source="right", target="left", start=0.3)]
with tc.plots.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.8))
    for flows, label, colour in ((one_way, "one way", "C0"), (two_way, "two ways", "C1")):
        scenario = tc.Scenario(net, flows, duration=40, interval="10 ms")
        run = tc.simulate(scenario, trace=["there"])
        queue = run.queue("bottleneck").sel(time=slice(30, 34))
        left.plot(queue["time"], queue, color=colour, lw=0.8, label=label)
        events = run.trace("there")
        acks = events.loc[events["event"].isin(["ack", "dupack"]) & (events["time"] > 10), "time"]
        gaps = np.sort(np.diff(acks)) * 1e3
        right.step(gaps, np.linspace(0, 1, len(gaps)), color=colour, label=label)
    left.set(xlabel="Time (s)", ylabel="Queue (packets)", ylim=(0, 62))
    right.axvline(0.8, color="0.5", ls=":", label="time of a data packet")
    right.set(xlabel="Time between ACKs (ms)", ylabel="Share of ACKs", xscale="log")
    right.set(xlim=(0.02, 20), ylim=(0, 1.02))
    left.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    right.legend(loc="upper left", bbox_to_anchor=(0.0, 0.95))
    figure.savefig("ack_compression.png", dpi=160)
