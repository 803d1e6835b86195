"""BBR, version 2: version 3's predecessor, whose probes for bandwidth end with a small queue.

Source: Linux' ``tcp_bbr2`` (google/bbr, branch v2alpha, Linux 5.13); N. Cardwell et al., "BBR v2: a
model-based congestion control", ICCRG at IETF 104, 2019.

The equations are those of `bbr3`, except

(3)  STARTUP: g = c = 2.885; 8 ACKs that report losses; then inflight_longterm = bw_s d
(4)  DRAIN: g = 1/2.885 until at most bw_s d is in flight
(5)  DOWN: g = 0.75. UP: c = 2, until d has passed and 1.25 bw d is in flight, or until (8) ends it
(13) extra is at most the packets of 0.1 s at bw_s

Differences from Linux
    (9): packets delivered in UP while W is not in full use are kept and not forgotten.
    ECN, which the module has switched off: as in `bbr3`.

Evidence (constants: Linux, v2alpha)
    vector: end of STARTUP by losses, DRAIN, end of UP
        controllers/test_bbr2.py
    claim: keeps most of its rate at 1 % loss; leaves CUBIC more than version 1 in a shallow buffer
        controllers/test_bbr2.py::test_beside_cubic_it_takes_less_than_version_1
"""

from tcpcc.controllers.bbr3 import (
    DRAIN,
    UP,
    adapt_longterm,
    bbr3,
    bdp,
    begin_down,
    budget,
    end_up,
    go_up,
    update_control,
    update_signals,
)
from tcpcc.controllers.bbr3 import check_startup as check_startup_of_3
from tcpcc.definition import Param, register

HIGH_GAIN = 2.885


def check_startup(s, p, a):
    """(3)."""
    before = s.inflight_longterm
    check_startup_of_3(s, p, a)
    if s.inflight_longterm != before:
        s.inflight_longterm = bdp(s, p, s.bw, 1.0)


def check_drain(s, p, a):
    """(4)."""
    if s.mode == DRAIN and a.pipe <= budget(s, p, a, bdp(s, p, s.bw, 1.0)):
        begin_down(s, p, a.now, a.total_delivered)


def is_time_to_go_down(s, p, a):
    if s.probed_too_high != 0 and a.pipe >= s.inflight_longterm:
        s.precautionary = 1.0
        return True
    queued = a.pipe >= budget(s, p, a, bdp(s, p, s.max_bw, p.up_inflight))
    return queued and a.now > s.cycle_at + s.base_rtt


def update_cycle(s, p, a):
    """(5)."""
    if s.full == 0 or adapt_longterm(s, p, a):
        return
    if s.mode != UP:
        go_up(s, p, a)
    elif is_time_to_go_down(s, p, a):
        end_up(s, p, a)


def on_ack(s, p, a):
    update_signals(s, p, a)
    check_startup(s, p, a)
    check_drain(s, p, a)
    update_cycle(s, p, a)
    update_control(s, p, a)


DEFAULTS = {
    "startup_gain": HIGH_GAIN,
    "startup_cwnd_gain": HIGH_GAIN,
    "drain_gain": 1 / HIGH_GAIN,
    "down_gain": 0.75,
    "up_cwnd_gain": 2.0,
    "full_losses": 8,
    "extra_time": 0.1,
}

bbr2 = register(
    bbr3.variant(
        name="bbr2",
        summary="BBR whose probes end with a small queue, with bounds from losses",
        source="Linux tcp_bbr2 (v2alpha)",
        on_ack=on_ack,
        params={
            **{name: bbr3.params[name].replace(default=v) for name, v in DEFAULTS.items()},
            "up_inflight": Param(1.25, "", "share of bw d in flight that ends UP", 1),
        },
        look=("green", "X"),
    )
)
