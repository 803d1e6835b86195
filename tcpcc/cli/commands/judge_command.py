"""Check a trace against cases of the conformance kit; exit code 1 if a check fails."""

from __future__ import annotations

import argparse
from pathlib import Path

from tcpcc.cli.options import add, add_parameters, flow_of, import_files
from tcpcc.cli.printing import plain_table, print_json
from tcpcc.errors import ScenarioError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "trace", nargs="?", type=Path,
        help="qlog, capture, output of ss (.ss), CSV of the kit, or file saved by `run --save`",
    )  # fmt: skip
    parser.add_argument("--case", metavar="A,B", help="names of cases, such as bbr-03")
    parser.add_argument("--list", action="store_true", help="print the cases")
    parser.add_argument(
        "--write", type=Path, metavar="FOLDER",
        help="write scenarios, envelopes and reference traces; default: of all cases",
    )  # fmt: skip
    parser.add_argument(
        "--controller", metavar="NAME", help="simulate the cases with this controller, or MY.py"
    )
    parser.add_argument(
        "--complete", action="store_true", help="also fail checks for which the trace lacks data"
    )
    add(parser, "--verbose", "--json")
    add_parameters(parser)


def run(options: argparse.Namespace) -> int:
    from tcpcc.apps.conformance import cases, find, judge, publish

    import_files(options.imports)
    names = [find(name).name for name in options.case.split(",")] if options.case else None
    if options.list:
        import pandas as pd

        rows = [
            {"case": c.name, "source": c.source, "checks": len(c.checks), "title": c.title}
            for c in cases().values()
        ]
        print(plain_table(pd.DataFrame(rows)))
        return 0
    if options.write is not None:
        judgements = publish(options.write, names)
        print("\n".join(repr(judgement).strip("<>") for judgement in judgements))
        print(f"wrote {options.write / 'README.md'}")
        return 0
    if names is None or (options.trace is None) == (options.controller is None):
        raise ScenarioError(
            "judge: give --case and either a trace or --controller; or --list, or --write FOLDER"
        )
    if options.controller is None:
        judgements = [judge(options.trace, name) for name in names]
    else:
        flow = flow_of(options.controller, options)
        runs = [find(name).simulate(flow.controller, params=flow.params) for name in names]
        judgements = [judge(run, name) for run, name in zip(runs, names, strict=True)]
    good = all(
        judgement.passed and (judgement.complete or not options.complete)
        for judgement in judgements
    )
    if options.json:
        print_json(
            [
                {"case": judgement.case.name, **row}
                for judgement in judgements
                for row in judgement.rows()
            ]
        )
        return int(not good)
    for judgement in judgements:
        table = judgement.table()
        short = ["check", "verdict", "envelope", "found", "time", "value"]
        print(f"{judgement.case.name}: {judgement.case.title}\n")
        print(plain_table(table if options.verbose else table[short]))
        print("\n" + repr(judgement).strip("<>"))
    return int(not good)
