"""The data of a page: compiled code, and the worlds of its models."""

from __future__ import annotations

from dataclasses import asdict
from inspect import signature
from typing import Any

from tcpcc.apps.browser import control
from tcpcc.apps.browser.fluid_data import FluidData
from tcpcc.apps.browser.model_data import Choices, Code
from tcpcc.apps.browser.packet_data import PacketData
from tcpcc.engine.wasm import RULES, rules_module
from tcpcc.results import convergence, metrics
from tcpcc.results.plot_style import colour
from tcpcc.results.recording import ROUNDING
from tcpcc.scenario import CBR
from tcpcc.scenario.network import bottleneck


class PageData:
    """See the module.

    Attributes:
        config: what the page's script needs to know, for JSON.
        parts: byte strings that `config` refers to by number.
        packets, fluid: the models' parts.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        start = choices.scenario
        link = bottleneck(start.net)
        self.sliders = choices.sliders()
        code = Code()
        self.packets = PacketData(choices, code)
        self.fluid = FluidData(choices, code) if choices.fluid else None
        self.parts = code.parts
        world = self.packets.worlds[0].world
        scale, unit = control.rate_unit(link.rate)
        self.config: dict[str, Any] = {
            "rules": code.part(rules_module(list(code.rules))),
            "functions": RULES.first + len(code.rules),
            "controls": choices.controls,
            "duration": start.duration,
            "interval": start.interval,
            "bins": world.n_bins,
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
            },
            "sliders": [asdict(slider) for slider in self.sliders],
            "controllers": [{"name": n, "colour": colour(n)} for n in choices.controllers],
            "queues": [
                {
                    "name": queue.name,
                    "params": [asdict(slider) for slider in control.parameters(queue)]
                    if "queue" in choices.controls
                    else [],
                }
                for queue in choices.queues
            ],
            "flows": [self._flow(i) for i in range(len(start.flows))],
            "measures": _measures(),
            "packet": self.packets.config,
            "fluid": self.fluid and self.fluid.config,
        }

    def _flow(self, i: int) -> dict[str, Any]:
        spec = self.choices.scenario.flows[i]
        name = self.packets.worlds[0].world.resolved.flows[i].name
        return {
            "name": name,
            "named": name != f"{getattr(spec, 'controller', '')}{i + 1}",
            "controller": None
            if isinstance(spec, CBR)
            else self.choices.controllers.index(spec.controller),
            "start": spec.start,
            "stop": spec.stop if not isinstance(spec, CBR) else None,
            "packet": spec.packet_size,
            "writes": [time for k, (time, _) in enumerate(spec.writes) if k > 0 or time > 0],
        }


def _measures() -> dict[str, float]:
    """The constants of the measures of a run."""
    return {
        "ROUNDING": ROUNDING,
        "BAND": metrics.BAND,
        "TAIL": metrics.TAIL,
        **{
            name: getattr(convergence, name)
            for name in ("CYCLES", "LEAST", "PART", "ROUNDS", "LAST")
        },
        "WITHIN": float(signature(convergence.settling_time).parameters["band"].default),
    }
