"""Which tests go to the same worker: those of a module, and all that need the papers' numbers, so
that these are simulated once."""

import pytest

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
