"""Settings of hosts as known systems have them: ns-2.35, 4.3BSD-Reno, Linux."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

#: Slow start and timeouts as in ns-2 and 4.3BSD.
_CLASSIC: Mapping[str, Any] = {
    "slow_start_rule": False, "rto_margin": 0.0, "hold_ssthresh": False, "frto": False,
    "flight_ssthresh": False,
    "timestamps": False, "dsack": False,
}  # fmt: skip


#: `Transport.ns2`.
NS2: Mapping[str, Any] = {**_CLASSIC, "initial_window": 2.0, "initial_rto": 3.0}

#: `Transport.bsd`.
BSD: Mapping[str, Any] = {
    **_CLASSIC, "initial_window": 1.0, "tick": 0.5, "coarse_timer": True,
    "initial_rto": 6.0, "min_rto": 1.0, "max_rto": 64.0, "limited_transmit": False,
}  # fmt: skip

#: `Transport.linux`.
LINUX_6: Mapping[str, Any] = {
    "tick": 0.004, "slow_start_rule": False,
    "delayed_ack": 0.04, "quick_acks": 16, "abc_limit": math.inf, "count_delivered": True,
    "whole_window": True, "gso_segments": 2, "gso_time": 1 / 1024, "gradual_marks": True,
    "eifel": True, "window_decay": True, "flight_ssthresh": False,
}  # fmt: skip

#: Packets and loss recovery of `Flow.linux`.
LINUX_HOST: Mapping[str, Any] = {
    "packet_size": 1500, "header": 52, "ack_size": 52, "recovery": "rack-tlp",
}  # fmt: skip

#: Settings of `Flow` for each congestion control, by the kernel's name. ``tcp_cubic`` is the
#: authors' version of 2008 with the beta of RFC 9438.
LINUX: dict[str, Mapping[str, Any]] = {
    "cubic": {
        "controller": "cubic_2008", "beta": 717 / 1024, "early_growth": 1 / 20,
        "slow_start": "hystart",
    },
    "westwood": {"controller": "westwood_plus"},
    "highspeed": {"controller": "hstcp"},
    **{
        name: {"controller": name}
        for name in (
            "reno", "bbr", "vegas", "htcp", "hybla", "illinois", "veno", "yeah", "nv", "cdg", "lp",
            "bic", "scalable", "dctcp",
        )
    },
    "bbr2": {"controller": "bbr2"},
    "bbr3": {
        "controller": "bbr3", "drain_gain": 1000 / 2885, "down_gain": 0.91, "extra_time": 0.1,
        "startup_extra": False,
    },
    "prague": {"controller": "prague", "pacing_gain": 1500 / 1436, "header": 64},
}  # fmt: skip
_OF_BBR = {"gso_above": 1.2e6, "syn_rtt": True}
#: Settings of its transport: ECN, for DCTCP and Prague of all packets (``tcp_ca_needs_ecn`` in
#: ``tcp_ecn_send_syn`` and ``tcp_ecn_send``); ``bbr_min_tso_rate``, ``bbr_init``; Prague's pieces
#: of 1/4096 s.
#: L4STeam's kernel adds the AccECN option (12 bytes) to each packet, so that the receiver leaves
#: the fast path and ``__tcp_accecn_process`` demands an ACK at once. The sender paces by whole
#: packets, but counts their payload of 1436 bytes (``prague_update_pacing_rate``).
LINUX_TRANSPORT: Mapping[str, Mapping[str, Any]] = {
    "bbr": _OF_BBR,
    "bbr2": _OF_BBR,
    "bbr3": _OF_BBR,
    "dctcp": {"ecn": "accurate", "ecn_control": True, "ecn_retransmissions": True},
    "prague": {
        "ecn": "l4s", "ecn_control": True,
        "gso_time": 1 / 4096, "gso_segments": 1, "delayed_ack": 0.0,
    },
}  # fmt: skip
