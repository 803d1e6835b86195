"""The delivery record of a flow, if its controller, loss recovery or transport needs one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.models.controller_memory import place_of
from tcpcc.transport import flow_record as t
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import ResolvedFlow


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
