"""The target BPF C for Linux: every double is an `f64`, every operation on it a call.

The kernel has no floating point. ``bpf/float64.h`` has IEEE arithmetic in 64-bit integers, and
``bpf/runtime.bpf.h`` fills the sample and calls the rules. Both are written into the file, so that
it is all that clang needs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from types import MappingProxyType

from tcpcc.apps.export.c_writer import Writer, bits
from tcpcc.apps.export.handwritten_c import functions_of, text_of
from tcpcc.apps.export.ir import BOOL, FLOAT, INT, NONE
from tcpcc.apps.export.translate import translate
from tcpcc.apps.export.userspace_c import declared, head, identifier, initial, state_members
from tcpcc.controllers.controller import SAMPLE as SAMPLE_FIELDS
from tcpcc.controllers.controller import Controller
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.errors import ScenarioError

MOST_TURNS = 256  # of a loop; the verifier must see its end

OPAQUE = """\
/* Hides from clang how often a loop runs: it would compute a sum over the turns as a product of
 * 128 bits, which BPF does not have. */
#define LOOP_OPAQUE(turns) __asm__ volatile("" : "+r"(turns))"""

#: Fields of the sample that the kernel provides -> their source.
KERNEL: dict[str, str] = {
    "now": "tcp_mstamp",
    "acked": "acked of cong_avoid, acked_sacked of the rate sample",
    "delivered": "pkts_acked",
    "rtt": "rtt_us of pkts_acked, with every_ack of the rate sample",
    "srtt": "srtt_us",
    "base_rtt": "smallest rtt",
    "max_rtt": "largest rtt",
    "round_rtt": "mean rtt of the round",
    "round_min_rtt": "smallest rtt of the round",
    "round_time": "tcp_mstamp at both ends of the round",
    "round_packets": "snd_nxt at both ends of the round, mss_cache",
    "inflight": "packets_out",
    "window": "cwnd of the state, snd_wnd",
    "transmits": "icsk_retransmits; 1 on a loss",
    "limited": "is_cwnd_limited",
    "growing": "acked, acked_sacked, is_cwnd_limited",
    "clock": "tcp_mstamp less idle periods, from tcp_wstamp_ns",
    "marked": "delivered_ce",
    "ce": "delivered_ce",
    "pipe": "packets_out, sacked_out, lost_out, retrans_out",
    "total_delivered": "delivered",
    "delivery_rate": "delivered and interval_us of the rate sample",
    "rate_interval": "interval_us of the rate sample",
    "rate_delivered": "delivered of the rate sample",
    "app_limited": "is_app_limited of the rate sample",
    "phase": "state of the loss recovery, set_state",
    "piece": "sk_pacing_rate, sk_pacing_shift, mss_cache",
    "idle": "tcp_wstamp_ns",
    "packet_size": "mss_cache",
}

#: Fields that it does not provide -> why.
MISSING: dict[str, str] = {
    **dict.fromkeys(("sent", "retransmitted"), "the kernel does not report what it sends"),
    "lost": "the kernel stores no count of losses with a packet",
    "lost_inflight": "the kernel stores no packets in flight with a packet",
    "owd": "the kernel's clocks are not synchronized with the receiver's",
    "hops": "a sender does not know the number of links",
}


class Linux:
    """The target for the translator and for the writer."""

    name = "BPF"
    functions = frozenset(("sqrt", "cbrt", "exp", "log", "pow"))
    by_name = True
    missing: Mapping[str, str] = MISSING
    types: Mapping[str, str] = MappingProxyType(
        {FLOAT: "f64", INT: "s64", BOOL: "int", NONE: "int", "bits": "u64"}
    )
    soft = True
    verified = True

    def __init__(self, prefix: str, values: Mapping[str, float]) -> None:
        self.prefix = prefix
        self.constants: Mapping[str, float] | None = values

    def record(self, kind: str, written: bool) -> str:
        return f"struct {kind} *"

    def rule(self, name: str) -> str:
        return f"rule_{name}"

    def helper(self, name: str) -> str:
        return f"{self.prefix}_{name}"

    def small(self, name: str) -> str:
        return f"rule_{name}" if name in ("larger", "smaller", "trunc", "floor_div") else name


def check(controller: Controller) -> None:
    """Refuse what the kernel cannot have, whatever the rules say."""
    header, stamps, why = dict(controller.header), dict(controller.stamps), ""
    if header:
        why = f"header = {header}: packets of Linux have no fields for it"
    elif stamps:
        why = f"stamps = {stamps}: the kernel cannot store a value of a rule with a packet"
    elif controller.on_send:
        why = "on_send: tcp_congestion_ops of Linux has no call for each packet sent"
    if why:
        raise ScenarioError(f"controller {controller.name!r}: {why}: cannot be exported to BPF")


def rules(controller: Controller, values: Mapping[str, float]) -> str:
    """The rules of a controller as BPF C, without the arithmetic and the runtime.

    The values of all parameters are constants in the text.

    Raises:
        ScenarioError: what the kernel cannot have; one line.
    """
    check(controller)
    target = Linux(identifier(controller.name), values)
    program = translate(controller, target)
    writer = Writer(program, target)
    functions = [writer.function(function) for function in program.functions]
    small = functions_of("bpf/helpers.bpf.h").items()
    needed = [text for name, text in small if name.removeprefix("rule_") in writer.helpers]
    constants = "\n".join(writer.constants.values())
    parts = [_features(controller), _records(controller), _start(controller)]
    return "\n\n".join([*parts, *([constants] if constants else []), *needed, *functions]) + "\n"


def _features(controller: Controller) -> str:
    """What the runtime must know."""
    have = [f"HAS_{name.upper()}" for name, rule in controller.rules.items() if rule is not None]
    have += [f"HAS_{n.upper()}" for n in ("pacing_rate", "wake_at") if n in controller.state]
    have += ["EVERY_ACK"] if controller.every_ack else []
    have += ["OWNS_WINDOW"] if controller.window == "own" else []
    have += ["READS_RATE"] if controller.reads_of_packets else []
    lines = [f"#define CONTROL {identifier(controller.name)[:15]}"]
    lines += [f"#define {macro}" for macro in have]
    lines += ["", "#ifndef LOOP_LIMIT", f"#define LOOP_LIMIT {MOST_TURNS}", "#endif", "", OPAQUE]
    return "\n".join([*lines, "", "typedef f64_s s64;", "typedef f64_u u64;"])


def _records(controller: Controller) -> str:
    state = state_members(controller, Linux.types)
    if controller.chance:
        state += [f"    s64 {name};" for name, _ in STREAM_FIELDS]
    sample = [
        declared(f"f64 {name};", unit, KERNEL.get(name, "no rule here reads it"))
        for name, (unit, _, _) in SAMPLE_FIELDS.items()
    ]
    return "\n".join(["struct state {", *state, "};", "", "struct sample {", *sample, "};"])


def _start(controller: Controller) -> str:
    def number(value: float) -> str:
        return f"{bits(value)} /* {value!r} */"

    lines = [f"    {line}" for line in initial(controller, number)]
    return "\n".join(["F64_INLINE void state_init(struct state *s)", "{", *lines, "}"])


def source(controller: Controller, values: Mapping[str, float]) -> str:
    """The whole file: arithmetic, rules and runtime.

    Raises:
        ScenarioError: what the kernel cannot have; one line.
    """
    text = rules(controller, values)
    parameters = ", ".join(f"{name} = {value:g}" for name, value in values.items())
    notes = [
        "Every double is an f64, the bits of an IEEE 754 double in an integer, so that the rules",
        "compute here what they compute in tcpcc. Times are in seconds, windows in packets, rates",
        f"in packets per second. A loop has at most {MOST_TURNS} turns.",
        "",
        *textwrap.wrap(f"Parameters: {parameters or 'none'}.", 95),
    ]
    return "\n".join(
        [head(controller, *notes), text_of("bpf/float64.h"), text, text_of("bpf/runtime.bpf.h")]
    )
