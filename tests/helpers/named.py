"""The tests that data files name."""

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]


@cache
def names_of(file):
    """Names of a file's tests; not of those that are always skipped."""
    return {
        node.name
        for node in ast.parse((TESTS / file).read_text()).body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not any("mark.skip" in ast.unparse(each) for each in node.decorator_list)
    }


def is_test(place):
    """Whether `file::test` is there."""
    file, _, name = place.partition("::")
    return name in names_of(file)
