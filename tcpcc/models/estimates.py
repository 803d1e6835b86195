"""The estimate of a run's cost, and the parts of it that all models share.

Estimates are accurate to about a factor of three. They assume that a window fills its path and the
finite buffers on it. No estimate can foresee a user's own rule; the packet model refuses a window
that exceeds the memory when the window is reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.models.recorded_fields import FLOW_BIN, LINK_BIN, PART
from tcpcc.scenario.resolve import Senders
from tcpcc.scenario.workload_draws import drawn

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved
    from tcpcc.scenario.workload import Workload

PER_STEP = 5e-8  # CPU s of a flow and a step of fluid: 3e-8 (NewReno, Vegas) to 9e-8 (BBR)

COPIES = 2.5  # of the series of a run at the moment when its record is put together
PAGES = 2 * 4096  # bytes of each row of a streamed record that are written to at a time
PER_BIN = 24  # bytes of each bin of a streamed record, when the bin ends
PER_ITEM = 250  # bytes of a workload's item: drawn, sent and recorded
TRIES = 4  # packets of an item on an overloaded link, most of them dropped
DRAWN = 10_000  # conversations of a workload that an estimate draws
PER_FLOW = 12_000  # bytes: a flow's objects and records
PER_SENDER = 3e-4  # CPU s of a sender before and after the run; measured with 10^4 and 10^5


@dataclass(frozen=True, slots=True)
class Estimate:
    """Approximate cost of a run.

    Attributes:
        model: "packet", "fluid" or "hybrid".
        packets: data packets sent (packet and hybrid model), else 0.
        steps: time steps (fluid model), else 0.
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


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `simulate` that a cost depends on."""

    driver: str = "compiled"
    trace: bool = False
    trains: float = 0.0  # in a round trip; 0: none
    steps: float | None = None
    stream: bool = False
    senders: float = math.inf

    def limits(self, by_default: float = math.inf) -> Senders:
        """The largest number of senders of a flow."""
        number = self.senders if self.senders < math.inf else by_default
        return Senders(number, number)


def sender_counts(resolved: Resolved, senders: Senders) -> list[int]:
    return [senders.of(flow.spec) for flow in resolved.flows]


def record_memory(
    scenario: Scenario,
    resolved: Resolved,
    options: Options,
    senders: Senders,
    all_flows: bool = False,
) -> float:
    """Bytes of a run's record and of its flows.

    Args:
        scenario, resolved: the scenario, and the scenario resolved without expansion.
        options: arguments of `simulate`.
        senders: largest number of senders of a flow.
        all_flows: whether flows with ``record=False`` have series too.
    """
    counts = sender_counts(resolved, senders)
    rows = sum(counts) + len(resolved.rows) - len(resolved.flows)
    if not all_flows:
        rows -= sum(counts[k] for k in set(range(len(counts))) - set(resolved.recorded))
    links = sum(bool(link.record) for link in resolved.links)
    bins = math.ceil(scenario.duration / scenario.interval - 1e-9)
    memory = COPIES * bins * (FLOW_BIN.itemsize * rows + LINK_BIN.itemsize * links)
    if options.stream:
        memory = min(memory, COPIES * PART + PAGES * (rows + links) + PER_BIN * bins)
    return memory + PER_FLOW * sum(counts)


def workloads(scenario: Scenario, resolved: Resolved) -> tuple[float, float]:
    """The number of items of the workloads, and of the packets sent for them.

    Beyond the capacity of the slowest link only a few packets per item are sent: handshakes and
    retransmissions. In a workload of very many conversations only the first are drawn.
    """
    items = packets = 0.0
    for load in resolved.workloads:
        begin = load.spec.flow.start
        part = _part_to_draw(load.spec, scenario.duration - begin)
        end = begin + part * (scenario.duration - begin)
        draws = drawn(load.spec, load.name, scenario.seed, end)
        narrow = min(resolved.links[i].rate for i in load.kinds[0].forward)
        room = narrow * scenario.duration / (8 * load.spec.flow.packet_size)
        of_load = len(draws.packets) / part
        items += of_load
        packets += min(float(draws.packets.sum()) / part, room + TRIES * of_load)
    return items, packets


def _part_to_draw(workload: Workload, span: float) -> float:
    """The fraction of `span` (s) in which about `DRAWN` conversations begin; at most 1."""
    if workload.count is not None or span <= 0:
        return 1.0
    middles = (np.arange(1000) + 0.5) / 1000
    between = float(np.mean(workload.interarrival.quantile(middles)))
    return min(DRAWN * between / span, 1.0)
