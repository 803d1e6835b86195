"""Controllers as congestion controls of the running Linux: load, unload, list.

A controller's rules are exported as BPF, compiled with clang and registered with bpftool. Sockets
choose them by name (``TCP_CONGESTION``, ``iperf3 -C``). Loading adds one name to
``net.ipv4.tcp_available_congestion_control`` and changes nothing else; unloading takes it away.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError, TcpccError, unknown

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.slow_start import StartUp

BTF = Path("/sys/kernel/btf/vmlinux")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
LONGEST_NAME = 15  # linux/tcp.h, TCP_CA_NAME_MAX, with a zero at the end
PREFIX = "tc_"  # of the default name, which would else be that of the kernel's own
UNLOADED = "STRUCT_OPS_STATE_TOBEFREE"  # taken out, and kept for the connections that still use it
MARK = "control_init"  # the program that every congestion control loaded here has

HINTS = {
    "clang": "apt-get install clang libbpf-dev",
    "bpftool": "apt-get install bpftool",
}


class KernelError(TcpccError):
    """This machine's kernel cannot run, or did not accept, a congestion control."""


def missing() -> str | None:
    """What this machine lacks for loading, in one line; None if nothing."""
    if platform.system() != "Linux":
        return f"needs Linux 6, not {platform.system()}"
    for tool, how in HINTS.items():
        if shutil.which(tool) is None:
            return f"needs {tool} ({how})"
    if not BTF.exists():
        return f"needs {BTF}: a kernel built with CONFIG_DEBUG_INFO_BTF"
    if os.geteuid() != 0:
        return "needs root, to load BPF programs"
    return None


def available() -> list[str]:
    """Names of the kernel's congestion controls, loaded ones included."""
    return AVAILABLE.read_text().split() if AVAILABLE.exists() else []


def default_name(controller: str) -> str:
    """The name of a controller in the kernel, if none is given: "tc_vegas"."""
    return re.sub(r"\W", "_", PREFIX + controller)[:LONGEST_NAME]


def compiled(source: Path, *flags: str) -> Path:
    """Compile BPF C.

    Args:
        source: file that `tcpcc.apps.export.export` wrote.
        *flags: further flags of clang.

    Returns:
        The object file, beside the source.

    Raises:
        KernelError: clang is missing, or does not accept the file; one line.
    """
    if shutil.which("clang") is None:
        raise KernelError(f"cannot compile: needs clang ({HINTS['clang']})")
    object_file = source.with_suffix(".o")
    command = ["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", *flags]
    done = _run([*command, "-c", str(source), "-o", str(object_file)])
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        raise KernelError(f"clang does not compile {source.name}: {(errors or ['?'])[0]}")
    return object_file


def load(
    controller: str | Controller,
    *,
    name: str | None = None,
    slow_start: str | StartUp = "standard",
    params: Mapping[str, float] | None = None,
) -> str:
    """Load a controller into the running kernel, for all sockets that ask for it by name.

    Args:
        controller: name, or the definition.
        name: name in the kernel, at most 15 letters, digits and _; default: "tc_" and the
            controller's name.
        slow_start: name of a slow-start rule, or the definition.
        params: values of parameters; default values for the rest.

    Returns:
        The name in the kernel.

    Raises:
        KernelError: root, BTF, clang or bpftool is missing, or the kernel does not accept the
            program; one line.
        ScenarioError: a name that is in use or too long, or a rule that BPF cannot have.
    """
    from tcpcc.apps.export import files

    (text,) = files(controller, "bpf", slow_start=slow_start, params=params).values()
    of_controller = default_name(controller if isinstance(controller, str) else controller.name)
    wanted = of_controller if name is None else name
    if not re.fullmatch(r"[A-Za-z_]\w*", wanted, re.ASCII) or len(wanted) > LONGEST_NAME:
        raise ScenarioError(
            f"name = {wanted!r}: must have at most {LONGEST_NAME} letters, digits and _, and not"
            " begin with a digit"
        )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{wanted}.bpf.c"
        source.write_text(text, encoding="utf-8")
        return install(source, wanted, f"-DCONTROL_NAME={wanted}")


def install(source: Path, name: str, *flags: str) -> str:
    """Compile a file of BPF C and load the congestion control `name` that it defines.

    Args:
        *flags: further flags of clang.

    Raises:
        KernelError, ScenarioError: as `load`.
    """
    if name in available():
        raise ScenarioError(
            f"name = {name!r}: the kernel has a congestion control of this name; unload it, or"
            " give another name"
        )
    lacks = missing()
    if lacks:
        raise KernelError(f"cannot load: {lacks}")
    object_file = compiled(source, *flags)
    done = _run(["bpftool", "struct_ops", "register", str(object_file)])
    if name not in available():
        raise KernelError(f"the kernel does not accept {name}: {_reason(done)}")
    return name


def unload(name: str) -> None:
    """Take a congestion control that `load` made out of the kernel.

    Connections that use it keep it until they close.

    Raises:
        KernelError: root or bpftool is missing, or the kernel refuses.
        ScenarioError: `name` is not loaded, or is not one of ours.
    """
    names = loaded_names()
    if name not in names:
        if name in available():
            raise ScenarioError(f"name = {name!r}: is the kernel's own or was loaded by others")
        raise unknown("congestion control loaded by tcpcc", name, names)
    done = _run(["bpftool", "struct_ops", "unregister", "name", name])
    if name in available():
        raise KernelError(f"cannot unload {name}: {_reason(done)}")


def loaded_names() -> list[str]:
    """Names of the congestion controls in the kernel that `load` made.

    Raises:
        KernelError: root or bpftool is missing.
    """
    return list(_programs())


@contextmanager
def loaded(controller: str | Controller, **settings: Any) -> Iterator[str]:
    """A controller is in the kernel during a ``with`` block; arguments as for `load`.

    Yields:
        Its name in the kernel.
    """
    name = load(controller, **settings)
    try:
        yield name
    finally:
        unload(name)


@dataclass
class Cost:
    """CPU time of a congestion control's programs, filled when the measurement ends.

    Attributes:
        nanoseconds: by program.
        calls: by program.
    """

    nanoseconds: dict[str, int]
    calls: dict[str, int]

    def per_ack(self) -> float:
        """Nanoseconds of all programs for each ACK."""
        return sum(self.nanoseconds.values()) / max(self.calls.get("control_pkts_acked", 0), 1)


@contextmanager
def costs(name: str) -> Iterator[Cost]:
    """Measure the CPU time of a loaded congestion control during a ``with`` block.

    Switches ``kernel.bpf_stats_enabled`` on, and back at the end.
    """
    cost = Cost({}, {})
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    first = _counts(name)
    try:
        yield cost
    finally:
        last = _counts(name)
        STATISTICS.write_text(before)
        for program, (spent, calls) in last.items():
            cost.nanoseconds[program] = spent - first[program][0]
            cost.calls[program] = calls - first[program][1]


def _counts(name: str) -> dict[str, tuple[int, int]]:
    """Nanoseconds and calls of each program of a loaded congestion control."""
    programs = _programs(name)[name]
    entries = {entry["id"]: entry for entry in _json("prog", "show")}
    return {
        program: (entries[number].get("run_time_ns", 0), entries[number].get("run_cnt", 0))
        for program, number in programs.items()
    }


def _programs(name: str | None = None) -> dict[str, dict[str, int]]:
    """The number of each program of the congestion controls that `load` made, or of this one."""
    controls = {}
    for entry in _json("struct_ops", "show"):
        if name in (None, entry["name"]):
            done = _run(["bpftool", "struct_ops", "dump", "id", str(entry["id"])])
            text = done.stdout if done.returncode == 0 else ""  # it may just have been taken out
            programs = {p: int(n) for p, n in re.findall(r"(control_\w+)/prog_id:(\d+)", text)}
            if MARK in programs and UNLOADED not in text:
                controls[entry["name"]] = programs
    return controls


def _json(*arguments: str) -> list[dict[str, Any]]:
    """The answer of bpftool."""
    if shutil.which("bpftool") is None:
        raise KernelError(f"needs bpftool ({HINTS['bpftool']})")
    if os.geteuid() != 0:
        raise KernelError("needs root, to see BPF programs")
    done = _run(["bpftool", "-j", *arguments])
    if done.returncode != 0:
        raise KernelError(f"bpftool -j {' '.join(arguments)}: {_reason(done)}")
    document = json.loads(done.stdout or "[]")
    return document if isinstance(document, list) else [document]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """The verifier's or the tool's complaint, in one line."""
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    for k, line in enumerate(lines):
        if line.startswith("processed ") and k > 0:
            return lines[k - 1]
    errors = [line for line in lines if line.lower().startswith(("error", "libbpf: failed"))]
    return (errors or lines or ["no reason given"])[-1]
