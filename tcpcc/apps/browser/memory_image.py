"""Memory of a model as bytes for a WebAssembly module: worlds at the start of a run.

A world's arrays get fixed addresses in the module's memory, the same in all worlds of a page. An
image is the bytes of these arrays, with addresses of this machine replaced. What belongs to one
sender has a place of its own, so that the page can combine senders from several worlds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.machine import rule_addresses
from tcpcc.engine.wasm import RULES
from tcpcc.models.memory_copies import LINE, arrays_of

FIRST = 2**20
"""Address of the first array; the module's constants and its stack are below."""


@dataclass(frozen=True)
class Rooms:
    """How the arrays of a model's world are divided.

    Attributes:
        own: beginnings of the names of arrays that belong to one flow if its row leads to them.
        rows: arrays with a row for each flow; the rows belong to the senders.
        later: names of arrays that the page makes; pointers to them are 0.
    """

    own: tuple[str, ...]
    rows: tuple[str, ...]
    later: re.Pattern[str] = re.compile("(?!)")  # none


PACKETS = Rooms(
    own=("senders.", "rings.arrays.('segments'", "rings.arrays.('stamps'"), rows=("flows", "tcp")
)
FLUID = Rooms(
    own=("controllers.", "owned."),
    rows=("flows",),
    later=re.compile(r"tables\.|histories\.|changes$|packet_links\.\d+\.(pool|words)$"),
)


class Snapshot:
    """A world's arrays and the pointers between them.

    Args:
        world: a `PacketWorld` or a `FluidWorld` at the start of a run.
        rooms: those of its model.

    Attributes:
        arrays: by name, the path of attributes and keys from the world; only those that a pointer
            leads to.
        own: for each flow, names of the arrays that belong to its sender, in the order of the
            pointers to them.
    """

    def __init__(self, world: Any, rooms: Rooms = PACKETS) -> None:
        self.world, self.rooms = world, rooms
        # an empty array may begin where another one does: a pointer there leads to the other one
        arrays = sorted(arrays_of(world), key=lambda x: (x[1].ctypes.data, x[1].nbytes))
        self.arrays = dict(arrays)
        self._names = list(self.arrays)
        self._begins = np.array([a.ctypes.data for a in self.arrays.values()])
        self._ends = self._begins + np.array([a.nbytes for a in self.arrays.values()])
        reached = self._reached([world.w], "")
        self.arrays = {name: self.arrays[name] for name in ("w", *reached)}
        self.own = []
        senders = senders_of(self)
        for i in range(len(world.flows)):
            names = self._reached([self.arrays[name][i : i + 1] for name in rooms.rows], rooms.own)
            self.own.append(names if i in senders else [])
            if i not in senders:
                new = {name: f"flow {i}: {k}" for k, name in enumerate(names)}  # in all worlds
                self._names = [new.get(name, name) for name in self._names]
                self.arrays = {new.get(name, name): array for name, array in self.arrays.items()}

    def _reached(self, arrays: Sequence[np.ndarray], of: str | tuple[str, ...]) -> list[str]:
        """Names that begin with `of`, of the arrays that pointers in `arrays` lead to; and of those
        that pointers in these lead to."""
        names: dict[str, None] = {}
        waiting = list(arrays)
        while waiting:
            for name in self.pointers(words_of(waiting.pop(0)))[1]:
                if name.startswith(of) and name not in names and not self.rooms.later.match(name):
                    names[name] = None
                    waiting.append(self.arrays[name])
        return list(names)

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


class Atlas:
    """Addresses of arrays in the module's memory.

    Args:
        worlds: all worlds of one model in a page.
        rules: place in the table of functions of each rule, by its address here; rules of the
            images are added.

    Attributes:
        shared: address of each array that does not belong to a sender, by name.
        begins: for each flow, the address of the first array that belongs to its sender.
        end: first address after all arrays.
    """

    def __init__(self, worlds: Sequence[Snapshot], rules: dict[int, int]) -> None:
        self.rules = rules
        sizes: dict[str, int] = {}
        for world in worlds:
            of_senders = {name for names in world.own for name in names}
            for name, array in world.arrays.items():
                if name not in of_senders:
                    sizes[name] = max(sizes.get(name, 0), array.nbytes)
        self.shared: dict[str, int] = {}
        at = FIRST
        for name in sorted(sizes):
            self.shared[name] = at
            at += _lines(sizes[name])
        self.begins: list[int] = []
        for i in range(len(worlds[0].own)):
            self.begins.append(at)
            at += max(sum(_lines(w.arrays[n].nbytes) for n in w.own[i]) for w in worlds)
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
        for at, array in self._pieces(world):
            self._write(image, at - FIRST, world, array, self.shared)
        return image.tobytes()

    def sender_image(self, world: Snapshot, i: int) -> list[tuple[int, bytes]]:
        """Address and bytes of the rows of flow `i`, and of the arrays that belong to it."""
        places = self.address_of(world, i)
        pieces = list(self._pieces(world, i))
        parts = []
        for at, row in pieces[: len(world.rooms.rows)]:
            image = np.zeros(row.itemsize, np.uint8)
            self._write(image, 0, world, row, places)
            parts.append((at, image.tobytes()))
        size = sum(_lines(world.arrays[name].nbytes) for name in world.own[i])
        image = np.zeros(size, np.uint8)
        for at, array in pieces[len(world.rooms.rows) :]:
            self._write(image, at - self.begins[i], world, array, places)
        return [*parts, (self.begins[i], image.tobytes())]

    def later(self, world: Snapshot, i: int | None = None) -> dict[str, list[tuple[int, int]]]:
        """Pointers to arrays that the page makes, of flow `i`, or those that belong to no sender:
        by name of the array, the addresses of the pointers and the offsets that they lead to."""
        pointers: dict[str, list[tuple[int, int]]] = {}
        for at, array in self._pieces(world, i):
            for k, name, offset in zip(*world.pointers(words_of(array)), strict=True):
                if world.rooms.later.match(name):
                    pointers.setdefault(name, []).append((at + 8 * int(k), int(offset)))
        return pointers

    def _pieces(self, world: Snapshot, i: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Addresses and arrays: rows of flow `i` and what belongs to it, or all else."""
        places, rows = self.address_of(world, i), world.rooms.rows
        others = set(range(len(world.own))) - set(senders_of(world))
        for name in rows:
            array = world.arrays[name]
            for k in others if i is None else [i]:
                yield places[name] + k * array.itemsize, array[k : k + 1]
        for name in self.shared if i is None else world.own[i]:
            if name in world.arrays and name not in rows:
                yield places[name], world.arrays[name]

    def _write(
        self,
        image: NDArray[np.uint8],
        at: int,
        world: Snapshot,
        array: np.ndarray,
        places: Mapping[str, int],
    ) -> None:
        words = words_of(array)
        indices, names, offsets = world.pointers(words)
        is_later = np.array([bool(world.rooms.later.match(name)) for name in names], bool)
        words[indices] = np.array([places.get(name, 0) for name in names], np.int64) + offsets
        words[indices[is_later]] = 0
        addresses = np.sort(rule_addresses())
        nearest = addresses.take(np.searchsorted(addresses, words), mode="clip")
        for k in np.flatnonzero(words == nearest):
            words[k] = self.rules.setdefault(int(words[k]), RULES.first + len(self.rules))
        raw = words.tobytes()[: array.nbytes]
        image[at : at + len(raw)] = np.frombuffer(raw, np.uint8)


def senders_of(world: Snapshot) -> list[int]:
    """Numbers of the flows that have a controller."""
    flows = world.world.resolved.flows
    return [i for i, flow in enumerate(flows) if flow.is_tcp]


def _lines(size: int) -> int:
    return -(-size // LINE) * LINE
