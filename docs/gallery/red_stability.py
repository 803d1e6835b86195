"""Where RED is stable.

Long Reno flows over 15 Mb/s through RED. Left: the rightmost root of the linearised fluid model.
Above the black line it is positive, and the queue oscillates: with few flows and with long round
trips, as C. Hollot, V. Misra, D. Towsley and W. Gong found (INFOCOM 2001). White: no equilibrium
found. Right: the queue in the packet model at the two marked points.
"""

import matplotlib.pyplot as plt
import numpy as np

import tcpcc as tc

FLOWS, RTTS = np.arange(10, 61, 5), np.linspace(0.1, 0.4, 16)
RED = tc.queues.RED(
    min_thresh=150, max_thresh=700, max_p=0.1, weight=5e-5, gentle=False, mean_packet=500
)


def make(flows, rtt, **settings):
    net = tc.dumbbell("15 Mbps", rtt / 2, 800, queue=RED)
    flow = tc.Flow("reno", count=int(flows), packet_size=500, recovery="sack",
                   transport={"slow_start_rule": False}, **settings)  # fmt: skip
    return tc.Scenario(net, [flow], duration=200, interval="0.1 s")


found = tc.analysis.stability_map(make, flows=FLOWS, rtt=RTTS)
with tc.plots.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.2), layout="constrained")
    most = float(abs(found).max())
    look = {"cmap": "RdBu_r", "vmin": -most, "vmax": most, "shading": "nearest"}
    mesh = left.pcolormesh(FLOWS, RTTS * 1e3, found.T, **look)
    left.contour(FLOWS, RTTS * 1e3, found.T, levels=[0], colors="k", linewidths=1)
    figure.colorbar(mesh, ax=left, label="Rightmost root (1/s)")
    left.set(xlabel="Flows", ylabel="Base RTT (ms)")
    for k, (flows, rtt) in enumerate(((20, 0.3), (50, 0.12))):
        left.plot(flows, rtt * 1e3, "o", color=f"C{k}", mec="k", ms=8)
        run = tc.simulate(make(flows, rtt, jitter=10, processing="1 ms"))
        queue = run.queue().sel(time=slice(100, 200))
        label = f"{flows} flows, {rtt * 1e3:.0f} ms"
        right.plot(queue["time"], queue, color=f"C{k}", lw=1, label=label)
    right.set(xlabel="Time (s)", ylabel="Queue (packets)", ylim=(0, 420), xlim=(100, 200))
    right.legend()
    figure.savefig("red_stability.png", dpi=160)
