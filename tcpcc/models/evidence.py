"""What each controller is: its source, whose constants, what it is held to, where it runs.

The facts are in ``tcpcc/controllers/evidence.toml``; where it runs follows from its definition.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.controller import Controller
from tcpcc.models.refusals import what_needs_packets

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Held:
    """What one test holds a controller to.

    Attributes:
        kind: "ns-2", "vector", "closed form", "print" or "claim".
        what: in a few words.
        test: file in the tests, perhaps with "::" and the name of the test.
    """

    kind: str
    what: str
    test: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whose constants a controller's defaults are, and what it is held to."""

    constants: str
    held: tuple[Held, ...]

    @property
    def words(self) -> str:
        """What it is held to, in a line."""
        if not self.held:
            return "only what the tests ask of all"
        return "; ".join(f"{each.kind}: {each.what}" for each in self.held)


@lru_cache(maxsize=1)
def evidence() -> dict[str, Evidence]:
    """The evidence for each controller that comes with the package, by its name."""
    text = files("tcpcc.controllers").joinpath("evidence.toml").read_text(encoding="utf-8")
    return {
        name: Evidence(one["constants"], tuple(Held(*each) for each in one["held"]))
        for name, one in tomllib.loads(text).items()
    }


def models_for(controller: Controller) -> tuple[str, ...]:
    """The models in which a controller runs, in the hybrid one perhaps only before the fluid."""
    others = {m for m in ("fluid", "meanfield") if not what_needs_packets(controller, m)}
    return tuple(
        m for m in ("packet", "fluid", "hybrid", "meanfield") if m in {"packet", "hybrid", *others}
    )


def evidence_table() -> pd.DataFrame:
    """A row for each registered controller: `controller`, `source`, `constants`, `held to`,
    `models`; constants and what it is held to are empty for a user's own."""
    import pandas as pd

    known = evidence()
    rows = []
    for name, controller in CONTROLLERS.items():
        facts = (known[name].constants, known[name].words) if name in known else ("", "")
        rows.append((name, controller.source, *facts, models_for(controller)))
    table = pd.DataFrame(rows, columns=["controller", "source", "constants", "held to", "models"])
    table["models"] = table["models"].map(", ".join)
    return table
