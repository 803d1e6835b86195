"""Bufferbloat and active queue management.

One CUBIC flow over 10 Mb/s with a buffer of 1000 packets. With drop-tail it fills the buffer, and
packets wait for most of a second. PIE and CoDel keep the delay at some milliseconds and lose at
most a twentieth of the throughput.
"""

import matplotlib.pyplot as plt

import tcpcc as tc

QUEUES = {"drop-tail": "droptail", "PIE": "pie", "CoDel": "codel"}
with tc.plots.style():
    figure, ax = plt.subplots(figsize=(6.4, 3.2))
    for k, (label, queue) in enumerate(QUEUES.items()):
        net = tc.dumbbell("10 Mbps", "20 ms", 1000, queue=queue)
        run = tc.simulate(tc.Scenario(net, [tc.Flow("cubic")], duration=40, interval="0.1 s"))
        delay = run.queue() * 8000 / 10e6 * 1e3
        used = f"{label}, link used {run.utilization(after=10):.0%}"
        ax.plot(delay["time"], delay, color=f"C{k}", lw=1, label=used)
    ax.set(xlabel="Time (s)", ylabel="Queueing delay (ms)", yscale="log", ylim=(0.5, 2000))
    ax.set(xlim=(0, 40))
    ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.savefig("bufferbloat.png", dpi=160)
