"""The packet model's part of a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcpcc.apps.browser.memory_image import PACKETS, Atlas, Snapshot
from tcpcc.apps.browser.model_data import Choices, Code, ModelData, offset, offsets
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.handlers import flush, run_events
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.models.recorded_fields import FLOW_BIN, LINK_BIN
from tcpcc.scenario import Scenario
from tcpcc.transport import flow_record as t


class PacketData(ModelData):
    """See `ModelData`."""

    ENTRIES = ((run_events, (int, float)), (flush, (int, float)))

    def __init__(self, choices: Choices, code: Code) -> None:
        super().__init__(choices, code)
        for queue, world in zip(self.config["queues"], self.worlds, strict=True):
            queue["pool"] = len(world.arrays["pool.packets"])
            queue["lanes"] = len(world.arrays["paths.lanes"])
        world, at = self.worlds[0].world, self.atlas.shared
        row = world.recorded.index(self.bottleneck)
        self.config |= {
            "layout": _layout(self.worlds[0], self.atlas),
            "linkBins": at["link_bins"] + row * world.link_bins.strides[0],
            "flowBins": [
                at["flow_bins"] + int(row) * world.flow_bins.strides[0] for row in world.bin_row
            ],
        }

    @staticmethod
    def snapshot(scenario: Scenario) -> Snapshot:
        return Snapshot(PacketWorld(scenario), PACKETS)


def _layout(world: Snapshot, atlas: Atlas) -> dict[str, Any]:
    """Where the page's script finds what it reads, and the rings that it enlarges."""
    at = atlas.shared

    def ring(owner: str, field: str, record: np.dtype, entries: np.dtype, **more: Any) -> Any:
        mask = f"{field.rstrip('s')}_mask"
        rows = None if owner == "paths.lanes" else len(world.arrays[owner])  # by the discipline
        return {
            "at": at[owner], "rows": rows, "stride": record.itemsize,
            "ring": offset(record, field), "mask": offset(record, mask),
            "entry": entries.itemsize, "margin": r.MARGIN, "lead": 0, **more,
        }  # fmt: skip

    def ends(record: np.dtype, first: str, *last: str) -> dict[str, Any]:
        return {"first": offset(record, first), "last": [offset(record, x) for x in last]}

    segments = {**ends(t.TCP_FLOW, "high_ack", "max_seq", "next_seq"), "lead": 2}
    return {
        "w": at["w"],
        "world": offsets(
            r.WORLD,
            ("now", "need", "events", "at_once", "heap", "heap_size", "heap_room", "pool",
             "first_free", "n_free", "headers", "spare_headers", "n_spare_headers", "words",
             "n_words"),
        ),
        "event": offsets(r.EVENT, ("time", "since", "order", "kind", "id")),
        "start": int(r.FLOW_START),
        "write": int(r.WRITE),
        "tcp": {"at": at["tcp"], **offsets(t.TCP_FLOW, ("finished", "timeouts", "loss_events"))},
        "flowBin": offsets(FLOW_BIN, FLOW_BIN.names or ()),
        "linkBin": offsets(LINK_BIN, LINK_BIN.names or ()),
        "rings": [
            ring("links", "queue", r.LINK, r.QUEUED, marginAt=offset(r.LINK, "margin"),
                 **ends(r.LINK, "queue_head", "queue_tail")),
            ring("paths.lanes", "flight", r.LANE, r.PACKET,
                 **ends(r.LANE, "flight_head", "flight_tail")),
            ring("tcp", "segments", t.TCP_FLOW, t.SEGMENT, **segments),
            ring("tcp", "stamps", t.TCP_FLOW, t.STAMP, **segments),
        ],
        "packet": offsets(r.PACKET, ("order",)),
        "header": r.HEADER.itemsize,
        "headers": len(world.arrays["headers.headers"]),
        "margin": r.MARGIN,
    }  # fmt: skip
