"""The evidence for each controller: its source, its constants, its tests.

The facts are in ``tcpcc/controllers/evidence.toml``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
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
        return "; ".join(f"{each.kind}: {each.what}" for each in self.tests)


@lru_cache(maxsize=1)
def evidence() -> dict[str, Evidence]:
    """The evidence for each controller of the package, by name."""
    text = files("tcpcc.controllers").joinpath("evidence.toml").read_text(encoding="utf-8")
    return {
        name: Evidence(one["constants"], tuple(Check(*each) for each in one["tests"]))
        for name, one in tomllib.loads(text).items()
    }


def evidence_table() -> pd.DataFrame:
    """A table of the registered controllers, with columns `controller`, `source`, `constants` and
    `tests`. For a user's own controller `constants` and `tests` are empty.
    """
    import pandas as pd

    known = evidence()
    rows = []
    for name, controller in CONTROLLERS.items():
        facts = (known[name].constants, known[name].words) if name in known else ("", "")
        rows.append((name, controller.source, *facts))
    return pd.DataFrame(rows, columns=["controller", "source", "constants", "tests"])
