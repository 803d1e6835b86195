"""The fluid model's part of a page.

What depends on the time step, which depends on rates and delays, is calculated in the page
(fluid.js): the step, delays in steps, tables, and the steps at which links change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tcpcc.apps.browser import control
from tcpcc.apps.browser.memory_image import FLUID, Snapshot
from tcpcc.apps.browser.model_data import Choices, Code, ModelData, offset, offsets
from tcpcc.errors import ScenarioError
from tcpcc.models.fluid import STEPS
from tcpcc.models.fluid import fluid_records as r
from tcpcc.models.fluid.fluid_case import SHORTER, TRIED
from tcpcc.models.fluid.fluid_step import run_steps
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.layout import SENSIBLE, queueing_links
from tcpcc.models.recorded_fields import FLOW_BIN, LINK_BIN
from tcpcc.scenario import CBR, Scenario

OF_STEPS = {
    "w": ("step", "per_second", "end", "mask", "steps_per_bin", "bin_end", "n_changes"),
    "flows": ("to_first", "to_sender", "back", "base", "one_way", "most", "target_mask"),
    "hops": ("delay", "before", "hold", "target_mask"),
    "links": ("mask",),
}
"""Fields that the page calculates, by array."""

OF_FLOW = ("start", "write_at", "n_history", "finished", "timeouts", "loss_events")
"""Further fields of flows that the page's script reads or writes."""


class FluidData(ModelData):
    """See `ModelData`."""

    ENTRIES = ((run_steps, (int, int, int)),)

    def __init__(self, choices: Choices, code: Code) -> None:
        super().__init__(choices, code)
        for k, queue in enumerate(self.config["queues"]):
            queue["pools"] = list(self._pools(k))
            queue["tables"] = list(self._tables(k))
        world: FluidWorld = self.worlds[0].world
        at = self.atlas.shared
        self.config |= {
            "steps": STEPS, "shorter": SHORTER, "tried": TRIED, "sensible": SENSIBLE,
            "longer": r.LONGER_TABLES, "spare": r.SPARE,
            "links": self._links(),
            "flows": [self._flow(i) for i in range(len(world.flows))],
            "changes": self._changes(),
            "layout": {
                "w": at["w"],
                "world": offsets(r.WORLD, ("k", "need", *OF_STEPS["w"])),
                "flow": {"at": at["flows"], **offsets(r.FLOW, (*OF_STEPS["flows"], *OF_FLOW))},
                "hop": {"at": at["hops"], **offsets(r.HOP, OF_STEPS["hops"])},
                "queue": {"at": at["links"], **offsets(r.QUEUE, ("reach", "mask"))},
                "change": offsets(r.CHANGE, r.CHANGE.names),
                "packet": offsets(r.PACKET, ("next",)),
                "flowBin": offsets(FLOW_BIN, FLOW_BIN.names),
                "linkBin": offsets(LINK_BIN, LINK_BIN.names),
            },
            "linkBins": at["link_bins"]
            + world.place[self.bottleneck] * world.link_bins.strides[0],
            "flowBins": [
                at["flow_bins"] + int(row) * world.flow_bins.strides[0] for row in world.bin_row
            ],
        }  # fmt: skip

    @staticmethod
    def snapshot(scenario: Scenario) -> Snapshot:
        """The memory of a scenario in the fluid model, without what the page calculates."""
        world = FluidWorld(scenario)
        for array, names in OF_STEPS.items():
            for name in names:
                getattr(world, array)[name] = 0
        return Snapshot(world, FLUID)

    def _links(self) -> list[dict[str, Any]]:
        """Rate and delays of each link, its place among those with a queue (-1: none), and which of
        the sliders it follows."""
        world: FluidWorld = self.worlds[0].world
        probes = {
            slider.name: control.with_value(
                self.scenarios[0], slider.name, slider.in_model(slider.high)
            ).resolve()
            for slider in self.choices.sliders()
            if slider.name in ("rate", "delay")
        }
        return [
            {
                "rate": link.rate, "delay": link.delay, "extra": _extra(link),
                "place": world.place.get(i, -1),
                "follows": [
                    name for name, other in probes.items()
                    if getattr(other.links[i], name) != getattr(link, name)
                ],
            }
            for i, link in enumerate(world.resolved.links)
        ]  # fmt: skip

    def _flow(self, i: int) -> dict[str, Any]:
        """What the page needs to know to lay out a flow."""
        world: FluidWorld = self.worlds[0].world
        flow = world.resolved.flows[i]
        spec: Any = flow.spec
        return {
            "forward": flow.forward, "reverse": flow.reverse, "way": world.ways[i].tolist(),
            "size": spec.packet_size, "ack": spec.ack_size,
            "hold": None if isinstance(spec, CBR) else spec.transport.delayed_ack,
            "write": spec.writes[0][0] if spec.writes else None,
        }  # fmt: skip

    def _pools(self, k: int) -> Iterator[dict[str, int]]:
        """Links of whole packets: number, places for packets, and header fields of each."""
        largest = self.scenarios[k]
        for slider in self.choices.sliders():
            if slider.name == "buffer":
                value = slider.in_model(slider.high)
                largest = control.with_value(largest, slider.name, value)
        for index, memory in FluidWorld(largest).packet_links.items():
            yield {"link": index, "places": len(memory.pool), "words": memory.words.shape[1]}

    def _tables(self, k: int) -> Iterator[dict[str, Any]]:
        """Tables of the world, or of the link `place`: numbers in a row, and whether there is more
        than one, whether columns are contiguous, and whether the rows are of the past."""
        for group, tables in enumerate(self.worlds[k].world.tables):
            for name, table in tables.items():
                in_columns = name in r.FLOW_COLUMNS or name in r.HOP_COLUMNS
                width = len(table) if in_columns else int(np.prod(table.shape[1:]))
                yield {
                    "name": f"tables.{group}.{name}", "place": group - 1, "width": width,
                    "inColumns": in_columns, "single": len(table) == 1 and not in_columns,
                    "past": name in r.OF_PAST,
                }  # fmt: skip

    def _changes(self) -> list[dict[str, Any]]:
        """Changes of links and receive windows: time, numbers to be written, and if delays in steps
        depend on it the link's number with its new rate and delays."""
        world: FluidWorld = self.worlds[0].world
        at, changes = self.atlas.shared, []
        links = list(world.resolved.links)
        for change in world.resolved.changes:
            spec, index = change.spec, change.link
            entry: dict[str, Any] = {"at": spec.at, "writes": []}
            changes.append(entry)
            if spec.rwnd is not None:
                for i in change.flows:
                    row = at["flows"] + i * r.FLOW.itemsize
                    entry["writes"].append((row + offset(r.FLOW, "next_rwnd"), spec.rwnd, False))
                    entry["writes"].append((at["acts_at"] + 8 * i, 0, True))
                continue
            row = at["links"] + world.place[index] * r.QUEUE.itemsize
            for name, value in (("rate", spec.rate), ("loss", spec.loss), ("limit", spec.buffer)):
                if value is not None:
                    entry["writes"].append((row + offset(r.QUEUE, name), value, False))
            for name, value in dict(spec.queue).items():
                params = world.queues[index].params.dtype
                where = at[f"queues.{index}.params"] + offset(params, name)
                entry["writes"].append((where, value, False))
            new = {n: getattr(spec, n) for n in ("rate", "delay", "jitter")}
            if spec.rate == 0:
                del new["rate"]
            links[index] = links[index]._with(**{n: v for n, v in new.items() if v is not None})
            if any(getattr(spec, name) is not None for name in ("delay", "jitter", "rate")):
                entry |= {
                    "link": index, "rate": new.get("rate"), "delay": new["delay"],
                    "extra": _extra(links[index]), "longer": spec.delay or 0.0,
                }  # fmt: skip
        return changes


def _extra(link: Any) -> float:
    """Mean delay of a link besides its propagation delay, s."""
    return link.replace(delay=0.0).mean_delay


def check_fluid(choices: Choices) -> None:
    """Check that a page can have the fluid model.

    Raises:
        ScenarioError: a setting decides which links can have a queue, or the model refuses the
            scenario.
    """
    FluidWorld(choices.scenario)
    ends = [
        [(slider.name, slider.in_model(value)) for value in (slider.low, slider.high)]
        for slider in choices.sliders()
        if slider.name == "rate"
    ]
    queueing = queueing_links(choices.scenario.resolve())
    for scenario in choices.scenarios():
        apart = scenario
        for i, flow in enumerate(scenario.flows):
            if "starts" in choices.controls and not isinstance(flow, CBR):
                apart = control.with_start(apart, i, float(i))
        for start, chosen in product((scenario, apart), product(*ends)):
            varied = start
            for name, value in chosen:
                varied = control.with_value(varied, name, value)
            if queueing_links(varied.resolve()) != queueing:
                raise ScenarioError(
                    "fluid = True: must be False, or 'rate' and 'starts' not be among the controls:"
                    " at some of their values another link has a queue"
                )
