"""BBR beside CUBIC, by buffer.

One flow of each over 50 Mb/s with a base RTT of 40 ms. In small buffers BBR takes nearly all,
because it ignores losses. In large ones CUBIC fills the buffer, and BBR is limited by its cap of
two BDPs in flight. BBRv3 reacts to losses and stays near a half up to 8 BDP. Mean and range over
five seeds.
"""

import matplotlib.pyplot as plt

import tcpcc as tc

BUFFERS = [0.25, 0.5, 1, 2, 4, 8, 16, 32]


def make(controller, buffer, seed):
    net = tc.dumbbell("50 Mbps", "20 ms", f"{buffer} BDP")
    flows = [tc.Flow.linux("cubic", name="cubic")]
    flows.append(flows[0].replace(controller=controller, name="bbr", slow_start=None, params=()))
    scenario = tc.Scenario(net, flows, duration=90, seed=seed)
    return scenario.jittered(starts="1 s", processing="0.2 ms")


def share(run):
    rates = run.throughput(after=30)
    return float(rates.sel(flow="bbr") / rates.sum())


found = tc.sweep(
    make, {"share": share}, controller=["bbr", "bbr3"], buffer=BUFFERS, seed=range(1, 6)
)
with tc.plots.style():
    figure, ax = plt.subplots(figsize=(5.6, 3.4))
    for name, label in (("bbr", "BBR"), ("bbr3", "BBRv3")):
        of = found[found["controller"] == name].groupby("buffer")["share"]
        colour = tc.plots.colour(name)
        ax.plot(BUFFERS, of.mean(), "o-", color=colour, label=label)
        ax.fill_between(BUFFERS, of.min(), of.max(), color=colour, alpha=0.2, lw=0)
    ax.axhline(0.5, color="0.5", ls=":", label="fair share")
    ax.set(xscale="log", xlabel="Buffer (BDP)", ylabel="Share beside CUBIC", ylim=(0, 1))
    ax.set_xticks(BUFFERS, [f"{b:g}" for b in BUFFERS])
    ax.minorticks_off()
    ax.legend()
    figure.savefig("bbr_beside_cubic.png", dpi=160)
