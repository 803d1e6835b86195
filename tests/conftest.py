"""In which order tests run, and which of them on the same worker: all that need a paper's numbers,
so that these are simulated once, else those of a module. What takes longest comes first, what needs
all papers last. What a module registers is forgotten after it.

The papers' numbers are simulated with a few seeds; `-m papers` (`make papers`) takes all, and
what needs all is left out else."""

from pathlib import Path

import pytest

import experiments
from experiments import seeds
from tcpcc.controllers import CONTROLLERS
from tcpcc.queues import QUEUES
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.transport.recovery import RECOVERIES

PAPERS = ["tcp_fusion", "westwood_rbe", "tcp_vegas", "quick_vegas", "red_fairness"]
"""The longest first."""

LONG = [
    "test_notebooks",
    "test_fast_compound_fusion",
    "test_controller_battery",
    "test_site",
    "test_typing",
]
"""Modules that are not to be left for the end."""


BY_PAPER = {"test_notebooks", "test_reproduction"}
"""Modules whose tests have a paper as parameter."""


def scope(nodeid):
    """The paper that a test asks for, or its module; each notebook stands for itself."""
    file, _, name = nodeid.partition("::")
    module = Path(file).stem
    for paper in PAPERS:
        if module == f"test_{paper}" or (module in BY_PAPER and f"[{paper}" in name):
            return paper
    return name if module == "test_notebooks" else module


def rank(item):
    """Sorts the tests: papers, each with its numbers first; what takes long; the rest; the tests of
    all papers' numbers."""
    group, module = scope(item.nodeid), item.path.stem
    if group in PAPERS:
        return 0, PAPERS.index(group), module != "test_reproduction"
    if module in LONG:
        return 1, LONG.index(module), False
    return 3 if module == "test_reproduction" else 2, 0, False


def pytest_configure(config):
    """Before any paper is imported, whose scenarios hang on it."""
    seeds.QUICK = config.option.markexpr != "papers"


def pytest_collection_modifyitems(config, items):
    assert set(PAPERS) == set(experiments.papers())
    chosen, left = [], []
    for item in items:
        (left if seeds.QUICK and item.get_closest_marker("papers") else chosen).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = sorted(chosen, key=rank)


def pytest_xdist_make_scheduler(config, log):
    """Groups by a test's name: with pytest 9.2 pytest-xdist 3.8 does not see marks of groups."""
    from xdist.scheduler import LoadScopeScheduling

    class ByPaper(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scope(nodeid)

    config.option.loadscopereorder = False
    return ByPaper(config, log)


@pytest.fixture(scope="module", autouse=True)
def registries():
    """Tests that go over all that is registered find what the package ships, whichever modules
    the worker ran before."""
    before = [
        (table, dict(table._known)) for table in (CONTROLLERS, QUEUES, SLOW_STARTS, RECOVERIES)
    ]
    yield
    for table, known in before:
        table._known = known
