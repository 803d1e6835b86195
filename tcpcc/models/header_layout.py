"""Header fields of a scenario: which words of a packet's header they have.

The header fields that the controllers of a scenario send get consecutive words. Every packet with
header fields has all words; a flow writes those of its own fields. A bit for each field says
whether a flow sends it, so that a discipline sees only packets that carry all its fields
(`q.words`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.controllers.controller import SAMPLE
from tcpcc.engine.jit import accessor, address, compiled, index_at, number_at, record_dtype
from tcpcc.errors import ScenarioError

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.queues.discipline import Discipline
    from tcpcc.scenario.resolve import ResolvedFlow

MOST_FIELDS = 62  # bits of an integer, without its sign and the bit of a field that nobody sends
UNKNOWN = 1 << MOST_FIELDS  # the bit of such a field

#: A word that a flow sends: its place in the state, in 8 bytes (-1: it is 0), and in the header.
SENT = record_dtype({"place": int, "word": int})
sent_at = accessor(SENT)

IN_SAMPLE = len(SAMPLE)  # place of the first header field in a controller's sample, in 8 bytes


class HeaderLayout:
    """The words of a scenario's header fields.

    Attributes:
        n_words: number of words of a header.
    """

    def __init__(self) -> None:
        self.n_words = 0
        self._fields: dict[str, tuple[int, int, int, str]] = {}  # bit, first word, words, owner
        self._owned: list[np.ndarray] = []  # records have their addresses

    def add(self, flow: ResolvedFlow) -> None:
        """Give words to the header fields of a flow's controller that have none yet.

        Raises:
            ScenarioError: two controllers have a field of one name with different numbers of words,
                or the scenario has more than 62 fields.
        """
        if flow.controller is None:
            return
        owner = f"flow {flow.name!r}: controller {flow.controller.name!r}"
        for name, size in flow.controller.header_sizes.items():
            if name in self._fields:
                self._check(owner, name, size)
                continue
            if len(self._fields) == MOST_FIELDS:
                raise ScenarioError(
                    f"{owner}: header {name!r}: a scenario has at most {MOST_FIELDS} header fields"
                )
            self._fields[name] = 1 << len(self._fields), self.n_words, size, owner
            self.n_words += size

    def _check(self, owner: str, name: str, size: int) -> None:
        _, _, expected, other = self._fields[name]
        if size != expected:
            raise ScenarioError(
                f"{owner}: header {name!r}: {size} words, but {expected} in that of {other}"
            )

    def _words(self, name: str) -> range:
        _, first, size, _ = self._fields[name]
        return range(first, first + size)

    def fill_flow(self, row: Any, controller: Controller) -> None:
        """Write the words that a controller sends into a flow's record."""
        sent, fields = [], controller.state_dtype.fields
        for name, source in controller.header.items():
            first = -1 if isinstance(source, int) else fields[source][1] // 8  # type: ignore[index]
            sent += [
                (first + i if first >= 0 else -1, word) for i, word in enumerate(self._words(name))
            ]
        table = np.array(sent, SENT)
        self._owned.append(table)
        row["fields"], row["n_fields"] = address(table), len(table)
        row["carries"] = sum(self._fields[name][0] for name in controller.header)

    def fill_link(self, row: Any, link: str, discipline: Discipline) -> None:
        """Write the words that a discipline reads into a link's record.

        Raises:
            ScenarioError: a controller has another number of words in a field.
        """
        for name, size in discipline.header.items():
            if name in self._fields:
                self._check(f"link {link!r}: queue {discipline.name!r}", name, size)
        known = all(name in self._fields for name in discipline.header)
        words = [word for name in discipline.header if known for word in self._words(name)]
        table = np.array(words, np.int64)
        self._owned.append(table)
        row["words"], row["n_words"] = address(table), sum(discipline.header.values())
        row["needs"] = sum(self._fields[n][0] for n in discipline.header) if known else UNKNOWN


@compiled
def words_at(w, table, place):
    """Address of the header fields at a place of a table."""
    return table + 8 * w.n_words * place


@compiled
def sees(link, flow):
    """Whether a flow's packets carry all header fields of the link's discipline."""
    return link.n_words > 0 and flow.carries & link.needs == link.needs


@compiled
def send_fields(flow, state, words):
    """Write the header fields of the controller with this `state` at the address `words`."""
    for i in range(flow.n_fields):
        sent = sent_at(flow.fields, i)
        value = number_at(state, sent.place).value if sent.place >= 0 else 0.0
        number_at(words, sent.word).value = value


@compiled
def return_words(flow, sample, words):
    """Write the header fields at the address `words` into a controller's sample."""
    for i in range(flow.n_fields):
        value = number_at(words, sent_at(flow.fields, i).word).value
        number_at(sample, IN_SAMPLE + i).value = value


@compiled
def show_words(link, words):
    """Write the header fields at the address `words` into the sample of a link's discipline."""
    for i in range(link.n_words):
        number_at(link.shown, i).value = number_at(words, index_at(link.words, i).at).value


@compiled
def hide_words(link):
    """Header fields that a packet does not carry are NaN in the discipline's sample."""
    for i in range(link.n_words):
        number_at(link.shown, i).value = math.nan


@compiled
def note_words(link, words):
    """Write the header fields in the sample of a link's discipline to the address `words`."""
    for i in range(link.n_words):
        number_at(words, index_at(link.words, i).at).value = number_at(link.shown, i).value
