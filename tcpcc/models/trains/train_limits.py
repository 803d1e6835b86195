"""Where trains are inaccurate: it says so before the run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpcc.errors import ModelWarning, warn
from tcpcc.models.limits import SMALL_WINDOW, delay_reader, mean_window

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved

SMALL_WINDOW_BESIDE_DELAY = 8  # packets, of a controller that reads the delay


def warn_of_crowds(resolved: Resolved, model: str) -> None:
    """Warn of the first link on which fewer senders than flows are over a tenth off packets."""
    for i, link in enumerate(resolved.links):
        flows = [flow for flow in resolved.flows if i in flow.forward]
        if max((flow.spec.count for flow in flows), default=1) == 1 or not math.isfinite(
            link.rate * link.buffer
        ):
            continue
        number = sum(flow.spec.count for flow in flows)
        window = mean_window(resolved, link, flows)
        lasts = 8 * flows[0].spec.packet_size / link.rate
        thresholds = dict(link.queue.discipline.check(dict(link.queue.params)))
        which = f"{number} flows"
        small = SMALL_WINDOW_BESIDE_DELAY if any(map(delay_reader, flows)) else SMALL_WINDOW
        if window < small:
            which += f" with windows of at most {window:.2g} packets"
            off = (
                "the loss rate can be half as high again, with controllers that read the delay"
                " several times as high, and foreground flows can get a quarter too much: check"
                " with the packet model and fewer flows"
            )
        elif max(flow.spec.count for flow in flows) > thresholds.get("min_thresh", math.inf):
            off = (
                "one packet is more than min_thresh: the loss rate can be a quarter too high and"
                " the throughput of the first 20 s a fifth: give more senders"
            )
        elif link.queue.name == "droptail" and any(
            flow.spec.count > 1 and flow.spec.processing < lasts for flow in flows
        ):
            off = (
                "equal packets lose in phase, those of fewer senders do not: the loss rate and"
                " the mean queue can be a third higher or lower than in packets, the throughput a"
                f" tenth: give all flows processing = {2 * lasts:.2g} to compare the models"
            )
        else:
            continue
        warn(
            f"{model} model: link {link.name!r}: {which}, simulated by fewer senders: {off}",
            ModelWarning,
        )
        return
