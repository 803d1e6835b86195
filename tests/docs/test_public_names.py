"""The public names: each is there, in one place, and a former one leads to it."""

import ast
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path

import pytest

import tcpcc as tc
from tcpcc.former_names import FORMER_NAMES

STUB = ast.parse(Path(tc.__file__).with_suffix(".pyi").read_text())

TABLES = ("controllers", "queues", "slow_starts", "recoveries")


@pytest.mark.parametrize("name", tc.__all__)
def test_a_public_name_is_there_and_in_the_stub(name):
    assert getattr(tc, name) is not None
    stated = {a.asname for n in STUB.body if isinstance(n, ast.ImportFrom) for a in n.names}
    stated |= {n.target.id for n in STUB.body if isinstance(n, ast.AnnAssign)}
    stated |= {n.targets[0].id for n in STUB.body if isinstance(n, ast.Assign)}
    assert name in stated


@pytest.mark.parametrize("name", FORMER_NAMES)
def test_a_former_name_is_gone_and_its_error_names_the_new_one(name):
    assert name not in tc.__all__
    with pytest.raises(AttributeError, match=rf"'{name}'; it is tc\.{FORMER_NAMES[name]} now$"):
        getattr(tc, name)
    assert attrgetter(FORMER_NAMES[name])(tc) is not None


def test_an_unknown_name_has_no_hint():
    with pytest.raises(AttributeError, match=r"^module 'tcpcc' has no attribute 'simulat'$"):
        tc.simulat  # noqa: B018


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_definitions_are_alike(name):
    table = getattr(tc, name)
    first = next(iter(table))
    assert table[first].name == first
    assert first in table
    assert "nothing" not in table
    assert table.get("nothing") is None
    assert len(table) == len(list(table)) == len(table.names())
    assert dict(table.items())[first] is table[first]
    assert table().equals(table.table())
    with pytest.raises(tc.ScenarioError, match=r"^unknown [a-z ]+ 'nothing'; known: "):
        table["nothing"]
    with pytest.raises(KeyError):
        table["nothing"]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = table.nothing


def test_the_stub_lists_all_disciplines():
    (stub,) = (node for node in STUB.body if isinstance(node, ast.ClassDef))
    stated = {node.target.id for node in stub.body}
    assert stated == {n for n, one in vars(tc.queues).items() if isinstance(one, tc.Discipline)}
    assert {getattr(tc.queues, n).name for n in stated} == set(tc.queues)


def test_a_bad_discipline_raises_what_a_bad_controller_raises():
    for make in (
        lambda: tc.Discipline("mine", "", record=("none",)),
        lambda: tc.Discipline("mine", "", in_amounts=True),
        lambda: tc.Discipline("mine", "", inner=2),
        lambda: tc.Controller(name="mine", summary="", on_ack=lambda s: None),
    ):
        with pytest.raises(tc.ScenarioError, match="'mine'"):
            make()


def test_the_registry_is_a_mapping_for_type_checkers():
    assert isinstance(tc.slow_starts, Mapping)
