/* Runs a controller's rules as a congestion control of Linux (struct_ops, tcp_congestion_ops).
 *
 * Before this file come float64.h, `struct state`, `struct sample`, the rules (`rule_on_ack(struct
 * state *, struct sample *)` and so on), `state_init(struct state *)`, CONTROL (the congestion
 * control's name, as an identifier), and HAS_ON_... for each rule, HAS_PACING_RATE, HAS_WAKE_AT,
 * EVERY_ACK, OWNS_WINDOW as the controller has them. Compiler flags: -DCONTROL_NAME=name gives
 * the congestion control another name; -DRULES_ONLY makes a program that calls one rule on given
 * records, for tests.
 *
 * Rules are called as tcpcc/transport/rules.py calls them for `Flow.linux`:
 *   on_ack       an ACK of new data outside recovery, and the ACK that ends recovery; also after a
 *                timeout. With EVERY_ACK each ACK that delivers, in recovery too. `acked` counts
 *                selective acknowledgements, as in Linux
 *   on_round     before on_ack, when the first packet sent in the round is acknowledged
 *   on_loss      fast recovery begins; Linux' proportional rate reduction then goes to s.cwnd
 *   on_mark      ECN: the state CWR begins (on_loss if there is no such rule)
 *   on_timeout   the retransmission timer expired; s.ssthresh is not cut twice in a window of data
 *   on_undo      the last cut was spurious; cwnd and ssthresh are restored before
 *   on_restart   data again after everything was acknowledged
 *   on_lost_packet  for each new loss, before on_ack
 *   on_timer     at the first ACK after the time wake_at
 * The window grows by whole packets; the fraction waits in put_by.
 *
 * Differences from the transport of tcpcc
 *   `transmits` is 1 on a loss, and 1 plus the number of timeouts in a row on a timeout.
 *   on_lost_packet is called after on_loss, and without the lost packet's own numbers.
 *   RTTs are whole microseconds.
 *   A segment that was too long for the path (MTU discovery) counts as a timeout.
 */
#ifndef TCPCC_RUNTIME_H
#define TCPCC_RUNTIME_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#ifndef BPF_MAP_TYPE_SK_STORAGE
#define BPF_MAP_TYPE_SK_STORAGE 24
#endif
#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/* The members used here; the loader finds their places in the running kernel's types. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock {
	unsigned long sk_pacing_rate;
	__u32 sk_pacing_status;
	__u8 sk_pacing_shift;
};

struct inet_connection_sock {
	__u8 icsk_retransmits;
};

struct tcp_sock {
	__u32 snd_una, snd_nxt, snd_wnd, snd_cwnd, snd_ssthresh, snd_cwnd_clamp;
	__u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out;
	__u32 prior_cwnd, prr_out, mss_cache, srtt_us, delivered, delivered_ce, lost;
	__u64 tcp_mstamp, tcp_wstamp_ns;
	__u8 is_cwnd_limited : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

struct rate_sample {
	__s32 delivered;
	long interval_us, rtt_us;
	int losses;
	__u32 acked_sacked;
	_Bool is_app_limited;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, __u32, __u32);
	void (*set_state)(struct sock *, __u8);
	void (*cwnd_event)(struct sock *, int);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	void (*cong_control)(struct sock *, __u32, int, const struct rate_sample *);
	__u32 (*undo_cwnd)(struct sock *);
	void (*init)(struct sock *);
	char name[16];
};
#pragma clang attribute pop

enum { TCP_CA_OPEN, TCP_CA_DISORDER, TCP_CA_CWR, TCP_CA_RECOVERY, TCP_CA_LOSS };
enum { CA_EVENT_TX_START = 0, CA_EVENT_COMPLETE_CWR = 2 };
#define FLAG_DATA_ACKED 0x04
#define FLAG_SND_UNA_ADVANCED 0x400
#define NAME_TEXT(name) #name
#define NAME_OF(name) NAME_TEXT(name)
#ifdef CONTROL_NAME
#undef CONTROL
#define CONTROL CONTROL_NAME
#endif
#define UNLIMITED 0x7fffffff
#define MOST_PIECE (65535 - 320) /* bytes, of GSO */
#define PACING_NONE 0
#define PACING_NEEDED 1
#define MOST_LOSSES 64 /* calls of on_lost_packet per ACK */

#ifdef RULES_ONLY

/* One rule on given records, for BPF_PROG_TEST_RUN. */
struct trial {
	struct state s;
	struct sample a;
	__u64 rule;
};

struct state trial_state;
struct sample trial_sample;
char _license[] SEC("license") = "GPL";

#define TRY(number, name) \
	if (t->rule == number) \
		rule_##name(&trial_state, &trial_sample)

SEC("syscall")
int trial(struct trial *t)
{
	__u64 *from = (__u64 *)t, *s = (__u64 *)&trial_state, *a = (__u64 *)&trial_sample;

#pragma unroll /* the verifier wants constant offsets */
	for (unsigned int i = 0; i < sizeof(struct state) / 8; i++)
		s[i] = from[i];
#pragma unroll
	for (unsigned int i = 0; i < sizeof(struct sample) / 8; i++)
		a[i] = from[sizeof(struct state) / 8 + i];
	TRY(0, on_ack);
	TRY(1, on_loss);
	TRY(2, on_timeout);
#ifdef HAS_ON_ROUND
	TRY(3, on_round);
#endif
#ifdef HAS_ON_LOST_PACKET
	TRY(4, on_lost_packet);
#endif
#ifdef HAS_ON_MARK
	TRY(5, on_mark);
#endif
#ifdef HAS_ON_TIMER
	TRY(6, on_timer);
#endif
#ifdef HAS_ON_RESTART
	TRY(7, on_restart);
#endif
#ifdef HAS_ON_START
	TRY(8, on_start);
#endif
#ifdef HAS_ON_OPEN
	TRY(9, on_open);
#endif
#ifdef HAS_ON_UNDO
	TRY(10, on_undo);
#endif
#pragma unroll
	for (unsigned int i = 0; i < sizeof(struct state) / 8; i++)
		from[i] = s[i];
	return 0;
}

#else

#if defined(EVERY_ACK) || defined(HAS_ON_LOST_PACKET) || defined(HAS_PACING_RATE) \
	|| defined(READS_RATE) || defined(HAS_WAKE_AT)
#define CONG_CONTROL /* the kernel leaves window and pacing to the controller */
#endif

struct flow {
	struct state s;
	struct state before; /* the last cut */
	struct sample a;
	f64 put_by;    /* packets: growth that is not a whole packet yet */
	__u64 start;   /* us */
	__u64 round_start, round_sum; /* us */
	__u64 last_sent; /* ns */
	__u64 paused;  /* us: idle periods so far */
	__u32 round_seq, round_n, round_min;
	__u32 base_rtt, max_rtt, rtt; /* us; 0: no sample */
	__u32 unreported;  /* packets acknowledged since on_ack */
	__u32 marks, lost;
	__u32 marks_before; /* this ACK */
	__u32 written; /* the kernel's window as this file left it */
	__u32 prr_delivered;
	__u32 phase;   /* the kernel's state, TCP_CA_... */
	__u32 cut;     /* 1: a rule for a loss was called, the kernel's new state is not known yet */
	f64 answered;  /* ssthresh before that rule */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

char _license[] SEC("license") = "GPL";

#define F64_MILLION 0x412e848000000000ULL
#define F64_NAN 0x7ff8000000000000ULL
#define F64_8_MILLION 0x415e848000000000ULL
#define F64_ROUNDING 0x3e112e0be826d695ULL /* 1e-9 packets */

static __always_inline f64 seconds(__u64 us)
{
	return f64_div(f64_from_int(us), F64_MILLION);
}

/* floor(cwnd) as the kernel's window, at least 1. */
static __always_inline __u32 whole_window(struct tcp_sock *tp, f64 cwnd)
{
	__s64 packets = f64_to_int(cwnd);
	__u32 most = tp->snd_cwnd_clamp;

	if (packets < 1)
		return 1;
	return packets > most ? most : (__u32)packets;
}

static __always_inline __u32 whole_ssthresh(f64 ssthresh)
{
	__s64 packets = f64_to_int(ssthresh);

	return packets < 0 || packets > UNLIMITED ? UNLIMITED : (__u32)packets;
}

static __always_inline __u32 in_network(struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* Calls a rule. No frame of its own: the verifier allows eight, and rules call helpers. */
#define CALL(name, f) \
	do { \
		f64 kept = (f)->s.cwnd; \
		rule_##name(&(f)->s, &(f)->a); \
		if (!f64_lt(0, (f)->s.cwnd) || !f64_lt((f)->s.cwnd, F64_INF)) \
			(f)->s.cwnd = kept; /* the simulator stops here */ \
	} while (0)

/* cwnd and ssthresh as whole packets, as Linux' windows are. */
static __always_inline void cut_to_whole(struct flow *f)
{
#ifndef OWNS_WINDOW
	f->s.cwnd = f64_floor(f->s.cwnd);
	if (!f64_le(F64_ONE, f->s.cwnd))
		f->s.cwnd = F64_ONE;
	f->s.ssthresh = f64_floor(f->s.ssthresh);
#endif
	f->put_by = 0;
}

/* After a rule that may grow the window: growth by whole packets, none of an unused window. */
__attribute__((noinline)) int grow(struct flow *f, f64 before)
{
#ifndef OWNS_WINDOW
	if (!f)
		return 0;
	if (f->a.limited && f64_lt(before, f->s.cwnd))
		f->s.cwnd = before;
	if (f64_lt(f->s.cwnd, before)) {
		cut_to_whole(f);
		return 0;
	}
	f64 grown = f64_add(f->put_by, f64_sub(f->s.cwnd, before));
	f64 whole = f64_floor(f64_add(grown, F64_ROUNDING));

	grown = f64_sub(grown, whole);
	f->put_by = f64_lt(0, grown) ? grown : 0;
	f->s.cwnd = f64_add(before, whole);
#endif
	return 0;
}

static __always_inline void begin_round(struct flow *f, struct tcp_sock *tp)
{
	f->round_seq = tp->snd_nxt;
	f->round_start = tp->tcp_mstamp;
	f->round_sum = 0;
	f->round_n = 0;
	f->round_min = 0;
}

#ifdef READS_RATE
/* Segments that the kernel sends as one piece (tcp_tso_autosize; tcp_min_tso_segs = 2). */
static __always_inline __u32 full_piece(struct sock *sk, __u32 mss)
{
	unsigned long bytes = sk->sk_pacing_rate >> sk->sk_pacing_shift;

	if (bytes > MOST_PIECE)
		bytes = MOST_PIECE;
	return mss && bytes / mss > 2 ? bytes / mss : 2;
}
#endif

/* The sample's fields that all events have. */
static __always_inline void fill(struct flow *f, struct tcp_sock *tp)
{
	struct sample *a = &f->a;
	__u64 now = tp->tcp_mstamp;

	a->now = seconds(now > f->start ? now - f->start : 0);
	a->clock = seconds(now > f->start + f->paused ? now - f->start - f->paused : 0);
	a->srtt = f64_div(f64_from_int(tp->srtt_us), F64_8_MILLION);
	a->base_rtt = f->base_rtt ? seconds(f->base_rtt) : a->srtt;
	a->max_rtt = f->max_rtt ? seconds(f->max_rtt) : a->base_rtt;
	a->inflight = f64_from_int(tp->packets_out);
	__u32 mss = tp->mss_cache;
	f64 most = f64_from_int(mss ? tp->snd_wnd / mss : 1);

	a->window = f64_lt(most, f->s.cwnd) ? most : f->s.cwnd;
	if (f64_lt(a->window, F64_ONE))
		a->window = F64_ONE;
	a->packet_size = f64_from_int((__u64)mss + 52);
	a->acked = 0;
	a->growing = 0;
	a->rtt = 0;
	a->transmits = 0;
	a->limited = 0;
	a->marked = 0;
	a->ce = 0;
	a->idle = 0;
	a->delivery_rate = a->rate_interval = a->rate_delivered = a->app_limited = F64_NAN;
	a->pipe = f64_from_int(in_network(tp));
	a->total_delivered = f64_from_int(tp->delivered);
#ifdef READS_RATE
	a->piece = f64_from_int(full_piece((struct sock *)tp, mss));
#endif
	a->phase = f64_from_int(f->phase == TCP_CA_RECOVERY ? 1 : f->phase == TCP_CA_LOSS ? 2 : 0);
}

/* The kernel changed the window itself: an idle restart, an unused window. */
static __always_inline void take_over(struct flow *f, struct tcp_sock *tp)
{
	__u32 cwnd = tp->snd_cwnd;

	if (cwnd != f->written) {
		f->s.cwnd = f64_from_int(cwnd);
		f->put_by = 0;
	}
}

static __always_inline void write_window(struct flow *f, struct tcp_sock *tp)
{
	f->written = whole_window(tp, f->s.cwnd);
	tp->snd_cwnd = f->written;
	tp->snd_ssthresh = whole_ssthresh(f->s.ssthresh);
}

static __always_inline int is_limited(struct flow *f, struct tcp_sock *tp)
{
	__u32 cwnd = tp->snd_cwnd;

	if (cwnd < tp->snd_ssthresh && cwnd < 2 * tp->max_packets_out)
		return 0;
	return !BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* What an ACK tells of the newest packet that it reports. */
static __always_inline void newest(struct sample *a, const struct rate_sample *rs)
{
	a->delivery_rate = a->rate_interval = a->rate_delivered = 0;
	if (rs->interval_us > 0 && rs->delivered > 0) {
		a->rate_interval = seconds(rs->interval_us);
		a->rate_delivered = f64_from_int(rs->delivered);
		a->delivery_rate = f64_div(a->rate_delivered, a->rate_interval);
	}
	a->app_limited = rs->is_app_limited ? F64_ONE : 0;
}

/* An ACK of new data outside recovery: on_round, on_ack. */
static __always_inline void acknowledged(struct flow *f, struct tcp_sock *tp, __u32 acked,
	const struct rate_sample *rs)
{
	struct sample *a = &f->a;
	__u32 rtt = f->rtt, ce = tp->delivered_ce;
	f64 before __attribute__((unused)) = f->s.cwnd;

	fill(f, tp);
	f->rtt = 0;
	a->inflight = f64_from_int((__u64)tp->packets_out + 1);
	a->rtt = seconds(rtt);
	a->acked = f64_from_int(acked);
	a->delivered = f64_from_int(f->unreported);
	f->unreported = 0;
	a->limited = is_limited(f, tp) ? F64_ONE : 0;
	a->growing = a->limited ? 0 : a->acked;
	a->marked = f64_from_int(ce - f->marks);
	a->ce = f64_from_int(ce - f->marks_before);
	if (rs)
		newest(a, rs);
	if ((__s32)(tp->snd_una - f->round_seq) > 0) {
		__u64 lasted = tp->tcp_mstamp - f->round_start;
		__u64 mean = lasted;
		__u32 mss = tp->mss_cache, n = f->round_n;

		if (n) {
			mean = f->round_sum / n;
			a->round_rtt = f64_div(f64_from_int(f->round_sum),
				f64_from_int((__u64)n * 1000000));
		} else {
			a->round_rtt = seconds(lasted);
		}
		a->round_time = seconds(lasted);
		a->round_min_rtt = seconds(n ? f->round_min : lasted);
		if (!mss)
			mss = 1;
		a->round_packets = f64_from_int((tp->snd_nxt - f->round_seq + mss - 1) / mss);
		if (n && (!f->base_rtt || mean < f->base_rtt)) {
			f->base_rtt = mean;
			a->base_rtt = a->round_rtt;
		}
#ifdef HAS_ON_ROUND
		if (mean && f->base_rtt) {
			CALL(on_round, f);
			grow(f, before);
			before = f->s.cwnd;
		}
#endif
		begin_round(f, tp);
	}
	if (rtt) {
		if (!f->base_rtt || rtt < f->base_rtt)
			f->base_rtt = rtt;
		if (rtt > f->max_rtt)
			f->max_rtt = rtt;
		a->base_rtt = seconds(f->base_rtt);
		a->max_rtt = seconds(f->max_rtt);
		f->round_sum += rtt;
		f->round_n += 1;
		if (!f->round_min || rtt < f->round_min)
			f->round_min = rtt;
	}
#ifndef EVERY_ACK
	f->marks = ce;
	CALL(on_ack, f);
	grow(f, before);
#endif
	f->last_sent = tp->tcp_wstamp_ns;
}

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&flows, sk, 0, 0);
}

SEC("struct_ops/control_init")
void BPF_PROG(control_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!f)
		return;
	state_init(&f->s);
	f->s.cwnd = F64_ONE;
	f->start = tp->tcp_mstamp - (tp->srtt_us >> 3); /* the SYN was sent */
	f->base_rtt = 0;
	f->max_rtt = 0;
	f->rtt = 0;
	f->unreported = 0;
	f->put_by = 0;
	f->cut = 0;
	f->phase = TCP_CA_OPEN;
	f->marks = f->marks_before = tp->delivered_ce;
	f->lost = tp->lost;
	begin_round(f, tp);
	fill(f, tp);
#ifdef HAS_ON_START
	CALL(on_start, f);
#endif
	/* the ACK of the SYN */
	f->a.acked = F64_ONE;
	f->a.growing = F64_ONE;
	f->a.delivered = F64_ONE;
	f->a.inflight = F64_ONE;
	f->a.rtt = f->a.srtt;
#ifndef EVERY_ACK
	CALL(on_ack, f);
#endif
	f->s.cwnd = f64_from_int(tp->snd_cwnd);
	f->written = tp->snd_cwnd;
#ifdef HAS_ON_OPEN
	CALL(on_open, f);
	write_window(f, tp);
#endif
#ifdef HAS_PACING_RATE
	if (sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
#endif
}

SEC("struct_ops/control_pkts_acked")
void BPF_PROG(control_pkts_acked, struct sock *sk, const struct ack_sample *ack)
{
	struct flow *f = flow_of(sk);

	if (!f)
		return;
	f->marks_before = ((struct tcp_sock *)sk)->delivered_ce;
	f->unreported += ack->pkts_acked;
	f->rtt = ack->rtt_us > 0 ? ack->rtt_us : 0;
}

/* A loss, a mark or a timeout: which one it is, the kernel says in set_state, which follows. */
SEC("struct_ops/control_ssthresh")
__u32 BPF_PROG(control_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);

	if (!f)
		return 2;
	take_over(f, tp);
	fill(f, tp);
	f->before = f->s;
	f->cut = 1;
	f->a.transmits = F64_ONE;
	f->a.delivered = f64_from_int(f->unreported);
	CALL(on_loss, f);
	cut_to_whole(f);
#ifdef OWNS_WINDOW
	return tp->snd_ssthresh;
#else
	return whole_window(tp, f->s.cwnd); /* where the rate reduction goes */
#endif
}

SEC("struct_ops/control_set_state")
void BPF_PROG(control_set_state, struct sock *sk, __u8 now)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct flow *f = flow_of(sk);

	if (!f)
		return;
	__u32 was = f->phase, cut = f->cut;

	f->phase = now;
	f->cut = 0;
#ifdef HAS_ON_MARK
	if (now == TCP_CA_CWR && cut) {
		f->s = f->before;
		fill(f, tp);
		f->a.marked = f64_from_int(tp->delivered_ce - f->marks);
		f->a.ce = f64_from_int(tp->delivered_ce - f->marks_before);
		CALL(on_mark, f);
		cut_to_whole(f);
#ifndef OWNS_WINDOW
		tp->snd_ssthresh = whole_window(tp, f->s.cwnd);
#endif
	}
#endif
	if (now == TCP_CA_RECOVERY)
		f->prr_delivered = 0;
	if (now != TCP_CA_LOSS)
		return;
	f64 least = 0;

	if (cut)
		f->s = f->before;
	else
		least = f->s.ssthresh; /* this window of data was answered already */
	fill(f, tp);
	f->a.transmits = f64_from_int(1 + icsk->icsk_retransmits + (was == TCP_CA_RECOVERY));
	f->a.delivered = f64_from_int(f->unreported);
	CALL(on_timeout, f);
	if (f64_lt(f->s.ssthresh, least))
		f->s.ssthresh = least;
	cut_to_whole(f);
	begin_round(f, tp);
	write_window(f, tp);
}

SEC("struct_ops/control_cwnd_event")
void BPF_PROG(control_cwnd_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);

	if (!f)
		return;
#ifndef CONG_CONTROL
	if (event == CA_EVENT_COMPLETE_CWR)
		write_window(f, tp);
#endif
	if (event == CA_EVENT_TX_START && f->last_sent) {
		__u64 now = tp->tcp_mstamp * 1000;
		__u64 idle = now > f->last_sent ? (now - f->last_sent) / 1000 : 0;

		begin_round(f, tp);
		f->paused += idle;
#ifdef HAS_ON_RESTART
		take_over(f, tp);
		fill(f, tp);
		f->a.limited = F64_ONE;
		f->a.delivered = 0;
		f->a.idle = seconds(idle);
		CALL(on_restart, f);
		f->a.idle = 0;
		write_window(f, tp);
#endif
	}
}

SEC("struct_ops/control_undo")
__u32 BPF_PROG(control_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);

	if (!f)
		return tp->snd_cwnd;
#ifndef OWNS_WINDOW
	if (f64_lt(f->s.cwnd, f->before.cwnd))
		f->s.cwnd = f->before.cwnd;
	if (f64_lt(f->s.ssthresh, f->before.ssthresh))
		f->s.ssthresh = f->before.ssthresh;
#endif
#ifdef HAS_ON_UNDO
	fill(f, tp);
	f->a.delivered = 0;
	CALL(on_undo, f);
	cut_to_whole(f);
#endif
	f->written = whole_window(tp, f->s.cwnd);
	return f->written;
}

#ifndef CONG_CONTROL

SEC("struct_ops/control_cong_avoid")
void BPF_PROG(control_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);

	if (!f)
		return;
	take_over(f, tp);
	acknowledged(f, tp, acked, 0);
	write_window(f, tp);
}

#else

#ifndef OWNS_WINDOW
/* Proportional rate reduction (RFC 9937, 6.2), which Linux leaves to a cong_control. */
static __always_inline __u32 reduced(struct flow *f, struct tcp_sock *tp, __u32 acked, int safe)
{
	__u32 target = whole_window(tp, f->s.cwnd), pipe = in_network(tp);
	__u32 prior = tp->prior_cwnd, out = tp->prr_out;
	__s64 go;

	f->prr_delivered += acked;
	if (pipe > target) {
		__u64 share = (__u64)target * f->prr_delivered;

		if (!prior)
			prior = 1;
		go = (__s64)((share + prior - 1) / prior) - out;
	} else {
		go = (__s64)f->prr_delivered - out;
		if (go < acked)
			go = acked;
		go += safe;
		if (go > (__s64)target - pipe)
			go = (__s64)target - pipe;
	}
	if (go < !out)
		go = !out;
	return pipe + (__u32)go;
}
#endif

#ifdef HAS_PACING_RATE
static __always_inline void write_pacing(struct flow *f, struct sock *sk, struct tcp_sock *tp)
{
	f64 rate = f64_mul(f->s.pacing_rate, f64_from_int(tp->mss_cache));

	if (!f64_lt(0, rate))
		return;
	sk->sk_pacing_rate = f64_lt(rate, 0x43b0000000000000ULL) /* 2^60 */
		? (unsigned long)f64_to_int(rate) : ~0UL;
}
#endif

SEC("struct_ops/control_cong_control")
void BPF_PROG(control_cong_control, struct sock *sk, __u32 ack, int flag,
	const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);

	if (!f)
		return;
	__u32 acked = rs->acked_sacked, phase = f->phase;
	__u32 losses __attribute__((unused)) = tp->lost - f->lost;

	f64 grown __attribute__((unused)) = 0, limited __attribute__((unused)) = 0;

	f->lost = tp->lost;
#ifndef OWNS_WINDOW
	if (phase != TCP_CA_RECOVERY && phase != TCP_CA_CWR)
		take_over(f, tp);
#endif
	if ((flag & FLAG_DATA_ACKED) && phase != TCP_CA_RECOVERY) {
		acknowledged(f, tp, acked, rs);
		grown = f->a.acked;
		limited = f->a.limited;
	}
#ifdef HAS_WAKE_AT
	fill(f, tp);
	if (f64_le(f->s.wake_at, f->a.now)) {
		f->s.wake_at = F64_INF;
		CALL(on_timer, f);
	}
#endif
#ifdef HAS_ON_LOST_PACKET
	if (losses) {
		fill(f, tp);
		f->a.delivered = 0;
		f->a.transmits = F64_ONE;
		f->a.rate_delivered = rs->delivered > 0 ? f64_from_int(rs->delivered) : 0;
		for (int i = 0; i < MOST_LOSSES; i++) {
			if (i >= losses)
				break;
			CALL(on_lost_packet, f);
		}
	}
#endif
#ifdef EVERY_ACK
	if (acked) {
		fill(f, tp);
		f->a.acked = grown;
		f->a.limited = limited;
		f->a.delivered = f64_from_int(acked);
		f->a.growing = limited ? 0 : f->a.delivered;
		f->a.rtt = rs->rtt_us > 0 ? seconds(rs->rtt_us) : 0;
		f->a.marked = f64_from_int(tp->delivered_ce - f->marks);
		f->a.ce = f64_from_int(tp->delivered_ce - f->marks_before);
		f->marks = tp->delivered_ce;
		newest(&f->a, rs);
		CALL(on_ack, f);
	}
#endif
#ifdef HAS_PACING_RATE
	write_pacing(f, sk, tp);
#endif
#ifndef OWNS_WINDOW
	if (phase == TCP_CA_RECOVERY || phase == TCP_CA_CWR) {
		int safe = (flag & FLAG_SND_UNA_ADVANCED) && !losses;

		if (acked) {
			f->written = reduced(f, tp, acked, safe);
			tp->snd_cwnd = f->written;
		}
		return;
	}
#endif
	write_window(f, tp);
}

#endif

SEC(".struct_ops")
struct tcp_congestion_ops CONTROL = {
	.init = (void *)control_init,
	.ssthresh = (void *)control_ssthresh,
	.set_state = (void *)control_set_state,
	.cwnd_event = (void *)control_cwnd_event,
	.pkts_acked = (void *)control_pkts_acked,
	.undo_cwnd = (void *)control_undo,
#ifdef CONG_CONTROL
	.cong_control = (void *)control_cong_control,
#else
	.cong_avoid = (void *)control_cong_avoid,
#endif
	.name = NAME_OF(CONTROL),
};

#endif

#endif
