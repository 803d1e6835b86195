"""What a run will cost, computed before it begins, and a guard against runs that are too large.

Each model estimates its own cost in its module `<model>_cost`.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tcpcc.engine.memory import memory_left
from tcpcc.errors import LongRun, ResourceError, positive, warn
from tcpcc.models.estimates import Estimate, Options
from tcpcc.models.packet.packet_cost import is_short_run
from tcpcc.scenario.spec import require_scenario

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario

LONG = 60.0  # s; longer runs are announced
TOO_LONG = 4 * 3600.0  # s; longer runs are refused unless forced
LITTLE = 2**26  # bytes that any machine has free

COSTS = {  # module with the function cost(scenario, resolved, options), by model
    name: f"tcpcc.models.{name}.{name}_cost" for name in ("packet", "fluid", "hybrid")
}


def estimate(
    scenario: Scenario,
    model: str = "packet",
    *,
    driver: str = "compiled",
    trace: bool = False,
    steps: float | None = None,
    stream: object = None,
    trains: float | None = None,
    senders: float = math.inf,
) -> Estimate:
    """Estimate the cost of `simulate` with the same arguments; nothing is simulated.

    Args:
        scenario: the scenario that would be simulated.
        model, driver, trace, steps, stream, trains, senders: as in `simulate`.

    Returns:
        Packets, steps, CPU seconds and bytes, accurate to about a factor of three.

    Raises:
        ScenarioError: an unknown model or driver, or traffic that the model does not take.

    >>> import tcpcc as tc
    >>> net = tc.dumbbell(rate="10 Gbps", delay="20 ms", buffer=50_000)
    >>> tc.estimate(tc.Scenario(net, [tc.Flow("cubic")], duration=600)).packets
    750000000.0
    """
    from tcpcc.models import check_model

    require_scenario(scenario)
    check_model(model)
    options = Options(
        driver,
        trace,
        0.0 if trains is None else positive("trains", trains),
        None if steps is None else positive("steps", steps),
        bool(stream),
        senders,
    )
    cost = import_module(COSTS[model]).cost
    return cost(scenario, scenario.resolve(expand=False), options)


def check_cost(
    scenario: Scenario,
    model: str,
    driver: str = "compiled",
    trace: object = False,
    stream: bool = False,
    **options: Any,
) -> None:
    """Announce a long run; refuse one that the machine cannot do.

    Raises:
        ResourceError: the run takes more memory than is free, or more than four hours.
    """
    of_packets = model == "packet" and driver == "compiled" and not trace
    if of_packets and is_short_run(scenario, LONG):
        return
    cost = estimate(scenario, model, driver=driver, trace=bool(trace), stream=stream, **options)
    free = memory_left() if cost.memory > LITTLE else math.inf
    beyond = [
        *([f"{free / 2**30:.2g} GiB are free"] if not cost.memory <= free else []),
        *([f"more than {TOO_LONG / 3600:g} h"] if not cost.seconds <= TOO_LONG else []),
    ]
    if beyond:
        raise ResourceError(
            f"the run would take about {cost}: {' and '.join(beyond)}; see tc.estimate, or give"
            " force=True (--force)"
        )
    if cost.seconds > LONG:
        warn(f"the run will take about {cost}", LongRun)
