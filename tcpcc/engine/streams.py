"""Named streams of random numbers: MRG32k3a, the generator of ns-2 and ns-3.

Every source of randomness in a run (a link's random loss, a RED queue, a flow's start, its
controller, the sizes of a workload) has its own stream, seeded from the scenario's seed and the
stream's name, which contains the name of the link, flow or workload. Nothing else changes a stream.

The default name of a flow or workload contains its number in the scenario. A flow inserted before
it changes this name, and so its random numbers. A flow or workload with a `name` keeps its own.

The recurrence is L'Ecuyer's (Operations Research 47(1), 1999, Figure I), in 64-bit integers: all
products stay below 2**53, so compiled and interpreted code give the same bits.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

M1 = 4294967087
M2 = 4294944443

#: Fields of a record that holds a stream (six integers of state).
STREAM_FIELDS: list[tuple[str, Any]] = [(f"mrg{i}", np.int64) for i in range(6)]


def seed_stream(record: Any, seed: int, name: str) -> None:
    """Initialise the stream fields of `record` for stream `name` of a run with this `seed`."""
    for i, word in enumerate(_first_words(int(seed), name)):
        record[f"mrg{i}"] = word


def seed_streams(records: np.ndarray, seeds: Sequence[int], name: str) -> None:
    """As `seed_stream`, for the records of several runs."""
    words = np.array([_first_words(int(seed), name) for seed in seeds])
    for i in range(words.shape[1]):
        records[f"mrg{i}"] = words[:, i]


@lru_cache(maxsize=4096)
def _first_words(seed: int, name: str) -> tuple[int, ...]:
    words = np.random.SeedSequence([seed, entropy(name)]).generate_state(6, np.uint32).tolist()
    return tuple(1 + word % ((M1 if i < 3 else M2) - 1) for i, word in enumerate(words))


def generator(seed: int, name: str) -> np.random.Generator:
    """Stream `name` of a run with this `seed`, for bulk draws before the run (NumPy's PCG64)."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([int(seed), entropy(name)])))


def entropy(name: str) -> int:
    """The part of a stream's seed that depends on its name, 128 bits."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")


def uniform(s: Any) -> float:
    """The next number of the stream in record `s`: uniform in (0, 1), with 32 bits."""
    a = (1403580 * s.mrg1 - 810728 * s.mrg0) % M1
    s.mrg0 = s.mrg1
    s.mrg1 = s.mrg2
    s.mrg2 = a
    b = (527612 * s.mrg5 - 1370589 * s.mrg3) % M2
    s.mrg3 = s.mrg4
    s.mrg4 = s.mrg5
    s.mrg5 = b
    difference = (a - b) % M1
    if difference == 0:
        difference = M1
    return difference / (M1 + 1.0)


def normal(s: Any) -> float:
    """The next number of the standard normal distribution (Marsaglia's polar method)."""
    r = 0.0
    while not 0 < r < 1:
        a, b = 2 * uniform(s) - 1, 2 * uniform(s) - 1
        r = a * a + b * b
    return a * math.sqrt(-2 * math.log(r) / r)


def jump(s: Any, number: int) -> None:
    """Move to stream `number` of many streams with the same seed."""
    s.mrg0 = 1 + (s.mrg0 + 2654435761 * number) % (M1 - 1)
    s.mrg3 = 1 + (s.mrg3 + 40503 * number) % (M2 - 1)
    for _ in range(8):
        uniform(s)
