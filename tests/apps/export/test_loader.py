"""Exported controllers in the running kernel: loading (root), and messages without root."""

import ctypes
import os
import shutil
import socket
import subprocess

import pytest
from held import differences
from sampled import some

from tcpcc.apps.export import files, loader
from tcpcc.cli import main
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.controller import Controller, sample_dtype
from tcpcc.definition import State
from tcpcc.errors import ScenarioError

lacks = loader.missing()
in_kernel = pytest.mark.skipif(lacks is not None, reason=f"the running kernel: {lacks}")
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang and libbpf-dev")

RULES = (
    "on_ack", "on_loss", "on_timeout", "on_round", "on_lost_packet", "on_mark",
    "on_timer", "on_restart", "on_start", "on_open", "on_undo",
)  # fmt: skip


FIRST = ("reno", "cubic", "vegas", "bbr", "westwood_rbe", "hybla")
"""Controllers that `make test` compiles and loads too; `make long` has all."""


@pytest.fixture(params=some(CONTROLLERS, FIRST))
def exportable(request):
    """Name of a controller that BPF can have."""
    try:
        files(request.param, "bpf")
    except ScenarioError:
        pytest.skip("BPF cannot have it")
    return request.param


@pytest.fixture
def object_of(tmp_path):
    """Compiles a controller for BPF."""

    def make(name, *flags):
        ((file, text),) = files(name, "bpf").items()
        (tmp_path / file).write_text(text)
        return loader.compiled(tmp_path / file, "-Wall", "-Werror", *flags)

    return make


@needs_clang
@pytest.mark.skipif(lacks is None, reason="the tests below compile them")
@pytest.mark.slow
def test_every_generated_file_compiles(object_of, exportable):
    assert object_of(exportable).stat().st_size > 0


def add_turns(s, p, a):
    for k in range(int(s.cwnd) % 9):
        s.total += k
    n = 0
    while n < int(s.ssthresh):
        n += 1
        s.total += n


@needs_clang
def test_a_sum_over_the_turns_of_a_loop_compiles(object_of):
    """clang would compute it as a product of 128 bits, which BPF does not have."""
    summing = Controller(
        "summing", "", add_turns, add_turns, add_turns, state={"total": State(0, "", "", kind=int)}
    )
    assert object_of(summing).stat().st_size > 0


OF_TEST = f"tc_test_{os.getpid()}"
"""Name in the kernel, which all processes share."""


@in_kernel
def test_the_kernel_accepts_the_controller(exportable):
    """The verifier passes it, sockets could use it, and unloading leaves no trace."""
    with loader.loaded(exportable, name=OF_TEST) as control:
        assert control in loader.available()
        assert control in loader.loaded_names()
    assert control not in loader.available()


class Options(ctypes.Structure):
    """libbpf's bpf_test_run_opts."""

    _fields_ = (
        ("sz", ctypes.c_size_t),
        *((n, ctypes.c_void_p) for n in ("data_in", "data_out")),
        *((n, ctypes.c_uint32) for n in ("data_size_in", "data_size_out")),
        *((n, ctypes.c_void_p) for n in ("ctx_in", "ctx_out")),
        *((n, ctypes.c_uint32) for n in ("ctx_size_in", "ctx_size_out", "retval")),
        ("repeat", ctypes.c_int),
        *((n, ctypes.c_uint32) for n in ("duration", "flags", "cpu", "batch_size")),
    )


class InKernel:
    """The rules of a controller in the running kernel, one call at a time."""

    parameters = False

    def __init__(self, made):
        self.library = lib = ctypes.CDLL("libbpf.so.1")
        for name in ("bpf_object__open", "bpf_object__find_program_by_name"):
            getattr(lib, name).restype = ctypes.c_void_p
        self.object = ctypes.c_void_p(lib.bpf_object__open(str(made).encode()))
        assert lib.bpf_object__load(self.object) == 0
        program = lib.bpf_object__find_program_by_name(self.object, b"trial")
        self.number = lib.bpf_program__fd(ctypes.c_void_p(program))

    def sample_dtype(self, controller):
        return sample_dtype

    def rule(self, controller, name):
        sizes = controller.state_dtype.itemsize, sample_dtype.itemsize

        def call(state, params, sample):
            given = b"".join(
                ctypes.string_at(at, size) for at, size in zip((state, sample), sizes, strict=True)
            )
            given += RULES.index(name).to_bytes(8, "little")
            context = ctypes.create_string_buffer(given, len(given))
            options = Options(sz=ctypes.sizeof(Options), ctx_size_in=len(given))
            options.ctx_in = ctypes.addressof(context)
            code = self.library.bpf_prog_test_run_opts(self.number, ctypes.byref(options))
            assert code == 0
            ctypes.memmove(state, context, sizes[0])

        return call

    def close(self):
        self.library.bpf_object__close(self.object)


#: Controllers with a power or an exponential, in which 0.5 % of the results differ from libm's in
#: the last bit: share of calls that may differ. CUBIC of 2005 takes one at the start of an epoch.
ROUNDED = {"cubic": 0.01, "cubic_2008": 0.01, "hstcp": 0.02, "compound": 0.02, "ghstcp": 0.02,
           "nv": 2e-5, "africa": 2e-5, "cubic_2005": 2e-4}  # fmt: skip


@in_kernel
@pytest.mark.parametrize("calls", [600, pytest.param(20_000, marks=pytest.mark.long)])
def test_rules_in_the_kernel_have_pythons_bits(object_of, exportable, calls):
    held = InKernel(object_of(exportable, "-DRULES_ONLY"))
    try:
        wrong, answered = differences(CONTROLLERS[exportable], held, calls)
    finally:
        held.close()
    assert sum(answered.values()) > calls / 4
    assert len(wrong) <= ROUNDED.get(exportable, 0) * calls, wrong[:3]


@in_kernel
def test_a_wrong_constant_is_found(object_of, tmp_path):
    """The comparison above can fail: a Reno that adds two packets per ACK."""
    made = object_of("reno", "-DRULES_ONLY")
    source = made.with_suffix(".c")
    text = source.read_text()
    assert text.count("f64_add(s->cwnd") >= 1
    source.write_text(text.replace("f64_add(s->cwnd", "f64_sub(s->cwnd"))
    held = InKernel(loader.compiled(source, "-DRULES_ONLY"))
    try:
        wrong, _ = differences(CONTROLLERS["reno"], held, 100)
    finally:
        held.close()
    assert wrong


@in_kernel
def test_what_is_of_the_kernel_or_of_nobody_is_neither_replaced_nor_unloaded():
    with pytest.raises(ScenarioError, match="the kernel has a congestion control of this name"):
        loader.load("reno", name="cubic")
    with pytest.raises(ScenarioError, match="kernel's own"):
        loader.unload("reno")
    with pytest.raises(ScenarioError, match="tc_nothing"):
        loader.unload("tc_nothing")


@in_kernel
def test_a_name_that_a_connection_still_uses_is_not_listed_after_unloading():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        with loader.loaded("reno", name=OF_TEST) as name:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            client.connect(server.getsockname())
        used = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        assert used.rstrip(b"\0").decode() == OF_TEST
        assert OF_TEST not in loader.loaded_names()


@in_kernel
def test_the_command_loads_lists_and_unloads(capsys):
    assert main(["kernel", "load", "vegas", "--set", "alpha=2", "--name", OF_TEST]) == 0
    try:
        assert main(["kernel", "list"]) == 0
        assert OF_TEST in capsys.readouterr().out
    finally:
        assert main(["kernel", "unload", OF_TEST]) == 0
    assert OF_TEST not in loader.available()


def test_a_name_that_is_too_long_is_refused():
    with pytest.raises(ScenarioError, match="at most 15"):
        loader.load("reno", name="a_name_that_is_far_too_long")


@pytest.mark.parametrize(
    ("lacking", "message"),
    [("clang", "needs clang"), ("bpftool", "needs bpftool"), ("btf", "BTF"), ("root", "root")],
)
def test_what_is_missing_is_one_line(monkeypatch, tmp_path, capsys, lacking, message):
    btf = tmp_path / "vmlinux"
    if lacking != "btf":
        btf.write_text("")
    monkeypatch.setattr(loader, "BTF", btf)
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == lacking else f"/{tool}")
    monkeypatch.setattr("os.geteuid", lambda: 1000 if lacking == "root" else 0)
    assert message in str(loader.missing())
    assert main(["kernel", "load", "reno", "--name", OF_TEST]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_the_verifiers_complaint_is_one_line():
    text = "libbpf: prog 'x': BPF program load failed\nthe call stack of 8 frames is too deep !\n"
    text += "processed 2972 insns (limit 1000000)\nlibbpf: failed to load object 'x'\n"
    done = subprocess.CompletedProcess([], 1, "", text)
    assert loader._reason(done) == "the call stack of 8 frames is too deep !"


def test_a_cost_is_per_ack():
    spent = {"control_pkts_acked": 1000, "control_cong_avoid": 3000, "control_init": 0}
    cost = loader.Cost(spent, {"control_pkts_acked": 4, "control_cong_avoid": 3})
    assert cost.per_ack() == pytest.approx(1000)


def test_default_names_fit_the_kernel():
    names = [loader.default_name(name) for name in CONTROLLERS]
    assert max(map(len, names)) <= loader.LONGEST_NAME
    assert len(set(names)) == len(names)
    assert all(name.isascii() for name in names)
