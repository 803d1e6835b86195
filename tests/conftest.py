"""Which tests run: `make test` leaves out those marked `papers`, `make papers` runs only these.

With `-m papers` the papers' numbers come from all seeds, else from two. What a module registers is
forgotten after it.
"""

import pytest

from experiments import seeds
from tcpcc.controllers import CONTROLLERS
from tcpcc.queues import QUEUES
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.transport.recovery import RECOVERIES


def pytest_configure(config):
    """Before any paper is imported: its scenarios depend on it."""
    seeds.QUICK = config.option.markexpr != "papers"


def pytest_collection_modifyitems(config, items):
    if seeds.QUICK:
        left = [item for item in items if item.get_closest_marker("papers")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("papers")]


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
