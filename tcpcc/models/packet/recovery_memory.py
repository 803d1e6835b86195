"""What a flow keeps in memory for its loss recovery."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcpcc.engine.jit import address, rule_address
from tcpcc.transport.flow_record import FLOW
from tcpcc.transport.recovery import Recovery


class RecoveryMemory:
    """The records of a recovery's rules; to be kept alive as long as the flow's record."""

    def __init__(self, recovery: Recovery) -> None:
        self._recovery = recovery
        self.state = np.array([recovery.initial_state], recovery.state_dtype)
        values = tuple(recovery.check({}).values()) or (0.0,)
        self.params = np.array([values], recovery.params_dtype)

    def fill(self, flow: np.ndarray) -> None:
        """Write the addresses of rules and records into a flow's record, an array of one."""
        dtypes = (self.state.dtype, self.params.dtype, FLOW)
        row: Any = flow[0]
        row["address"] = address(flow)
        for name in ("state", "params"):
            row[f"recovery_{name}"] = address(getattr(self, name))
        for name, rule in self._recovery.rules.items():
            row[f"recovery_{name}"] = rule_address(rule, *dtypes)
        row["stale_rounds"] = self._recovery.stale_rounds
        row["newest_only"] = self._recovery.newest_only
