"""A model's part of a page: worlds at the start of a run, and how choices change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcpcc.apps.browser import control
from tcpcc.apps.browser.control import fits
from tcpcc.apps.browser.memory_image import FIRST, Atlas, Snapshot, senders_of
from tcpcc.engine import streams
from tcpcc.engine.wasm import engine_module
from tcpcc.errors import ScenarioError
from tcpcc.queues.discipline import QueueSpec
from tcpcc.scenario import Scenario
from tcpcc.scenario.network import bottleneck

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
        fluid: whether the page has the fluid model.
    """

    scenario: Scenario
    controls: tuple[str, ...]
    controllers: tuple[str, ...]
    queues: tuple[QueueSpec, ...]
    fluid: bool

    def sliders(self) -> list[control.Slider]:
        link = bottleneck(self.scenario.net)
        return [slider for slider in control.sliders(link) if slider.name in self.controls]

    def scenarios(self) -> list[Scenario]:
        """The scenario with each queue discipline, and with some random loss if it may have any."""
        start = self.scenario
        if "loss" in self.controls and bottleneck(start.net).loss == 0:
            start = control.with_value(start, "loss", SOME_LOSS)
        return [control.with_queue(start, queue) for queue in self.queues]


@dataclass
class Code:
    """The rules and the byte strings of a page.

    Attributes:
        rules: place in the table of functions of each rule, by its address here.
        parts: byte strings, which the page's data refer to by number.
    """

    rules: dict[int, int] = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)

    def part(self, raw: bytes) -> int:
        if raw not in self.parts:
            self.parts.append(raw)
        return self.parts.index(raw)


class ModelData:
    """See the module.

    Args:
        choices: what the reader can choose.
        code: of the page; rules and images are added.

    Attributes:
        ENTRIES: functions of its engine, with the types of their arguments.
        worlds: those of `Choices.scenarios`.
        senders: numbers of the flows that have a controller.
        config: what the page's script needs to know of each queue and each sender, for JSON.
    """

    ENTRIES: tuple[tuple[Any, tuple[type, ...]], ...]

    def __init__(self, choices: Choices, code: Code) -> None:
        self.choices, self.code, snapshot = choices, code, self.snapshot
        self.scenarios = choices.scenarios()
        self.worlds = worlds = [snapshot(scenario) for scenario in self.scenarios]
        self.senders = senders_of(worlds[0])
        of_controllers = (
            [snapshot(self._all_with(c)) for c in choices.controllers]
            if "controllers" in choices.controls
            else []
        )
        self.atlas = Atlas([*worlds, *of_controllers], code.rules)
        shared = [self.atlas.shared_image(world) for world in worlds]
        for name, world in zip(choices.controllers, of_controllers, strict=False):
            if self.atlas.shared_image(world) != shared[0]:
                raise ScenarioError(
                    f"controllers: {name!r} needs packet headers (for ECN or header fields), and"
                    " the scenario's controllers do not: give it to a flow of the scenario"
                )
        sliders = choices.sliders()
        queues = [
            {
                "image": code.part(image),
                "patches": {s.name: self._patches(k, image, s) for s in sliders},
                "params": self._params(world, queue),
                "streams": self._streams(world, None),
                "later": self.atlas.later(world),
            }
            for k, (queue, world, image) in enumerate(
                zip(choices.queues, worlds, shared, strict=True)
            )
        ]
        start, names = choices.scenario, choices.controllers
        senders = {
            i: [
                self._sender(world, i) if fits(start, i, name) else None
                for name, world in zip(names, of_controllers, strict=True)
            ]
            if of_controllers
            else [self._sender(worlds[0], i)] * len(names)
            for i in self.senders
        }
        self.config: dict[str, Any] = {
            "engine": code.part(engine_module(self.ENTRIES)),
            "entries": list(range(1, 1 + len(self.ENTRIES))),
            "first": FIRST, "end": self.atlas.end, "queues": queues, "senders": senders,
        }  # fmt: skip

    @staticmethod
    def snapshot(scenario: Scenario) -> Snapshot:
        """The memory of a scenario at the start of a run."""
        raise NotImplementedError

    @property
    def bottleneck(self) -> int:
        """Number of the bottleneck among the links."""
        name = bottleneck(self.choices.scenario.net).name
        links = self.worlds[0].world.resolved.links
        return next(i for i, link in enumerate(links) if link.name == name)

    def _sender(self, world: Snapshot, i: int) -> dict[str, Any]:
        """The memory of flow `i` in a world."""
        return {
            "parts": [(at, self.code.part(raw)) for at, raw in self.atlas.sender_image(world, i)],
            "streams": self._streams(world, i),
            "later": self.atlas.later(world, i),
        }

    def _all_with(self, controller: str) -> Scenario:
        scenario = self.scenarios[0]
        for i in self.senders:
            if fits(scenario, i, controller):
                scenario = control.with_controller(scenario, i, controller)
        return scenario

    def _patches(self, k: int, image: bytes, slider: control.Slider) -> list[tuple[int, float]]:
        """Addresses of the numbers that depend on a slider, and their ratios to its value."""
        some = slider.in_model(slider.value or slider.high)
        values = LOSSES if slider.name == "loss" else [some * probe for probe in PROBES]
        before = np.frombuffer(image, np.int64)
        patches: list[tuple[int, float]] = []
        worlds = [
            self.snapshot(control.with_value(self.scenarios[k], slider.name, value))
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
            patches.append((FIRST + 8 * int(place), ratios[0]))
        return patches

    def _params(self, world: Snapshot, queue: QueueSpec) -> list[int]:
        """Addresses of the discipline's parameters."""
        if "queue" not in self.choices.controls:
            return []
        name = f"queues.{self.bottleneck}.params"
        return [self.atlas.shared[name] + 8 * k for k, _ in enumerate(control.parameters(queue))]

    def _streams(self, world: Snapshot, i: int | None) -> list[tuple[int, list[int]]]:
        """Addresses of the streams of random numbers that depend on the seed, and what else they
        depend on; those of flow `i`, or those that belong to no sender."""
        of = world.world
        uses = ("random loss", "queue", "jitter", "fluid")
        named = [f"link {link.name}: {use}" for link in of.resolved.links for use in uses]
        named += [f"flow {flow.name}: controller" for flow in of.resolved.flows]
        by_words: dict[tuple[int, ...], str] = {}
        for name in (*named, "fluid"):
            seeded: dict[str, int] = {}
            streams.seed_stream(seeded, of.scenario.seed, name)
            by_words[tuple(seeded.values())] = name
        places = self.atlas.address_of(world, i)
        names = world.own[i] if i is not None else self.atlas.shared
        entries = []
        for name in names:
            array = world.arrays.get(name)
            if array is None or "mrg0" not in (array.dtype.names or ()):
                continue
            for j, row in enumerate(array):
                words = tuple(int(row[field]) for field, _ in streams.STREAM_FIELDS)
                if any(words):
                    at = places[name] + j * array.itemsize + offset(array.dtype, "mrg0")
                    number = streams.entropy(by_words[words])
                    entries.append((at, [number >> 32 * k & 2**32 - 1 for k in range(4)]))
        return entries


def offset(dtype: np.dtype, name: str) -> int:
    fields: Mapping[str, Any] = dtype.fields or {}
    return int(fields[name][1])


def offsets(dtype: np.dtype, names: Any) -> dict[str, int]:
    """Offsets of fields by name; "size" is that of a record."""
    return {"size": dtype.itemsize, **{name: offset(dtype, name) for name in names}}
