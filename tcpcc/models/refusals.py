"""What only packets have: the models without packets refuse it, or warn of it, in one line."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.scenario.resolve import Resolved


class FluidWarning(UserWarning):
    """A model without packets may be off; says where, or where the documentation tells of it."""


def warn_of_jitter(resolved: Resolved, model: str) -> None:
    """Say that what is another for each packet is its mean."""
    for what in ("jitter", "aggregation"):
        names = [repr(link.name) for link in resolved.links if getattr(link, what) > 0]
        if names:
            listed = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if names[2:] else "")
            warnings.warn(
                f"{model} model: the {what} of {listed} is its mean, half of it for every packet,"
                " and nothing overtakes: check with the packet model",
                FluidWarning,
                stacklevel=6,
            )


def needs_packets(controller: Controller) -> bool:
    """Whether a controller is told of single packets, spaces them or writes into them."""
    return bool(controller.extras or controller.header)


def refuse_what_needs_packets(resolved: Resolved, model: str) -> None:
    """Refuse ECN, queue disciplines that say nothing of fluid, and controllers that are told of
    single packets, or space them.

    Raises:
        ScenarioError: the scenario has one.
    """
    for flow in resolved.rows:
        controller = flow.controller
        if controller is not None and controller.extras:
            raise ScenarioError(
                f"flow {flow.name!r}: controller {controller.name!r} needs packets"
                f" ({controller.extras[0]}), and the {model} model has none; use the packet model"
            )
        if not isinstance(flow.spec, CBR) and flow.spec.transport.ecn != "off":
            raise ScenarioError(
                f"flow {flow.name!r}: ecn = {flow.spec.transport.ecn!r}: the {model} model marks no"
                " packets; use the packet model"
            )
        if flow.controller is not None and flow.controller.header:
            raise ScenarioError(
                f"flow {flow.name!r}: controller {flow.controller.name!r} writes into packets, of"
                f" which the {model} model has none; use the packet model"
            )
    for link in resolved.links:
        discipline = link.queue.discipline
        if discipline.decides_by_packet and discipline.on_fluid is None:
            raise ScenarioError(
                f"link {link.name!r}: queue {discipline.name!r} has no on_fluid, so the {model}"
                " model cannot run it; use the packet model"
            )
