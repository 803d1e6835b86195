"""The memory of senders: the records of a flow, filled from its settings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank
from tcpcc.models.controller_memory import ControllerMemory
from tcpcc.models.conversation_records import ENDLESS, ON_ITS_OWN
from tcpcc.models.notes import Notes
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.header_memory import uses_headers
from tcpcc.models.packet.memory.recovery_memory import RecoveryMemory, delivery_memory
from tcpcc.scenario.traffic import CBR
from tcpcc.transport import flow_record as t
from tcpcc.transport.ecn import CHOICES
from tcpcc.transport.pacing import piece_fields

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.scenario.resolve import ResolvedFlow
    from tcpcc.scenario.transport_settings import Transport

_SMALLEST_TICK = 1e-9  # s; stands for a tick of 0, which means no rounding

# Settings of a transport that have the same name in its record
_COPIED = (
    "initial_window", "handshake", "delay_growth", "rwnd", "window_validation", "window_decay",
    "abc_limit", "whole_window", "count_delivered", "dupack_threshold",
    "limited_transmit", "max_burst", "timestamps", "initial_rto", "min_rto", "max_rto",
    "clock_phase", "coarse_timer", "backoff_limit", "delayed_ack", "ack_every", "quick_acks",
    "push_acks", "piece_wait",
    "syn_rtt", "idle_restart",
    "gradual_marks", "ecn_control", "rto_margin", "hold_ssthresh", "flight_ssthresh",
)  # fmt: skip


class SenderMemory:
    """The memory of senders besides their rows: states of controllers and recoveries, deliveries.

    Attributes:
        states: the controllers' state records, by flow.
        deliveries: records DELIVERY, by flow; an empty array for a flow that needs none.
    """

    def __init__(self, world: PacketWorld) -> None:
        self.world = world
        self.states: dict[int, np.ndarray] = {}
        self._transports: dict[tuple[Transport, float], np.ndarray] = {}
        self.controllers = ControllerMemory(world.scenario.seed)
        self.recoveries = RecoveryMemory()
        self._noted: list[np.ndarray] = []
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
        world.rings.place(world.tcp, "segments", i, blank(r.FIRST_RING, t.SEGMENT))
        self.states[i] = self.controllers.fill(tcp, flow)
        self.recoveries.fill(tcp, flow.recovery)
        self.deliveries[i] = delivery_memory(tcp[0], flow)
        if len(self.deliveries[i]):
            world.rings.place(world.tcp, "stamps", i, np.zeros(r.FIRST_RING, t.STAMP))

    def fill(self, row: Any, tcp: Any, i: int, flow: ResolvedFlow) -> None:
        """Write a flow's settings into its records; it is recorded in row `i` of the bins."""
        spec = flow.spec
        self._fill_notes(row, i, flow)
        row["bins"] = self.world.bins_of(i)
        row["size"], row["count"] = spec.packet_size, flow.spec.count
        row["traffic_class"] = spec.traffic_class
        row["timer_at"] = row["release_at"] = row["alarm_at"] = math.inf
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
            self._noted.append(noted)
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
