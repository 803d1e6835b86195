"""The memory of the flows' loss recoveries, and of what they and others ask about deliveries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, rule_address
from tcpcc.models.controller_memory import place_of
from tcpcc.transport import flow_record as t
from tcpcc.transport.recovery import RECOVERIES, Recovery

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import ResolvedFlow


class RecoveryMemory:
    """The records of all flows' recoveries; they must live as long as the flows' records.

    Attributes:
        states: the recoveries' private states, in the order of the calls of `fill`.
    """

    def __init__(self) -> None:
        self.states: list[np.ndarray] = []
        self._params: list[np.ndarray] = []
        self._rules: dict[str, dict[str, int]] = {}  # addresses, by recovery

    def fill(self, flow: np.ndarray, name: str) -> np.ndarray:
        """Write the addresses of rules and records into a flow's record, an array of length 1.

        Returns the recovery's state.
        """
        recovery = RECOVERIES[name]
        state = np.array([recovery.initial_state], recovery.state_dtype)
        values = tuple(recovery.check({}).values()) or (0.0,)
        params = np.array([values], recovery.params_dtype)
        self.states.append(state)
        self._params.append(params)
        row: Any = flow[0]
        row["address"] = address(flow)
        row["recovery_state"], row["recovery_params"] = address(state), address(params)
        for rule, place in self._addresses(recovery).items():
            row[f"recovery_{rule}"] = place
        row["stale_rounds"] = recovery.stale_rounds
        row["newest_only"] = recovery.newest_only
        return state

    def _addresses(self, recovery: Recovery) -> dict[str, int]:
        if recovery.name not in self._rules:
            dtypes = (recovery.state_dtype, recovery.params_dtype, t.TCP_FLOW)
            self._rules[recovery.name] = {
                name: rule_address(rule, *dtypes) for name, rule in recovery.rules.items()
            }
        return self._rules[recovery.name]


def delivery_memory(row: Any, flow: ResolvedFlow) -> np.ndarray:
    """Make the DELIVERY record of a flow: an array of length 1, or 0 if the flow needs none.

    The caller must keep the array alive. Its address is written into the flow's record `row`, with
    the places in the controller's state that the transport reads.
    """
    controller = flow.controller
    assert controller is not None
    place = partial(place_of, controller)
    row["pacing_rate"], row["wake_at"] = place("pacing_rate"), place("wake_at")
    row["stream"] = place("mrg0") if controller.chance else 0
    row["owns_window"], row["every_ack"] = controller.window == "own", controller.every_ack
    row["reads_packets"] = bool(controller.reads_of_packets or controller.stamps)
    settings = flow.spec.transport  # type: ignore[union-attr]
    needed = (
        controller.extras
        or RECOVERIES[flow.recovery].on_alarm is not None
        or settings.count_delivered
        or settings.ecn == "l4s"
    )
    frto = settings.frto and RECOVERIES[flow.recovery].on_alarm is not None
    dsack = settings.dsack and RECOVERIES[flow.recovery].selective
    row["dsack"], row["eifel"] = dsack, settings.eifel
    row["undo"] = dsack or frto or settings.eifel
    record = np.zeros(1 if needed else 0, t.DELIVERY)
    if needed:
        row["delivery"] = address(record)
        record["frto"] = frto
        record["piece"] = settings.gso_segments
        record["n_stamps"] = len(controller.stamps)
        for i, (name, back) in enumerate(controller.stamps.items()):
            record["stamped"][0, i], record["given_back"][0, i] = place(name), place(back)
    return record
