"""Conservation, checked at the end of each simulated run of the tests (`conftest.conservation`).

For each flow sent = arrived + dropped + in flight, data and ACKs together, counted one by one, in
the packet, fluid and hybrid model.
"""

import numpy as np


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
