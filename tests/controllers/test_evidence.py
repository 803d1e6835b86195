"""What the file of each controller says under "Evidence" names tests that there are."""

from pathlib import Path

import pytest
from named import TESTS, is_test

from tcpcc.controllers import CONTROLLERS, controller
from tcpcc.models.evidence import evidence_of, evidence_table

KINDS = {"ns-2", "vector", "closed form", "published value", "claim"}
OWN = [
    file.stem for file in Path(controller.__file__).parent.glob("*.py") if file.stem in CONTROLLERS
]


@pytest.mark.parametrize("name", OWN)
def test_every_controller_has_its_evidence(name):
    known = evidence_of(name)
    assert known.constants
    section = CONTROLLERS.module_of(name).__doc__.partition("\nEvidence (")[2]
    assert len(known.tests) == section.count(".py")


@pytest.mark.parametrize("name", OWN)
def test_the_tests_named_are_there_and_know_the_controller(name):
    for each in evidence_of(name).tests:
        assert each.kind in KINDS
        file, _, test = each.test.partition("::")
        assert not test or is_test(each.test)
        # tests of whole papers: their packages name the controllers
        if file != "papers/test_reproduction.py":
            assert name in (TESTS / file).read_text().lower()


def test_the_table_shows_it():
    table = evidence_table().set_index("controller")
    assert "the 22 cases" in table.loc["bbr3", "tests"]
    assert table.loc["reno", "constants"] == "RFC"
