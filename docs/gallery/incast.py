"""Incast.

N servers answer a request at the same time with 64 kB each, through a port of 1 Gb/s with a
buffer of 200 kB. From eight servers on, last packets are lost that no duplicate ACK reports: the
port idles until a timer of 200 ms expires. A shorter smallest timeout helps; DCTCP keeps the
queue so short that nothing is lost. Mean and range over five seeds.
"""

import matplotlib.pyplot as plt

import tcpcc as tc

SERVERS = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48]
KINDS = {
    "Reno, timeout ≥ 200 ms": ("reno", "droptail", {}),
    "Reno, timeout ≥ 2 ms": ("reno", "droptail", {"min_rto": 0.002, "rto_margin": 0.0}),
    "DCTCP, timeout ≥ 200 ms": ("dctcp", tc.queues.StepMark(threshold=20), {"ecn": "accurate"}),
}


def make(kind, servers, seed):
    controller, queue, transport = KINDS[kind]
    net = tc.dumbbell("1 Gbps", "20 us", "200 kB", queue=queue, access_rate="1 Gbps")
    sender = {"handshake": False, "initial_window": 2, "tick": 0.0, **transport}
    flow = tc.Flow(controller, count=servers, size="64 kB", packet_size=1500, header=52,
                   transport=sender, processing="20 us")  # fmt: skip
    return tc.Scenario(net, [flow], duration=4, seed=seed)


def goodput(run):
    answers = run.fct()
    return len(answers) * 64e3 * 8 / (answers["start_s"] + answers["fct_s"]).max() / 1e6


found = tc.sweep(make, {"goodput": goodput}, kind=list(KINDS), servers=SERVERS, seed=range(1, 6))
with tc.plots.style():
    figure, ax = plt.subplots(figsize=(5.8, 3.4))
    for k, kind in enumerate(KINDS):
        of = found[found["kind"] == kind].groupby("servers")["goodput"]
        ax.plot(SERVERS, of.mean(), "o-", color=f"C{k}", label=kind)
        ax.fill_between(SERVERS, of.min(), of.max(), color=f"C{k}", alpha=0.2, lw=0)
    ax.set(xlabel="Servers that answer at once", ylabel="Goodput (Mb/s)", ylim=(0, 1000))
    ax.legend()
    figure.savefig("incast.png", dpi=160)
