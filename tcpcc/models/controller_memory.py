"""The memory of a flow's controller, the same in all models: rules, state, parameters, sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.controllers.controller import OF_PACKETS, Controller
from tcpcc.engine.jit import address, rule_address
from tcpcc.engine.streams import seed_streams
from tcpcc.errors import TcpccError
from tcpcc.models.memory_copies import Of, alone

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import ResolvedFlow


def record_of(dtype: np.dtype, values: Any = None) -> np.ndarray:
    """An array with one record, filled with `values` if given."""
    array = np.zeros(1, dtype)
    if values is not None:
        array[0] = tuple(values)
    return array


@cache
def _blank_sample(dtype: np.dtype) -> np.ndarray:
    sample = record_of(dtype)
    for name in OF_PACKETS:
        sample[name] = math.nan
    return sample


def sample_of(flow: ResolvedFlow) -> np.ndarray:
    """A new sample for a flow, with the constant fields (packet size, hops) filled in.

    Fields that nothing fills in for its controller are NaN.
    """
    sample = _blank_sample(flow.algorithm.sample_dtype).copy()
    sample["packet_size"], sample["hops"] = flow.spec.packet_size, flow.hops
    return sample


def place_of(controller: Controller, name: str) -> int:
    """Byte offset of a variable in a controller's state; 0 if it does not exist."""
    fields: Any = controller.state_dtype.fields
    return fields[name][1] if name in fields else 0


class ControllerMemory:
    """The compiled rules of the controllers in a run, and the records that they work on.

    Args:
        seed: seed of the scenario, for controllers that draw random numbers.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._known: dict[Controller, tuple[dict[str, int], np.dtype, np.ndarray]] = {}
        self._owned: list[tuple[np.ndarray, ...]] = []
        self._newest: dict[str, tuple[np.ndarray, ...]] = {}  # by flow
        self._groups: dict[str, list[Any]] = {}  # states of the members
        self._tables: dict[str, np.ndarray] = {}  # their addresses

    def with_seed(self, seed: int) -> ControllerMemory:
        """A memory for a scenario with another seed. The compiled rules are shared."""
        other = ControllerMemory(seed)
        other._known = self._known
        return other

    def fill(self, row: Any, flow: ResolvedFlow) -> np.ndarray:
        """Write the addresses of rules and records into a flow's record; return the state.

        Raises:
            TcpccError: a rule does not compile.
        """
        controller = flow.algorithm
        addresses, params, first_state = self._compiled(controller)
        fields = row.dtype.fields
        for name, rule in addresses.items():
            if name in fields:
                row[name] = rule
        records = first_state.copy(), record_of(params), sample_of(flow)
        self._owned.append(records)
        self._newest[flow.name] = records
        self.write_numbers([flow], [self._seed])
        for name, record in zip(("state", "params", "sample"), records, strict=True):
            row[name] = address(record)
        self._join(flow, records[0])
        return records[0]

    def write_numbers(
        self, flows: Sequence[ResolvedFlow], seeds: Sequence[int], of: Of = alone
    ) -> None:
        """Write the parameters and random streams of one flow of several worlds.

        Args:
            flows: the flow in the scenario of each world; alike but for its parameters.
            seeds: seeds of these scenarios.
            of: see `memory_copies`.
        """
        name, controller = flows[0].name, flows[0].algorithm
        state, params, _ = self._newest[name]
        of(params)[:, 0] = [tuple(flow.params.values()) or (0.0,) for flow in flows]
        if controller.chance:
            seed_streams(of(state)[:, 0], seeds, f"flow {name}: controller")

    def _join(self, flow: ResolvedFlow, state: np.ndarray) -> None:
        """Make the state of a coupled controller a member of its flow's group."""
        name = flow.spec.group
        if name is None or not flow.algorithm.coupled:
            return
        members = self._groups.setdefault(name, [])
        members.append(state)
        self._tables[name] = np.array([address(member) for member in members])
        for member in members:
            member["members"], member["group"] = len(members), address(self._tables[name])

    def _compiled(self, controller: Controller) -> tuple[dict[str, int], np.dtype, np.ndarray]:
        """Addresses of the rules by name, the dtype of the parameters, and the initial state."""
        if controller not in self._known:
            dtypes = (controller.state_dtype, controller.params_dtype, controller.sample_dtype)
            addresses = {}
            for name, rule in controller.rules.items():
                try:
                    addresses[name] = rule_address(rule, *dtypes)
                except TypeError as error:
                    raise TcpccError(f"controller {controller.name!r}, {name}: {error}") from None
            state, params, _ = dtypes
            first_state = record_of(state, controller.initial_state)
            self._known[controller] = addresses, params, first_state
        return self._known[controller]
