"""The interface of a loss recovery: parameters, private state, five rules.

=======================  ========================================================================
``on_ack(s, p, f)``      an ACK arrived (`f.now`, `f.ack`, `f.trigger`, `f.low`, `f.high`): record
                         acknowledged and lost packets, and send what the window allows
``on_timeout(s, p, f)``  the retransmission timer expired; `f.next_seq` is back at the first
                         unacknowledged packet and nothing has been sent yet
``resume(s, p, f)``      continue to send, at most `f.burst` packets; None: new data as the window
                         allows
``on_alarm(s, p, f)``    the time that the recovery put into ``recheck_at`` of ``f.delivery`` has
                         come
``on_undo(s, p, f)``     the recovery in progress was spurious (Eifel): packets marked lost and not
                         retransmitted are in the network. Called before phase and window change
=======================  ========================================================================

`s` is the private state, `p` the parameters, `f` the sender (`transport.flow_record`). Rules use
the functions of `output` (sending), `rto` (the timer), `rules` (calls of the controller) and
`classic` (counting duplicate ACKs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcpcc.definition import Definition, Param, Registry, Rule, State
from tcpcc.engine.subset import Fields, check_rule
from tcpcc.errors import refuse
from tcpcc.transport.flow_record import TCP_FLOW

#: Laws of recovery for the fluid model; `tcpcc.models.fluid.fluid_recovery` has them.
LAWS = (
    "sack", "prr", "rack", "partial_acks", "fine_grained", "fine_grained_ns2", "one_hole",
    "one_a_window", "go_back_n",
)  # fmt: skip
RULES = ("on_ack", "on_timeout", "resume", "on_alarm", "on_undo")


@dataclass(frozen=True, eq=False)
class Recovery(Definition):
    """A loss recovery: its rules and properties.

    Args:
        name: unique; a Python identifier, in which hyphens are allowed.
        summary: one line.
        on_ack: called for each ACK.
        on_timeout: called when the retransmission timer has expired; None: no action.
        resume: called to send more packets; None: new data as the window allows.
        on_alarm: called at the time ``f.delivery.recheck_at``; with it, delivered packets are
            recorded segment by segment (:mod:`tcpcc.transport.delivery`).
        on_undo: called when the recovery in progress was spurious; None: no action.
        params: parameters and their values.
        state: private state.
        source: paper or RFC.
        selective: the sender reads which packets the receiver has (SACK).
        stale_rounds: a timeout does not end the round, and a round of one packet resets BaseRTT.
        newest_only: an ACK that covers a retransmission gives an RTT sample if the newest packet
            that it acknowledges was sent once.
        proportional: the window is reduced over the round trip after a loss (RFC 6937).
        coasts: while nothing is missing, ``on_ack`` reads no segment's record but that of `f.ack`,
            and sends by `output.fill` or `output.send_run` (:mod:`tcpcc.models.trains.coasting`).
        law: how it repairs losses, for the fluid model, one of :data:`LAWS`. "": the fluid model
            refuses the recovery.

    The source of each rule is checked when the recovery is created, as for a controller.

    Raises:
        ScenarioError: a rule is invalid; the message is one line with its name and the line of its
            file.
    """

    name: str
    summary: str
    on_ack: Rule
    on_timeout: Rule | None = None
    resume: Rule | None = None
    on_alarm: Rule | None = None
    on_undo: Rule | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    state: Mapping[str, State] = field(default_factory=dict)
    source: str = ""
    selective: bool = False
    stale_rounds: bool = False
    newest_only: bool = False
    proportional: bool = False
    coasts: bool = False
    law: str = ""
    validate: Callable[[dict[str, float]], str | None] | None = None

    def __post_init__(self) -> None:
        if self.law and self.law not in LAWS:
            raise refuse(f"{self.owner}: law", self.law, f"one of {', '.join(LAWS)}")
        fields = frozenset(TCP_FLOW.names or ())
        state, params, _ = self.records(())
        for rule_name, rule in self.rules.items():
            if rule is not None:
                owner = f"{self.owner}, {rule_name}"
                check_rule(owner, rule, (state, params, Fields("sender", fields, fields)))

    @property
    def rules(self) -> dict[str, Rule | None]:
        return {name: getattr(self, name) for name in RULES}

    @property
    def state_dtype(self) -> np.dtype:
        """Record of the private state, in its order."""
        columns = [v.column(name) for name, v in self.state.items()]
        return np.dtype(columns or [("_none", float)], align=True)

    @property
    def initial_state(self) -> tuple[Any, ...]:
        """Initial values of the private state."""
        return tuple(v.start() for v in self.state.values()) or (0.0,)


RECOVERIES: Registry[Recovery] = Registry("recovery", "tcpcc.recoveries")
Recovery.registry = RECOVERIES
