/* The kernel's own CUBIC behind BPF programs, so that kernel.bpf_stats_enabled counts its time. */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct sock {
	__u32 sk_pacing_status;
} __attribute__((preserve_access_index));

struct ack_sample {
	__u32 pkts_acked;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, __u32, __u32);
	void (*set_state)(struct sock *, __u8);
	void (*cwnd_event)(struct sock *, int);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	__u32 (*undo_cwnd)(struct sock *);
	void (*init)(struct sock *);
	char name[16];
} __attribute__((preserve_access_index));

enum tcp_ca_event { CA_EVENT_TX_START };

char _license[] SEC("license") = "GPL";

extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

SEC("struct_ops/control_init")
void BPF_PROG(control_init, struct sock *sk)
{
	cubictcp_init(sk);
}

SEC("struct_ops/control_ssthresh")
__u32 BPF_PROG(control_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops/control_cong_avoid")
void BPF_PROG(control_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	cubictcp_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/control_set_state")
void BPF_PROG(control_set_state, struct sock *sk, __u8 state)
{
	cubictcp_state(sk, state);
}

SEC("struct_ops/control_cwnd_event")
void BPF_PROG(control_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

SEC("struct_ops/control_pkts_acked")
void BPF_PROG(control_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubictcp_acked(sk, sample);
}

SEC("struct_ops/control_undo")
__u32 BPF_PROG(control_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops kernels_cubic = {
	.init = (void *)control_init,
	.ssthresh = (void *)control_ssthresh,
	.cong_avoid = (void *)control_cong_avoid,
	.set_state = (void *)control_set_state,
	.cwnd_event = (void *)control_cwnd_event,
	.pkts_acked = (void *)control_pkts_acked,
	.undo_cwnd = (void *)control_undo,
	.name = "kernels_cubic",
};
