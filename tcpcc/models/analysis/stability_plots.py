"""Plots of a linear stability analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tcpcc.models.analysis.stability import Stability

SEEN = 3.0  # largest distance from 0 shown in a Nyquist plot


def bode(stability: Stability, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
    """Plot gain and phase of the loop over frequency (Bode plot)."""
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(2, 1, sharex=True, layout="constrained")[1]
    gain, phase = axes
    omega = stability.frequencies
    loop = stability.loop(omega)
    gain.loglog(omega, np.abs(loop))
    gain.axhline(1, color="0.7", lw=0.8)
    phase.semilogx(omega, np.degrees(np.unwrap(np.angle(loop))))
    phase.axhline(-180, color="0.7", lw=0.8)
    phase.set_ylim(-360, 30)
    phase.set_yticks([-360, -270, -180, -90, 0])
    if np.isfinite(stability.crossover):
        for ax in (gain, phase):
            ax.axvline(stability.crossover, color="C1", ls="--", lw=0.8)
        phase.set_title(f"phase margin {stability.phase_margin:.1f}°", fontsize="medium")
    gain.set_title(f"gain margin {stability.gain_margin:.3g}", fontsize="medium")
    gain.set_ylabel("gain")
    phase.set_ylabel("phase (degrees)")
    phase.set_xlabel("frequency (rad/s)")
    return gain, phase


def nyquist(stability: Stability, ax: Axes | None = None) -> Axes:
    """Plot the loop gain in the complex plane (Nyquist plot), with the point -1."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1]
    loop = stability.loop(stability.frequencies)
    ax.plot(loop.real, loop.imag, label="0 < frequency")
    ax.plot(loop.real, -loop.imag, ls="--", lw=0.8, color="C0")
    ax.plot([-1], [0], "+", color="C3", ms=10)
    angle = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(angle), np.sin(angle), color="0.8", lw=0.8)
    ax.set_xlim(-SEEN, SEEN / 2)
    ax.set_ylim(-SEEN / 1.5, SEEN / 1.5)
    ax.set_aspect("equal")
    ax.set_xlabel("real part of the loop gain")
    ax.set_ylabel("imaginary part")
    return ax
