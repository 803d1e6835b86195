"""The memory of a link's queue discipline, the same in every model.

A link's record has the fields :data:`QUEUE_FIELDS`. :func:`apply_discipline` calls a rule of the
discipline and notes the recorded state variables (`notes`): their values after the last call in
each bin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import (
    accessor,
    address,
    call_rule,
    compiled,
    number_at,
    record_dtype,
    rule_address,
)
from tcpcc.engine.streams import seed_streams
from tcpcc.errors import TcpccError
from tcpcc.models.header_layout import hide_words
from tcpcc.models.memory_copies import Of, alone
from tcpcc.models.notes import NOTE_FIELDS, Notes, joined_notes, note_state
from tcpcc.queues.discipline import Discipline, Rule, sample_dtype

if TYPE_CHECKING:
    from tcpcc.engine.scratch import Scratch
    from tcpcc.scenario.network import Link

#: Fields of a link's record. Addresses of the rules on arrival, for the timer, at departures and
#: for the choice of an inner queue (0: no such rule), of their three records, and of the arrays
#: over inner queues at the end of the sample. Of recorded state variables, see `notes`. Of header
#: fields, see `header_layout`.
QUEUE_FIELDS: list[tuple[str, type]] = [
    ("rule", int), ("timer", int), ("departure", int), ("select", int),
    ("state", int), ("params", int), ("sample", int), ("each", int),
    *NOTE_FIELDS.items(),
    ("n_words", int), ("words", int), ("shown", int), ("needs", int),
]  # fmt: skip

#: An inner queue of a link: places of its packets in a pool; place 0 means no packet.
INNER = record_dtype({"first": int, "last": int, "count": int, "bytes": float})

queue_sample_at = accessor(sample_dtype)
inner_at = accessor(INNER)


@compiled
def apply_discipline(link, rule, b):
    """Call a rule of the link's discipline in bin `b`; -1: outside the bins."""
    call_rule(rule, link.state, link.params, link.sample)
    note_state(link, link.state, b)


@compiled
def choose_inner(link, q, now, b):
    """Let the discipline choose the inner queue to serve next, or a time to wait for."""
    q.now = q.not_before = now
    q.inner = 0.0
    apply_discipline(link, link.select, b)
    if math.isnan(q.not_before):
        raise FloatingPointError("on_select set q.not_before to NaN")


@compiled
def inner_of(owner, number):
    """Inner queue `number` of a record with the fields `inner` and `n_inner`."""
    if number < 0 or number >= owner.n_inner:
        raise FloatingPointError("a queue discipline set q.inner to a queue that does not exist")
    return inner_at(owner.inner, number)


@compiled
def show_inner(link, n, number, inner, arrived, size):
    """Copy the state of one of `n` inner queues into the sample: the fields of `EACH`, in order.

    Its first packet has `arrived` then and has this `size`; both are NaN without one.
    """
    number_at(link.each, number).value = inner.count
    number_at(link.each, n + number).value = inner.bytes
    number_at(link.each, 2 * n + number).value = arrived
    number_at(link.each, 3 * n + number).value = size


@compiled
def clear_verdict(q):
    """Before a packet arrives: it goes into the first inner queue and pushes nothing out."""
    q.inner = 0.0
    q.evict = -1.0
    q.evictions = 1.0
    clear_departure(q)


@compiled
def clear_departure(q):
    """The fields of a packet that leaves its queue are NaN."""
    q.sojourn = q.again = q.evicted = q.inner_queue = q.inner_bytes = math.nan


@compiled
def clear_packet(link, q):
    """The fields of a packet are NaN where there is none."""
    q.size = q.arrivals = q.full = q.flow = q.traffic_class = q.ecn = q.ect = q.words = math.nan
    q.idle = math.nan
    hide_words(link)
    clear_departure(q)


@compiled
def run_timer(link, now):
    """Call the link's timer rule, which is due; return the next due time."""
    q = queue_sample_at(link.sample, 0)
    q.now = now
    call_rule(link.timer, link.state, link.params, link.sample)
    if not q.wake > now:
        raise FloatingPointError("on_interval left a q.wake that is not later than q.now")
    return q.wake


class QueueMemory:
    """The arrays that a link's :data:`QUEUE_FIELDS` point to; they must live as long as the record.

    Args:
        link: the link of the queue.
        rule: ``on_arrival`` or ``on_fluid`` of the discipline; None if it has no such rule.
        seed: seed of the scenario.
        n_bins: number of recording bins.
        scratch: if given, recorded values are kept on disk.
    """

    def __init__(
        self,
        link: Link,
        rule: Rule | None,
        seed: int,
        n_bins: int,
        scratch: Scratch | None = None,
    ) -> None:
        discipline: Discipline = link.queue.discipline
        self.name, self.rule, self.timer = discipline.name, rule, discipline.on_interval
        self.departure, self.select = discipline.on_departure, discipline.on_select
        self._n_words = sum(discipline.header.values())
        self.state = np.zeros(1, discipline.state_dtype)
        for name, variable in discipline.state.items():
            self.state[name] = variable.initial
        self.params = np.zeros(1, discipline.params_dtype)
        self.sample = discipline.blank_sample()
        self.sample["waiting"] = self.sample["waiting_bytes"] = 0.0  # in all inner queues
        self.write_numbers([link], [seed])
        names = discipline.record if link.record else ()
        self.notes = Notes(names, discipline.state_dtype, n_bins, scratch)

    def write_numbers(self, links: Sequence[Link], seeds: Sequence[int], of: Of = alone) -> None:
        """Write the parameters and random streams of one link of several worlds.

        Args:
            links: the link in the scenario of each world; alike but for its numbers.
            seeds: seeds of these scenarios.
            of: see `memory_copies`.
        """
        seed_streams(of(self.state)[:, 0], seeds, f"link {links[0].name}: queue")
        check = links[0].queue.discipline.check
        params = [tuple(check(dict(link.queue.params)).values()) or (0.0,) for link in links]
        of(self.params)[:, 0] = params
        sample = of(self.sample)[:, 0]
        sample["rate"] = [link.rate for link in links]
        sample["delay"] = [link.delay for link in links]

    def fill(self, row: Any) -> None:
        """Write the addresses into a link's record."""
        dtypes = (self.state.dtype, self.params.dtype, self.sample.dtype)
        try:
            for name in ("rule", "timer", "departure", "select"):
                row[name] = rule_address(getattr(self, name), *dtypes)
        except TypeError as error:
            raise TcpccError(f"queue {self.name!r}: {error}") from None
        for name in ("state", "params", "sample"):
            row[name] = address(getattr(self, name))
        row["each"] = row["sample"] + sample_dtype.itemsize
        row["shown"] = row["sample"] + self.sample.itemsize - 8 * self._n_words
        self.notes.fill(row)


def recorded_states(
    links: Sequence[Link], memories: Mapping[int, QueueMemory], bins: slice
) -> dict[str, np.ndarray]:
    """The recorded state variables of the queue disciplines, by name; shape [time, recorded link].

    NaN where a link's discipline has no such variable.

    Args:
        links: all links of the network.
        memories: queue memories by link index.
        bins: the recording bins to return.
    """
    recorded = [i for i, link in enumerate(links) if link.record]
    names = [links[i].queue.discipline.record for i in recorded]
    notes = {k: memories[i].notes for k, i in enumerate(recorded) if i in memories}
    return joined_notes(names, notes, bins)
