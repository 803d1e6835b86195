"""The ways to simulate that tests go over, by name."""

import pytest

import tcpcc as tc

WAYS = {
    "packet": {"model": "packet"},
    "trains": {"model": "packet", "trains": 16},
    "fluid": {"model": "fluid"},
    "hybrid": {"model": "hybrid"},
}

EVERY_MODEL = pytest.mark.parametrize("model", ["packet", "trains", "fluid"])
BESIDE_PACKETS = pytest.mark.parametrize("model", ["trains", "fluid"])
PACKETS_AND_TRAINS = pytest.mark.parametrize("model", ["packet", "trains"])


def simulate_in(model, scenario, **options):
    """The run of `scenario` in one of the `WAYS`."""
    return tc.simulate(scenario, **(WAYS[model] | options))
