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
@SENT@}

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
