"""L4S beside classic traffic.

TCP Prague and CUBIC share 40 Mb/s with a base RTT of 20 ms. In DualPI2 (RFC 9332) each has a
queue of its own: packets of Prague wait for a millisecond, those of CUBIC for fifteen. Prague has
two thirds of the link, because its RTT is shorter. In one drop-tail queue, which marks nothing,
they share alike and both wait for the same full buffer.
"""

import matplotlib.pyplot as plt

import tcpcc as tc

prague = tc.Flow.linux("prague", name="Prague")
cubic = tc.Flow.linux("cubic", name="CUBIC", start=5, transport={"ecn": "classic"})
with tc.plots.style():
    figure, axes = plt.subplots(2, 2, sharex=True, sharey="row", figsize=(7.2, 4.2))
    for (top, bottom), queue, title in zip(
        axes.T, ("dualpi2", "droptail"), ("DualPI2", "drop-tail, 2 BDP"), strict=True
    ):
        net = tc.dumbbell(
            "40 Mbps", "10 ms", 10_000 if queue == "dualpi2" else "2 BDP", queue=queue
        )
        run = tc.simulate(tc.Scenario(net, [prague, cubic], duration=40, interval="0.1 s"))
        rates = run.throughput_series(1.0) / 1e6
        for k, flow in enumerate(run.flows):
            top.plot(rates["time"], rates.sel(flow=flow), color=f"C{k}", label=flow)
            delay = run.data["rtt"].sel(flow=flow) * 1e3 - 20
            bottom.plot(delay["time"], delay, color=f"C{k}", lw=0.8, label=flow)
        top.set_title(title)
        bottom.set(xlabel="Time (s)", yscale="log", ylim=(0.1, 100), xlim=(0, 40))
    axes[0, 0].set(ylabel="Throughput (Mb/s)", ylim=(0, 42))
    axes[1, 0].set(ylabel="Queueing delay (ms)")
    for ax in axes[0]:
        ax.legend(loc="upper right")
    figure.savefig("l4s_beside_classic.png", dpi=160)
