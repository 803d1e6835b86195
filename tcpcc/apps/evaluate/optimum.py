"""A search for the largest value over declared ranges, by Optuna, in parallel batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tcpcc.apps.evaluate.space import Choice, Point, Range
from tcpcc.errors import TcpccError, whole

if TYPE_CHECKING:
    import pandas as pd

BATCH = 16
"""Points that are drawn before the next results are known; independent of the processors."""

Values = Callable[[Sequence[Point]], Sequence[float]]
"""The values of several points."""


class Best(NamedTuple):
    """Result of a search: the best point, its value, and all points with theirs."""

    point: dict[str, Any]
    value: float
    trials: pd.DataFrame


def largest(
    quantities: Mapping[str, Range | Choice], values: Values, trials: int, seed: int, name: str
) -> Best:
    """The point with the largest value, of `trials` points; `name` is the value's in the table.

    The tree-structured Parzen estimator draws `BATCH` points at a time, so that the result is the
    same for any number of processors.

    Raises:
        TcpccError: Optuna is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise TcpccError("a search needs Optuna: pip install 'tcpcc[evaluate]'") from None
    import pandas as pd

    whole("trials", trials, "", low=1)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize")
    while len(study.trials) < trials:
        batch = len(study.trials) // BATCH
        study.sampler = optuna.samplers.TPESampler(
            seed=int(np.random.SeedSequence((seed, batch)).generate_state(1)[0]),
            multivariate=True, constant_liar=True, n_startup_trials=2 * BATCH,
        )  # fmt: skip
        proposals = [study.ask() for _ in range(min(BATCH, trials - len(study.trials)))]
        points = [
            {key: quantity.drawn(trial, key) for key, quantity in quantities.items()}
            for trial in proposals
        ]
        for trial, value in zip(proposals, values(points), strict=True):
            study.tell(trial, value)
    table = pd.DataFrame([{**trial.params, name: trial.value} for trial in study.trials])
    return Best(dict(study.best_params), float(study.best_value), table)
