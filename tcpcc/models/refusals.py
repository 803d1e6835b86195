"""Checks of the models without packets: they refuse, or warn of, features that need packets."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.scenario.resolve import Resolved


class FluidWarning(UserWarning):
    """A model without packets may be inaccurate for this scenario; the message says where."""


def warn_of_jitter(resolved: Resolved, model: str) -> None:
    """Warn that a random delay per packet is replaced by its mean."""
    for what in ("jitter", "aggregation"):
        names = [repr(link.name) for link in resolved.links if getattr(link, what) > 0]
        if names:
            listed = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if names[2:] else "")
            warnings.warn(
                f"{model} model: the {what} of {listed} is replaced by its mean, half of it, and"
                " packets keep their order: check with the packet model",
                FluidWarning,
                stacklevel=6,
            )


#: Features from `Controller.extras` and `header` that a model without packets supports, by model.
HAVE = {"fluid": {"on_start", "on_open", "pacing_rate", "header"}}


def what_needs_packets(controller: Controller, model: str) -> list[str]:
    """The features of a controller that `model` does not support because they need packets: rules
    for single packets, pacing, header fields."""
    used = [*controller.extras, *(["header"] if controller.header else [])]
    return [name for name in used if name not in HAVE.get(model, ())]


def refuse_what_needs_packets(resolved: Resolved, model: str) -> None:
    """Refuse ECN, queue disciplines without a fluid rule, and controllers that need packets.

    Raises:
        ScenarioError: the scenario uses one of these.
    """
    needs_of = {
        controller: what_needs_packets(controller, model)
        for controller in {flow.controller for flow in resolved.rows}
        if controller is not None
    }
    for flow in resolved.rows:
        controller = flow.controller
        if controller is not None and (needs := needs_of[controller]):
            raise ScenarioError(
                f"flow {flow.name!r}: controller {controller.name!r} needs packets"
                f" ({needs[0]}); the {model} model has no packets; use the packet model"
            )
        if not isinstance(flow.spec, CBR) and flow.spec.transport.ecn != "off":
            raise ScenarioError(
                f"flow {flow.name!r}: ecn = {flow.spec.transport.ecn!r}: the {model} model marks no"
                " packets; use the packet model"
            )
    for link in resolved.links:
        discipline = link.queue.discipline
        if not discipline.runs_in_fluid:
            raise ScenarioError(
                f"link {link.name!r}: queue {discipline.name!r} has no on_fluid, so the {model}"
                " model cannot run it; use the packet model"
            )
