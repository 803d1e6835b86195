"""Available memory of the machine."""

from __future__ import annotations


def memory_left() -> float:
    """Bytes that a process can still allocate without swapping."""
    import psutil

    return float(psutil.virtual_memory().available)
