"""List the names that a scenario can use, with their parameters."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from tcpcc.cli.checkout import checkout, required
from tcpcc.cli.options import add, import_files
from tcpcc.cli.printing import plain_table
from tcpcc.errors import unknown

if TYPE_CHECKING:
    import pandas as pd

LISTS = ("controllers", "evidence", "slow_starts", "queues", "recoveries", "fields", "papers")


def arguments(parser: argparse.ArgumentParser) -> None:
    what = f"{', '.join(LISTS)}, or a name, such as reno; default: all"
    parser.add_argument("what", nargs="?", help=what)
    add(parser, "--import")


def run(options: argparse.Namespace) -> None:
    import tcpcc as tc
    from tcpcc.models.evidence import evidence_table

    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "controllers": lambda: _short(tc.controllers()),
        "evidence": evidence_table,
        "slow_starts": lambda: _short(tc.slow_starts()),
        "queues": lambda: _short(tc.queues()),
        "recoveries": lambda: _short(tc.recoveries()),
        "fields": fields,
        "papers": _papers,
    }
    import_files(options.imports)
    if options.what in tables:
        print(plain_table(tables[options.what]()))
        return
    if options.what:
        print(_one_definition(options.what))
        return
    if checkout() is None:
        del tables["papers"]
    print("\n\n".join(f"{what}\n\n{plain_table(table())}" for what, table in tables.items()))


def fields() -> pd.DataFrame:
    """All fields, with columns `rules of` ("controller" or "queue"), `field`, `unit`, `meaning`.

    A field's name begins with the record: `s` is the state, `ack` the sample of a controller or a
    slow start, `q` that of a queue discipline.
    """
    import pandas as pd

    from tcpcc.controllers import controller
    from tcpcc.queues import discipline

    state = {name: (unit, text) for name, (_, unit, text) in controller.WINDOW.items()}
    state |= controller.GROUP
    acks = {name: (unit, text) for name, (unit, text, _) in controller.SAMPLE.items()}
    rows = [
        *(("controller", f"s.{name}", *facts) for name, facts in state.items()),
        *(("controller", f"ack.{name}", *facts) for name, facts in acks.items()),
        *(("queue", f"q.{name}", *facts) for name, facts in discipline.SAMPLE.items()),
        *(("queue", f"q.{name}[i]", *facts) for name, facts in discipline.EACH.items()),
    ]
    table = pd.DataFrame(rows, columns=["rules of", "field", "unit", "meaning"])
    table["meaning"] = table["meaning"].str.replace("``", "`")
    return table


def _short(table: pd.DataFrame) -> pd.DataFrame:
    """A table of definitions for a terminal; rows without a parameter show the summary."""
    short = table.drop(columns=["summary", "source"], errors="ignore")
    short["meaning"] = table["meaning"].where(table["parameter"] != "", table["summary"])
    empty = short.isna() | (short == "")
    return short.loc[:, ~empty.all()]


def _one_definition(name: str) -> str:
    """Description of the definitions with this name, of any kind."""
    from tcpcc.controllers import CONTROLLERS
    from tcpcc.models.evidence import evidence_of
    from tcpcc.queues.discipline import QUEUES
    from tcpcc.slow_start import SLOW_STARTS
    from tcpcc.transport.recovery import RECOVERIES

    registries = (CONTROLLERS, SLOW_STARTS, QUEUES, RECOVERIES)
    matches = [registry for registry in registries if name in registry]
    if not matches:
        raise unknown("name", name, [*LISTS, *(n for r in registries for n in r)])
    parts = []
    for registry in matches:
        table = registry.table()
        entries = table[table[registry.kind] == name]
        head = [f"{registry.kind} {name}: {entries['summary'].iloc[0]}"]
        head += [f"{c}: {entries[c].iloc[0]}" for c in registry.columns if entries[c].iloc[0]]
        rows = entries[["parameter", "default", "unit", "meaning"]]
        if registry is CONTROLLERS:
            evidence = evidence_of(name)
            if evidence is not None:
                head.append(f"constants: {evidence.constants}")
                head += [
                    f"tested against: {t.kind}: {t.what} (tests/{t.test})" for t in evidence.tests
                ]
        if registry[name].params:
            head.append("\n" + plain_table(rows))
        parts.append("\n".join(head))
    return "\n\n".join(parts)


def _papers() -> pd.DataFrame:
    """The papers of the checkout, from their data files: `list` runs no code of a checkout."""
    import tomllib

    import pandas as pd

    root = required()
    rows = []
    for file in sorted((root / "experiments" / "data").glob("*_published.toml")):
        paper = file.stem.removesuffix("_published")
        for item in tomllib.loads(file.read_text(encoding="utf-8"))["item"]:
            cells = sum(len(b["rows"]) * len(b["columns"]) for b in item.get("block", ()))
            row = {"paper": paper, "item": item["name"], "cells": cells}
            rows.append({**row, "title": item["title"]})
    return pd.DataFrame(rows)
