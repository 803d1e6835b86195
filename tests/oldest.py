"""The oldest version of each dependency that pyproject.toml allows, and of the test tools that the
quick tests need, one requirement a line: `python tests/oldest.py`."""

import re
import tomllib
from pathlib import Path

TOOLS = ("pytest", "pytest-xdist", "hypothesis", "nbformat")
OTHERS = ("pyparsing<3.3",)  # matplotlib 3.8 uses names that 3.3 warns of


def oldest(requirement: str) -> str:
    """ "numba>=0.63" -> "numba==0.60"."""
    name, version = re.fullmatch(r"([\w\-\[\]]+)>=([\w.]+)", requirement).groups()
    return f"{name}=={version}"


def requirements() -> list[str]:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = [r for extra in project["optional-dependencies"].values() for r in extra]
    tools = [r for r in extras if r.split(">=")[0] in TOOLS]
    return [*(oldest(r) for r in (*project["dependencies"], *dict.fromkeys(tools))), *OTHERS]


if __name__ == "__main__":
    print("\n".join(requirements()))
