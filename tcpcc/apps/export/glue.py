"""Glue between exported rules and a user-space stack: events in bytes and microseconds.

A stack reports each packet that it sends, that is acknowledged, and that is lost; the glue fills
the sample, finds rounds and loss events (RFC 9002, section 7.3.2) and calls the rules. The stack
keeps a `packet` for each packet in flight. The delivery rate is that of
draft-cheng-iccrg-delivery-rate-estimation. The text is in ``userspace/glue.h`` and ``glue.c``, with
@NAME@ in place of what depends on the controller.
"""

from __future__ import annotations

from collections.abc import Collection

from tcpcc.apps.export.handwritten_c import text_of
from tcpcc.controllers.controller import Controller

#: Statement for each field of the sample that the rules may read.
FIELDS = {
    "now": "now",
    "clock": "now",  # the stack may leave out the time for which sending was limited
    "acked": "0.0",
    "growing": "0.0",
    "delivered": "0.0",
    "rtt": "0.0",
    "srtt": "g->srtt",
    "base_rtt": "g->base_rtt",
    "max_rtt": "g->max_rtt",
    "round_rtt": "g->last_rtt",
    "round_min_rtt": "g->last_min_rtt",
    "round_time": "g->last_time",
    "round_packets": "g->last_packets",
    "inflight": "g->pipe",
    "window": "g->state.cwnd > 1.0 ? g->state.cwnd : 1.0",
    "transmits": "0.0",
    "limited": "g->limited",
    "marked": "0.0",
    "ce": "0.0",
    "phase": "g->phase",
    "pipe": "g->pipe",
    "total_delivered": "g->delivered",
    "delivery_rate": "NAN",
    "rate_interval": "NAN",
    "rate_delivered": "NAN",
    "app_limited": "NAN",
    "lost": "NAN",
    "lost_inflight": "NAN",
    "owd": "NAN",
    "piece": "1.0",
    "idle": "0.0",
    "sent": "0.0",
    "retransmitted": "0.0",  # QUIC sends the data in a new packet
    "packet_size": "g->size",
    "hops": "1.0",
}


def sources(
    controller: Controller,
    prefix: str,
    licence: str,
    rules: Collection[str],
    fields: Collection[str],
) -> dict[str, str]:
    """The files of the glue, name -> text, for the rules that the controller has and the fields of
    the sample that they read."""
    state, every_ack = controller.state, controller.every_ack

    def call(rule: str, indent: int = 4) -> str:
        if rule not in rules:
            return ""
        return f"{' ' * indent}{prefix}_{rule}(&g->state, &g->params, &a);\n"

    def put(field: str, value: str, indent: int = 4) -> str:
        return f"{' ' * indent}a.{field} = {value};\n" if field in fields else ""

    assignments = "".join(put(name, value) for name, value in FIELDS.items())
    marked = "on_mark" if "on_mark" in rules else "on_loss"
    loss = "    if (mark) {\n" + call(marked, 8) + "    } else {\n"
    loss += put("transmits", "1.0", 8) + call("on_loss", 8) + "    }\n"
    rate = "".join(
        put(name, value)
        for name, value in {
            "rtt": "rtt",
            "acked": "g->phase == 1.0 ? 0.0 : amount",
            "delivered": "amount",
            "growing": "limited > 0.0 ? 0.0 : amount",
            "inflight": "g->pipe + amount",  # RFC 5681: before this ACK
            "marked": "ce ? amount : 0.0",
            "ce": "ce ? amount : 0.0",
            "rate_interval": "elapsed",
            "rate_delivered": "g->delivered - packet->delivered",
            "delivery_rate": "elapsed > 0.0 ? (g->delivered - packet->delivered) / elapsed : 0.0",
            "app_limited": "packet->limited",
            "lost": "g->lost - packet->lost",
            "lost_inflight": "packet->pipe",
        }.items()
    )
    lost = ""
    if "on_lost_packet" in rules:
        lost = f"    struct {prefix}_sample a = sample(g, now);\n"
        lost += put("rate_delivered", "g->delivered - packet->delivered")
        lost += put("app_limited", "packet->limited")
        lost += put("lost", "g->lost - packet->lost") + put("lost_inflight", "packet->pipe")
        lost += call("on_lost_packet")
    restart = ""
    if "on_restart" in rules:
        restart = "        if (g->sent > 0.0) {\n"
        restart += f"            struct {prefix}_sample a = sample(g, now);\n"
        restart += put("idle", "now - g->last_sent", 12) + call("on_restart", 12) + "        }\n"
    sent = ""
    if "on_send" in rules:
        sent = f"    struct {prefix}_sample a = sample(g, now);\n"
        sent += put("sent", "bytes / g->size") + call("on_send")
    start = ""
    if {"on_start", "on_open"} & set(rules):
        start = f"    struct {prefix}_sample a = sample(g, 0.0);\n"
        start += call("on_start") + f"    g->state.cwnd = window / size;\n{call('on_open')}"
    undo = "" if controller.window == "own" else (
        "    g->state.cwnd = fmax(g->state.cwnd, g->cwnd_before);\n"
        "    g->state.ssthresh = g->ssthresh_before;\n"
    )  # fmt: skip
    ack = call("on_ack")
    if not every_ack and ack:
        ack = "    if (g->phase != 1.0)\n    " + ack
    on_round = call("on_round", 8)
    if not every_ack and on_round:
        on_round = "        if (g->phase != 1.0)\n    " + on_round
    assignments = assignments.rstrip("\n") or "    a.none = 0.0;"
    filled = {
        "LICENCE": licence, "G": prefix.upper(), "FIELDS": assignments,
        "START": start, "RESTART": restart, "SENT": sent, "LOSS": loss, "LOST_PACKET": lost,
        "ACKED": rate,
        "ROUND": on_round, "ON_ACK": ack, "TIMEOUT": put("transmits", "1.0") + call("on_timeout"),
        "UNDO": undo + call("on_undo"), "TIMER": call("on_timer"), "EVERY": str(int(every_ack)),
        "WAKE": "g->state.wake_at * 1e6" if "wake_at" in state else "INFINITY",
        "PACING": "g->state.pacing_rate * g->size" if "pacing_rate" in state else "INFINITY",
        "N": prefix,
    }  # fmt: skip
    files = {}
    for name in ("glue.h", "glue.c"):
        text = text_of(f"userspace/{name}")
        for key, value in filled.items():
            text = text.replace(f"@{key}@", value)
        files[f"{prefix}_{name}"] = text
    return files
