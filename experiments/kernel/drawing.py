"""Plot of the kernel's windows and ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tcpcc as tc
from experiments.kernel import compare
from experiments.kernel.cases import CASES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def windows(panels: Sequence[tuple[str, int]], until: float, columns: int = 3) -> Figure:
    """Plot the window of a flow in the first run of a case: the kernel in black, ours in colour.

    Args:
        panels: (case, index of the flow) of each panel.
        until: end of the time axis, s.
        columns: number of panels in a row.
    """
    import matplotlib.pyplot as plt

    rows = -(-len(panels) // columns)
    fig, axes = plt.subplots(
        rows,
        columns,
        sharex=True,
        squeeze=False,
        figsize=(13, 2.1 * rows),
        layout="constrained",
        dpi=75,
    )
    for ax, (name, flow) in zip(axes.flat, panels, strict=False):
        controls = CASES[name].controls
        control = controls[flow]
        kernel, simulated = compare.kernel(name)[0][flow], compare.ours(name)[0][flow]
        ax.plot(kernel.time, kernel.cwnd, "k", lw=1, label="Linux")
        ax.plot(simulated.time, simulated.cwnd, color=tc.plots.colour(control), lw=1, label="ours")
        title = name if len(controls) == 1 else f"{control} in: {name}"
        ax.set(title=title, xlim=(0, until), ylim=(0, None), ylabel="packets")
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("s")
    handles, _ = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, ["Linux", "tcpcc (coloured)"], loc="outside lower center", ncols=2)
    return fig
