"""Vegas after a change of route.

At 30 s the path becomes 40 ms longer. Vegas takes the longer RTT for a queue, because its BaseRTT
is that of the old path, and keeps a small window for good. Copa and BBR forget the old minimum
within ten seconds. Reno does not read the delay.
"""

import matplotlib.pyplot as plt

import tcpcc as tc

NAMES = {"reno": "Reno", "bbr": "BBR", "copa": "Copa", "vegas": "Vegas"}
longer = [tc.Change(30, link, delay="30 ms") for link in ("bottleneck", "bottleneck<")]
with tc.plots.style():
    figure, axes = plt.subplots(2, sharex=True, figsize=(6.4, 4.2))
    for k, (name, label) in enumerate(NAMES.items()):
        net = tc.dumbbell("10 Mbps", "10 ms", 60)
        run = tc.simulate(tc.Scenario(net, [tc.Flow(name)], duration=100, changes=longer))
        rate = run.throughput_series(1.0).isel(flow=0) / 1e6
        axes[0].plot(rate["time"], rate, color=f"C{k}", label=label)
        rtt = run.data["rtt"].isel(flow=0).coarsen(time=10, boundary="trim").mean() * 1e3
        axes[1].plot(rtt["time"], rtt, color=f"C{k}", label=label)
    axes[0].set(ylabel="Throughput (Mb/s)", ylim=(0, 10.5))
    axes[1].set(xlabel="Time (s)", ylabel="RTT (ms)", ylim=(0, None), xlim=(0, 100))
    for ax in axes:
        ax.axvline(30, color="0.5", ls=":", lw=1)
    axes[0].legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.savefig("vegas_rerouting.png", dpi=160)
