"""Characteristic roots of linear delay equations x'(t) = sum over k of A_k x(t - tau_k).

The solutions are sums of exp(s t) v with (s - sum A_k exp(-s tau_k)) v = 0. There are infinitely
many roots s, but only finitely many to the right of any vertical line. The infinitesimal generator
of the solution on [-max tau, 0] is the derivative, with the equation as its boundary condition at
0. Collocation at Chebyshev points turns it into a matrix. The matrix's eigenvalues converge to the
rightmost roots faster than any power of the number of points. Newton's method on the characteristic
equation then refines each root.

Source: D. Breda, S. Maset, R. Vermiglio, "Pseudospectral differencing methods for characteristic
roots of delay differential equations", SIAM J. Sci. Comput. 27(2), 2005; L. N. Trefethen, "Spectral
Methods in MATLAB", 2000, chapter 6 (the differentiation matrix).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

POINTS = 40
POLISH = 8  # at most so many steps of Newton's method


def chebyshev(points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chebyshev nodes from 1 to -1, and the differentiation matrix on them."""
    k = np.arange(points + 1)
    x = np.cos(np.pi * k / points)
    c = np.where((k == 0) | (k == points), 2.0, 1.0) * (-1.0) ** k
    apart = x[:, None] - x[None, :] + np.eye(points + 1)
    d = np.outer(c, 1 / c) / apart
    return x, d - np.diag(d.sum(axis=1))


def interpolation(x: NDArray[np.float64], at: float) -> NDArray[np.float64]:
    """Weights of the values at the Chebyshev nodes `x` in the interpolated value at `at`."""
    near = np.abs(x - at) < 1e-14
    if near.any():
        return near.astype(float)
    weight = (-1.0) ** np.arange(len(x))
    weight[[0, -1]] /= 2
    share = weight / (at - x)
    return share / share.sum()


def characteristic(
    terms: Mapping[float, NDArray[np.float64]], s: complex
) -> NDArray[np.complex128]:
    """The characteristic matrix s - sum A_k exp(-s tau_k), which is singular at a root.

    Args:
        terms: delay tau in s -> matrix A.
        s: complex frequency, in 1/s.
    """
    n = len(next(iter(terms.values())))
    return s * np.eye(n) - sum(a * np.exp(-s * tau) for tau, a in terms.items())


def rightmost_roots(
    terms: Mapping[float, NDArray[np.float64]], count: int = 10, points: int = POINTS
) -> NDArray[np.complex128]:
    """The characteristic roots with the largest real parts, in 1/s, rightmost first.

    Args:
        terms: delay tau in s -> matrix A, all square and of one size.
        count: largest number of roots.
        points: number of collocation points; with more points more roots are accurate.

    Returns:
        complex roots, shape [root].
    """
    n = len(next(iter(terms.values())))
    longest = max(terms)
    if longest == 0:
        roots = np.linalg.eigvals(terms[0.0])
        return roots[np.argsort(-roots.real)][:count].astype(complex)
    x, d = chebyshev(points)
    generator = np.kron(d * 2 / longest, np.eye(n))
    generator[:n] = 0
    for tau, a in terms.items():
        generator[:n] += np.kron(interpolation(x, 1 - 2 * tau / longest), a)
    roots = np.linalg.eigvals(generator)
    roots = roots[np.argsort(-roots.real)][: 2 * count]
    return np.array([polished(terms, s) for s in roots])[:count]


def polished(terms: Mapping[float, NDArray[np.float64]], s: complex) -> complex:
    """Refine a root near `s` by Newton's method on the determinant, with Jacobi's formula."""
    start = s
    n = len(next(iter(terms.values())))
    for _ in range(POLISH):
        matrix = characteristic(terms, s)
        slope = np.eye(n) + sum(tau * a * np.exp(-s * tau) for tau, a in terms.items())
        try:
            step = 1 / np.trace(np.linalg.solve(matrix, slope))
        except np.linalg.LinAlgError:
            return s
        if not np.isfinite(step) or abs(s - step - start) > 0.1 * (1 + abs(start)):
            return start
        s -= step
        if abs(step) < 1e-14 * (1 + abs(s)):
            break
    return s
