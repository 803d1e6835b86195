"""What a run will take, told before it begins: packets, steps, seconds, memory.

The numbers are meant to within a factor of three or so, for the decision whether to start. Packets
are at most what the narrowest link of each path lets through; a window is taken to fill its path
and the finite buffers on it. What a user's own rule does to a window cannot be told beforehand;
the packet model refuses a window that memory cannot hold when it comes.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.memory import memory_left
from tcpcc.errors import TcpccError, unknown
from tcpcc.models.bins import FLOW_BIN, LINK_BIN, PART
from tcpcc.models.fluid.automaton import REPRESENTATIVES
from tcpcc.models.fluid.limits import refuse_workloads
from tcpcc.scenario.traffic import CBR, Flow

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow
    from tcpcc.scenario.workload import Workload

LONG = 60.0  # s: a run that takes longer is announced
TOO_LONG = 4 * 3600.0  # s: one that takes longer is refused unless forced

# Measured with `tcpcc bench` on one core of a machine of 2023, CPU s.
PER_PACKET = {"compiled": 2e-7, "simpy": 2.5e-6}
PER_STEP = 1.2e-7  # fluid and meanfield model: one flow, one time step

COPIES = 2.5  # of the series of a run at the moment when its record is put together
PAGES = 2 * 4096  # bytes of each row of a streamed record that are written to at a time
PER_BIN = 24  # bytes of each bin of a streamed record: when it ends
LITTLE = 2**26  # bytes that any machine has free
PER_FLOW = 12_000  # bytes: a flow's objects and records
PER_OUTSTANDING = 250  # bytes: a packet in a window, on a link and in a queue; rings are half full
LEAST = 4  # packets that a flow has outstanding, however many there are
PER_EVENT = 160  # bytes: a packet's events in a trace
PER_TRANSFER = 2e-5  # CPU s: an item of a workload, besides its packets
TRIES = 4  # packets of an item on an overloaded link, most of them dropped
DRAWN = 10_000  # conversations of a workload that an estimate draws
PER_ITEM = 250  # bytes: an item of a workload, as it is drawn, sent and recorded


class ResourceError(TcpccError):
    """A run that would take more than the machine has."""


class LongRun(UserWarning):
    """A run that takes more than a minute."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will take, roughly.

    Attributes:
        model: "packet", "fluid", "hybrid" or "meanfield".
        packets: data packets that are sent (packet model), else 0.
        steps: time steps (fluid and meanfield model), else 0.
        seconds: CPU time, s.
        memory: bytes at the end, when the record is put together.
    """

    model: str
    packets: float
    steps: float
    seconds: float
    memory: float

    def __str__(self) -> str:
        what = f"{self.packets:.2g} packets" if self.packets else f"{self.steps:.2g} steps"
        return f"{what}, {_time(self.seconds)}, {self.memory / 2**30:.2g} GiB"


def _time(seconds: float) -> str:
    for unit, length in (("years", 3.156e7), ("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.2g} s"


def estimate(
    scenario: Scenario,
    model: str = "packet",
    *,
    driver: str = "compiled",
    trace: bool = False,
    step: float | None = None,
    stream: object = None,
) -> Estimate:
    """What `simulate` with the same arguments will take; nothing is simulated.

    Args:
        scenario: what would be simulated.
        model, driver, trace, step, stream: as in `simulate`.

    Raises:
        ScenarioError: an unknown model or driver.

    >>> import tcpcc as tc
    >>> net = tc.dumbbell(rate="10 Gbps", delay="20 ms", buffer=50_000)
    >>> tc.estimate(tc.Scenario(net, [tc.Flow("cubic")], duration=600)).packets
    750000000.0
    """
    if model == "hybrid":
        return _hybrid(scenario, driver, trace, step)
    resolved = scenario.resolve(expand=False)
    n_bins = math.ceil(scenario.duration / scenario.interval - 1e-9)
    recorded = sum(bool(link.record) for link in resolved.links)
    most = {"fluid": REPRESENTATIVES, "meanfield": 1}.get(model, math.inf)  # of so many alike
    counts = [min(_count(flow.spec), most) for flow in resolved.flows]
    flows = sum(counts)
    rows = flows + len(resolved.rows) - len(resolved.flows)
    if model != "meanfield":
        rows -= sum(counts[k] for k in set(range(len(counts))) - set(resolved.recorded))
    series = FLOW_BIN.itemsize * rows + LINK_BIN.itemsize * recorded
    memory = COPIES * n_bins * series
    if stream:
        memory = min(memory, COPIES * PART + PAGES * (rows + recorded) + PER_BIN * n_bins)
    memory += PER_FLOW * flows
    if model == "meanfield":
        steps, history = _meanfield(scenario, step)
        return Estimate(model, 0.0, steps, PER_STEP * steps * (flows + 1), memory + history)
    if model == "fluid":
        refuse_workloads(scenario)
        steps, history = _fluid(scenario, resolved, step)
        return Estimate(model, 0.0, steps, PER_STEP * steps * (flows + 1), memory + history)
    if model != "packet":
        raise unknown("model", model, ("packet", "fluid", "hybrid", "meanfield"))
    if driver not in PER_PACKET:
        raise unknown("driver", driver, PER_PACKET)
    sent, outstanding = _packets(scenario, resolved)
    items, carried = _workloads(scenario, resolved)
    sent += carried
    memory += PER_OUTSTANDING * outstanding + PER_ITEM * items + (PER_EVENT * sent if trace else 0)
    seconds = PER_PACKET[driver] * sent + PER_TRANSFER * items
    return Estimate(model, sent, 0.0, seconds, memory)


def _hybrid(scenario: Scenario, driver: str, trace: bool, step: float | None) -> Estimate:
    """What is in front as packets and what is behind as fluid, together."""
    from tcpcc.models.hybrid.foreground import split

    front, back = split(scenario)
    fluid = estimate(back, "fluid", step=step)
    if driver not in PER_PACKET:
        raise unknown("driver", driver, PER_PACKET)
    sent, outstanding = _packets(scenario, scenario.resolve(expand=False), in_front=True)
    items, carried = _workloads(front, front.resolve(expand=False))
    sent += carried
    memory = PER_OUTSTANDING * outstanding + PER_ITEM * items + (PER_EVENT * sent if trace else 0)
    n_bins = math.ceil(scenario.duration / scenario.interval - 1e-9)
    memory += (COPIES * n_bins * FLOW_BIN.itemsize + PER_FLOW) * len(front.flows)
    return Estimate(
        "hybrid",
        sent,
        fluid.steps,
        PER_PACKET[driver] * sent + PER_TRANSFER * items + fluid.seconds,
        memory + fluid.memory,
    )


def _count(spec: Flow | CBR) -> int:
    return spec.count if isinstance(spec, Flow) else 1


def _meanfield(scenario: Scenario, step: float | None) -> tuple[float, float]:
    """Time steps of the mean field, and the bytes of its history."""
    from tcpcc.models.meanfield.meanfield_world import World

    world = World(scenario, step, bins=False)
    longest = max(plan.base_rtt for plan in world.plans)
    return scenario.duration / world.step, 2 * 8 * world.n_columns * min(
        longest, scenario.duration
    ) / world.step


def _workloads(scenario: Scenario, resolved: Resolved) -> tuple[float, float]:
    """Items of the workloads, and the packets of these that are sent.

    Packets beyond what the narrowest link carries are sent only to open connections and to try
    again, a few for each item. Of a workload of very many conversations only the first are drawn.
    """
    from tcpcc.scenario.draw import drawn

    items = packets = 0.0
    for load in resolved.workloads:
        begin = load.spec.flow.start
        part = _part_to_draw(load.spec, scenario.duration - begin)
        end = begin + part * (scenario.duration - begin)
        found = drawn(load.spec, load.name, scenario.seed, end)
        narrow = min(resolved.links[i].rate for i in load.kinds[0].forward)
        room = narrow * scenario.duration / (8 * load.spec.flow.packet_size)
        of_load = len(found.packets) / part
        items += of_load
        packets += min(float(found.packets.sum()) / part, room + TRIES * of_load)
    return items, packets


def _part_to_draw(workload: Workload, span: float) -> float:
    """The part of `span` s in which about `DRAWN` conversations begin; at most 1."""
    if workload.count is not None or span <= 0:
        return 1.0
    middles = (np.arange(1000) + 0.5) / 1000
    between = float(np.mean(workload.interarrival.quantile(middles)))
    return min(DRAWN * between / span, 1.0)


def _fluid(scenario: Scenario, resolved: Resolved, step: float | None) -> tuple[float, float]:
    """Time steps of the fluid model, and the bytes of its history."""
    from tcpcc.models.fluid.steps import step_length
    from tcpcc.models.layout import find_routes, queueing_links

    kept = queueing_links(resolved)
    plans = find_routes(resolved, kept)
    many = any(_count(flow.spec) > REPRESENTATIVES for flow in resolved.flows)
    length = step_length(resolved, kept, plans, step, many)
    links = [resolved.links[i] for i in kept]
    finite = (link for link in links if math.isfinite(link.buffer) and math.isfinite(link.rate))
    size = max(flow.spec.packet_size for flow in resolved.flows)
    waiting = sum(
        8 * link.buffer * (1 if link.buffer_unit == "bytes" else size) / link.rate
        for link in finite
    )
    longest = max(plan.base_rtt for plan in plans) + waiting
    columns = 2 + 3 * len(kept) + sum((2 + len(plan.links)) * len(plan.flows) for plan in plans)
    held = min(longest, scenario.duration) / length  # rows of the history
    return scenario.duration / length, 2 * 8 * columns * held


def _packets(scenario: Scenario, resolved: Resolved, in_front: bool = False) -> tuple[float, float]:
    """Data packets sent in the whole run, and those that are outstanding at most; of flows
    `in_front` only, beside the others: of a link's packets by the share of what each could send."""
    rates = [link.rate for link in resolved.links]
    for change in resolved.changes:
        if change.spec.rate is not None:
            rates[change.link] = max(rates[change.link], change.spec.rate)
    sent = 0.0
    # By narrowest link: what it carries at most, what all could send and those in front, and of the
    # windows of these: all, the largest, ...
    room: dict[int, float] = {}
    through: dict[int, float] = defaultdict(float)
    front: dict[int, float] = defaultdict(float)
    together: dict[int, list[float]] = {}
    for flow in resolved.flows:
        spec = flow.spec
        narrow = min(flow.forward, key=lambda i: rates[i])
        per_second = rates[narrow] / (8 * spec.packet_size)
        if isinstance(spec, CBR):
            ends = (min(end or math.inf, scenario.duration) for _, end in spec.on)
            on = sum(end - begin for (begin, _), end in zip(spec.on, ends, strict=True))
            sent += on * spec.rate / (8 * spec.packet_size)
            continue
        active = min(spec.stop or math.inf, scenario.duration) - spec.start
        most, window = _one_flow(flow, spec, resolved, per_second, active)
        mine = 0 if in_front and spec.background else spec.count
        windows = together.setdefault(narrow, [0.0, 0.0, 0.0])
        windows[0] += window * mine
        windows[1] = max(windows[1], window if mine else 0.0)
        windows[2] += min(window, max(spec.transport.initial_window, LEAST)) * mine
        if math.isfinite(per_second):
            room[narrow] = per_second * scenario.duration
            through[narrow] += most * spec.count
            front[narrow] += most * mine
        else:
            sent += most * mine
    share = {link: front[link] / most if most > 0 else 0.0 for link, most in through.items()}
    sent += sum(min(most, room[link]) * share[link] for link, most in through.items())
    # ... and what each has at least: flows that share a link's buffer fill it once
    outstanding = sum(
        min(total, largest * (share.get(link, 1.0) if in_front else 1.0) + least)
        for link, (total, largest, least) in together.items()
    )
    return sent, outstanding


def _one_flow(
    flow: ResolvedFlow, spec: Flow, resolved: Resolved, per_second: float, active: float
) -> tuple[float, float]:
    """Packets that a flow with a controller sends in `active` s, and the largest window."""
    forward = [resolved.links[i] for i in flow.forward]
    rtt = sum(resolved.links[i].delay for i in (*flow.forward, *flow.reverse))
    rtt = max(rtt, 1 / per_second, 1e-9)
    size = math.inf if spec.size is None else float(spec.size)
    first, rwnd = spec.transport.initial_window, spec.transport.rwnd
    buffers = sum(
        link.buffer / (spec.packet_size if link.buffer_unit == "bytes" else 1)
        for link in forward
        if math.isfinite(link.buffer)
    )
    window = 2 * (per_second * rtt + buffers)
    kept = math.prod(1 - link.loss for link in forward)
    if kept < 1:  # no longer than some losses are apart
        window = min(window, 4 / math.sqrt(1 - kept) + 0.2 / (1 - kept))
    doublings = active / rtt
    grown = first * 2**doublings if doublings < 1000 else math.inf
    window = min(max(window, first), grown, rwnd, size)
    burst = min(first, rwnd, size)  # is handed over at once, whatever the links let through
    most = max(min(per_second * active, window * active / rtt, grown, size), burst)
    return most, min(window, most)


def check(
    scenario: Scenario,
    model: str,
    driver: str = "compiled",
    trace: object = False,
    step: float | None = None,
    stream: bool = False,
) -> None:
    """Announce a long run; refuse one that the machine cannot do.

    Raises:
        ResourceError: it takes more memory than is free, or more than four hours.
    """
    if model == "packet" and driver == "compiled" and not trace and _is_small(scenario):
        return
    found = estimate(scenario, model, driver=driver, trace=bool(trace), step=step, stream=stream)
    free = memory_left() if found.memory > LITTLE else math.inf
    beyond = [
        *([f"{free / 2**30:.2g} GiB are free"] if not found.memory <= free else []),
        *([f"more than {TOO_LONG / 3600:g} h"] if not found.seconds <= TOO_LONG else []),
    ]
    if beyond:
        raise ResourceError(
            f"the run would take about {found}: {' and '.join(beyond)}; see tc.estimate, or give"
            " force=True (--force)"
        )
    if found.seconds > LONG:
        warnings.warn(f"the run will take about {found}", LongRun, stacklevel=3)


def _is_small(scenario: Scenario) -> bool:
    """Whether a scenario is certainly harmless, told without finding any route."""
    if scenario.workloads or scenario.duration / scenario.interval > 10_000:
        return False
    if sum(_count(flow) for flow in scenario.flows) > 1000:
        return False
    bits = sum(link.rate for link in scenario.net.links)
    bits += sum((c.rate or 0.0) for c in scenario.changes)
    packets = 0.0
    for flow in scenario.flows:
        if isinstance(flow, CBR):
            packets += flow.rate * scenario.duration / (8 * flow.packet_size)
        elif flow.transport.initial_window > 10_000:
            return False
    smallest = min(flow.packet_size for flow in scenario.flows)
    return packets + bits * scenario.duration / (8 * smallest) < LONG / PER_PACKET["compiled"]
