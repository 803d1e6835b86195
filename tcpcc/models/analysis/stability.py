"""Stability of a scenario's equilibrium: roots, margins, and maps over parameters.

Sources: C. Hollot, V. Misra, D. Towsley, W. Gong, "A control theoretic analysis of RED", INFOCOM
2001; V. Misra, W. Gong, D. Towsley, SIGCOMM 2000.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import NoEquilibriumError, NotSmoothError
from tcpcc.models.analysis.delay_roots import POINTS, rightmost_roots
from tcpcc.models.analysis.linear import Linear

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from tcpcc.scenario import Scenario

SEEN = 3.0  # largest distance from 0 shown in a Nyquist plot


@dataclass(frozen=True)
class Stability:
    """Stability of the fluid model's smooth limit, linearised about its equilibrium.

    Attributes:
        roots: rightmost characteristic roots in 1/s, rightmost first.
        states: names of the states: windows, states of controllers and queues, backlogs.
        delays: delays of the linear system in s.
        crossover: frequency in rad/s at which the loop gain falls below 1 for the last time; NaN if
            it never does.
        phase_margin: additional phase lag in degrees that the loop tolerates there; NaN if there is
            no crossover.
        gain_margin: factor by which the loop gain may grow; inf if there is no limit.
        linear: the linearised smooth limit.
    """

    roots: NDArray[np.complex128]
    states: tuple[str, ...]
    delays: tuple[float, ...]
    crossover: float
    phase_margin: float
    gain_margin: float
    linear: Linear = field(repr=False)

    @property
    def stable(self) -> bool:
        """Whether every small disturbance dies out."""
        return bool(self.roots[0].real < 0)

    @property
    def period(self) -> float:
        """Period in s of the oscillation that decays slowest or grows fastest; inf if none."""
        return 2 * math.pi / abs(self.roots[0].imag) if self.roots[0].imag else math.inf

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Frequencies for plots in rad/s, some decades around 1 / longest delay."""
        return self.linear.frequencies

    def loop(self, omega: NDArray[np.float64]) -> NDArray[np.complex128]:
        """The complex loop gain at frequencies `omega` in rad/s; see `Linear.loop`."""
        return self.linear.loop(omega)

    def bode(self, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
        """Plot gain and phase of the loop over frequency (Bode plot); returns the axes."""
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots(2, 1, sharex=True, layout="constrained")[1]
        gain, phase = axes
        omega = self.frequencies
        loop = self.loop(omega)
        gain.loglog(omega, np.abs(loop))
        gain.axhline(1, color="0.7", lw=0.8)
        phase.semilogx(omega, np.degrees(np.unwrap(np.angle(loop))))
        phase.axhline(-180, color="0.7", lw=0.8)
        phase.set_ylim(-360, 30)
        phase.set_yticks([-360, -270, -180, -90, 0])
        if np.isfinite(self.crossover):
            for ax in (gain, phase):
                ax.axvline(self.crossover, color="C1", ls="--", lw=0.8)
            phase.set_title(f"phase margin {self.phase_margin:.1f}°", fontsize="medium")
        gain.set_title(f"gain margin {self.gain_margin:.3g}", fontsize="medium")
        gain.set_ylabel("gain")
        phase.set(xlabel="frequency (rad/s)", ylabel="phase (degrees)")
        return gain, phase

    def nyquist(self, ax: Axes | None = None) -> Axes:
        """Plot the loop gain in the complex plane (Nyquist plot), and -1; returns the axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(layout="constrained")[1]
        loop = self.loop(self.frequencies)
        ax.plot(loop.real, loop.imag, label="0 < frequency")
        ax.plot(loop.real, -loop.imag, ls="--", lw=0.8, color="C0")
        ax.plot([-1], [0], "+", color="C3", ms=10)
        angle = np.linspace(0, 2 * np.pi, 200)
        ax.plot(np.cos(angle), np.sin(angle), color="0.8", lw=0.8)
        ax.set(xlim=(-SEEN, SEEN / 2), ylim=(-SEEN / 1.5, SEEN / 1.5), aspect="equal")
        ax.set(xlabel="real part of the loop gain", ylabel="imaginary part")
        return ax


def stability(scenario: Scenario, *, count: int = 10, points: int = POINTS) -> Stability:
    """Linear stability of the equilibrium of the fluid model's smooth limit.

    Args:
        scenario: any mix of controllers, round-trip times and topology whose rules do not switch
            at the equilibrium.
        count: largest number of roots.
        points: number of collocation points.

    Raises:
        ScenarioError: anything that `equilibrium` refuses.
        NoEquilibriumError: no equilibrium was found.
        NotSmoothError: a rule switches at the equilibrium (Vegas), so it has no slope there.
    """
    linear = Linear(scenario)
    roots = rightmost_roots(linear.terms, count, points)
    return Stability(roots, tuple(linear.names), tuple(linear.terms), *_margins(linear), linear)


def _margins(linear: Linear) -> tuple[float, float, float]:
    """Crossover frequency (rad/s), phase margin (degrees) and gain margin of the loop."""
    from scipy.optimize import brentq

    omega = linear.frequencies
    loop = linear.loop(omega)

    def one(f: Callable[[float], float], k: int) -> float:
        return float(brentq(f, omega[k], omega[k + 1], rtol=1e-12))

    def at(x: float) -> complex:
        return complex(linear.loop(np.array([x]))[0])

    size = np.abs(loop)
    passes = np.flatnonzero((size[:-1] >= 1) & (size[1:] < 1))
    crossover, phase = math.nan, math.nan
    if len(passes):
        crossover = one(lambda x: abs(at(x)) - 1, int(passes[-1]))
        phase = math.degrees(np.angle(-at(crossover)))
    turns = np.flatnonzero((loop.imag[:-1] * loop.imag[1:] < 0) & (loop.real[:-1] < 0))
    reals = [at(one(lambda x: at(x).imag, int(k))).real for k in turns]
    return crossover, phase, min((-1 / x for x in reals if x < 0), default=math.inf)


def stability_map(make: Callable[..., Scenario], **axes: Iterable[Any]) -> xr.DataArray:
    """Stability of the equilibrium over a grid of parameters.

    Args:
        make: function that returns the scenario; takes one value of each axis as a keyword.
        **axes: values of each axis; two axes make a map.

    Returns:
        the real part of the rightmost root in 1/s, with the axes as dimensions: negative where the
        equilibrium is stable, NaN where there is no equilibrium or a rule switches at it.
    """
    import xarray as xr

    values = {name: list(axis) for name, axis in axes.items()}
    roots = []
    for point in itertools.product(*values.values()):
        scenario = make(**dict(zip(values, point, strict=True)))
        try:
            roots.append(rightmost_roots(Linear(scenario).terms, 1)[0].real)
        except (NoEquilibriumError, NotSmoothError):
            roots.append(math.nan)
    shape = [len(axis) for axis in values.values()]
    return xr.DataArray(
        np.reshape(roots, shape),
        coords=values,
        dims=list(values),
        name="rightmost",
        attrs={"long_name": "real part of the rightmost root", "units": "1/s"},
    )
