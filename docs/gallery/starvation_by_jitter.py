"""Starvation by jitter.

Two flows of one algorithm share 50 Mb/s with a base RTT of 50 ms; packets of one have jitter
before the bottleneck, without reordering. Algorithms that take delay for congestion give way:
with 2 ms of jitter Vegas has a seventh of the link, Copa 40 %. CUBIC and BBR lose only where the
jitter lengthens the RTT noticeably. Mean and range over five seeds. (V. Arun, M. Alizadeh and H.
Balakrishnan describe such starvation at SIGCOMM 2022.)
"""

import matplotlib.pyplot as plt

import tcpcc as tc

JITTERS = [0, 0.5, 1, 2, 4, 8, 16]  # ms
NAMES = {"cubic": "CUBIC", "bbr": "BBR", "copa": "Copa", "vegas": "Vegas", "fast": "FAST"}


def make(controller, jitter, seed):
    links = [
        tc.Link("a", "middle", rate="1 Gbps", delay="5 ms", jitter=jitter / 1e3),
        tc.Link("b", "middle", rate="1 Gbps", delay="5 ms"),
        tc.Link("middle", "end", rate="50 Mbps", delay="20 ms", buffer="625 kB", name="bottleneck"),
        *(tc.Link("middle", end, rate="1 Gbps", delay="5 ms") for end in "ab"),
        tc.Link("end", "middle", rate="50 Mbps", delay="20 ms"),
    ]
    flows = [tc.Flow(controller, source=node, target="end", jitter=0.5) for node in "ab"]
    return tc.Scenario(tc.Network(links), flows, duration=60, seed=seed)


def share(run):
    rates = run.throughput(after=20).values
    return rates[0] / rates.sum()


found = tc.sweep(make, {"share": share}, controller=list(NAMES), jitter=JITTERS, seed=range(1, 6))
with tc.plots.style():
    figure, ax = plt.subplots(figsize=(5.6, 3.4))
    for k, (name, label) in enumerate(NAMES.items()):
        of = found[found["controller"] == name].groupby("jitter")["share"]
        colour = f"C{k}"
        ax.plot(range(len(JITTERS)), of.mean(), "o-", color=colour, label=label)
        ax.fill_between(range(len(JITTERS)), of.min(), of.max(), color=colour, alpha=0.15, lw=0)
    ax.axhline(0.5, color="0.5", ls=":", label="fair share")
    ax.set_xticks(range(len(JITTERS)), [f"{j:g}" for j in JITTERS])
    ax.set(xlabel="Largest jitter of one flow (ms)", ylabel="Share of that flow", ylim=(0, 0.7))
    ax.legend(ncols=2)
    figure.savefig("starvation_by_jitter.png", dpi=160)
