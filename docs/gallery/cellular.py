"""A cellular link.

The capacity of the link is as random as in Sprout's model of a cellular downlink (grey: one of
five such links), and its buffer is deep. Each algorithm runs alone. CUBIC uses all capacity, and
packets wait for seconds; Copa and Vegas wait least and leave capacity unused. Small points are
single links, large points means. Better is to the lower right.
"""

import matplotlib.pyplot as plt
import numpy as np

import tcpcc as tc

NAMES = {"cubic": "CUBIC", "bbr": "BBR", "bbr3": "BBRv3", "copa": "Copa", "vegas": "Vegas"}


def make(controller, seed):
    net = tc.dumbbell("6 Mbps", "20 ms", 3000)
    changes = tc.changes.cellular("bottleneck", until=60, seed=seed)
    return tc.Scenario(net, [tc.Flow(controller)], duration=60, changes=changes, interval="0.1 s")


def used(run):
    return 100 * run.utilization(after=5)


def late(run):
    rtt = run.data["rtt"].isel(flow=0).sel(time=slice(5, None))
    return 1e3 * float(np.nanquantile(rtt, 0.95))


found = tc.sweep(make, {"used": used, "late": late}, controller=list(NAMES), seed=range(1, 6))
one = tc.simulate(make("cubic", 1))
with tc.plots.style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2), width_ratios=(1.3, 1))
    capacity = one.data["capacity"].isel(link=0).coarsen(time=5).sum() / 0.5 / 1e6
    left.fill_between(capacity["time"], capacity, color="0.85", step="mid", lw=0, label="capacity")
    rate = one.throughput_series(0.5).isel(flow=0) / 1e6
    left.plot(rate["time"], rate, color="C0", lw=1, label="CUBIC")
    left.set(xlabel="Time (s)", ylabel="Mb/s", xlim=(0, 60), ylim=(0, 14))
    left.legend(ncols=2)
    for k, (name, label) in enumerate(NAMES.items()):
        of = found[found["controller"] == name]
        right.plot(of["used"], of["late"], ".", color=f"C{k}", alpha=0.5)
        right.plot(of["used"].mean(), of["late"].mean(), "o", color=f"C{k}", ms=8, label=label)
    right.set(xlabel="Capacity used (%)", ylabel="RTT, 95 % quantile (ms)", yscale="log")
    right.legend(ncols=2)
    figure.savefig("cellular.png", dpi=160)
