"""What the studies of test-beds have in common: files, numbers kept, the command."""

import argparse

import pytest

from experiments import ifip25, pam25, testbeds
from experiments.bbr_cubic import command as bbr_cubic_command
from experiments.bbr_cubic.scenarios import Network
from experiments.ifip25 import command as ifip25_command
from experiments.ifip25.scenarios import Single, Ten
from experiments.pam25 import command as pam25_command
from experiments.pam25.scenarios import Mixture
from tcpcc.errors import ScenarioError

TEN, SINGLE = ifip25.tables.ITEMS["ten"], ifip25.tables.ITEMS["single"]

# name: item, its accepted numbers, a cell, its measures
ITEMS = {
    "ten": (TEN, Ten("bbr3", "cubic", 8), ifip25.tables.measured),
    "single": (SINGLE, Single("bbr3", "cubic", Network(10, 40), 8, 4), ifip25.tables.measured),
    "pam25": (
        pam25.tables.ITEM,
        Mixture(10, 10, "CUBIC ECN", "DualPI2", 2.0),
        pam25.tables.of_mixture,
    ),
}


@pytest.mark.parametrize("name", ITEMS)
def test_a_file_is_written_as_it_is_read(name, tmp_path, monkeypatch):
    item, *_ = ITEMS[name]
    ours = testbeds.stored(item)
    monkeypatch.setattr(testbeds, "DATA", tmp_path)
    testbeds.store(item, ours)
    assert testbeds.stored(item) == ours


@pytest.mark.parametrize("model", testbeds.MODELS)
@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.slow
def test_a_cell_is_that_stored(name, model):
    item, cell, measures = ITEMS[name]
    found, cost = testbeds.simulated([cell], model, (1,), of=measures, title="one cell")
    assert testbeds.moved(found, testbeds.stored(item)) == []
    assert 0 < cost < 1


def test_a_moved_number_is_found():
    key, values = next(iter(testbeds.stored(TEN).items()))
    assert len(testbeds.moved({key: (values[0] * 1.001,)}, testbeds.stored(TEN))) == 1


COMMANDS = {"bbr_cubic": bbr_cubic_command, "ifip25": ifip25_command, "pam25": pam25_command}


@pytest.mark.parametrize("study", COMMANDS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"item": "eleven"}, "unknown item of {} 'eleven'"),
        ({"model": "hybrid"}, "unknown model of {} 'hybrid'"),
        ({"scorecard": "x"}, "scorecard"),
        ({"readme": "x"}, "readme"),
    ],
)
def test_unknown_items_and_other_options_are_refused(study, given, message):
    options = dict.fromkeys(("readme", "scorecard", "accept", "figures", "json", "item"))
    with pytest.raises(ScenarioError, match=message.format(study)):
        COMMANDS[study].reproduce(argparse.Namespace(**options | {"model": "both"} | given))
