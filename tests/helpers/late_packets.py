"""Paths on which packets are late for a moment, so that a sender takes them for lost: 10 Mb/s,
40 ms there and back, a long buffer."""

import tcpcc as tc

BUFFER = 400


def _scenario(controller, link, changes, duration, recovery, **transport):
    there = tc.Link("left", "right", rate="10 Mbps", delay="20 ms", name="there", **link)
    back = tc.Link("right", "left", rate="10 Mbps", delay="20 ms")
    return tc.Scenario(
        tc.Network([there, back], default_path=("left", "right")),
        [tc.Flow(controller, recovery=recovery, transport=transport, name="flow")],
        duration=duration,
        seed=1,
        changes=changes,
    )


def overtaken(
    controller, at, until, *, share=0.05, most=0.06, duration=8.0, buffer=BUFFER, recovery=None,
    **transport,
):  # fmt: skip
    """Of the packets between two times a share is late by up to `most` seconds, and others overtake
    them."""
    jitter = {"jitter": most, "jitter_share": share, "reordering": True}
    changes = [
        tc.Change(at=time, link="there", jitter=late)
        for time, late in ((0, 0.0), (at, most), (until, 0.0))
    ]
    link = {"buffer": buffer, **jitter}
    return _scenario(controller, link, changes, duration, recovery, **transport)


def all_late(controller, at, *, duration=8.0, buffer=BUFFER, recovery=None, **transport):
    """All packets from a time on are late by half a second, more than a retransmission timeout."""
    changes = [
        tc.Change(at=time, link="there", delay=delay)
        for time, delay in ((at, "520 ms"), (at + 0.02, "20 ms"))
    ]
    link = {"buffer": buffer}
    return _scenario(controller, link, changes, duration, recovery, **transport)
