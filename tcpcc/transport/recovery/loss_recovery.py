"""The contract of a loss recovery: parameters, private state, four rules.

=======================  ========================================================================
``on_ack(s, p, f)``      an ACK arrived (`f.now`, `f.ack`, `f.trigger`, `f.low`, `f.high`): notice
                         what is acknowledged and what is lost, and send what may be sent
``on_timeout(s, p, f)``  the retransmission timer expired, `f.next_seq` is back at the first
                         unacknowledged packet and nothing is sent yet
``resume(s, p, f)``      send on, `f.burst` packets at most; None: what the window allows
``on_alarm(s, p, f)``    the time has come that it has put into ``recheck_at`` of ``f.delivery``
=======================  ========================================================================

`s` is the private state, `p` the parameters, `f` the sender (`transport.flow_record`). Rules are
built on the functions of `output` (what is sent), `rto` (the timer), `rules` (what the controller
is told) and `classic` (counting duplicate ACKs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcpcc.definition import Definition, Param, Registry, Rule, State
from tcpcc.engine.subset import Fields, check_rule
from tcpcc.transport.flow_record import FLOW


@dataclass(frozen=True, eq=False)
class Recovery(Definition):
    """A loss recovery: its rules, and what the fluid model needs to know of it.

    Args:
        name: unique, a Python identifier but for hyphens.
        summary: one line.
        on_ack: see above.
        on_timeout: see above; None: nothing is to be done.
        resume: see above.
        on_alarm: see above; with it, what has been delivered is kept segment by segment
            (:mod:`tcpcc.transport.delivery`).
        params: parameters and their values.
        state: private state.
        source: paper or RFC.
        selective: the sender reads which packets the receiver has (SACK).
        stale_rounds: a timeout does not end the round; a round of one packet sets BaseRTT anew
            (both models).
        newest_only: an ACK that covers a retransmission gives a round-trip time, if the newest
            packet that it acknowledges was sent once (packet model).
        fine_timer: duplicate ACKs find a hole that is older than a fine-grained timeout, as Vegas
            has one (fluid model, like all that follows).
        impatient: only the first partial ACK restarts the timer.
        careful: a loss of a window that was cut already is no event of its own.
        keeps_inflation: a window that no later duplicate ACK inflates further stays inflated, and
            a fast retransmit backs off the coarse timer.
        limited_transmit: whether the first duplicate ACKs send new data; None: as the flow's
            setting says.
        proportional: the window comes down over the round trip that follows a loss (RFC 6937).
        repeats: a retransmission that is lost is found without the timer.
        holes_per_round: losses of one window that a round trip repairs.
        holes_at_most: losses of one window that it repairs without a timeout.

    Each rule is read when the recovery is made, as a controller's is.

    Raises:
        ScenarioError: a rule that cannot be meant; one line with its name and the line of its file.
    """

    name: str
    summary: str
    on_ack: Rule
    on_timeout: Rule | None = None
    resume: Rule | None = None
    on_alarm: Rule | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    state: Mapping[str, State] = field(default_factory=dict)
    source: str = ""
    selective: bool = False
    stale_rounds: bool = False
    newest_only: bool = False
    fine_timer: bool = False
    impatient: bool = False
    careful: bool = True
    keeps_inflation: bool = False
    limited_transmit: bool | None = None
    proportional: bool = False
    repeats: bool = False
    holes_per_round: float = 1.0
    holes_at_most: float = float("inf")
    validate: Callable[[dict[str, float]], str | None] | None = None

    def __post_init__(self) -> None:
        fields = frozenset(FLOW.names or ())
        state, params, _ = self.records(())
        for rule_name, rule in self.rules.items():
            if rule is not None:
                owner = f"recovery {self.name!r}, {rule_name}"
                check_rule(owner, rule, (state, params, Fields("sender", fields, fields)))

    @property
    def rules(self) -> dict[str, Rule | None]:
        return {
            "on_ack": self.on_ack,
            "on_timeout": self.on_timeout,
            "resume": self.resume,
            "on_alarm": self.on_alarm,
        }

    @property
    def state_dtype(self) -> np.dtype:
        """Record of the private state, in its order."""
        columns = [v.column(name) for name, v in self.state.items()]
        return np.dtype(columns or [("_none", float)], align=True)

    @property
    def initial_state(self) -> tuple[Any, ...]:
        """Its values at the start."""
        return tuple(v.start() for v in self.state.values()) or (0.0,)


RECOVERIES: Registry[Recovery] = Registry("recovery")
Recovery.registry = RECOVERIES
