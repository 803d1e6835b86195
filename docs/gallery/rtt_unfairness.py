"""Unfairness between round-trip times.

Two flows of one algorithm share 50 Mb/s with a buffer of 1 BDP. One has a base RTT of 20 ms, the
other a longer one. The share of the longer RTT falls with Reno about as 1 / ratio, with CUBIC and
Vegas more slowly; BBR gives both the same here. Mean and range over five seeds.
"""

import matplotlib.pyplot as plt
import numpy as np

import tcpcc as tc

RATIOS = [1, 1.5, 2, 3, 4, 6, 8]
NAMES = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR", "vegas": "Vegas"}


def make(controller, ratio, seed):
    net = tc.dumbbell("50 Mbps", "5 ms", "1 BDP", access_delay="2.5 ms", queue="droptail")
    farther = 0.0025 + 0.02 * (ratio - 1) / 4  # s, at both ends and in both directions
    flows = [tc.Flow(controller), tc.Flow(controller, access_delay=farther)]
    scenario = tc.Scenario(net, flows, duration=60, seed=seed)
    return scenario.jittered(starts="1 s", processing="0.2 ms")


def share(run):
    rates = run.throughput(after=20).values
    return rates[1] / rates[0]


found = tc.sweep(make, {"share": share}, controller=list(NAMES), ratio=RATIOS, seed=range(1, 6))
with tc.plots.style():
    figure, ax = plt.subplots(figsize=(5.6, 3.6))
    for k, (name, label) in enumerate(NAMES.items()):
        of = found[found["controller"] == name].groupby("ratio")["share"]
        colour = f"C{k}"
        ax.plot(RATIOS, of.mean(), "o-", color=colour, label=label)
        ax.fill_between(RATIOS, of.min(), of.max(), color=colour, alpha=0.2, lw=0)
    ratios = np.array(RATIOS)
    ax.plot(ratios, 1 / ratios, ":", color="0.5", label="1 / ratio")
    ax.set(xscale="log", yscale="log", xlabel="Ratio of base RTTs, long to short")
    ax.set(ylabel="Throughput, long to short")
    ax.set_xticks(RATIOS, [f"{r:g}" for r in RATIOS])
    ax.minorticks_off()
    ax.legend(ncols=2)
    figure.savefig("rtt_unfairness.png", dpi=160)
