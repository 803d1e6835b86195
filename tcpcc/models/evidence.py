"""The evidence for each controller: its source, its constants, its tests.

The facts are in the docstring of the controller's file, in its last section: the source of the
default constants, then the kind of each test, what it compares, and where it is::

    Evidence (constants: RFC)
        closed form: 1.054 (R/p)^0.75, tables of RFC 9438
            controllers/test_response_functions.py::test_packets_obey_the_closed_form

Tests that run over all controllers are not listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcpcc.controllers import CONTROLLERS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Check:
    """One test that supports a controller.

    Attributes:
        kind: "ns-2" (compared with the simulator's own code), "vector" (step-by-step numbers from
            the paper, RFC or kernel), "closed form", "published value" (a table or figure of a
            reproduced paper) or "claim" (what the paper says about whole runs).
        what: what the test compares, in a few words.
        test: test file, optionally with "::" and the name of the test.
    """

    kind: str
    what: str
    test: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The origin of a controller's default constants, and the tests that support it."""

    constants: str
    tests: tuple[Check, ...]

    @property
    def words(self) -> str:
        """The tests in one line."""
        if not self.tests:
            return "only the tests that every controller must pass"
        return "; ".join(f"{test.kind}: {test.what}" for test in self.tests)


_SECTION = re.compile(r"^Evidence \(constants: (.+)\)\n((?: .*\n?)*)", re.MULTILINE)
_TEST = re.compile(r"^ {4}(\S[^:]*): ((?:.|\n)*?)\n {8}(\S+)$", re.MULTILINE)


def evidence_of(name: str) -> Evidence | None:
    """The evidence for a controller; None if its file has none."""
    section = _SECTION.search(getattr(CONTROLLERS.module_of(name), "__doc__", None) or "")
    if section is None:
        return None
    tests = _TEST.findall(section[2])
    return Evidence(
        section[1], tuple(Check(kind, " ".join(what.split()), test) for kind, what, test in tests)
    )


def evidence_table() -> pd.DataFrame:
    """A table of the registered controllers, with columns `controller`, `source`, `constants` and
    `tests`, which are empty for a controller whose file names none.
    """
    import pandas as pd

    rows = []
    for name, controller in CONTROLLERS.items():
        evidence = evidence_of(name)
        facts = (evidence.constants, evidence.words) if evidence else ("", "")
        rows.append((name, controller.source, *facts))
    return pd.DataFrame(rows, columns=["controller", "source", "constants", "tests"])
