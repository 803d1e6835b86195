"""Vegas beside Reno: a map of 10,000 runs.

One Vegas and one Reno flow over 10 Mb/s and 40 ms: the share of Vegas for 100 buffers and 100
values of alpha (beta = alpha + 2), each a run of 30 s in the fluid model. Reno fills the buffer,
and Vegas keeps alpha to beta packets of its own in it. The shares are equal (black line) where
alpha is about a third of the buffer: with the usual alpha of 1 to 3 in tiny buffers only.
`tc.sweep(..., "means")` does all runs in under a minute.
"""

import matplotlib.pyplot as plt
import numpy as np

import tcpcc as tc

BUFFERS = np.unique(np.round(np.geomspace(4, 400, 140)).astype(int))[:100]
ALPHAS = np.geomspace(1, 100, 100)


def make(buffer, alpha):
    net = tc.dumbbell("10 Mbps", "20 ms", buffer=int(buffer))
    flows = [tc.Flow("vegas", alpha=alpha, beta=alpha + 2), tc.Flow("reno", start=0.1)]
    return tc.Scenario(net, flows, duration=30)


rates = tc.sweep(make, "means", model="fluid", buffer=BUFFERS, alpha=ALPHAS, after=10)["throughput"]
share = (rates.isel(flow=0) / rates.sum("flow")).transpose("alpha", "buffer")
with tc.plots.style():
    figure, ax = plt.subplots(figsize=(5.8, 4), layout="constrained")
    mesh = ax.pcolormesh(BUFFERS, ALPHAS, share, cmap="RdBu", vmin=0, vmax=1, shading="nearest")
    ax.contour(BUFFERS, ALPHAS, share, levels=[0.5], colors="k", linewidths=1)
    figure.colorbar(mesh, label="Share of Vegas beside Reno")
    ax.set(xscale="log", yscale="log", xlabel="Buffer (packets)", ylabel="Vegas' alpha (packets)")
    figure.savefig("vegas_beside_reno.png", dpi=160)
