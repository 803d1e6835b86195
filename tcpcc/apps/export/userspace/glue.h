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
