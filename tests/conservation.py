"""Conservation, checked at the end of each simulated run of the tests (`conftest.conservation`).

Packets: for each flow sent = arrived + dropped + in flight, data and ACKs together, counted one by
one. Fluid: what a link is offered it accepts or drops, what it accepts it sends or keeps, and no
link is offered more than the one before has accepted.
"""

import itertools
import math

import numpy as np

ROUNDING = 1e-6  # of what has been sent; fluid sums up a small amount in each step


def check_packets(world):
    """Exact for all flows together; one by one where no packet waits in the pool."""
    tcp, flows, cbr = world.tcp, world.flows, world.cbr
    in_lanes = np.zeros(len(flows), np.int64)
    for i, lane in enumerate(world.paths.lanes):
        if lane["flight_tail"] > lane["flight_head"]:
            ring = world.rings.arrays["flight", i]
            places = np.arange(lane["flight_head"], lane["flight_tail"]) % len(ring)
            in_lanes += np.bincount(ring["flow"][places], minlength=len(flows))
    if hasattr(world, "in_trains"):
        in_lanes += world.in_trains()
    made = tcp["sent"] + flows["acks_sent"]
    gone = tcp["arrived"] + flows["inbound"] + flows["dropped"] + tcp["outbox_count"]
    made[: len(cbr)] += cbr["sent"]
    gone[: len(cbr)] += cbr["arrived"]
    rest = made - gone - in_lanes
    in_pool = len(world.pool.packets) - 1 - int(world.w["n_free"][0])
    assert (rest >= 0).all(), f"flows {np.flatnonzero(rest < 0)}: more has arrived than was sent"
    assert rest.sum() == in_pool, (
        f"{rest.sum()} packets are neither delivered, dropped nor on a way"
    )
    assert (tcp["arrived"] == tcp["delivered"] + tcp["duplicates"]).all()
    if world.conversations is None:
        sums = {name: world.flow_bins[name].sum() for name in ("sent", "dropped", "acks_dropped")}
        assert sums["sent"] == tcp["sent"].sum() + cbr["sent"].sum(), "the record of what was sent"
        lost = sums["dropped"] + sums["acks_dropped"]
        assert lost <= flows["dropped"].sum(), "the record of what was dropped"


def check_fluid(world):
    slots, hops, links = world.slots, world.hops, world.links
    data = slots["carries_ack"] == 0
    scale = max(float(slots["offered"].max(initial=0.0)), 1.0)
    lost = slots["offered"] - slots["accepted"] - slots["dropped"]
    assert (np.abs(lost[data]) <= ROUNDING * scale).all(), "offered, neither accepted nor dropped"
    for route in world.routes:
        way = hops[route["first_hop"] : route["first_hop"] + route["n_hops"]]
        for before, after in itertools.pairwise(way):
            a = slots[before["first_slot"] :][: before["n_slots"]]
            b = slots[after["first_slot"] :][: after["n_slots"]]
            made = (b["offered"] - a["accepted"])[b["carries_ack"] == 0]
            assert (made <= ROUNDING * scale).all(), "a link is offered more than came before it"
    accepted = np.zeros(len(links))
    size = slots["accepted"] * slots["size"] * slots["count"]
    for hop in hops:
        mine = slice(hop["first_slot"], hop["first_slot"] + hop["n_slots"])
        accepted[hop["link"]] += size[mine].sum()
    ways = {int(hop["link"]) for hop in hops if not data[hop["first_slot"]]}
    for i, link in enumerate(links):
        near = ROUNDING * max(float(link["taken"]), 1.0)
        assert link["served"] <= link["taken"] + near, f"link {i} has sent more than it accepted"
        if i not in ways:
            assert math.isclose(link["taken"], accepted[i], rel_tol=ROUNDING, abs_tol=1500.0), (
                f"link {i}: accepted {link['taken']:g} of {accepted[i]:g} bytes"
            )
