"""Warnings of the models, and features that the mean field refuses because they need packets."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, ScenarioWarning
from tcpcc.scenario.resolve import is_host
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.scenario.resolve import Resolved


TINY = 4  # packets; of a smaller buffer windows of two packets lose bursts
TYPICAL = 1000  # bytes of a packet, for buffers in bytes


class FluidWarning(UserWarning):
    """The fluid model or the mean field may be inaccurate here; the message says where."""


def warn_of_jitter(resolved: Resolved) -> None:
    """Warn that a random delay per packet is replaced by its mean."""
    for what in ("jitter", "aggregation"):
        names = [
            repr(link.name)
            for link in resolved.links
            if getattr(link, what) > 0 and not is_host(link)
        ]
        if names:
            listed = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if names[2:] else "")
            warnings.warn(
                f"meanfield model: the {what} of {listed} is replaced by its mean (half the value),"
                " and packets keep their order: check with the packet model",
                FluidWarning,
                stacklevel=6,
            )


def warn_of_tiny_buffers(resolved: Resolved) -> None:
    """Warn of a drop-tail buffer of a few packets, which loses parts of bursts only in packets."""
    for link in resolved.links:
        size = 1 if link.buffer_unit == "packets" else TYPICAL
        if link.buffer < TINY * size and math.isfinite(link.rate):
            warnings.warn(
                f"meanfield model: link {link.name!r}: buffer = {link.buffer:g} {link.buffer_unit}:"
                " such a buffer drops bursts, but not in this model, so utilization can be several"
                " times too high: check with the packet model",
                FluidWarning,
                stacklevel=6,
            )
            return


def warn_of_unread_headers(resolved: Resolved) -> None:
    """Warn of a flow with a header field that no queue on its path reads, such as XCP's."""
    for flow in resolved.rows:
        controller = flow.controller
        if controller is None or not controller.header:
            continue
        read = {n for i in flow.forward for n in resolved.links[i].queue.discipline.header}
        if unread := [name for name in controller.header if name not in read]:
            warnings.warn(
                f"flow {flow.name!r}: no queue on its path reads the header fields"
                f" {', '.join(unread)} of controller {controller.name!r}: it gets no answer from a"
                " router",
                ScenarioWarning,
                stacklevel=6,
            )
            return


#: Features with which rules cannot be called at mean values, as the mean field does.
NOT_OF_MEANS = {
    "chance": "draws random numbers (chance)",
    "exact": "depends on exact values (exact)",
}


def what_needs_packets(controller: Controller) -> list[str]:
    """The features of a controller that the mean field does not support: rules for single packets,
    pacing, header fields, random numbers, rules that depend on exact values."""
    flags = ("header", *NOT_OF_MEANS)
    return [*controller.extras, *(name for name in flags if getattr(controller, name))]


def refuse_groups(resolved: Resolved) -> None:
    """Refuse flows that are coupled in a group.

    Raises:
        ScenarioError: there is one.
    """
    for flow in resolved.rows:
        spec = flow.spec
        if isinstance(spec, CBR) or spec.group is None or flow.controller is None:
            continue
        if flow.controller.coupled:
            raise ScenarioError(
                f"flow {flow.name!r}: group = {spec.group!r}: the meanfield model treats flows"
                " as independent; use the packet or the fluid model"
            )


def refuse_what_needs_packets(resolved: Resolved) -> None:
    """Refuse queue disciplines without a rule for amounts, and controllers that need packets.

    Raises:
        ScenarioError: the scenario uses one of these.
    """
    needs_of = {
        controller: what_needs_packets(controller)
        for controller in {flow.controller for flow in resolved.rows}
        if controller is not None
    }
    for flow in resolved.rows:
        controller = flow.controller
        if controller is None or not (needs := needs_of[controller]):
            continue
        if len(needs) == 1 and needs[0] in NOT_OF_MEANS:
            raise ScenarioError(
                f"flow {flow.name!r}: controller {controller.name!r} {NOT_OF_MEANS[needs[0]]};"
                " the meanfield model calls its rules at mean values; use the packet or the fluid"
                " model"
            )
        raise ScenarioError(
            f"flow {flow.name!r}: controller {controller.name!r} needs packets ({needs[0]}); the"
            " meanfield model has no packets; use the packet or the fluid model"
        )
    for link in resolved.links:
        discipline = link.queue.discipline
        if not discipline.runs_in_fluid:
            raise ScenarioError(
                f"link {link.name!r}: queue {discipline.name!r} has no on_fluid, so the meanfield"
                " model cannot run it; use the packet or the fluid model"
            )
