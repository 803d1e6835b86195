"""Keys of a paper's runs in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SEED = "seed"


def in_words(key: Any, parts: Sequence[str] = (), seed: bool = True) -> str:
    """A key as text: numbers with the names of their parts, and the seed last.

    Args:
        key: key of a run.
        parts: names of its parts, as in `harness.Item`.
        seed: whether to name the seed.
    """
    at = _seed_at(key, parts)
    names = parts if isinstance(key, tuple) and len(parts) == len(key) else None
    words = []
    for k, part in enumerate(key if isinstance(key, tuple) else (key,)):
        if k != at:
            number = names is not None and isinstance(part, int | float)
            words += [f"{names[k]} {_word(part)}" if number and names else _word(part)]
    text = ", ".join(words)
    if not any(letter.isalpha() for letter in text):
        text = f"parameter value {text}"
    return text if at is None or not seed else f"{text} (seed {key[at]})"


def _seed_at(key: Any, parts: Sequence[str]) -> int | None:
    """Index of the seed; without names, a pair that ends in a whole number ends in a seed."""
    if not isinstance(key, tuple):
        return None
    if parts:
        return list(parts).index(SEED) if SEED in parts else None
    return 1 if len(key) == 2 and type(key[1]) is int else None


def _word(part: Any) -> str:
    if isinstance(part, tuple):
        return ", ".join(_word(element) for element in part)
    return f"{part:g}" if isinstance(part, float) else str(part)
