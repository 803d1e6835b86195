"""Which tests go to the same worker: those of a module, and all that need the papers' numbers, so
that these are simulated once. What a module registers is forgotten after it."""

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        module = item.path.stem
        group = "papers" if module in OF_THE_PAPERS else module
        item.add_marker(pytest.mark.xdist_group(group))


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
