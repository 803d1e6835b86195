"""Whether a scenario's equilibrium is stable, by how much, and where in its parameters.

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

from tcpcc.models.meanfield.delay_roots import POINTS, rightmost_roots
from tcpcc.models.meanfield.equilibrium import NoEquilibriumError
from tcpcc.models.meanfield.linear import Linear, NotSmoothError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from tcpcc.scenario import Scenario

DECADES = (-5.0, 3.0)  # of frequency, around one over the longest delay
PER_DECADE = 400


@dataclass(frozen=True)
class Stability:
    """The linear mean field of a scenario about its equilibrium.

    Attributes:
        roots: rightmost characteristic roots, 1/s, the rightmost first.
        states: what the linear system moves: windows, controllers' and queues' states, backlogs.
        delays: s, that it has.
        crossover: rad/s, where the loop's gain passes 1 for the last time; nan if it never does.
        phase_margin: degrees by which the loop's phase may still lag there; nan if it never passes.
        gain_margin: factor by which the loop's gain may grow; inf if by any.
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
        """s, of the oscillation that lives longest, or grows fastest; inf if it does not swing."""
        return 2 * math.pi / abs(self.roots[0].imag) if self.roots[0].imag else math.inf

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """rad/s, for plots: decades to both sides of one over the longest delay."""
        return _frequencies(self.linear)

    def loop(self, omega: NDArray[np.float64]) -> NDArray[np.complex128]:
        """The loop's gain at frequencies `omega` in rad/s; see `Linear.loop`."""
        return self.linear.loop(omega)

    def bode(self, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
        """Gain and phase of the loop over frequency; returns the axes."""
        from tcpcc.models.meanfield.stability_plots import bode

        return bode(self, axes)

    def nyquist(self, ax: Axes | None = None) -> Axes:
        """The loop's gain in the complex plane, and -1; returns the axes."""
        from tcpcc.models.meanfield.stability_plots import nyquist

        return nyquist(self, ax)


def stability(
    scenario: Scenario, *, marking: bool = False, count: int = 10, points: int = POINTS
) -> Stability:
    """Whether the mean field of a scenario returns to its equilibrium.

    Args:
        scenario: any mix of controllers, round-trip times and topology whose rules do not switch
            at the equilibrium.
        marking: as in the meanfield model.
        count: how many roots are told, at most.
        points: of the collocation.

    Raises:
        ScenarioError: flows of a finite size, scheduled changes.
        NoEquilibriumError: none was found.
        NotSmoothError: a rule switches at the equilibrium (Vegas): it has no slope there.
    """
    linear = Linear(scenario, marking)
    roots = rightmost_roots(linear.terms, count, points)
    return Stability(roots, tuple(linear.names), tuple(linear.terms), *_margins(linear), linear)


def _frequencies(linear: Linear) -> NDArray[np.float64]:
    longest = max(max(linear.terms), 1e-6)
    low, high = DECADES
    return np.logspace(low, high, int((high - low) * PER_DECADE)) / longest


def _margins(linear: Linear) -> tuple[float, float, float]:
    """Crossover frequency, phase margin and gain margin, from the loop's gain over frequency."""
    from scipy.optimize import brentq

    omega = _frequencies(linear)
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
    gains = [-1 / at(one(lambda x: at(x).imag, int(k))).real for k in turns]
    return crossover, phase, min((g for g in gains if g > 0), default=math.inf)


def stability_map(
    make: Callable[..., Scenario],
    *,
    marking: bool = False,
    **axes: Iterable[Any],
) -> xr.DataArray:
    """Where over a grid of parameters the equilibrium is stable.

    Args:
        make: returns the scenario for one value of each axis, by name.
        marking: as in the meanfield model.
        **axes: values of each axis; two of them make a map.

    Returns:
        the real part of the rightmost root, 1/s, with the axes as dimensions: negative where the
        equilibrium is stable, nan where there is none, or no slope.
    """
    import xarray as xr

    values = {name: list(axis) for name, axis in axes.items()}
    found = []
    for point in itertools.product(*values.values()):
        scenario = make(**dict(zip(values, point, strict=True)))
        try:
            found.append(stability(scenario, marking=marking, count=1).roots[0].real)
        except (NoEquilibriumError, NotSmoothError):
            found.append(math.nan)
    shape = [len(axis) for axis in values.values()]
    return xr.DataArray(
        np.reshape(found, shape),
        coords=values,
        dims=list(values),
        name="rightmost",
        attrs={"long_name": "real part of the rightmost root", "units": "1/s"},
    )
