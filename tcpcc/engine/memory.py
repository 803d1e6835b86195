"""What memory the machine has left."""

from __future__ import annotations

import psutil


def memory_left() -> float:
    """Bytes that a process can still take without swapping."""
    return float(psutil.virtual_memory().available)
