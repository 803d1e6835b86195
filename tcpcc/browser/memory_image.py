"""Memory of the packet model as bytes for a WebAssembly module: worlds at the start of a run.

A world's arrays get fixed addresses in the module's memory, the same in all worlds of a page. An
image is the bytes of these arrays, with addresses of this machine replaced. What belongs to one
sender has a place of its own, so that the page can combine senders from several worlds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.machine import rule_at
from tcpcc.models.packet.memory.packet_world import PacketWorld

FIRST = 2**20
"""Address of the first array; the module's constants and its stack are below."""

LINE = 64
"""Bytes; every array begins at a multiple."""

_OWN = ("senders.", "rings.arrays.('segments'", "rings.arrays.('stamps'")
"""Names of arrays that belong to one sender begin with one of these."""

_ROWS = ("flows", "tcp")
"""Arrays with a row for each flow, whose rows belong to the senders."""

FIRST_RULE = 3
"""Place of the first rule in the module's table of functions: after two entries, from 1 on."""


_LEAST = 2**32
"""No rule of this machine is at a lower address."""


class Snapshot:
    """A world's arrays and the pointers between them.

    Args:
        world: a world before its first event.

    Attributes:
        arrays: by name, the path of attributes and keys from the world; only those that a pointer
            leads to.
        own: for each flow, names of the arrays that belong to its sender, in the order of the
            pointers to them.
    """

    def __init__(self, world: PacketWorld) -> None:
        self.world = world
        found = sorted(_arrays(world, "", set()), key=lambda each: each[1].ctypes.data)
        self.arrays = dict(found)
        self._names = list(self.arrays)
        self._begins = np.array([a.ctypes.data for a in self.arrays.values()])
        self._ends = self._begins + np.array([a.nbytes for a in self.arrays.values()])
        reached = self._reached([world.w], "")
        self.arrays = {name: self.arrays[name] for name in ("w", *reached)}
        self.own = [
            self._reached([self.arrays[name][i : i + 1] for name in _ROWS], _OWN)
            for i in range(len(world.flows))
        ]

    def _reached(self, arrays: Sequence[np.ndarray], of: str | tuple[str, ...]) -> list[str]:
        """Names that begin with `of`, of the arrays that pointers in `arrays` lead to; and of those
        that pointers in these lead to."""
        found: dict[str, None] = {}
        waiting = list(arrays)
        while waiting:
            for name in self.pointers(words_of(waiting.pop(0)))[1]:
                if name.startswith(of) and name not in found:
                    found[name] = None
                    waiting.append(self.arrays[name])
        return list(found)

    def pointers(self, words: NDArray[np.int64]) -> tuple[NDArray[Any], list[str], NDArray[Any]]:
        """Places of pointers among `words`, the names of their arrays, the offsets in these."""
        k = np.searchsorted(self._begins, words, side="right") - 1
        places = np.flatnonzero((k >= 0) & (words <= self._ends[k]))
        k = k[places]
        return places, [self._names[j] for j in k], words[places] - self._begins[k]


def words_of(array: np.ndarray) -> NDArray[np.int64]:
    """A copy of an array's memory, as integers."""
    raw = array.tobytes()
    return np.frombuffer(raw + bytes(-len(raw) % 8), np.int64).copy()


def _arrays(value: Any, name: str, seen: set[int]) -> Iterator[tuple[str, np.ndarray]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield name, value
        return
    if isinstance(value, Mapping):
        parts = [(str(key), part) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        parts = [(str(key), part) for key, part in enumerate(value)]
    elif type(value).__module__.startswith("tcpcc.models."):
        parts = list(vars(value).items())
    else:
        return
    for key, part in parts:
        yield from _arrays(part, f"{name}.{key}" if name else key, seen)


@dataclass
class Atlas:
    """Addresses of arrays in the module's memory.

    Args:
        worlds: all worlds of a page.

    Attributes:
        shared: address of each array that does not belong to a sender, by name.
        begins: for each flow, the address of the first array that belongs to its sender.
        end: first address after all arrays.
        rules: place of each rule in the module, by its address here.
    """

    worlds: Sequence[Snapshot]
    shared: dict[str, int] = field(init=False)
    begins: list[int] = field(init=False)
    end: int = field(init=False)
    rules: dict[int, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        sizes: dict[str, int] = {}
        for world in self.worlds:
            for name, array in world.arrays.items():
                if not name.startswith(_OWN):
                    sizes[name] = max(sizes.get(name, 0), array.nbytes)
        self.shared, at = {}, FIRST
        for name in sorted(sizes):
            self.shared[name] = at
            at += _lines(sizes[name])
        self.begins = []
        for i in range(len(self.worlds[0].own)):
            self.begins.append(at)
            at += max(sum(_lines(w.arrays[n].nbytes) for n in w.own[i]) for w in self.worlds)
        self.end = at

    def address_of(self, world: Snapshot, i: int | None = None) -> dict[str, int]:
        """Addresses by name, with those of the arrays of flow `i` in this world."""
        places = dict(self.shared)
        if i is not None:
            at = self.begins[i]
            for name in world.own[i]:
                places[name] = at
                at += _lines(world.arrays[name].nbytes)
        return places

    def shared_image(self, world: Snapshot) -> bytes:
        """Memory from `FIRST` to the first sender's arrays; zeros where a sender's rows are."""
        image = np.zeros(self.begins[0] - FIRST, np.uint8)
        others = set(range(len(world.own))) - set(senders_of(world))
        for name, place in self.shared.items():
            if name not in world.arrays:
                continue
            array, at = world.arrays[name], place - FIRST
            if name not in _ROWS:
                self._write(image, at, world, array, self.shared)
                continue
            for i in others:
                row = at + i * array.itemsize
                self._write(image, row, world, array[i : i + 1], self.shared)
        return image.tobytes()

    def sender_image(self, world: Snapshot, i: int) -> list[tuple[int, bytes]]:
        """Address and bytes of the rows of flow `i`, and of the arrays that belong to it."""
        places = self.address_of(world, i)
        parts = []
        for name in _ROWS:
            array = world.arrays[name]
            image = np.zeros(array.itemsize, np.uint8)
            self._write(image, 0, world, array[i : i + 1], places)
            parts.append((places[name] + i * array.itemsize, image.tobytes()))
        size = sum(_lines(world.arrays[name].nbytes) for name in world.own[i])
        image = np.zeros(size, np.uint8)
        for name in world.own[i]:
            self._write(image, places[name] - self.begins[i], world, world.arrays[name], places)
        return [*parts, (self.begins[i], image.tobytes())]

    def _write(
        self,
        image: NDArray[np.uint8],
        at: int,
        world: Snapshot,
        array: np.ndarray,
        places: Mapping[str, int],
    ) -> None:
        words = words_of(array)
        found, names, offsets = world.pointers(words)
        words[found] = np.array([places[name] for name in names], np.int64) + offsets
        for k in np.flatnonzero(words >= _LEAST):
            address = int(words[k])
            if rule_at(address) is not None:
                words[k] = self.rules.setdefault(address, FIRST_RULE + len(self.rules))
        raw = words.tobytes()[: array.nbytes]
        image[at : at + len(raw)] = np.frombuffer(raw, np.uint8)


def senders_of(world: Snapshot) -> list[int]:
    """Numbers of the flows that have a controller."""
    flows = world.world.resolved.flows
    return [i for i, flow in enumerate(flows) if flow.controller is not None]


def _lines(size: int) -> int:
    return -(-size // LINE) * LINE
