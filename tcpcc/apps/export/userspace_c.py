"""The target C for user space: plain doubles, no library beyond math.h."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from types import MappingProxyType

import tcpcc
from tcpcc.apps.export import glue, ir
from tcpcc.apps.export.c_writer import Writer, in_comment, literal, member
from tcpcc.apps.export.calls import MATH_H
from tcpcc.apps.export.handwritten_c import functions_of
from tcpcc.apps.export.ir import BOOL, FLOAT, INT, NONE, SAMPLE, STATE
from tcpcc.apps.export.translate import translate
from tcpcc.controllers.controller import SAMPLE as SAMPLE_FIELDS
from tcpcc.controllers.controller import WINDOW, Controller
from tcpcc.engine.streams import M1, M2, STREAM_FIELDS


class C:
    """The target for the translator and for the writer."""

    name = "C"
    functions = frozenset(MATH_H)
    by_name = False
    constants: Mapping[str, float] | None = None
    missing: Mapping[str, str] = MappingProxyType({})
    types: Mapping[str, str] = MappingProxyType(
        {FLOAT: "double", INT: "int64_t", BOOL: "int", NONE: "void", "bits": "uint64_t"}
    )
    soft = False
    verified = False

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def record(self, kind: str, written: bool) -> str:
        constant = "" if kind == STATE or (kind == SAMPLE and written) else "const "
        return f"{constant}struct {self.prefix}_{kind} *"

    def rule(self, name: str) -> str:
        return f"{self.prefix}_{name}"

    def helper(self, name: str) -> str:
        return f"{self.prefix}_{name}"

    def small(self, name: str) -> str:
        return name


def identifier(name: str) -> str:
    """A controller's name as a name in C."""
    plain = re.sub(r"\W", "_", name.replace("+", "_plus"))
    return plain if plain[:1].isalpha() else f"cc_{plain}"


def sources(
    controller: Controller, values: Mapping[str, float], with_glue: bool = False
) -> dict[str, str]:
    """The files of a controller in C: name -> text; `values` are the parameters' defaults there.

    Raises:
        ScenarioError: a rule that C cannot have; one line with its name and the line of its file.
    """
    prefix = identifier(controller.name)
    target = C(prefix)
    program = translate(controller, target)
    writer = Writer(program, target)
    functions = [writer.function(function) for function in program.functions]
    extra = {}
    if with_glue:
        extra = glue.sources(controller, prefix, LICENCE, program.rules, _read(writer))
    small = functions_of("userspace/helpers.c")
    needed = [text for name, text in small.items() if name in writer.helpers]
    constants = "\n".join(writer.constants.values())
    return {
        f"{prefix}.h": _header(controller, prefix, values, writer),
        f"{prefix}.c": "\n\n".join(
            [
                f"/* {LICENCE} */\n/* {_title(controller)} */",
                f'#include <math.h>\n#include <stdint.h>\n\n#include "{prefix}.h"',
                *([constants] if constants else []),
                *needed,
                _defaults(prefix, controller, values),
                _start(prefix, controller),
                *functions,
            ]
        )
        + "\n",
        **extra,
    }


def _read(writer: Writer) -> set[str]:
    """Fields of the sample that the rules read."""
    return {
        node.name
        for function in writer.program.functions
        for node in ir.walk(function.body)
        if isinstance(node, ir.Field) and node.record == SAMPLE
    }


LICENCE = "SPDX-License-Identifier: MIT"
"""Of everything that tcpcc writes; the rules of a user's own controller remain the user's."""


def _title(controller: Controller) -> str:
    return f"{controller.name}: {controller.summary}. Written by tcpcc {tcpcc.__version__}."


def head(controller: Controller, *notes: str) -> str:
    """The comment at the top of a generated file."""
    lines = [_title(controller), ""]
    if controller.source:
        lines += [f"Source: {controller.source}.", ""]
    comment = ["/*", *(f" * {line}".rstrip() for line in (*lines, *notes)), " */"]
    return "\n".join([f"/* {LICENCE} */", *comment])


_NOTES = (
    "Times are in seconds, windows in packets, rates in packets per second. Call init first, then",
    "the function of each event with the sample of that event. The window to use is cwnd.",
    "",
    "Compiled with -ffp-contract=off -fno-builtin, on a machine with IEEE 754 doubles, the results",
    "are those of tcpcc to the bit. Where Python raises an exception, as in a division by zero, C",
    "goes on with infinity or NaN.",
)


def _calling(controller: Controller, writer: Writer) -> list[str]:
    """When a stack must call which rules, in lines of a comment."""
    has = writer.program.rules
    text = []
    if controller.every_ack:
        text.append(
            "Call on_ack for every ACK that reports newly delivered packets, in loss recovery too,"
            " after on_loss and on_lost_packet."
        )
    else:
        text.append(
            "Do not call on_ack in fast recovery: from a loss until all packets that had been sent"
            " by then are acknowledged. Call it for every other ACK of new packets."
        )
    if controller.window == "own":
        text.append(
            "Only these rules change cwnd: the stack does not reduce it in recovery, nor after idle"
            " periods."
        )
    elif not controller.every_ack:
        text.append(
            "While the application or the receiver limits sending (limited), take back what on_ack"
            " and on_round add to cwnd."
        )
    always = [n for n in ("on_loss", "on_lost_packet", "on_timeout", "on_undo") if n in has]
    if always:
        text.append(f"In recovery, too: {', '.join(always)}.")
    if "pacing_rate" in controller.state:
        text.append(
            "Send no faster than pacing_rate (packets per second; infinite: no pacing), and never"
            " more than cwnd."
        )
    text.append(
        "A value that the stack does not know is NaN, or 0 for a number of packets. The caller owns"
        " all structs; nothing is allocated, and different states may be used in different threads."
    )
    return ["", *textwrap.wrap(" ".join(text), 95)]


PYTHON_NAMES = {
    "at most `abc_limit` per ACK (RFC 3465, 2.3)": "at most 1 per ACK (RFC 3465, 2.3; Linux: all)",
    "(`Transport.gso_time`, `gso_segments`)": "(Linux: those of 1/1024 s, at least 2; else 1)",
    "With `every_ack`: newly reported": "If on_ack is called in recovery: newly reported",
    "With `every_ack` srtt": "If on_ack is called in recovery, srtt",
    "(as in ns-2)": "",
}
"""Names that exist only in Python -> what comments say: the default values of the simulated
transport."""


def _about(unit: str, doc: str) -> str:
    text = " ".join(": ".join(filter(None, (unit, doc))).split())
    for name, value in PYTHON_NAMES.items():
        text = text.replace(name, value)
    return in_comment(text)


def _header(
    controller: Controller, prefix: str, values: Mapping[str, float], writer: Writer
) -> str:
    used = _read(writer)
    state = state_members(controller, C.types)
    if controller.chance:
        low = f"1 to {M1 - 1}; mrg3 to mrg5: 1 to {M2 - 1}"
        state.append(f"    /* Random numbers, MRG32k3a: set all six for another stream ({low}). */")
        state += [f"    int64_t {name};" for name, _ in STREAM_FIELDS]
    params = [
        declared(f"double {member(n)};", v.unit, f"{v.doc} (default {values[n]:g})")
        for n, v in controller.params.items()
    ] or ["    double none; /* the rules have no parameters */"]
    sample = [
        declared(f"double {member(n)};", u, d)
        for n, (u, d, _) in SAMPLE_FIELDS.items()
        if n in used
    ] or ["    double none; /* the rules read nothing */"]
    guard = f"TCPCC_{prefix.upper()}_H"
    rules = [
        f"/* {RULES[name]} */\n{writer.prototype(function)};"
        for name, function in writer.program.rules.items()
    ]
    return "\n".join(
        [
            head(controller, *_NOTES, *_calling(controller, writer)),
            f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            f"struct {prefix}_state {{", *state, "};\n",
            f"struct {prefix}_params {{", *params, "};\n",
            "/* What the rules read of an event. */",
            f"struct {prefix}_sample {{", *sample, "};\n",
            f"extern const struct {prefix}_params {prefix}_defaults;\n",
            "/* The state before the first packet; set cwnd to the initial window after it. */",
            f"void {prefix}_init(struct {prefix}_state *s);\n",
            "\n\n".join(rules),
            "\n#ifdef __cplusplus\n}\n#endif",
            "\n#endif",
            "",
        ]
    )  # fmt: skip


def state_members(controller: Controller, types: Mapping[str, str]) -> list[str]:
    """The declared variables of the state, without those of random numbers."""
    members = [declared(f"{types[FLOAT]} {n};", u, d) for n, (_, u, d) in WINDOW.items()]
    for name, variable in controller.state.items():
        size = f"[{variable.size}]" if variable.size > 1 else ""
        line = f"{types[INT if variable.kind is int else FLOAT]} {member(name)}{size};"
        members.append(declared(line, variable.unit, variable.meaning))
    return members


def declared(line: str, unit: str, doc: str) -> str:
    """A member of a struct with its unit and meaning, before it if the line would be too long."""
    about = _about(unit, doc)
    if not about:
        return f"    {line}"
    if len(line) + len(about) < 88:
        return f"    {line} /* {about} */"
    comment = textwrap.wrap(f"/* {about} */", 95, subsequent_indent=" * ")
    return "\n".join(f"    {row}" for row in [*comment, line])


#: When a rule is called, for the comments in a header.
RULES = {
    "on_ack": "An ACK acknowledges new packets.",
    "on_round": "A round trip ends: the first packet of the last round is acknowledged. Before"
    " on_ack.",
    "on_loss": "A loss event, at most one per window of data.",
    "on_timeout": "The retransmission timer expires.",
    "on_lost_packet": "A packet is marked lost; once for each, before on_ack.",
    "on_mark": "An ACK reports an ECN mark, at most once per window of data.",
    "on_timer": "The time in wake_at has come.",
    "on_restart": "The application has data again after everything sent was acknowledged.",
    "on_start": "Before the first segment.",
    "on_open": "The SYN is acknowledged and cwnd is the initial window.",
    "on_undo": "The last loss or timeout was spurious; cwnd and ssthresh are restored already.",
    "on_send": "A packet is sent, for the first time or again; it counts in inflight and pipe.",
}


def _defaults(prefix: str, controller: Controller, values: Mapping[str, float]) -> str:
    lines = [f"    .{member(n)} = {literal(values[n])}," for n in controller.params]
    return "\n".join(
        [
            f"const struct {prefix}_params {prefix}_defaults = {{",
            *(lines or ["    .none = 0.0,"]),
            "};",
        ]
    )


def initial(controller: Controller, write: Callable[[float], str] = literal) -> list[str]:
    """Assignments that set the state to its start, with `write` writing a float."""
    lines = [f"s->{name} = {write(value)};" for name, (value, _, _) in WINDOW.items()]
    for name, variable in controller.state.items():
        value = (
            str(int(variable.initial)) if variable.kind is int else write(float(variable.initial))
        )
        if variable.size == 1:
            lines.append(f"s->{member(name)} = {value};")
        else:
            lines += [
                f"for (int i = 0; i < {variable.size}; i++)",
                f"    s->{member(name)}[i] = {value};",
            ]
    if controller.chance:
        stream = controller.initial_state[-len(STREAM_FIELDS) :]
        lines += [
            f"s->{name} = {value};" for (name, _), value in zip(STREAM_FIELDS, stream, strict=True)
        ]
    return lines


def _start(prefix: str, controller: Controller) -> str:
    body = [f"    {line}" for line in initial(controller)]
    return "\n".join([f"void {prefix}_init(struct {prefix}_state *s)", "{", *body, "}"])
