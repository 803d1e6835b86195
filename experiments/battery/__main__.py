"""Compare a model with packets: ``python -m experiments.battery --model fluid``.

The models are the fluid model, the hybrid, and "trains", the packet model with ``trains=16``.

Prints a row for each kind of scenario, and with ``--list`` each number that is off. The packets'
numbers come from experiments/data/battery.csv; ``--accept`` simulates them again, with the models
given, and stores all. ``--docs`` writes the stored tables into docs/models.md. ``--model packet``
compares the packets with themselves under three times the noise: the best that any model can do.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import joblib
import pandas as pd

import tcpcc as tc
from experiments import markdown_tables
from experiments.battery.measures import lenient, measure, spread, strict
from experiments.battery.scenarios import CASES, phase_free
from experiments.published_numbers import DATA
from tcpcc.errors import ModelWarning
from tcpcc.files import write_between

STORED = DATA / "battery.csv"
PAGE = Path(__file__).parents[2] / "docs" / "models.md"
SEEDS = (1, 2, 3, 4)
MODELS = ("trains", "fluid", "hybrid")
TRAINS = 16  # of "trains", the packet model with trains
REFERENCE = "packet"
CHECK = "packet, 3 x noise"  # the column of packets with more noise
MORE_NOISE = 3.0
DIGITS = 6


def _seed(name: str, model: str, seed: int) -> dict[str, float] | None:
    """Measures of one run; None if the model refuses the scenario."""
    case = CASES[name]
    scenario = phase_free(case.scenario, seed, MORE_NOISE if model == CHECK else 1.0)
    try:
        if model == "trains":
            run = tc.simulate(scenario, trains=TRAINS)
        else:
            run = tc.simulate(scenario, model=model.split(",")[0])
    except tc.ScenarioError:
        return None
    return measure(case, run)


def numbers(name: str, model: str, seeds: tuple[int, ...] = SEEDS) -> pd.DataFrame:
    """Mean and standard error of each measure of a case, columns `model` and `model se`."""
    runs = [run for seed in seeds if (run := _seed(name, model, seed)) is not None]
    measures = {key: spread([run[key] for run in runs]) for key in (runs[0] if runs else ())}
    table = pd.DataFrame.from_dict(measures, orient="index", columns=[model, f"{model} se"])
    table.index = pd.MultiIndex.from_product([[name], table.index], names=["case", "measure"])
    return table


def simulated(names: list[str], models: list[str], jobs: int) -> pd.DataFrame:
    """`numbers` of all cases and models, side by side; empty where a model refuses."""
    # The dearest cases first, so that no processor waits for a late one.
    cost = {n: tc.estimate(phase_free(CASES[n].scenario, 1)).seconds for n in names}
    tasks = [(n, m) for n in sorted(names, key=cost.__getitem__, reverse=True) for m in models]
    done = joblib.Parallel(jobs, prefer="threads")(joblib.delayed(numbers)(*task) for task in tasks)
    by_model = {
        model: pd.concat([part for (_, m), part in zip(tasks, done, strict=True) if m == model])
        for model in models
    }
    table = pd.concat(by_model.values(), axis="columns")
    return table.reindex([row for name in names for row in table.index if row[0] == name])


def stored() -> pd.DataFrame:
    """The accepted numbers of all models."""
    return pd.read_csv(STORED, index_col=["case", "measure"])


def store(table: pd.DataFrame) -> None:
    """Put the columns of `table` into the stored numbers, for the cases that it has."""
    old = stored() if STORED.exists() else table
    others = old.reindex(table.index).drop(columns=table.columns, errors="ignore")
    rest_of_cases = old[~old.index.isin(set(table.index.get_level_values(0)), level=0)]
    whole = pd.concat([rest_of_cases, table.join(others)])
    whole = whole.reindex([row for name in CASES for row in whole.index if row[0] == name])
    whole.to_csv(STORED, float_format=f"%.{DIGITS}g")


def judged(table: pd.DataFrame, model: str) -> pd.DataFrame:
    """For each number: its kind, its measure, and whether `model` agrees with packets.

    Numbers of scenarios that the model refuses are false in `ran`, `strict` and `lenient`.
    """
    rows = []
    columns = [REFERENCE, f"{REFERENCE} se", model, f"{model} se"]
    for (name, quantity), values in zip(table.index, table[columns].to_numpy(), strict=True):
        ran = bool(table.loc[name, model].notna().any())
        rows.append(
            {
                "case": name,
                "measure": quantity,
                "kind": CASES[name].kind,
                "of": quantity.split()[0].rstrip(","),
                "ran": ran,
                "strict": ran and strict(quantity, values[0], values[2]),
                "lenient": ran and lenient(quantity, *values),
                "packet": values[0],
                "value": values[2],
            }
        )
    return pd.DataFrame(rows)


def summary(verdicts: pd.DataFrame, by: str) -> pd.DataFrame:
    """Number of values, those that agree, and the scenarios with all values lenient, by `by`.

    Scenarios that the model refuses are counted in `refused` only.
    """
    ran = verdicts[verdicts["ran"]]
    keys = list(dict.fromkeys(verdicts[by]))

    def counted(part: pd.DataFrame, of: pd.DataFrame) -> dict[str, object]:
        whole = part.groupby("case")["lenient"].all()
        number = max(len(part), 1)
        return {
            "values": len(part),
            "strict": f"{100 * part['strict'].sum() / number:.0f} %",
            "lenient": f"{100 * part['lenient'].sum() / number:.0f} %",
            "scenarios": f"{whole.sum()} of {len(whole)}",
            "refused": of["case"].nunique() - len(whole),
        }

    rows = {key: counted(ran[ran[by] == key], verdicts[verdicts[by] == key]) for key in keys}
    rows["all"] = counted(ran, verdicts)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(by)


def worst(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The values that are off by more than two standard errors too, with their ratios."""
    off = verdicts[verdicts["ran"] & ~verdicts["lenient"]]
    ratio = (off["value"] / off["packet"]).round(3)
    return off.assign(ratio=ratio)[["case", "measure", "packet", "value", "ratio"]]


def page_tables(table: pd.DataFrame) -> str:
    """The tables of docs/models.md: strict and lenient shares by kind and by measure."""
    parts = []
    for by, head in (("kind", "kind of scenario"), ("of", "measure")):
        tables = {m: summary(judged(table, m), by) for m in (CHECK, *MODELS)}
        keys = next(iter(tables.values())).index
        rows = []
        for key in keys:
            cells = [
                f"{t.loc[key, 'strict']}, {t.loc[key, 'lenient']}"
                if t.loc[key, "values"]
                else "refused"
                for t in tables.values()
            ]
            rows.append([key, *cells])
        parts.append(markdown_tables.table([head, *tables], rows, words=1 + len(tables)))
    return "\n\n".join(parts)


MARKS = ("<!-- battery -->", "<!-- end of battery -->")


def main(arguments: list[str]) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.battery", description=__doc__)
    parser.add_argument("--model", choices=("packet", *MODELS), action="append", default=None)
    parser.add_argument("--kind", help="only scenarios of kinds that contain this text")
    parser.add_argument("--jobs", type=int, default=2, help="parallel simulations")
    parser.add_argument("--list", action="store_true", help="list every value that is off")
    parser.add_argument("--accept", action="store_true", help="simulate packets too and store it")
    parser.add_argument("--docs", action="store_true", help="write the tables of docs/models.md")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ModelWarning)
    names = [n for n in CASES if not options.kind or options.kind in CASES[n].kind]
    models = [
        CHECK if m == "packet" else m for m in options.model or ([] if options.docs else ["fluid"])
    ]
    if models:
        if options.accept:
            table = simulated(names, [REFERENCE, *models], options.jobs)
            store(table)
        else:
            reference = stored()[[REFERENCE, f"{REFERENCE} se"]]
            table = reference[reference.index.isin(names, level=0)].join(
                simulated(names, models, options.jobs)
            )
        for model in models:
            verdicts = judged(table, model)
            for by in ("kind", "of"):
                print(f"\n{model}, by {by}:\n{summary(verdicts, by).to_string()}")
            if options.list:
                print(f"\noff:\n{worst(verdicts).to_string(index=False)}")
    if options.docs:
        write_between(PAGE, MARKS, page_tables(stored()))


if __name__ == "__main__":
    main(sys.argv[1:])
