"""The line that announces a compilation."""

import io
import multiprocessing
from types import SimpleNamespace

import pytest

from tcpcc import progress_bars
from tcpcc.engine import announce, jit


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    screen = Terminal()
    for module in (announce, progress_bars):
        monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=screen, modules={}))
    monkeypatch.setattr(announce, "_printed", set())
    monkeypatch.setattr(announce, "INTERPRETED", False)
    monkeypatch.delenv("TCPCC_QUIET", raising=False)
    monkeypatch.setattr(announce.multiprocessing, "current_process", lambda: MAIN)
    return screen


def pipe(monkeypatch, modules):
    """Let stderr be no terminal, and these modules be imported."""
    screen = io.StringIO()
    for module in (announce, progress_bars):
        monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=screen, modules=modules))


MAIN = SimpleNamespace(name="MainProcess")
KERNEL = SimpleNamespace(kernel=SimpleNamespace())
NO_SHELL = SimpleNamespace(get_ipython=lambda: None)
LINE = "tcpcc: compiling the packet model, once: about 20 s\n"


def test_one_line_on_a_terminal_for_each_model(terminal):
    for _ in range(2):
        announce.compiling("the packet model", 20)
    assert terminal.getvalue() == LINE
    announce.compiling_a_part()
    assert terminal.getvalue() == LINE


def test_a_rule_is_announced_if_nothing_else_is(terminal):
    for _ in range(2):
        announce.compiling_a_part()
    assert terminal.getvalue() == "tcpcc: compiling new rules, once: some seconds\n"


def test_silent_in_a_pipe_a_worker_interpreted_and_when_switched_off(terminal, monkeypatch):
    def silent(change):
        with monkeypatch.context() as here:
            change(here)
            announce._printed.clear()
            announce.compiling("the packet model", 20)
            assert announce.sys.stderr.getvalue() == ""

    silent(lambda here: here.setenv("TCPCC_QUIET", "1"))
    silent(lambda here: here.setattr(announce, "INTERPRETED", True))
    worker = SimpleNamespace(name="LokyProcess-1")
    silent(lambda here: here.setattr(multiprocessing, "current_process", lambda: worker))

    silent(lambda here: pipe(here, modules={}))
    silent(lambda here: pipe(here, modules={"ipykernel": None, "IPython": NO_SHELL}))


def test_a_notebook_shows_the_announcement_though_its_stderr_is_no_terminal(terminal, monkeypatch):
    pipe(monkeypatch, modules={"IPython": SimpleNamespace(get_ipython=lambda: KERNEL)})
    announce.compiling("the packet model", 20)
    assert announce.sys.stderr.getvalue() == LINE


@pytest.mark.skipif(jit.INTERPRETED, reason="nothing is compiled")
def test_a_model_is_announced_until_its_machine_code_is_on_disk(terminal, tmp_path, monkeypatch):
    from tcpcc.engine.source import module_digest

    monkeypatch.setenv("TCPCC_CACHE_DIR", str(tmp_path))
    module = "tcpcc.models.packet.handlers"
    jit.announce_compilation(module, "the packet model", 20)
    assert terminal.getvalue() == LINE
    announce._printed.clear()
    folder = tmp_path / f"engine-{module_digest(module)[:16]}" / "x"
    folder.mkdir(parents=True)
    (folder / "run.nbi").touch()
    jit.announce_compilation(module, "the packet model", 20)
    assert terminal.getvalue() == LINE


def test_every_models_engine_has_entries():
    from tcpcc.engine.source import _file
    from tcpcc.models import MODELS

    for model in MODELS.values():
        assert "@entry" in _file(model.engine).read_text(), model.engine
