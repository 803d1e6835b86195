"""Many scenarios in one go: worlds are laid out in Python while threads integrate earlier ones.

The mean field draws no random numbers, unless a rule of a controller or a queue discipline does.
So of scenarios that differ only in their seed, just one is integrated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.models.controller_memory import ControllerMemory
from tcpcc.models.meanfield.meanfield_world import MeanFieldWorld
from tcpcc.results.recording import Means
from tcpcc.scenario.spec import require_scenario

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

GROUP = 16  # worlds that a thread runs in one call, while Python lays out the next ones


def run_many(worlds: Sequence[MeanFieldWorld]) -> None:
    """Start and run worlds to their ends in one call that releases the interpreter lock."""
    from tcpcc.models.meanfield.heun import run_worlds

    addresses = np.array([address(world.w) for world in worlds], np.int64)
    try:
        stopped = run_worlds(address(addresses), len(addresses))
    except ArithmeticError:
        stopped = True
    if stopped:
        for world in worlds:
            world.run(world.end)  # worlds that stopped: history too short, or failed


class _Integral:
    """The time averages of a scenario once they are computed; until then, its world."""

    def __init__(self, world: MeanFieldWorld) -> None:
        self.resolved = world.resolved
        self.world: MeanFieldWorld | None = world
        self.done: Future[None] | None = None
        self._means: Means | None = None

    @property
    def ended(self) -> bool:
        return self.done is not None and self.done.done()

    def means(self) -> Means:
        """The time averages; waits for them if necessary."""
        if self._means is None:
            assert self.world is not None
            assert self.done is not None
            self.done.result()
            self._means, self.world = self.world.means(), None
        return self._means


def run_all(
    scenarios: Iterable[Scenario],
    step: float | None,
    after: float,
    pool: ThreadPoolExecutor,
    workers: int,
) -> Iterator[tuple[Means, Resolved]]:
    """Yield the time averages of each scenario in order; arguments as for `tcpcc.batch`."""
    memory = ControllerMemory()
    known: dict[Any, _Integral] = {}
    waiting: list[_Integral] = []
    asked: deque[_Integral] = deque()

    def send(size: int) -> None:
        for k in range(0, len(waiting), size):
            group = waiting[k : k + size]
            done = pool.submit(run_many, [one.world for one in group if one.world])
            for one in group:
                one.done = done
        waiting.clear()

    for scenario in scenarios:
        require_scenario(scenario)
        resolved = scenario.resolve(expand=False)
        what = _what_counts(scenario, resolved)
        if what not in known:
            world = MeanFieldWorld(
                scenario, step, after, bins=False, controllers=memory, resolved=resolved
            )
            known[what] = _Integral(world)
            waiting.append(known[what])
            if len(waiting) == GROUP:
                send(GROUP)
        asked.append(known[what])
        while asked and asked[0].ended:
            one = asked.popleft()
            yield one.means(), one.resolved
    send(max(-(-len(waiting) // workers), 1))
    for one in asked:
        yield one.means(), one.resolved


def _what_counts(scenario: Scenario, resolved: Resolved) -> tuple[Any, ...]:
    """Everything on which a mean field depends; the seed only where a queue may draw numbers."""
    controllers = tuple(flow.controller for flow in resolved.flows)
    queues = tuple(link.queue.discipline for link in resolved.links)
    draws = any(queue.on_fluid is not None for queue in queues)
    return scenario if draws else scenario._with(seed=0), controllers, queues
