"""What is said of each controller (evidence.toml) names tests that there are, and models that it
runs in."""

import ast
from pathlib import Path

import pytest

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS, controller
from tcpcc.models import MODELS
from tcpcc.models.evidence import evidence, evidence_table, models_for
from tcpcc.models.refusals import refuse_what_needs_packets
from tcpcc.scenario.resolve import resolve

TESTS = Path(__file__).parents[1]
KINDS = {"ns-2", "vector", "closed form", "published value", "claim"}
OWN = [
    file.stem for file in Path(controller.__file__).parent.glob("*.py") if file.stem in CONTROLLERS
]


def test_every_controller_has_its_evidence():
    assert sorted(evidence()) == sorted(OWN)
    assert all(one.constants for one in evidence().values())


@pytest.mark.parametrize("name", OWN)
def test_the_tests_named_are_there_and_know_the_controller(name):
    for each in evidence()[name].tests:
        assert each.kind in KINDS
        file, _, test = each.test.partition("::")
        text = (TESTS / file).read_text()
        if test:
            assert test in {x.name for x in ast.parse(text).body if isinstance(x, ast.FunctionDef)}
        if (
            file != "papers/test_reproduction.py"
        ):  # of whole papers; their packages name controllers
            assert name in text.lower()


@pytest.mark.parametrize("name", OWN)
def test_models_other_than_those_named_refuse_it(name):
    models = models_for(CONTROLLERS[name])
    assert set(models) <= set(MODELS)
    case = resolve(tc.Scenario(tc.dumbbell("1 Mbps", "10 ms", 9), [tc.Flow(name)], duration=1))
    if "meanfield" in models:
        refuse_what_needs_packets(case)
    else:
        with pytest.raises(tc.ScenarioError, match="use the packet or the fluid model"):
            refuse_what_needs_packets(case)


def test_the_table_shows_it():
    table = evidence_table().set_index("controller")
    assert table.loc["bbr3", "models"] == "packet, fluid, hybrid"
    assert "the 22 cases" in table.loc["bbr3", "tests"]
    assert table.loc["reno", "constants"] == "RFC"
