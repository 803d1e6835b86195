"""Glue between exported rules and a user-space stack: events in bytes and microseconds.

A stack reports each packet that it sends, that is acknowledged, and that is lost; the glue fills
the sample, finds rounds and loss events (RFC 9002, section 7.3.2) and calls the rules. The stack
keeps a `packet` for each packet in flight. The delivery rate is that of
draft-cheng-iccrg-delivery-rate-estimation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
    "packet_size": "g->size",
    "hops": "1.0",
}

HEADER = """\
/* @LICENCE@ */
/*
 * Glue between the rules of @N@ and a stack: bytes and microseconds. Written by tcpcc.
 *
 * The stack owns one @N@_glue for each connection, and one @N@_packet for each packet in flight.
 * It calls on_sent, on_acked and on_lost for each packet with data, sends while fewer than
 * @N@_window bytes are in flight, and not faster than @N@_pacing_rate. Packets are acknowledged and
 * lost in any order; those that an ACK reports lost are told before those that it acknowledges.
 * on_sent must come before the packet is sent, with the bytes on the wire. The glue does not
 * detect losses and sets no timers.
 */
#ifndef TCPCC_@G@_GLUE_H
#define TCPCC_@G@_GLUE_H

#include <stddef.h>

#include "@N@.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the glue must remember of a packet in flight. */
struct @N@_packet {
    double bytes, sent, number; /* bytes, s, packets sent before it */
    double delivered, delivered_at, first_sent; /* when it was sent: packets, s, s */
    double pipe, lost, limited; /* when it was sent: packets, packets, 0 or 1 */
};

/* A connection. Times in s, windows in packets of `size` bytes. */
struct @N@_glue {
    struct @N@_state state;
    struct @N@_params params;
    double size, pipe, sent, delivered, delivered_at, first_sent, lost, last_sent;
    double srtt, base_rtt, max_rtt, phase, recovery, limited, cwnd_before, ssthresh_before;
    double round_end, round_begin, round_sum, round_count, round_min, round_sent;
    double last_rtt, last_min_rtt, last_time, last_packets;
};

size_t @N@_glue_size(void); /* for callers in other languages */

/* params: NULL for the defaults. window: initial window, bytes. size: bytes of a full packet. */
void @N@_glue_init(struct @N@_glue *g, const struct @N@_params *params, double size, double window);

/* app_limited: 1 if the stack has no more data to send now than this packet. */
void @N@_on_sent(struct @N@_glue *g, struct @N@_packet *packet, double bytes, int app_limited,
                 double now_us);

/* ce: 1 if the ACK reports an ECN mark of this packet. */
void @N@_on_acked(struct @N@_glue *g, const struct @N@_packet *packet, int ce, double now_us);

void @N@_on_lost(struct @N@_glue *g, const struct @N@_packet *packet, double now_us);

/* A retransmission timer (RFC 6298), or persistent congestion (RFC 9002, 7.6); not a probe. */
void @N@_on_rto(struct @N@_glue *g, double now_us);

/* The last loss event was spurious. */
void @N@_on_spurious(struct @N@_glue *g, double now_us);

/* Call on_wake at this time, us; infinite: never. */
double @N@_wake_us(const struct @N@_glue *g);
void @N@_on_wake(struct @N@_glue *g, double now_us);

double @N@_window(const struct @N@_glue *g); /* bytes that may be in flight */
double @N@_pacing_rate(const struct @N@_glue *g); /* bytes per second; infinite: no pacing */

#ifdef __cplusplus
}
#endif

#endif
"""

SOURCE = """\
/* @LICENCE@ */
#include "@N@_glue.h"

#include <math.h>

#define LEAST_WINDOW 2.0 /* packets: RFC 9002, section 7.2 */

static struct @N@_sample sample(const struct @N@_glue *g, double now)
{
    struct @N@_sample a;
    (void)g;
    (void)now;
@FIELDS@
    return a;
}

size_t @N@_glue_size(void)
{
    return sizeof(struct @N@_glue);
}

void @N@_glue_init(struct @N@_glue *g, const struct @N@_params *params, double size, double window)
{
    static const struct @N@_glue zero;
    *g = zero;
    g->params = params ? *params : @N@_defaults;
    g->size = size;
    g->base_rtt = INFINITY;
    g->round_min = INFINITY;
    g->recovery = -1.0;
    @N@_init(&g->state);
    g->state.cwnd = window / size;
@START@}

void @N@_on_sent(struct @N@_glue *g, struct @N@_packet *packet, double bytes, int app_limited,
                 double now_us)
{
    double now = now_us / 1e6;
    if (g->pipe <= 0.0) {
@RESTART@        g->pipe = 0.0;
        g->first_sent = now;
        g->delivered_at = now;
    }
    packet->bytes = bytes;
    packet->sent = now;
    packet->number = g->sent;
    packet->delivered = g->delivered;
    packet->delivered_at = g->delivered_at;
    packet->first_sent = g->first_sent;
    packet->pipe = g->pipe;
    packet->lost = g->lost;
    packet->limited = app_limited ? 1.0 : 0.0;
    g->limited = app_limited && g->pipe + bytes / g->size < g->state.cwnd ? 1.0 : 0.0;
    g->pipe += bytes / g->size;
    g->sent += 1.0;
    g->round_sent += 1.0;
    g->last_sent = now;
}

static void congestion(struct @N@_glue *g, const struct @N@_packet *packet, double now, int mark)
{
    if (packet->number < g->recovery)
        return; /* sent before the last event */
    struct @N@_sample a = sample(g, now);
    g->cwnd_before = g->state.cwnd;
    g->ssthresh_before = g->state.ssthresh;
    g->recovery = g->sent;
    (void)a;
    (void)mark;
@LOSS@    g->phase = 1.0;
}

void @N@_on_lost(struct @N@_glue *g, const struct @N@_packet *packet, double now_us)
{
    double now = now_us / 1e6;
    g->pipe = fmax(g->pipe - packet->bytes / g->size, 0.0);
    g->lost += packet->bytes / g->size;
@LOST_PACKET@    congestion(g, packet, now, 0);
}

void @N@_on_acked(struct @N@_glue *g, const struct @N@_packet *packet, int ce, double now_us)
{
    double now = now_us / 1e6, rtt = now - packet->sent, amount = packet->bytes / g->size;
    double before, elapsed, limited = g->limited;
    int every = @EVERY@;
    g->pipe = fmax(g->pipe - amount, 0.0);
    g->delivered += amount;
    g->srtt = g->srtt > 0.0 ? 0.875 * g->srtt + 0.125 * rtt : rtt;
    g->base_rtt = fmin(g->base_rtt, rtt);
    g->max_rtt = fmax(g->max_rtt, rtt);
    g->round_sum += rtt;
    g->round_count += 1.0;
    g->round_min = fmin(g->round_min, rtt);
    if (ce)
        congestion(g, packet, now, 1);
    if (g->phase > 0.0 && packet->number >= g->recovery)
        g->phase = 0.0;
    elapsed = fmax(now - packet->delivered_at, packet->sent - packet->first_sent);
    struct @N@_sample a = sample(g, now);
    (void)elapsed;
    (void)a;
@ACKED@    g->delivered_at = now;
    g->first_sent = packet->sent;
    before = g->state.cwnd;
    if (packet->number >= g->round_end) {
        g->last_rtt = g->round_sum / g->round_count;
        g->last_min_rtt = g->round_min;
        g->last_time = now - g->round_begin;
        g->last_packets = g->round_sent;
        g->round_begin = now;
        g->round_end = g->sent;
        g->round_sum = g->round_count = g->round_sent = 0.0;
        g->round_min = INFINITY;
@ROUND@    }
@ON_ACK@    if (!every && limited > 0.0)
        g->state.cwnd = fmin(g->state.cwnd, before);
}

void @N@_on_rto(struct @N@_glue *g, double now_us)
{
    struct @N@_sample a = sample(g, now_us / 1e6);
    (void)a;
    g->cwnd_before = g->state.cwnd;
    g->ssthresh_before = g->state.ssthresh;
    g->recovery = g->sent;
@TIMEOUT@    g->phase = 2.0;
}

void @N@_on_spurious(struct @N@_glue *g, double now_us)
{
    struct @N@_sample a = sample(g, now_us / 1e6);
    (void)a;
    if (g->cwnd_before <= 0.0)
        return;
@UNDO@    g->phase = 0.0;
    g->cwnd_before = 0.0;
}

double @N@_wake_us(const struct @N@_glue *g)
{
    (void)g;
    return @WAKE@;
}

void @N@_on_wake(struct @N@_glue *g, double now_us)
{
    struct @N@_sample a = sample(g, now_us / 1e6);
    (void)a;
@TIMER@}

double @N@_window(const struct @N@_glue *g)
{
    return g->size * (g->state.cwnd > LEAST_WINDOW ? g->state.cwnd : LEAST_WINDOW);
}

double @N@_pacing_rate(const struct @N@_glue *g)
{
    (void)g;
    return @PACING@;
}
"""


def sources(
    prefix: str, licence: str, rules: Collection[str], fields: Collection[str],
    state: Mapping[str, object], own: bool, every_ack: bool,
) -> dict[str, str]:  # fmt: skip
    """The files of the glue: name -> text.

    Args:
        prefix: of the names in C.
        licence: line.
        rules: that the controller has.
        fields: of the sample that the rules read.
        state: the controller's state variables.
        own, every_ack: as in `Controller`.
    """

    def call(rule: str, indent: int = 4) -> str:
        if rule not in rules:
            return ""
        return f"{' ' * indent}{prefix}_{rule}(&g->state, &g->params, &a);\n"

    def put(field: str, value: str, indent: int = 4) -> str:
        return f"{' ' * indent}a.{field} = {value};\n" if field in fields else ""

    given = "".join(put(name, value) for name, value in FIELDS.items())
    marked = "on_mark" if "on_mark" in rules else "on_loss"
    told = "    if (mark) {\n" + call(marked, 8) + "    } else {\n"
    told += put("transmits", "1.0", 8) + call("on_loss", 8) + "    }\n"
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
    start = ""
    if {"on_start", "on_open"} & set(rules):
        start = f"    struct {prefix}_sample a = sample(g, 0.0);\n"
        start += call("on_start") + f"    g->state.cwnd = window / size;\n{call('on_open')}"
    undo = "" if own else (
        "    g->state.cwnd = fmax(g->state.cwnd, g->cwnd_before);\n"
        "    g->state.ssthresh = g->ssthresh_before;\n"
    )  # fmt: skip
    ack = call("on_ack")
    round_ = "" if every_ack else "g->phase != 1.0"
    if not every_ack and ack:
        ack = "    if (g->phase != 1.0)\n    " + ack
    on_round = call("on_round", 8)
    if round_ and on_round:
        on_round = f"        if ({round_})\n    " + on_round
    given = given.rstrip("\n") or "    a.none = 0.0;"
    filled = {
        "LICENCE": licence, "G": prefix.upper(), "FIELDS": given,
        "START": start, "RESTART": restart, "LOSS": told, "LOST_PACKET": lost, "ACKED": rate,
        "ROUND": on_round, "ON_ACK": ack, "TIMEOUT": put("transmits", "1.0") + call("on_timeout"),
        "UNDO": undo + call("on_undo"), "TIMER": call("on_timer"), "EVERY": str(int(every_ack)),
        "WAKE": "g->state.wake_at * 1e6" if "wake_at" in state else "INFINITY",
        "PACING": "g->state.pacing_rate * g->size" if "pacing_rate" in state else "INFINITY",
        "N": prefix,
    }  # fmt: skip
    made = {}
    for name, text in ((f"{prefix}_glue.h", HEADER), (f"{prefix}_glue.c", SOURCE)):
        for key, value in filled.items():
            text = text.replace(f"@{key}@", value)
        made[name] = text
    return made
