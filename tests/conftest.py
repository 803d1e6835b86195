"""Which tests go to the same worker: those of a module, and all that need the papers' numbers, so
that these are simulated once. What a module registers is forgotten after it."""

from pathlib import Path

import pytest

from tcpcc.controllers import CONTROLLERS
from tcpcc.queues import QUEUES
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.transport.recovery import RECOVERIES

OF_THE_PAPERS = {
    "test_notebooks",
    "test_red_fairness",
    "test_reproduction",
    "test_tcp_fusion",
    "test_tcp_vegas",
    "test_westwood_rbe",
}


def pytest_xdist_make_scheduler(config, log):
    """Groups by a test's name: with pytest 9.2 pytest-xdist 3.8 does not see marks of groups."""
    from xdist.scheduler import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            module = Path(nodeid.split("::")[0]).stem
            return "papers" if module in OF_THE_PAPERS else module

    return ByModule(config, log)


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
