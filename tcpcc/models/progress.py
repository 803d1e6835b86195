"""An optional progress bar in simulated time."""

from __future__ import annotations

from typing import Any, Self


class Progress:
    """``with Progress(duration, show) as bar: bar.reach(t)``; drawn with tqdm if `show`."""

    def __init__(self, duration: float, show: bool) -> None:
        self._bar: Any = None
        self._at = 0.0
        if show:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=duration, unit="s", unit_scale=True, desc="simulated time")

    def reach(self, time: float) -> None:
        """Move the bar to simulated time `time` (s)."""
        if self._bar is not None:
            self._bar.update(time - self._at)
        self._at = time

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
