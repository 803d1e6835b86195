"""Progress bars over many simulations, and one bar over several steps of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

FORM = "{desc} {percentage:3.0f}% |{bar}| {elapsed} so far, {remaining} left"
_overall: list[Overall] = []


def bar(
    total: float, progress: bool | None = None, title: str | None = None, **settings: Any
) -> Any:
    """A tqdm bar, or inside `overall` a part of its bar.

    Args:
        total: amount of work.
        progress: show the bar. Default: on a terminal or in a notebook only.
        title: text before the bar.
        settings: of tqdm.
    """
    if _overall and progress is not False:
        return Part(_overall[-1], total)
    return _tqdm(total, progress, desc=title, **settings)


def _tqdm(total: float, progress: bool | None, **settings: Any) -> Any:
    from tqdm import tqdm

    visible = is_watched() if progress is None else progress
    return tqdm(total=total, disable=not visible, dynamic_ncols=True, **settings)


def is_watched() -> bool:
    """Whether a person watches this process, on a terminal or in a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def overall(total: float, progress: bool | None = None) -> Iterator[Overall]:
    """One bar, with the time left, for all bars inside the `with` block.

    Args:
        total: weight of all steps.
        progress: as in `bar`.
    """
    with _tqdm(total, progress, bar_format=FORM, smoothing=0.05, leave=False) as bar:
        _overall.append(Overall(bar))
        try:
            yield _overall[-1]
        finally:
            _overall.pop()


class Overall:
    """A bar over several steps, each of which has bars of its own.

    Args:
        bar: the bar shown.
    """

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._end = 0.0
        self._weights: list[float] = []

    def begin(self, title: str, weights: Sequence[float]) -> None:
        """Begin a step; the step before it is complete.

        Args:
            title: text before the bar.
            weights: weights of the step's bars, in their order.
        """
        self.advance(self._end - self._bar.n)
        self._bar.set_description_str(title)
        self._end += sum(weights)
        self._weights = list(weights)

    def next_weight(self) -> float:
        """Weight of the step's next bar; 0 if it has more bars than weights."""
        return self._weights.pop(0) if self._weights else 0.0

    def advance(self, amount: float) -> None:
        """Advance, at most to the end of the step."""
        self._bar.update(max(min(amount, self._end - self._bar.n), 0.0))


class Part:
    """Stands for a tqdm bar: moves `Overall` by its weight."""

    def __init__(self, above: Overall, total: float) -> None:
        self._above = above
        self._unit = above.next_weight() / total if total else 0.0

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, n: float = 1) -> None:
        self._above.advance(n * self._unit)

    def set_description_str(self, desc: str) -> None:
        """Nothing: the step has a title."""
