"""A flow of a running simulation: read and set its state; with SimPy, wait for its events.

::

    flow = sim.flow("reno1")

    def watch():
        yield flow.finished
        print("done at", sim.now)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tcpcc.controllers.controller import WINDOW
from tcpcc.engine.jit import record_view
from tcpcc.errors import ScenarioError, positive, unknown, whole
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    import simpy

_COUNTS = ("timeouts", "loss_events")


class LiveFlow:
    """One TCP flow of a running simulation, from `PacketSimulation.flow`.

    Args:
        sim: the simulation; events to wait for and `send` and `stop` need a `PacketSimulation`.
        name: the flow's name.

    Raises:
        ScenarioError: there is no such flow, or it is a CBR source.
    """

    def __init__(self, sim: Any, name: str) -> None:
        self._sim, self._index = sim, sim.world.number_of("flow", name)
        flow = sim.world.resolved.flows[self._index]
        self.name = name
        if isinstance(flow.spec, CBR) or flow.controller is None:
            raise ScenarioError(f"flow {flow.name!r}: is a CBR source; it has no controller")
        self._controller, self._spec = flow.controller, flow.spec
        self._finished: simpy.Event | None = None
        self._waiting: dict[str, simpy.Event] = {}
        self._seen = {name: 0 for name in _COUNTS}

    @property
    def _row(self) -> Any:
        return self._sim.world.tcp[self._index]

    # Events that a process can wait for

    @property
    def finished(self) -> simpy.Event:
        """Triggered when all packets of the flow are acknowledged; its value is the time, s.

        After a later `send`, this property is a new event.
        """
        if self._finished is None:
            self._finished = self._sim.env.event()
            self._sim.watch(self)
            self.look()
        return self._finished

    def loss(self) -> simpy.Event:
        """Triggered at the flow's next loss event; its value is the time, s."""
        return self._next("loss_events")

    def timeout(self) -> simpy.Event:
        """Triggered at the flow's next retransmission timeout; its value is the time, s."""
        return self._next("timeouts")

    def _next(self, name: str) -> simpy.Event:
        if name not in self._waiting:
            self._seen[name] = int(self._row[name])
            self._waiting[name] = self._sim.env.event()
            self._sim.watch(self)
        return self._waiting[name]

    def look(self) -> bool:
        """Trigger the events that have occurred; returns whether any event is still awaited."""
        row = self._row
        for name in list(self._waiting):
            if int(row[name]) != self._seen[name]:
                self._waiting.pop(name).succeed(self._sim.now)
        end = self._finished
        if end is not None and not end.triggered and not math.isnan(row["finished"]):
            end.succeed(float(row["finished"]))
        return bool(self._waiting) or (end is not None and not end.triggered)

    # State and actions

    @property
    def acknowledged(self) -> int:
        """Packets acknowledged so far."""
        return int(self._row["high_ack"]) + 1

    @property
    def rtt(self) -> float:
        """Smoothed round-trip time, s; 0 before the first sample."""
        return float(self._row["srtt"])

    @property
    def base_rtt(self) -> float:
        """Smallest round-trip time measured, s."""
        return float(self._row["base_rtt"])

    @property
    def sent(self) -> int:
        """Packets sent so far, retransmissions included."""
        return int(self._row["sent"])

    @property
    def retransmitted(self) -> int:
        """Packets sent again so far."""
        return int(self._row["retransmitted"])

    @property
    def timeouts(self) -> int:
        """Retransmission timeouts so far."""
        return int(self._row["timeouts"])

    @property
    def loss_events(self) -> int:
        """Loss events so far."""
        return int(self._row["loss_events"])

    @property
    def state(self) -> dict[str, float]:
        """The controller's state: cwnd and ssthresh (packets), then its own variables."""
        record = record_view(self._controller.state_dtype, int(self._row["state"]))
        names = record.dtype.names or ()
        return {n: record[n].item() for n in names if not record[n].shape}

    @property
    def params(self) -> dict[str, float]:
        """The controller's parameters."""
        record = record_view(self._controller.params_dtype, int(self._row["params"]))
        return {name: float(record[name]) for name in self._controller.params}

    def set(self, **values: float) -> None:
        """Set variables of the controller's state, or its parameters, from now on.

        Raises:
            ScenarioError: a name is unknown, a window is not positive, or a parameter is outside
                its range.
        """
        state = record_view(self._controller.state_dtype, int(self._row["state"]))
        names = [*self.state, *self._controller.params]
        for name, value in values.items():
            if name not in names:
                raise unknown(f"state or parameter of {self.name!r}", name, names)
            if name in WINDOW:
                positive(name, value, "packets", inf=name == "ssthresh")
        new_params = {n: v for n, v in values.items() if n in self._controller.params}
        self._controller.check({**self.params, **new_params})
        params = record_view(self._controller.params_dtype, int(self._row["params"]))
        for name, value in values.items():
            (params if name in new_params else state)[name] = value

    def send(self, packets: int) -> None:
        """Add `packets` to send, now. The flow must have a size and must have started.

        Raises:
            ScenarioError: the flow has no size, has not started, or `packets` is below 1.
        """
        if self._spec.writes:
            raise ScenarioError(f"flow {self.name!r}: has writes: give it a size to add to")
        if self._spec.size is None:
            raise ScenarioError(f"flow {self.name!r}: sends for ever; give it a size to add to")
        if self._sim.now < self._sim.world.resolved.flows[self._index].spec.start:
            raise ScenarioError(
                f"flow {self.name!r}: send at {self._sim.now:g} s: must not be before its start"
            )
        if self._finished is not None and self._finished.triggered:
            self._finished = None
        self._sim.send_more(self._index, whole("packets", packets, low=1))

    def stop(self) -> None:
        """Send no new data from now on."""
        self._sim.stop(self.name)
