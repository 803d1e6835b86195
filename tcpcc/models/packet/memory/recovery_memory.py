"""The memory of the flows' loss recoveries."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcpcc.engine.jit import address, rule_address
from tcpcc.transport.flow_record import TCP_FLOW
from tcpcc.transport.recovery import RECOVERIES, Recovery


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
            dtypes = (recovery.state_dtype, recovery.params_dtype, TCP_FLOW)
            self._rules[recovery.name] = {
                name: rule_address(rule, *dtypes) for name, rule in recovery.rules.items()
            }
        return self._rules[recovery.name]
