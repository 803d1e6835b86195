"""Named streams of random numbers: MRG32k3a, the generator of ns-2 and ns-3.

Every use of chance in a run (a link's random loss, a RED queue, the draw of a loss's victim) has a
stream of its own, seeded from the scenario's seed and the stream's name. Adding a flow or a link
therefore does not change the numbers that another one sees.

The recurrence is L'Ecuyer's (Operations Research 47(1), 1999, Figure I), in 64-bit integers: all
products stay below 2**53, so it gives the same bits compiled and interpreted.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

M1 = 4294967087
M2 = 4294944443

#: Fields that a record needs to carry a stream (six integers of state).
STREAM_FIELDS: list[tuple[str, Any]] = [(f"mrg{i}", np.int64) for i in range(6)]


def seed_stream(record: Any, seed: int, name: str) -> None:
    """Put the stream `name` of the run seeded with `seed` into the fields of `record`."""
    words = np.random.SeedSequence([int(seed), _entropy(name)]).generate_state(6, np.uint32)
    for i, word in enumerate(words):
        record[f"mrg{i}"] = 1 + int(word) % ((M1 if i < 3 else M2) - 1)


def generator(seed: int, name: str) -> np.random.Generator:
    """The stream `name` of the run seeded with `seed` for what is drawn before the run, in bulk."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([int(seed), _entropy(name)])))


def _entropy(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")


def uniform(s: Any) -> float:
    """The next number in (0, 1) of the stream in record `s` (uniform to 32 bits)."""
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


def jump(s: Any, number: int) -> None:
    """Go over to the stream of one of many (their `number`) that were seeded alike."""
    s.mrg0 = 1 + (s.mrg0 + 2654435761 * number) % (M1 - 1)
    s.mrg3 = 1 + (s.mrg3 + 40503 * number) % (M2 - 1)
    for _ in range(8):
        uniform(s)
