"""Parameters of which `make test` runs a few; `make long` has the others."""

from collections.abc import Collection, Iterable

import pytest


def some(names: Iterable[str], chosen: Collection[str]) -> list:
    """All `names`; those that are not `chosen` are marked `long`."""
    return [
        name if name in chosen else pytest.param(name, marks=pytest.mark.long) for name in names
    ]
