"""Which tests run: `make test` leaves out those marked `papers` or `long`, `make papers` and
`make long` run only these.

With `-m papers` the papers' numbers come from all seeds, else from two. What a module registers is
forgotten after it, and the figures that it drew are closed.
"""

import functools
import gc
import sys

import conservation
import hypothesis
import pytest

from experiments import seeds
from tcpcc.controllers import CONTROLLERS
from tcpcc.queues import QUEUES
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.transport.recovery import RECOVERIES

hypothesis.settings.register_profile("tests", deadline=None)  # a busy machine is no fault
hypothesis.settings.load_profile("tests")


LONGEST = [
    "test_notebooks.py", "test_packet.py", "test_fluid.py", "test_hybrid.py", "test_per_packet.py",
    "test_controller_battery.py", "test_reproduction.py", "test_page.py", "test_evaluate.py",
    "test_cli.py", "test_memory_image.py", "test_cache.py", "test_docs.py", "test_entry_points.py",
]  # fmt: skip
"""Files to begin with, so that no process has a long one at the end. The first ones compile an
engine each, since a process waits while another compiles the engine that it needs."""


def pytest_configure(config):
    """Before any paper is imported: its scenarios depend on it."""
    seeds.QUICK = config.option.markexpr != "papers"
    gc.disable()  # while collecting: what is imported stays


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else 99)
    others = [mark for mark in ("papers", "long") if mark not in config.option.markexpr]
    chosen, left = [], []
    for item in items:
        (left if any(map(item.get_closest_marker, others)) else chosen).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = chosen


@pytest.fixture(scope="module", autouse=True)
def registries():
    """Tests that go over all that is registered find what the package ships, whichever modules
    the worker ran before."""
    tables = (CONTROLLERS, QUEUES, SLOW_STARTS, RECOVERIES)
    for table in tables:
        table._is_complete = True  # whatever else is installed on this machine
    before = [(table, dict(table._known), dict(table._by)) for table in tables]
    yield
    for table, known, by in before:
        table._known, table._by = known, by


@pytest.fixture(scope="module", autouse=True)
def figures():
    """With more than 20 open, matplotlib warns, and `test_plots.py` takes that for an error."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session", autouse=True)
def conserved():
    """Each run that a test simulates in this process is checked for conservation."""
    from tcpcc.models.packet import read_out

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_out, "_edges", _checked(read_out._edges))
        yield


def _checked(function):
    @functools.wraps(function)
    def checked(world, until):
        found = function(world, until)
        conservation.check_packets(world)
        conservation.check_links(world, until)
        return found

    return checked
