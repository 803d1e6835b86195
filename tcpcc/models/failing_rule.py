"""Find the rule and the line that caused an arithmetic error.

Compiled code reports that a rule divided by zero, but not where. The rules are plain Python, so
each is run again, interpreted, on the present records; the one that fails shows the line. The
failed call may have changed the window; `window` of the sample replaces it. If no rule fails again,
the error names those that may have been called.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType, FunctionType, SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tcpcc.controllers.controller import Controller
from tcpcc.engine.jit import index_at, record_view
from tcpcc.engine.source import global_names
from tcpcc.errors import RuleError

if TYPE_CHECKING:
    from tcpcc.models.queue_memory import QueueMemory
    from tcpcc.scenario.network import Link


class Suspect(NamedTuple):
    """A rule that may have failed: its owner, the flow or link it ran for, and its records."""

    owner: str
    customer: str
    rule: Callable[..., None]
    records: tuple[Any, ...]


def suspects(
    called: Iterable[tuple[str, Controller | None, Any]],
    links: Sequence[Link],
    queues: Mapping[int, QueueMemory],
) -> Iterator[Suspect]:
    """The rules that may have failed: those of the senders' controllers, then those of all queues.

    Args:
        called: senders as (name, controller, record with the addresses of the sender's records).
        links: links of the network.
        queues: queues by link number.
    """
    for name, controller, row in called:
        if controller is None:
            continue
        dtypes = (controller.state_dtype, controller.params_dtype, controller.sample_dtype)
        addresses = (int(row[field]) for field in ("state", "params", "sample"))
        records = tuple(map(record_view, dtypes, addresses))
        for rule_name, rule in controller.rules.items():
            if rule is not None:
                owner = f"controller {controller.name!r}, {rule_name}"
                yield Suspect(owner, f"flow {name!r}", rule, records)
    for link, queue in queues.items():
        for rule in (queue.rule, queue.timer, queue.departure, queue.select):
            if rule is not None:
                yield Suspect(
                    f"queue {queue.name!r}",
                    f"link {links[link].name!r}",
                    rule,
                    (queue.state[0], queue.params[0], queue.sample[0]),
                )


def blame(error: ArithmeticError, now: float, rules: Iterable[Suspect]) -> RuleError:
    """Return the error to raise in place of `error`, at simulated time `now` (s)."""
    window = isinstance(error, FloatingPointError)
    all_rules = list(rules)
    for suspect in all_rules:
        failure = (_bad_window if window else _failing_line)(suspect)
        if failure is None:
            continue
        line, text = failure
        values = ", ".join(f"{n} = {v:g}" for n, v in _values(suspect))
        return RuleError(
            f"{suspect.owner}, {line}: {text} at t = {now:g} s, {suspect.customer}; {values}"
        )
    return RuleError(
        f"{_named(all_rules, now)}: {error}, at t = {now:g} s; the line is unknown: run again with"
        " the values left by the rule, no line fails"
    )


MOST_NAMED = 4  # customers that a message names


def _named(rules: Sequence[Suspect], now: float) -> str:
    """The owners of the rules that have been called at `now`, each with its customer."""
    recent = [rule for rule in rules if float(rule.records[2]["now"]) == now]
    pairs = dict.fromkeys((rule.owner.partition(",")[0], rule.customer) for rule in recent or rules)
    names = [f"{owner} of {customer}" for owner, customer in pairs]
    more = f" or {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return " or ".join(names[:MOST_NAMED]) + more if names else "a rule"


def _fields(record: Any) -> dict[str, Any]:
    """Copies of the fields of a record."""
    values = ((n, record[n]) for n in record.dtype.names or ())
    return {n: np.array(v) if getattr(v, "shape", ()) else v.item() for n, v in values}


def _plain(record: Any) -> SimpleNamespace:
    """A copy of a record as an ordinary object; `group` is a list of such copies."""
    plain = SimpleNamespace(**_fields(record))
    if getattr(plain, "members", 1) > 1:
        states = [index_at(plain.group, i).at for i in range(plain.members)]
        plain.group = [SimpleNamespace(**_fields(record_view(record.dtype, at))) for at in states]
    return plain


def _values(suspect: Suspect) -> Iterator[tuple[str, float]]:
    """Numbers for the message: the fields of state, parameters and sample that the rule uses, by
    the names that the rule gives them."""
    named = set(_names(suspect.rule))
    for prefix, record in zip(("s", "p", "sample"), suspect.records, strict=True):
        for name in record.dtype.names or ():
            shown = name in named and not name.startswith(("mrg", "_"))
            if shown and not getattr(record[name], "shape", ()):
                yield f"{prefix}.{name}", float(record[name])


def _names(rule: Callable[..., None]) -> Iterator[str]:
    """Names used in a rule's code and in the functions that it calls."""
    waiting, visited = [rule], {rule}
    while waiting:
        function = waiting.pop()
        yield from function.__code__.co_names
        for name, _ in global_names(function.__code__):
            helper = function.__globals__.get(name)
            if isinstance(helper, FunctionType) and helper not in visited:
                visited.add(helper)
                waiting.append(helper)


def _line(file: str, number: int) -> str:
    return f"line {number} of {Path(file).name}"


def _failing_line(suspect: Suspect) -> tuple[str, str] | None:
    """The line at which the rule fails with the present window, or the one before the call."""
    records = [_plain(record) for record in suspect.records]
    if (failure := _fails(suspect.rule, records)) or not hasattr(records[2], "window"):
        return failure
    records = [_plain(record) for record in suspect.records]
    records[0].cwnd = records[2].window
    return _fails(suspect.rule, records)


def _fails(rule: Callable[..., None], records: Sequence[Any]) -> tuple[str, str] | None:
    try:
        rule(*records)
    except ArithmeticError as error:
        last: TracebackType | None = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        assert last is not None
        return _line(last.tb_frame.f_code.co_filename, last.tb_lineno), str(error)
    except Exception:
        return None
    return None


def _bad_window(suspect: Suspect) -> tuple[str, str] | None:
    """The first line of a controller's rule after which the window is invalid."""
    state, params, sample = map(_plain, suspect.records)
    if not hasattr(state, "cwnd") or (text := _wrong(state)) is None:
        return None
    if not 0 < state.cwnd < math.inf:
        state.cwnd = sample.window
    if math.isnan(state.ssthresh):
        state.ssthresh = math.inf
    at: list[tuple[str, int]] = []
    lines: list[tuple[str, int]] = []

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        if at and not lines and _wrong(state):
            lines.append(at[-1])
        at.append((frame.f_code.co_filename, frame.f_lineno))
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        suspect.rule(state, params, sample)
    except Exception:
        pass
    finally:
        sys.settrace(before)
    return (_line(*lines[0]), f"left {text},") if lines else None


def _wrong(state: Any) -> str | None:
    """The invalid window of a state, and what is allowed."""
    if not 0 < state.cwnd < math.inf:
        return f"cwnd = {state.cwnd:g}, not a positive finite number"
    if not state.ssthresh > -math.inf:
        return f"ssthresh = {state.ssthresh:g}, not a number or inf"
    return None
