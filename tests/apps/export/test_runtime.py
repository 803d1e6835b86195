"""The runtime of exported controllers, compiled for this processor: what the kernel calls, and when
rules are called. The kernel's part is played here."""

import ctypes
import math
from pathlib import Path

import numpy as np
import pytest
from held import library, needs_cc

from tcpcc.apps.export import linux_bpf
from tcpcc.apps.export.handwritten_c import text_of
from tcpcc.controllers.controller import SAMPLE, Controller
from tcpcc.definition import State

OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
UNLIMITED = 0x7FFFFFFF

HELPERS = """
#define SEC(name)
#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define BPF_CORE_READ_BITFIELD(record, field) ((record)->field)
#define __uint(name, value) int name
#define __type(name, kind) kind *name
static void *bpf_sk_storage_get(void *map, void *sk, void *value, int flags);
"""
KERNEL = """
static struct flow the_flow;
static void *bpf_sk_storage_get(void *map, void *sk, void *value, int flags) { return &the_flow; }
f64 field(int k) { return ((f64 *)&the_flow.s)[k]; }
f64 told(int k) { return ((f64 *)&the_flow.a)[k]; }
"""


class Socket(ctypes.Structure):
    """struct tcp_sock of the runtime."""

    _fields_ = (
        *(
            (name, ctypes.c_uint32)
            for name in (
                "snd_una", "snd_nxt", "snd_wnd", "snd_cwnd", "snd_ssthresh", "snd_cwnd_clamp",
                "packets_out", "sacked_out", "lost_out", "retrans_out", "max_packets_out",
                "prior_cwnd", "prr_out", "mss_cache", "srtt_us", "delivered", "delivered_ce",
                "lost",
            )
        ),
        ("tcp_mstamp", ctypes.c_uint64),
        ("tcp_wstamp_ns", ctypes.c_uint64),
        ("is_cwnd_limited", ctypes.c_uint8),
    )  # fmt: skip


class Acked(ctypes.Structure):
    """struct ack_sample."""

    _fields_ = (("pkts_acked", ctypes.c_uint32), ("rtt_us", ctypes.c_int32))


def on_ack(s, p, a):
    s.acks += 1
    s.marked += a.marked
    s.cwnd += a.acked / 4


def on_loss(s, p, a):
    s.losses += 1
    s.ssthresh = s.cwnd / 2
    s.cwnd = s.ssthresh


def on_timeout(s, p, a):
    s.timeouts += 1
    s.ssthresh = s.cwnd / 4
    s.cwnd = 1.0


def on_mark(s, p, a):
    s.marks += a.marked
    s.cwnd *= 0.8


def on_undo(s, p, a):
    s.undone += 1


def on_round(s, p, a):
    s.rounds += 1


RULES = {"on_mark": on_mark, "on_undo": on_undo, "on_round": on_round}
COUNTS = ("acks", "losses", "timeouts", "marks", "undone", "marked", "rounds")


class Sender:
    """A connection with a window of 20 packets whose kernel is this class."""

    def __init__(self, folder, **rules):
        state = {name: State(0.0, "", "") for name in COUNTS}
        one = Controller("counts", "", on_ack, on_loss, on_timeout, state=state, **rules)
        (folder / "shim.h").write_text((Path(__file__).parent / "shim.h").read_text())
        (folder / "bpf").mkdir()
        for name in ("bpf_helpers", "bpf_tracing", "bpf_core_read"):
            (folder / "bpf" / f"{name}.h").write_text("")
        runtime = text_of("bpf/runtime.bpf.h")
        parts = [
            '#include "shim.h"\n#define F64_ONE 0x3ff0000000000000ULL',
            "#define F64_INF 0x7ff0000000000000ULL",
            linux_bpf.rules(one, {}), HELPERS, runtime, KERNEL,
        ]  # fmt: skip
        source = folder / "counts.c"
        source.write_text("\n".join(parts))
        ignored = "-Wno-unknown-pragmas", "-Wno-int-conversion", f"-I{folder}"
        self.kernel = library(folder, [source], *ignored)
        self.kernel.field.restype = self.kernel.told.restype = ctypes.c_uint64
        self.names = one.state_dtype.names
        self.socket = Socket(
            snd_wnd=10**7, snd_cwnd=10, snd_ssthresh=UNLIMITED, snd_cwnd_clamp=UNLIMITED,
            packets_out=10, max_packets_out=10, mss_cache=1448, srtt_us=8 * 40_000,
            tcp_mstamp=10**6, is_cwnd_limited=1,
        )  # fmt: skip
        self.call("init")
        self.socket.snd_cwnd = 20

    def call(self, name, *given):
        return getattr(self.kernel, f"control_{name}")(ctypes.byref(self.socket), *given)

    def __getattr__(self, name):
        bits = np.uint64(self.kernel.field(self.names.index(name)))
        return bits.view(np.float64).item()

    def ack(self, packets=1, rtt=40_000):
        self.socket.tcp_mstamp += 1000
        self.call("pkts_acked", ctypes.byref(Acked(packets, rtt)))
        self.call("cong_avoid", 0, packets)

    def cut(self, state):
        """Enters a state of loss recovery as tcp_input.c does."""
        self.socket.snd_ssthresh = self.call("ssthresh")
        self.call("set_state", state)


@pytest.fixture
def sender(tmp_path):
    return Sender(tmp_path, **RULES)


pytestmark = needs_cc


def test_the_window_grows_by_whole_packets(sender):
    windows = []
    for _ in range(9):
        sender.ack()
        windows.append(sender.socket.snd_cwnd)
        assert sender.cwnd == windows[-1]
    assert windows == [20, 20, 20, 21, 21, 21, 21, 22, 22]
    assert sender.acks == 10  # with that of the SYN


def test_an_unused_window_does_not_grow(sender):
    sender.socket.is_cwnd_limited, sender.socket.snd_ssthresh = 0, 5
    for _ in range(9):
        sender.ack()
    assert sender.socket.snd_cwnd == 20


def test_a_loss_calls_its_rule_once(sender):
    sender.ack()
    sender.cut(RECOVERY)
    assert (sender.losses, sender.timeouts, sender.marks) == (1, 0, 0)
    assert sender.socket.snd_ssthresh == sender.cwnd == 10


def test_a_spurious_loss_is_undone(sender):
    sender.ack()
    sender.cut(RECOVERY)
    assert sender.call("undo") == 20
    assert (sender.cwnd, sender.ssthresh, sender.undone) == (20, math.inf, 1)


def test_a_window_that_grew_since_is_not_undone(sender):
    sender.ack()
    sender.cut(RECOVERY)
    sender.socket.snd_cwnd = 30
    sender.ack()
    assert sender.call("undo") == 30


def test_a_timeout_takes_the_place_of_the_loss_that_the_kernel_asked_for(sender):
    sender.ack()
    sender.cut(LOSS)
    assert (sender.losses, sender.timeouts) == (0, 1)
    assert (sender.ssthresh, sender.socket.snd_ssthresh, sender.socket.snd_cwnd) == (5, 5, 1)


def test_a_timeout_in_recovery_does_not_cut_ssthresh_again(sender):
    sender.ack()
    sender.cut(RECOVERY)
    sender.call("set_state", LOSS)
    assert (sender.losses, sender.timeouts) == (1, 1)
    assert sender.ssthresh == 10
    assert sender.socket.snd_cwnd == 1


def test_a_mark_calls_its_rule_and_not_that_of_a_loss(sender):
    sender.ack()
    sender.socket.delivered_ce += 3
    sender.cut(CWR)
    assert (sender.losses, sender.marks, sender.cwnd) == (0, 3, 16)
    assert sender.socket.snd_ssthresh == 16


def test_a_mark_is_a_loss_to_a_controller_without_a_rule_for_it(tmp_path):
    sender = Sender(tmp_path)
    sender.ack()
    sender.cut(CWR)
    assert (sender.losses, sender.socket.snd_ssthresh) == (1, 10)


def test_marks_are_counted_from_ack_to_ack(sender):
    for marks in (2, 0, 1):
        sender.socket.delivered_ce += marks
        sender.ack()
    assert sender.marked == 3


def test_a_round_ends_when_what_was_sent_at_its_start_is_acknowledged(sender):
    sender.socket.snd_nxt = 5000
    for una in (1000, 2000, 5000, 6000):
        sender.socket.snd_una = una
        sender.ack()
    assert sender.rounds == 1


def test_the_kernels_own_change_of_the_window_is_taken_over(sender):
    sender.ack()
    sender.socket.snd_cwnd = 7
    sender.ack(4)
    assert sender.socket.snd_cwnd == 8


def test_rtts_of_the_sample_are_in_seconds(sender):
    for rtt in (50_000, 40_000, 90_000):
        sender.ack(rtt=rtt)

    def told(name):
        return np.uint64(sender.kernel.told(list(SAMPLE).index(name))).view(np.float64).item()

    assert [told(n) for n in ("rtt", "base_rtt", "max_rtt")] == [0.09, 0.04, 0.09]
    assert told("acked") == 1
    sender.call("cong_avoid", 0, 1)  # an ACK without an RTT
    assert told("rtt") == 0
