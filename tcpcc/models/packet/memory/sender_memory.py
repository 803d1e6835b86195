"""The memory of senders: the records of a flow, filled from its settings."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank, rule_address
from tcpcc.models.controller_memory import ControllerMemory, place_of, record_of
from tcpcc.models.conversation_records import ENDLESS, ON_ITS_OWN
from tcpcc.models.notes import Notes
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.header_memory import uses_headers
from tcpcc.scenario.traffic import CBR
from tcpcc.scenario.transport_settings import Transport
from tcpcc.transport import flow_record as t
from tcpcc.transport.ecn import CHOICES
from tcpcc.transport.pacing import piece_fields
from tcpcc.transport.recovery import RECOVERIES, Recovery

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.scenario.resolve import ResolvedFlow

_SMALLEST_TICK = 1e-9  # s; stands for a tick of 0, which means no rounding

# Settings of a transport that have the same name in its record; some have another unit there
_COPIED = {f.name for f in fields(Transport)} & set(t.TCP_FLOW.names or ()) - {"ecn"}


class SenderMemory:
    """The memory of senders besides their rows: states of controllers and recoveries, deliveries.

    Attributes:
        states: the controllers' state records, by flow.
        recoveries: the state records of loss recoveries, in the order of calls of `fill_recovery`.
        deliveries: records DELIVERY, by flow; an empty array for a flow that needs none.
    """

    def __init__(self, world: PacketWorld) -> None:
        self.world = world
        self.states: dict[int, np.ndarray] = {}
        self._transports: dict[tuple[Transport, float], np.ndarray] = {}
        self.controllers = ControllerMemory(world.scenario.seed)
        self.recoveries: list[np.ndarray] = []
        self._owned: list[np.ndarray] = []  # records have their addresses
        self.deliveries: dict[int, np.ndarray] = {}

    def lay_out(self, i: int, flow: ResolvedFlow) -> None:
        """Write the settings of flow `i` into its records, and allocate its memory."""
        world = self.world
        row, tcp = world.flows[i : i + 1], world.tcp[i : i + 1]
        row["index"] = row["ident"] = i
        self.fill(row, tcp, i, flow)
        if isinstance(flow.spec, CBR):
            world.cbr["interval"][i] = 8 * flow.spec.packet_size / flow.spec.rate
            world.cbr["train"][i] = 1
            return
        world.rings.place(world.tcp, "segments", i, blank(world.first_ring, t.SEGMENT))
        self.states[i] = self.controllers.fill(tcp, flow)
        self.fill_recovery(tcp, flow.recovery)
        self.deliveries[i] = delivery_memory(tcp[0], flow)
        if len(self.deliveries[i]):
            world.rings.place(world.tcp, "stamps", i, np.zeros(world.first_ring, t.STAMP))

    def fill(self, row: Any, tcp: Any, i: int, flow: ResolvedFlow) -> None:
        """Write a flow's settings into its records; it is recorded in row `i` of the bins."""
        spec = flow.spec
        self._fill_notes(row, i, flow)
        row["bins"] = self.world.bins_of(i)
        row["size"], row["count"] = spec.packet_size, flow.spec.count
        row["traffic_class"] = spec.traffic_class
        row["timer_at"] = math.inf
        if isinstance(spec, CBR):
            tcp["finished"] = math.nan
            row["kind"] = t.CBR
            return
        row["kind"] = t.TCP
        row["has_header"] = uses_headers(flow)
        assert flow.controller is not None
        self.world.headers.layout.fill_flow(row, flow.controller)
        row["ack_size"], row["handshake"] = spec.ack_size, spec.transport.handshake
        settings, size = spec.transport, spec.size
        tcp[:] = self._transport(settings, spec.packet_size - spec.header)
        tcp["to_send"] = ENDLESS if size is None else size + int(settings.handshake)
        if spec.writes:
            row["waits"] = ON_ITS_OWN
            tcp["to_send"], tcp["awaits"] = int(settings.handshake), 1

    def fill_recovery(self, tcp: np.ndarray, name: str) -> np.ndarray:
        """Write the addresses of a recovery's rules and records into a flow's record, an array of
        length 1; returns the recovery's state."""
        recovery = RECOVERIES[name]
        state = record_of(recovery.state_dtype, recovery.initial_state)
        params = record_of(recovery.params_dtype, recovery.check({}).values() or [0.0])
        self.recoveries.append(state)
        self._owned.append(params)
        row: Any = tcp[0]
        row["address"] = address(tcp)
        row["recovery_state"], row["recovery_params"] = address(state), address(params)
        for rule, place in _rules_of(recovery).items():
            row[f"recovery_{rule}"] = place
        row["stale_rounds"], row["newest_only"] = recovery.stale_rounds, recovery.newest_only
        return state

    def _fill_notes(self, row: Any, i: int, flow: ResolvedFlow) -> None:
        """Write which variables of the controller's state are recorded in row `i`."""
        world, noted = self.world, np.zeros(1, r.FLOW_NOTES)
        world.trace.mark(row, noted, i, flow)
        if flow.recorded_states:
            assert flow.controller is not None
            names, dtype = flow.recorded_states, flow.controller.state_dtype
            world.notes[i] = Notes(names, dtype, world.n_bins, world.scratch)
            world.notes[i].fill(noted[0])
        if any(noted[0]):
            self._owned.append(noted)
        row["noted"] = address(noted if any(noted[0]) else world.no_notes)

    def _transport(self, settings: Transport, payload: float) -> np.ndarray:
        """A sender's record with the settings of a transport; senders share it."""
        if (settings, payload) not in self._transports:
            row: Any = np.zeros(1, t.TCP_FLOW)
            for name in _COPIED:
                row[name] = getattr(settings, name)
            row["next_rwnd"] = settings.rwnd
            row["tick"] = settings.tick or _SMALLEST_TICK
            row["pieces"] = settings.gso_segments > 1 or settings.gso_time > 0
            for name, value in piece_fields(settings, payload).items():
                row[name] = value
            row["ecn"] = CHOICES[settings.ecn]
            row["ecn_retransmissions"] = settings.ecn_retransmissions or settings.ecn == "l4s"
            row["deflate"] = settings.partial_deflation
            row["deadline"] = row["held_until"] = math.inf
            row["finished"] = math.nan
            row["outbox"] = address(self.world.outbox)
            self._transports[settings, payload] = row
        return self._transports[settings, payload]


@cache
def _rules_of(recovery: Recovery) -> dict[str, int]:
    dtypes = (recovery.state_dtype, recovery.params_dtype, t.TCP_FLOW)
    return {name: rule_address(rule, *dtypes) for name, rule in recovery.rules.items()}


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
