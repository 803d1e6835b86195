"""Our controllers inside the running kernel, exported as BPF, beside our own runs of them.

``python -m experiments.kernel.exported`` records them as data: it needs root, BTF, clang, bpftool
and 25 minutes. Everything else reads the data; ``exported tables`` prints the guide's tables.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd

import tcpcc as tc
from experiments import markdown_tables
from experiments.kernel import record
from experiments.kernel.cases import DELAY, PROCESSING, QUICK_ACKS, RATE, STEP, Case
from experiments.kernel.compare import Sender, sender_of, senders

DATA = File(__file__).parent.parent / "data" / "kernel_exported.json.gz"
WRAPPED = File(__file__).parent / "tcp_cubic.bpf.c"
BUFFER = 40  # packets: 1.2 bandwidth-delay products
DURATION = 60.0  # s

#: The kernel's own congestion controls in the same recording, as the yardstick.
KERNELS = ("reno", "cubic", "bbr")
CUBIC = "kernel:cubic"
EXPORTED: dict[str, dict[str, Any]] = {
    "reno": {},
    # as tcp_cubic.c: its constants and HyStart
    "cubic_2008": {"slow_start": "hystart", "params": {"beta": 717 / 1024, "early_growth": 1 / 20}},
    "cubic": {},
    **{
        name: {}
        for name in (
            "bbr", "vegas", "quick_vegas", "westwood_plus", "westwood_rbe", "hstcp", "areno",
            "fusion", "illinois", "veno", "htcp", "scalable", "yeah", "copa", "abe", "adavegas",
            "africa", "bic", "bic_2004", "card", "cdg", "compound", "cubic_2005", "dctcp", "dual",
            "fast", "ghstcp", "hybla", "ledbat_plus", "newreno", "newvegas", "nv", "prague",
            "tahoe", "tri_s", "vegas_a", "vegas_plus", "westwood", "westwood_abse", "westwood_re",
        )
    },
}  # fmt: skip
"""Controllers that are exported, and their settings."""


def scenario(flow: tc.Flow, duration: float = DURATION, noise: float = PROCESSING) -> tc.Scenario:
    """The path of the recording, with our flow.

    Each packet takes up to `noise` s longer to be sent, and each ACK to come back. Without it all
    RTTs of a full queue are equal, which no host measures: `card` and `vegas_a`, which compare an
    RTT with the one before, then have another window.
    """
    net = tc.dumbbell(RATE, DELAY, BUFFER, access_delay=0.0)
    forward, reverse = net.links
    net = replace(net, links=(forward, replace(reverse, jitter=noise)))
    return tc.Scenario(net, [replace(flow, processing=noise)], duration=duration, interval=STEP)


def flow_of(name: str, kernels: bool = False) -> tc.Flow:
    """A sender of Linux with our controller `name`, or with the kernel's congestion control."""
    transport = {"quick_acks": QUICK_ACKS}
    if kernels:
        return tc.Flow.linux(name, transport=transport)
    settings = EXPORTED.get(name, {})
    return tc.Flow.linux("reno", controller=name, transport=transport, **settings)


@cache
def recorded() -> dict[str, Any]:
    """The data: ``kernel``, its version; ``kernels`` and ``exported``, runs by name as in
    `record.measure`, with ``cost``: nanoseconds per ACK of the congestion control's programs."""
    return record.read(DATA)


def kernel(name: str, kernels: bool = False) -> Sender:
    """The recorded sender."""
    return senders(recorded()["kernels" if kernels else "exported"][name])[0]


@cache
def ours(
    name: str, kernels: bool = False, duration: float = DURATION, noise: float = PROCESSING
) -> Sender:
    """Our sender on the same path."""
    run = tc.simulate(scenario(flow_of(name, kernels), duration, noise), trace=True)
    return sender_of(run, 0)


def table(settled: float = 10.0) -> pd.DataFrame:
    """Mean window (packets) and goodput (Mb/s) after `settled` s, in the kernel and here, their
    ratios, and the cost of an ACK in the kernel (ns)."""
    rows = []
    for kind in ("kernels", "exported"):
        for name, run in recorded()[kind].items():
            linux = kernel(name, kind == "kernels").means(settled)
            simulated = ours(name, kind == "kernels").means(settled)
            rows.append(
                {
                    "control": name,
                    "code": "kernel" if kind == "kernels" else "exported",
                    **{f"{k}_linux": linux[k] for k in ("window", "goodput", "losses")},
                    **{f"{k}_ours": simulated[k] for k in ("window", "goodput", "losses")},
                    "window_ratio": linux["window"] / simulated["window"],
                    "goodput_ratio": linux["goodput"] / simulated["goodput"],
                    "ns_per_ack": run.get("cost", np.nan),
                    "late_mean_ms": run["late_mean"],
                    "late_most_ms": run["late_most"],
                }
            )
    return pd.DataFrame(rows)


def every_controller() -> pd.DataFrame:
    """All controllers: "yes" or why not in C and in BPF, and the cost of an ACK in the kernel (ns),
    NaN without a recording; a recorded one has passed the verifier and was registered."""
    from tcpcc.apps.export import exportable

    rules = exportable()
    costs = {name: run["cost"] for name, run in recorded()["exported"].items()}
    return rules.assign(ns_per_ack=rules["controller"].map(costs))


def refused() -> str:
    """The controllers that C or BPF cannot have, as the guide lists them: without line numbers."""
    controllers: Any = every_controller().itertuples()
    rows = [
        [re.sub(r", line \d+ of \w+\.py", "", x) for x in (f"`{row.controller}`", row.c, row.bpf)]
        for row in controllers
        if row.c != "yes" or row.bpf != "yes"
    ]
    return markdown_tables.table(["controller", "C", "BPF"], rows, words=3)


def markdown() -> str:
    """The table as the guide has it."""
    head = ["controller", "packets, Linux", "packets, ours", "Mb/s, Linux", "Mb/s, ours"]
    rows = []
    controls: Any = table().itertuples()
    for row in controls:
        name = f"{row.control} (kernel's)" if row.code == "kernel" else f"`{row.control}`"
        cost = "" if np.isnan(row.ns_per_ack) else f"{row.ns_per_ack:.0f}"
        windows = [f"{x:.1f}" for x in (row.window_linux, row.window_ours)]
        goodputs = [f"{x:.2f}" for x in (row.goodput_linux, row.goodput_ours)]
        rows.append([name, *windows, *goodputs, cost])
    return markdown_tables.table([*head, "ns per ACK"], rows)


def loaded(name: str) -> AbstractContextManager[str]:
    """A controller of `EXPORTED`, or tcp_cubic behind BPF programs that only call it
    ("kernel:cubic"), is in the kernel during a ``with`` block; gives its name there."""
    from tcpcc.apps.export import loader

    return wrapped() if name == CUBIC else loader.loaded(name, **EXPORTED[name])


@contextmanager
def wrapped() -> Iterator[str]:
    from tcpcc.apps.export import loader

    with tempfile.TemporaryDirectory() as folder:
        source = File(folder) / WRAPPED.name
        source.write_text(WRAPPED.read_text())
        control = loader.install(source, "kernels_cubic")
    try:
        yield control
    finally:
        loader.unload(control)


def main(
    names: Sequence[str] = (), together: int = 2, duration: float = DURATION, tries: int = 4
) -> None:
    """Record senders and write the data.

    Args:
        names: the senders to record anew, "kernel:reno" for the kernel's own; default: all.
        together: recordings at a time, each on a path of its own.
        duration: s.
        tries: recordings of a sender, until no packet was forwarded too late.

    Raises:
        SystemExit: this machine cannot record, or some recordings were late however often tried;
            these are not written.
    """
    from experiments.kernel.path import missing
    from tcpcc.apps.export import loader

    lacks = missing() or loader.missing()
    if lacks:
        raise SystemExit(f"cannot record: {lacks}")
    document: dict[str, Any] = {"kernels": {}, "exported": {}}
    if names:
        document = record.read(DATA)
    document["kernel"] = record.version()
    todo = list(names) or [*(f"kernel:{kernel_name}" for kernel_name in KERNELS), *EXPORTED]
    runs, spent, late = {}, {}, []

    def write() -> None:
        for kind, order in (("kernels", KERNELS), ("exported", EXPORTED)):
            document[kind] = {
                name: document[kind][name] for name in order if name in document[kind]
            }
        record.write(DATA, document)

    with ExitStack() as stack, ProcessPoolExecutor(together) as pool:
        controls = {
            name: stack.enter_context(loaded(name))
            for name in todo
            if name == CUBIC or name in EXPORTED
        }
        for name, control in controls.items():
            spent[name] = stack.enter_context(loader.costs(control))
        for name in todo:
            case = Case((controls.get(name, name.removeprefix("kernel:")),), BUFFER)
            runs[pool.submit(record.record, case, duration, tries)] = name
        for done in as_completed(runs):
            name, run = runs[done], done.result()
            print(f"{name}: late by {run['late_mean']} ms, at most {run['late_most']}", flush=True)
            if record.is_good(run):
                kind = "kernels" if name.startswith("kernel:") else "exported"
                document[kind][name.removeprefix("kernel:")] = run
                write()
            else:
                late.append(name)
    for name, cost in spent.items():
        kind = "kernels" if name == CUBIC else "exported"
        if name not in late:
            document[kind][name.removeprefix("kernel:")]["cost"] = round(cost.per_ack())
    write()
    if late:
        raise SystemExit(f"not recorded, this machine is too busy: {' '.join(late)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["tables"]:
        print(f"{markdown()}\n\n{refused()}")
    else:
        main(sys.argv[1:])
