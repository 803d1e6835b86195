"""The contract of a slow-start rule, and its composition with a controller.

A slow-start rule observes a controller's slow start (W < ssthresh). It may slow it down, end it, or
start it with another window:

===========================  =====================================================================
``on_ack(s, p, a, before)``  after the controller's ``on_ack``, for an ACK in slow start; W was
                             `before`. Lower ``s.cwnd``, or set ``s.ssthresh`` to end slow start
``on_round(s, p, a)``        before the controller's ``on_round``
``on_restart(s, p, a)``      before the controller's ``on_loss`` and ``on_timeout``
``on_loss(s, p, a, w, t)``   after the controller's ``on_loss``; W was `w`, ssthresh `t`
``on_start(s, p, a)``        before the controller's ``on_start``: before the first segment
``on_open(s, p, a)``         before the controller's ``on_open``: the SYN is acknowledged and W is
                             the initial window
===========================  =====================================================================

The sample `a` is a controller's. The controller's rules always run, so that they see every ACK of
slow start; if it has a slow start of its own, the rule observes that. The state and parameters of
both share a record. The state may have a `pacing_rate`, and `header` fields as a controller's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from tcpcc.controllers.controller import SAMPLE, WINDOW, Controller, sizes_sent
from tcpcc.definition import Definition, Param, Registry, Rule, State, check_header
from tcpcc.engine.subset import check_rule
from tcpcc.errors import ScenarioError

#: The rules, and how many numbers each is given beside the three records.
_NUMBERS = {
    "on_ack": 1, "on_round": 0, "on_restart": 0, "on_loss": 2, "on_start": 0, "on_open": 0,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class StartUp(Definition):
    """A slow-start rule that works with every controller.

    Args:
        name: unique name.
        summary: one line.
        on_ack: called after the controller's ``on_ack`` in slow start, with the window before it.
        on_round: called before the controller's ``on_round``.
        on_restart: called before the controller's ``on_loss`` and ``on_timeout``.
        on_loss: called after the controller's ``on_loss``, with the window and ssthresh before it.
        on_start: called before the first segment.
        on_open: called when the SYN is acknowledged.
        params: name -> `Param`.
        state: name -> `State`.
        source: paper or RFC.
        header: header fields that packets carry, as in `Controller`.
        record: state variables that a trace shows.
    """

    name: str
    summary: str
    on_ack: Callable[[Any, Any, Any, float], None] | None = None
    on_round: Rule | None = None
    on_restart: Rule | None = None
    on_loss: Callable[[Any, Any, Any, float, float], None] | None = None
    on_start: Rule | None = None
    on_open: Rule | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    state: Mapping[str, State] = field(default_factory=dict)
    source: str = ""
    validate: Callable[[dict[str, float]], str | None] | None = None
    header: Mapping[str, str | int] = field(default_factory=dict)
    record: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_header(self.owner, sizes_sent(self.owner, self.header, self.state), SAMPLE)
        for rule_name, numbers in _NUMBERS.items():
            rule = getattr(self, rule_name)
            if rule is not None:
                records = (*self.records((*SAMPLE, *self.header)), *(None,) * numbers)
                check_rule(f"{self.owner}, {rule_name}", rule, records)

    @property
    def state_dtype(self) -> np.dtype:
        """Record of the state: the window, then the rule's own."""
        private = (v.column(n) for n, v in self.state.items())
        return np.dtype([*((n, np.float64) for n in WINDOW), *private], align=True)


SLOW_STARTS: Registry[StartUp] = Registry("slow start", "tcpcc.slow_starts")
StartUp.registry = SLOW_STARTS

STANDARD = SLOW_STARTS.add(
    StartUp("standard", "the controller's own slow start, unwatched", source="RFC 5681")
)


# Two rules made one. Their names are bound anew for each pair, not closed over: helpers are found
# through a function's globals when it is compiled.


def own(s, p, ack):
    raise NotImplementedError


def watch(s, p, ack, before):
    raise NotImplementedError


def answer(s, p, ack, window, threshold):
    raise NotImplementedError


def first(s, p, ack):
    raise NotImplementedError


def watched(s, p, ack):
    before, slow = s.cwnd, s.cwnd < s.ssthresh
    own(s, p, ack)
    if slow:
        watch(s, p, ack, before)


def answered(s, p, ack):
    window, threshold = s.cwnd, s.ssthresh
    own(s, p, ack)
    answer(s, p, ack, window, threshold)


def both(s, p, ack):
    first(s, p, ack)
    own(s, p, ack)


def _bound(form: Any, rule: Rule, **names: Any) -> Rule:
    """`form` with its names bound to these functions."""
    bound = FunctionType(form.__code__, {**form.__globals__, "own": rule, **names})
    bound.__module__, bound.__qualname__ = form.__module__, rule.__qualname__
    return bound


Own = TypeVar("Own", Rule, Rule | None)


def _before(added: Rule | None, rule: Own) -> Own:
    """`added`, if there is one, then `rule`."""
    if added is None:
        return rule
    return added if rule is None else _bound(both, rule, first=added)


@cache
def composed(controller: Controller, start_up: StartUp) -> Controller:
    """The controller of the same name that starts by that rule; the same one for the same two.

    Raises :class:`~tcpcc.errors.ScenarioError` if both have a parameter or a variable of one name,
    or a header field of one name, and if the controller has ``window="own"``.
    """
    if start_up.name == STANDARD.name:  # in a worker process it is a copy
        return controller
    if controller.window == "own":
        raise ScenarioError(
            f"slow start {start_up.name!r} does not go with controller {controller.name!r}, "
            "which has a start of its own"
        )
    for kind in ("params", "state", "header"):
        existing, added = getattr(controller, kind), getattr(start_up, kind)
        for name in existing:
            if name in added:
                raise ScenarioError(
                    f"slow start {start_up.name!r} does not go with controller "
                    f"{controller.name!r}: {name!r} is in the {kind} of both"
                )
    on_ack, on_loss = controller.on_ack, controller.on_loss
    if start_up.on_ack:
        on_ack = _bound(watched, on_ack, watch=start_up.on_ack)
    if start_up.on_loss:
        on_loss = _bound(answered, on_loss, answer=start_up.on_loss)
    return replace(
        controller,
        on_ack=on_ack,
        on_round=_before(start_up.on_round, controller.on_round),
        on_loss=_before(start_up.on_restart, on_loss),
        on_start=_before(start_up.on_start, controller.on_start),
        on_open=_before(start_up.on_open, controller.on_open),
        on_timeout=_before(start_up.on_restart, controller.on_timeout),
        params={**controller.params, **start_up.params},
        state={**controller.state, **start_up.state},
        header={**controller.header, **start_up.header},
        record=(*controller.record, *start_up.record),
    )
