"""Copies of the memory of a run: all arrays of its world, with the pointers between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import address

Of = Callable[[np.ndarray], Any]
"""For an array of a world, those of several worlds as one array, shape [world, ...]."""

LINE = 64
"""Bytes; every array of a copy begins at a multiple."""


def alone(array: np.ndarray) -> Any:
    """An array of a single world, shape [1, ...]."""
    return array[None]


class Mould:
    """Makes copies of a world at the start of a run.

    Args:
        world: its arrays consist of words of 8 bytes.
    """

    def __init__(self, world: Any) -> None:
        self.world = world
        owners = {
            id(owner): owner for owner in (_owner(a) for _, a in arrays_of(world)) if owner.nbytes
        }
        self._arrays = sorted(owners.values(), key=lambda array: array.ctypes.data)
        self._begins = np.array([array.ctypes.data for array in self._arrays])
        sizes = np.array([array.nbytes for array in self._arrays])
        ends = np.cumsum(-(-sizes // LINE) * LINE)
        self._places = np.concatenate([[0], ends])  # bytes from the first array to each
        self._words = np.zeros(ends[-1] // 8, np.int64)
        for array, place in zip(self._arrays, self._places // 8, strict=False):
            self._words[place : place + array.nbytes // 8] = array.ravel().view(np.int64)
        k = np.searchsorted(self._begins, self._words, side="right") - 1
        self._pointers = np.flatnonzero((k >= 0) & (self._words <= (self._begins + sizes)[k]))
        k = k[self._pointers]
        self._words[self._pointers] += self._places[k] - self._begins[k]

    @property
    def words(self) -> int:
        """Words of a copy."""
        return len(self._words)

    def copies(self, memory: NDArray[np.int64]) -> Of:
        """Write copies into `memory`, shape [copy, word]."""
        n = len(memory)
        memory[:] = self._words
        size = memory.strides[0]
        memory[:, self._pointers] += (address(memory) + size * np.arange(n))[:, None]

        def of(array: np.ndarray) -> np.ndarray:
            shape, begin = (n, *array.shape), array.ctypes.data
            if not array.nbytes:
                return np.zeros(shape, array.dtype)
            k = np.searchsorted(self._begins, begin, side="right") - 1
            place = int(self._places[k] + begin - self._begins[k])
            strides = size, *array.strides
            return np.ndarray(shape, array.dtype, memory.data, place, strides)

        return of


def _owner(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def arrays_of(
    value: Any, name: str = "", visited: set[int] | None = None
) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays that a world has, each with its name: the path of attributes and keys."""
    visited = set() if visited is None else visited
    if id(value) in visited:
        return
    visited.add(id(value))
    if isinstance(value, np.ndarray):
        yield name, value
        return
    if isinstance(value, Mapping):
        parts = [(str(key), part) for key, part in list(value.items())]  # another thread may add
    elif isinstance(value, list | tuple):
        parts = [(str(key), part) for key, part in enumerate(value)]
    elif type(value).__module__.startswith("tcpcc.models."):
        parts = list(vars(value).items())
    else:
        return
    for key, part in parts:
        yield from arrays_of(part, f"{name}.{key}" if name else key, visited)
