"""The checkout of tcpcc, which has the papers; an installed package has none."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tcpcc.errors import TcpccError

ROOT = Path(__file__).resolve().parents[2]

NO_CHECKOUT = (
    "the papers need a checkout of tcpcc, and tcpcc imported from it: run `pip install -e .` or"
    " `python -m tcpcc` in the checkout"
)


def experiments() -> Any:
    """The package `experiments` of the checkout; only `reproduce` imports it.

    Raises:
        TcpccError: there is no checkout, the current folder is in another one, or Python finds
            another package of that name.
    """
    root = required()
    current = Path.cwd().resolve()
    for folder in (current, *current.parents):
        if folder != root and _is_checkout(folder):
            raise TcpccError(
                f"{folder} is a checkout of tcpcc, but tcpcc is imported from {root};"
                " run `python -m tcpcc` there, or go to another folder"
            )
    if sys.path[:1] != [str(root)]:
        sys.path.insert(0, str(root))
    book = import_module("experiments")
    if Path(book.__file__ or "").resolve().parent != root / "experiments":
        raise TcpccError(f"experiments is imported from {book.__file__}, not from {root}")
    return book


def required() -> Path:
    """The checkout.

    Raises:
        TcpccError: there is none.
    """
    root = checkout()
    if root is None:
        raise TcpccError(NO_CHECKOUT)
    return root


def checkout() -> Path | None:
    """The checkout of tcpcc that this package is imported from, or None.

    Neither the current folder nor its parents count: their code is not ours.
    """
    return ROOT if _is_checkout(ROOT) else None


def _is_checkout(folder: Path) -> bool:
    """Whether a folder is a checkout of this project; reads files and runs nothing."""
    import tomllib

    try:
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
        name = tomllib.loads(text).get("project", {}).get("name")
    except (OSError, ValueError, AttributeError):
        return False
    return name == "tcpcc" and (folder / "experiments" / "harness.py").is_file()
