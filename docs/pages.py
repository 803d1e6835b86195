"""Pages that are made of what the package knows: one per controller, and the notebooks."""

from __future__ import annotations

import ast
import inspect
import shutil
from pathlib import Path

from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.controller import Controller
from tcpcc.models.evidence import evidence, evidence_table, models_for
from tcpcc.queues import QUEUES
from tcpcc.slow_start import SLOW_STARTS
from tcpcc.transport.recovery import RECOVERIES


def _write(page: Path, text: str) -> None:
    """Write a page if it says something new, so that nothing else is built again."""
    page.parent.mkdir(parents=True, exist_ok=True)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    def line(cells: tuple[object, ...]) -> str:
        return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"

    return "\n".join([line(head), line(("---",) * len(head)), *map(line, rows)])


def _parameters(controller: Controller) -> str:
    if not controller.params:
        return "None."
    return _table(
        ("name", "default", "unit", "allowed", "meaning"),
        [
            (
                f"`{name}`",
                f"{p.default:g}",
                p.unit,
                f"{p.low:g} ... {p.high:g}",
                p.doc,
            )
            for name, p in controller.params.items()
        ],
    )


def _state(controller: Controller) -> str:
    if not controller.state:
        return "Only `cwnd` and `ssthresh`."
    return _table(
        ("name", "at the start", "unit", "meaning"),
        [(f"`{name}`", f"{v.initial:g}", v.unit, v.doc) for name, v in controller.state.items()],
    )


def controller_page(name: str) -> str:
    """The page of a controller: its file's own words, parameters and state."""
    controller = CONTROLLERS[name]
    one = evidence()[name]
    file = Path(inspect.getfile(Controller)).with_name(f"{name}.py")
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    return "\n".join(
        [
            f"# `{name}`",
            "",
            f"{controller.summary[0].upper()}{controller.summary[1:]}.",
            "",
            f"Source: {controller.source}. Loss recovery unless told: `{controller.recovery}`."
            f" File: `tcpcc/controllers/{file.name}`.",
            "",
            f"Constants: {one.constants}. Models: {', '.join(models_for(controller))}. Held to:"
            f" {one.words}.",
            "",
            *(f"- `tests/{each.test}`" for each in one.held),
            "",
            "## Equations",
            "",
            "```text",
            words or "",
            "```",
            "",
            "## Parameters",
            "",
            _parameters(controller),
            "",
            "## State",
            "",
            _state(controller),
            "",
        ]
    )


def write_controllers(docs: Path) -> None:
    """A page per registered controller in `docs`/controllers, and the list of them all."""
    folder = docs / "controllers"
    for name in CONTROLLERS:
        _write(folder / f"{name}.md", controller_page(name))
    for old in folder.glob("*.md"):
        if old.stem != "index" and old.stem not in CONTROLLERS:
            old.unlink()
    rows: list[tuple[object, ...]] = [
        (f"[`{name}`]({name}.md)", CONTROLLERS[name].summary, *facts)
        for name, *facts in evidence_table().itertuples(index=False)
    ]
    others = [
        f"## {title}\n\n"
        + _table(("name", "what it does"), [(f"`{k}`", v.summary) for k, v in registry.items()])
        for title, registry in (
            ("Slow-start rules", SLOW_STARTS),
            ("Queue disciplines", QUEUES),
            ("Loss recoveries", RECOVERIES),
        )
    ]
    tree = "\n".join(CONTROLLERS)
    _write(
        folder / "index.md",
        "# Algorithms\n\n"
        + _table(("controller", "what it does", "source", "constants", "held to", "models"), rows)
        + "\n\n"
        + "\n\n".join(others)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n",
    )


def write_notebooks(docs: Path) -> None:
    """The executed notebooks, and a page that lists them."""
    folder = docs / "notebooks"
    folder.mkdir(exist_ok=True)
    names = []
    for notebook in sorted((docs.parent / "notebooks").glob("*.ipynb")):
        names.append(notebook.stem)
        copy = folder / notebook.name
        if not copy.exists() or copy.stat().st_mtime < notebook.stat().st_mtime:
            shutil.copyfile(notebook, copy)
    _write(
        folder / "index.md",
        "# Notebooks\n\nExecuted when they were committed, and again by the tests.\n\n"
        "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n",
    )
