"""Runs of the fluid model as pictures: two flows in Chiu and Jain's plane, a map, error and step.

notebooks/fluid.ipynb shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import tcpcc as tc
from experiments import charts
from tcpcc import plots

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

RATE, RTT, BUFFER = 20e6, 0.05, 52
"""bit/s, s, packets: a link that holds 104 packets, and half as many in its buffer."""

PACKET = 1200
PLANE = ("reno", "cubic", "bic", "scalable", "vegas", "fusion", "westwood_re", "compound")
POINTS = 20
"""Points on each axis of the map."""


def two_flows(controller: str, buffer: float = BUFFER, rtt: float = RTT) -> tc.Scenario:
    """A flow of a controller, and another that starts 10 s later."""
    flows = [
        tc.Flow(controller, start=start, recovery="sack", packet_size=PACKET, transport=SENDER)
        for start in (0.0, 10.0)
    ]
    net = tc.dumbbell(RATE, rtt / 2, buffer)
    return tc.Scenario(net, flows, duration=90, interval=0.05)


SENDER = tc.Transport(slow_start_rule=False)


def draw_plane(controllers: Sequence[str] = PLANE) -> Figure:
    """Windows of two flows against each other (D.-M. Chiu, R. Jain 1989), from the second's start.

    On the diagonal shares are fair; on the two falling lines the link is full, and link and buffer
    are full. The trajectory goes from light to dark.
    """
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    full = RATE * RTT / (8 * PACKET)
    with charts.panels(2, 4, sharex=True, sharey=True, height=plots.WIDTH * 0.55) as (figure, axes):
        for k, (ax, name) in enumerate(zip(axes.flat, controllers, strict=True)):
            run = tc.simulate(two_flows(name), model="fluid")
            windows = run.data["cwnd"].sel(time=slice(10, None)).fillna(0).values
            lines = np.stack([windows[:-1], windows[1:]], axis=1)
            colours = plt.get_cmap("Blues")(np.linspace(0.35, 1, len(lines)))
            ax.add_collection(LineCollection(list(lines), colors=colours, lw=0.9))
            ax.plot([0, full + BUFFER], [0, full + BUFFER], color=plots.GREY, lw=0.8)
            for size in (full, full + BUFFER):
                ax.plot([0, size], [size, 0], color=plots.GREY, lw=0.8, ls=plots.DASHES[1])
            ax.set(xlim=(0, 1.15 * (full + BUFFER)), ylim=(0, 1.15 * (full + BUFFER)))
            charts.title(ax, k, name)
        figure.supxlabel("Window of the first flow (packets)", size=9)
        figure.supylabel("Window of the second flow (packets)", size=9)
    return figure


def two_round_trips(controller: str, buffer: float, rtt: float) -> tc.Scenario:
    """Two flows, of which the second has twice the RTT of the first."""
    flows = [
        tc.Flow(
            controller, recovery="sack", packet_size=PACKET, transport=SENDER, jitter=1,
            access_delay=delay,
        )
        for delay in (0.0, rtt / 2)
    ]  # fmt: skip
    return tc.Scenario(tc.dumbbell(RATE, rtt / 2, buffer), flows, duration=60, interval=1)


def mapped(controller: str, points: int = POINTS) -> xr.Dataset:
    """Means after 20 s over a grid of buffers (packets) and base RTTs (s)."""

    def make(buffer: float, base: float) -> tc.Scenario:
        return two_round_trips(controller, buffer, base)

    return tc.sweep(
        make,
        "means",
        model="fluid",
        after=20,
        progress=False,
        buffer=np.geomspace(5, 500, points).round(),
        base=np.geomspace(0.01, 0.2, points),
    )


def draw_map(means: xr.Dataset) -> Figure:
    """Utilization, and the first flow's throughput divided by the second's."""
    from matplotlib.colors import LogNorm

    rates = means["throughput"]
    images = {
        "utilization": means["utilization"].isel(link=0),
        "throughput of the shorter RTT / of the longer": rates.isel(flow=0) / rates.isel(flow=1),
    }
    with charts.panels(1, 2, height=plots.WIDTH * 0.4, sharey=True) as (figure, axes):
        for ax, (title, values), norm in zip(
            axes, images.items(), (None, LogNorm(1 / 8, 8)), strict=True
        ):
            colours = "viridis" if norm is None else "RdBu_r"
            image = ax.pcolormesh(
                values["base"] * 1e3, values["buffer"], values, cmap=colours, norm=norm
            )
            figure.colorbar(image, ax=ax)
            bdp = RATE * values["base"] / (8 * PACKET)
            ax.plot(values["base"] * 1e3, bdp, color="white", ls=plots.DASHES[1])
            ax.set(xscale="log", yscale="log", xlabel="Base RTT (ms)", ylim=(5, 500))
            ax.set_title(title, size=9)
        axes[0].set_ylabel("Buffer (packets)")
    return figure


def errors(controller: str, steps: Sequence[int] = (10, 20, 40, 80)) -> pd.DataFrame:
    """One flow's throughput and mean queue after 30 s, with several steps in the base RTT; packets
    last."""
    import pandas as pd

    scenario = two_flows(controller)
    scenario = scenario.replace(flows=scenario.flows[:1])
    runs = {f"{n} steps": tc.simulate(scenario, model="fluid", steps=n) for n in steps}
    runs["packets"] = tc.simulate(scenario)
    table = {
        name: {
            "throughput, Mb/s": float(run.throughput(after=30)[0]) / 1e6,
            "queue, packets": run.queue_mean(after=30),
            "CPU s": run.data.attrs["cpu_seconds"],
        }
        for name, run in runs.items()
    }
    return pd.DataFrame(table).T
