"""Exits of slow start.

The first seconds of a CUBIC flow over 100 Mb/s with a base RTT of 100 ms and a buffer of 3 BDP.
Standard slow start doubles its window until the buffer overflows, and 9,000 packets are dropped.
HyStart leaves at the BDP, when the delay begins to rise. HyStart++ and SEARCH leave a round trip
or two later, with fewer drops than without them.
"""

import matplotlib.pyplot as plt

import tcpcc as tc

RULES = {"standard": "standard", "hystart": "HyStart", "hystart++": "HyStart++", "search": "SEARCH"}
with tc.plots.style():
    figure, axes = plt.subplots(2, sharex=True, figsize=(6.4, 4.4))
    for k, (rule, label) in enumerate(RULES.items()):
        net = tc.dumbbell("100 Mbps", "50 ms", "3 BDP")
        flow = tc.Flow("cubic", slow_start=rule)
        run = tc.simulate(tc.Scenario(net, [flow], duration=6, interval="10 ms"))
        lost = int(run.data["dropped"].sum())
        window = run.data["cwnd"].isel(flow=0)
        axes[0].plot(window["time"], window, color=f"C{k}", label=f"{label}: {lost} dropped")
        axes[1].plot(window["time"], run.queue(), color=f"C{k}", label=label)
    axes[0].axhline(1250, color="0.5", ls=":", label="BDP")
    axes[0].set(ylabel="Window (packets)", ylim=(0, None))
    axes[1].set(xlabel="Time (s)", ylabel="Queue (packets)", ylim=(0, None), xlim=(0, 6))
    axes[0].legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.savefig("slow_start_exits.png", dpi=160)
