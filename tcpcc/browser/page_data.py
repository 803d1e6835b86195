"""The data of a page: compiled code, worlds at the start of a run, and how choices change them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from inspect import signature
from typing import Any

import numpy as np

from tcpcc.browser import control
from tcpcc.browser.control import fits
from tcpcc.browser.memory_image import FIRST, Atlas, Snapshot, senders_of
from tcpcc.engine import streams
from tcpcc.engine.wasm import build
from tcpcc.errors import ScenarioError
from tcpcc.models.bins import FLOW_BIN, LINK_BIN
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.handlers import flush, run_events
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.queues.discipline import QueueSpec
from tcpcc.results import convergence, metrics
from tcpcc.results.figure import colour
from tcpcc.results.recording import ROUNDING
from tcpcc.scenario import CBR, Scenario
from tcpcc.scenario.network import bottleneck
from tcpcc.transport import flow_record as t

PROBES = 1.5, 2.25
"""Multiples of a slider's value at which worlds are laid out, to find what depends on it."""

LOSSES = 0.05, 0.1
"""The same for random loss, which may be 0 or close to 1."""

SOME_LOSS = 1e-9
"""A link without random loss has no stream of random numbers, so a page's worlds have this loss."""


@dataclass(frozen=True)
class Choices:
    """What a page's reader can choose.

    Attributes:
        scenario: initial choices, of single flows.
        controls: names from `control.CONTROLS`.
        controllers: names.
        queues: the first is the scenario's own.
    """

    scenario: Scenario
    controls: tuple[str, ...]
    controllers: tuple[str, ...]
    queues: tuple[QueueSpec, ...]


class PageData:
    """See the module.

    Attributes:
        config: what the page's script needs to know, for JSON.
        parts: byte strings that `config` refers to by number.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        start = choices.scenario
        link = bottleneck(start.net)
        lossy = start
        if "loss" in choices.controls and link.loss == 0:
            lossy = control.with_value(start, "loss", SOME_LOSS)
        self.sliders = [s for s in control.sliders(link) if s.name in choices.controls]
        self._by_queue = [control.with_queue(lossy, queue) for queue in choices.queues]
        worlds = [_snapshot(one) for one in self._by_queue]
        self.senders = senders_of(worlds[0])
        of_controllers = (
            [_snapshot(self._all_with(lossy, c)) for c in choices.controllers]
            if "controllers" in choices.controls
            else []
        )
        self.atlas = Atlas([*worlds, *of_controllers])
        shared = [self.atlas.shared_image(world) for world in worlds]
        for name, world in zip(choices.controllers, of_controllers, strict=False):
            if self.atlas.shared_image(world) != shared[0]:
                raise ScenarioError(
                    f"controllers: {name!r} needs packet headers (for ECN or header fields), and"
                    " the scenario's controllers do not: give it to a flow of the scenario"
                )
        self.parts: list[bytes] = []
        queues = [
            {
                "name": queue.name,
                "image": self._part(image),
                "patches": {s.name: self._patches(k, image, s) for s in self.sliders},
                "params": self._params(world, queue),
                "streams": self._streams(world, None),
                "pool": len(world.arrays["pool.packets"]),
                "lanes": len(world.arrays["paths.lanes"]),
            }
            for k, (queue, world, image) in enumerate(
                zip(choices.queues, worlds, shared, strict=True)
            )
        ]
        senders = {
            i: [
                self._sender(world, i) if fits(start, i, name) else None
                for name, world in zip(choices.controllers, of_controllers, strict=True)
            ]
            if of_controllers
            else [self._sender(worlds[0], i)] * len(choices.controllers)
            for i in self.senders
        }
        self.module = build([run_events, flush], list(self.atlas.rules))
        world = worlds[0]
        scale, unit = control.rate_unit(link.rate)
        self.config: dict[str, Any] = {
            "module": self._part(self.module),
            "first": FIRST,
            "end": self.atlas.end,
            "functions": 2 + len(self.atlas.rules),
            "controls": choices.controls,
            "duration": start.duration,
            "interval": start.interval,
            "bins": world.world.n_bins,
            "seed": start.seed,
            "link": {
                "name": link.name,
                "rate": link.rate,
                "unit": unit,
                "scale": scale,
                "packets": link.buffer_unit == "packets",
                "buffer": link.buffer,
                "changes": [
                    (c.at, c.rate)
                    for c in start.changes
                    if c.link == link.name and c.rate is not None
                ],
                "bins": self.atlas.shared["link_bins"]
                + world.world.recorded.index(self._link_row(world))
                * world.world.link_bins.strides[0],
            },
            "sliders": [asdict(slider) for slider in self.sliders],
            "controllers": [{"name": n, "colour": colour(n)} for n in choices.controllers],
            "queues": queues,
            "flows": [self._flow(world, i) for i in range(len(start.flows))],
            "senders": senders,
            "measures": _measures(),
            "layout": _layout(world, self.atlas),
        }

    def _part(self, raw: bytes) -> int:
        if raw in self.parts:
            return self.parts.index(raw)
        self.parts.append(raw)
        return len(self.parts) - 1

    def _sender(self, world: Snapshot, i: int) -> dict[str, Any]:
        """The memory of flow `i` in a world."""
        return {
            "parts": [(at, self._part(raw)) for at, raw in self.atlas.sender_image(world, i)],
            "streams": self._streams(world, i),
        }

    def _all_with(self, scenario: Scenario, controller: str) -> Scenario:
        for i in self.senders:
            if fits(scenario, i, controller):
                scenario = control.with_controller(scenario, i, controller)
        return scenario

    def _patches(self, k: int, image: bytes, slider: control.Slider) -> list[tuple[int, float]]:
        """Addresses of the numbers that depend on a slider, and their ratios to its value."""
        some = slider.in_model(slider.value or slider.high)
        values = LOSSES if slider.name == "loss" else [some * probe for probe in PROBES]
        before = np.frombuffer(image, np.int64)
        found: list[tuple[int, float]] = []
        worlds = [
            Snapshot(PacketWorld(control.with_value(self._by_queue[k], slider.name, value)))
            for value in values
        ]
        first, second = (
            np.frombuffer(self.atlas.shared_image(world), np.int64) for world in worlds
        )
        for place in np.flatnonzero((first != before) | (second != before)):
            ratios = [
                float(words[place : place + 1].view(np.float64)[0]) / value
                for words, value in zip((first, second), values, strict=True)
            ]
            if ratios[0] != ratios[1]:
                raise ScenarioError(
                    f"{slider.name}: this network's memory depends on it; leave it out of controls"
                )
            found.append((FIRST + 8 * int(place), ratios[0]))
        return found

    def _params(self, world: Snapshot, queue: QueueSpec) -> list[dict[str, Any]]:
        """The discipline's parameters as sliders, with their addresses."""
        if "queue" not in self.choices.controls:
            return []
        return [
            {
                **asdict(slider),
                "at": self.atlas.shared[f"queues.{self._link_row(world)}.params"] + 8 * k,
            }
            for k, slider in enumerate(control.parameters(queue))
        ]

    def _link_row(self, world: Snapshot) -> int:
        links = world.world.resolved.links
        name = bottleneck(self.choices.scenario.net).name
        return next(i for i, link in enumerate(links) if link.name == name)

    def _streams(self, world: Snapshot, i: int | None) -> list[tuple[int, list[int]]]:
        """Addresses of the streams of random numbers that depend on the seed, and what else they
        depend on; those of flow `i`, or those that belong to no sender."""
        of = world.world
        named = [f"link {link.name}: {use}" for link in of.resolved.links for use in _USES]
        named += [f"flow {flow.name}: controller" for flow in of.resolved.flows]
        known = {tuple(_words(of.scenario.seed, name)): name for name in named}
        places = self.atlas.address_of(world, i)
        names = world.own[i] if i is not None else self.atlas.shared
        found = []
        for name in names:
            array = world.arrays.get(name)
            if array is None or "mrg0" not in (array.dtype.names or ()):
                continue
            for j, row in enumerate(array):
                words = tuple(int(row[field]) for field, _ in streams.STREAM_FIELDS)
                if any(words):
                    fields: Any = array.dtype.fields
                    at = places[name] + j * array.itemsize + fields["mrg0"][1]
                    number = streams.entropy(known[words])
                    found.append((at, [number >> 32 * k & 2**32 - 1 for k in range(4)]))
        return found

    def _flow(self, world: Snapshot, i: int) -> dict[str, Any]:
        spec = self.choices.scenario.flows[i]
        flow = world.world.resolved.flows[i]
        bins = self.atlas.shared["flow_bins"] + int(
            world.world.bin_row[i] * world.world.flow_bins.strides[0]
        )
        writes = getattr(spec, "writes", ())
        return {
            "name": flow.name,
            "named": flow.name != f"{getattr(spec, 'controller', '')}{i + 1}",
            "controller": None
            if isinstance(spec, CBR)
            else self.choices.controllers.index(spec.controller),
            "start": spec.start,
            "stop": spec.stop if not isinstance(spec, CBR) else None,
            "packet": spec.packet_size,
            "bins": bins,
            "writes": [time for k, (time, _) in enumerate(writes) if k > 0 or time > 0],
        }


def _measures() -> dict[str, float]:
    """The constants of the measures of a run."""

    def default(function: Any, name: str) -> float:
        return float(signature(function).parameters[name].default)

    return {
        "ROUNDING": ROUNDING,
        "BAND": default(metrics.convergence_time, "band"),
        "TAIL": metrics.TAIL,
        **{
            name: getattr(convergence, name)
            for name in ("CYCLES", "LEAST", "PART", "ROUNDS", "LAST")
        },
        "WITHIN": default(convergence.settling_time, "band"),
    }


_USES = ("random loss", "queue", "jitter")


def _words(seed: int, name: str) -> Iterator[int]:
    record: dict[str, int] = {}
    streams.seed_stream(record, seed, name)
    return iter(record.values())


def _snapshot(scenario: Scenario) -> Snapshot:
    return Snapshot(PacketWorld(scenario))


def _offset(dtype: np.dtype, name: str) -> int:
    fields: Any = dtype.fields
    return int(fields[name][1])


def _offsets(dtype: np.dtype, names: Sequence[str]) -> dict[str, int]:
    """Offsets of fields by name; "size" is that of a record."""
    return {"size": dtype.itemsize, **{name: _offset(dtype, name) for name in names}}


def _layout(world: Snapshot, atlas: Atlas) -> dict[str, Any]:
    """Where the page's script finds what it reads, and the rings that it enlarges."""
    at = atlas.shared

    def ring(owner: str, field: str, record: np.dtype, entries: np.dtype, **more: Any) -> Any:
        mask = f"{field.rstrip('s')}_mask"
        rows = None if owner == "paths.lanes" else len(world.arrays[owner])  # by the discipline
        return {
            "at": at[owner], "rows": rows, "stride": record.itemsize,
            "ring": _offset(record, field), "mask": _offset(record, mask),
            "entry": entries.itemsize, "margin": r.MARGIN, "lead": 0, **more,
        }  # fmt: skip

    def ends(record: np.dtype, first: str, *last: str) -> dict[str, Any]:
        return {"first": _offset(record, first), "last": [_offset(record, x) for x in last]}

    segments = {**ends(t.TCP_FLOW, "high_ack", "max_seq", "next_seq"), "lead": 2}
    return {
        "w": at["w"],
        "world": _offsets(
            r.WORLD,
            ("now", "need", "events", "pause", "heap", "heap_size", "heap_room", "pool",
             "first_free", "n_free", "headers", "spare_headers", "n_spare_headers", "words",
             "n_words"),
        ),
        "event": _offsets(r.EVENT, ("time", "since", "order", "kind", "id")),
        "start": int(r.FLOW_START),
        "write": int(r.WRITE),
        "tcp": {"at": at["tcp"], **_offsets(t.TCP_FLOW, ("finished", "timeouts", "loss_events"))},
        "flowBin": _offsets(FLOW_BIN, FLOW_BIN.names or ()),
        "linkBin": _offsets(LINK_BIN, LINK_BIN.names or ()),
        "rings": [
            ring("links", "queue", r.LINK, r.QUEUED, marginAt=_offset(r.LINK, "margin"),
                 **ends(r.LINK, "queue_head", "queue_tail")),
            ring("paths.lanes", "flight", r.LANE, r.PACKET,
                 **ends(r.LANE, "flight_head", "flight_tail")),
            ring("tcp", "segments", t.TCP_FLOW, t.SEGMENT, **segments),
            ring("tcp", "stamps", t.TCP_FLOW, t.STAMP, **segments),
        ],
        "packet": _offsets(r.PACKET, ("order",)),
        "header": r.HEADER.itemsize,
        "headers": len(world.arrays["headers.headers"]),
        "margin": r.MARGIN,
    }  # fmt: skip
