"""Controllers broken on purpose, one for a section of RFC 9743 each."""

from __future__ import annotations

import tcpcc as tc
from tcpcc import Param, State

RENO = tc.controllers["reno"]
reno_on_ack = RENO.on_ack


def grow(s, p, a):
    """By `growth` packets a round trip."""
    if s.cwnd < s.ssthresh:
        s.cwnd += a.acked
    else:
        s.cwnd += p.growth * a.acked / s.cwnd


def back_off(s, p, a):
    s.ssthresh = max(p.kept * a.window, 2.0)
    s.cwnd = s.ssthresh


# 5.1.4: who has more takes more.
def grow_with_window(s, p, a):
    if s.cwnd < s.ssthresh:
        s.cwnd += a.acked
    else:
        s.cwnd += a.acked * s.cwnd / 5000


# 6.1: stops growing at 10 packets.
def stop_growing(s, p, a):
    if s.cwnd < 10:
        s.cwnd += a.acked


# 6.4: every loss is a timeout.
def collapse(s, p, a):
    s.ssthresh = 2.0
    s.cwnd = 1.0


# 7.3: any delay above the least one seen is congestion.
def flee_delay(s, p, a):
    if a.rtt > 1.5 * a.base_rtt:
        s.cwnd = max(s.cwnd - 0.2 * a.acked, 2.0)
    else:
        reno_on_ack(s, p, a)


# 7.5: no slow start.
def walk(s, p, a):
    s.cwnd += a.acked / s.cwnd


# 7.8: a timeout is remembered for good.
def never_again(s, p, a):
    s.ssthresh = 2.0
    s.cwnd = 1.0
    s.hurt = 1.0


def limp(s, p, a):
    if s.hurt > 0:
        s.cwnd = min(s.cwnd + a.acked / s.cwnd, 4.0)
    else:
        reno_on_ack(s, p, a)


# 5.1.1: does not care about timeouts.
def shrug(s, p, a):
    s.cwnd = max(s.cwnd, 20.0)


def divide_by_zero(s, p, a):
    s.cwnd += 1 / (s.cwnd - s.cwnd)


FAULTY = tc.Controller("faulty", "", divide_by_zero, collapse, collapse)


# name: (section that sees it, rules, parameters)
BROKEN = {
    "collapses": ("5.1.1", {"on_loss": shrug, "on_timeout": shrug}, {}),
    "bloats": ("5.1.2", {"on_loss": back_off}, {"kept": 0.98}),
    "overshoots": ("5.1.3", {"on_ack": grow, "on_loss": back_off}, {"growth": 10, "kept": 0.98}),
    "unfair": ("5.1.4", {"on_ack": grow_with_window, "on_loss": back_off}, {"kept": 0.98}),
    "bully": ("5.2.1", {"on_ack": grow, "on_loss": back_off}, {"growth": 3, "kept": 0.8}),
    "timid": ("6.1", {"on_ack": stop_growing}, {}),
    "fragile": ("6.4", {"on_loss": collapse}, {}),
    "shy": ("7.3", {"on_ack": flee_delay}, {}),
    "slow": ("7.5", {"on_ack": walk}, {}),
    "sulks": ("7.8", {"on_ack": limp, "on_timeout": never_again}, {}),
}


def controller(name: str) -> tc.Controller:
    _, rules, values = BROKEN[name]
    return RENO.variant(
        name=f"broken_{name}",
        summary="broken on purpose",
        params={key: Param(value) for key, value in values.items()},
        state={"hurt": State(0.0, "", "whether a timeout happened")} if name == "sulks" else {},
        recovery="newreno",
        slow_start="standard",
        **rules,
    )
