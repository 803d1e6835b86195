"""Available memory of the machine."""

from __future__ import annotations

import psutil


def memory_left() -> float:
    """Bytes that a process can still allocate without swapping."""
    return float(psutil.virtual_memory().available)
