"""Do the tests see a fault? `python tests/mutants.py COUNT [SEED]` plants faults, one at a time.

Faults are drawn over controllers, queues, transport (slow start included) and models, the same
number of each: a comparison or an operator replaced, a number changed by one, min for max, a
statement left out. Each is planted in a copy of the committed tree; then the tests run until one
fails, those of the file's own folder first. Prints a table in Markdown: the fault, and the test
that saw it.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AREAS = {
    "controllers": ["controllers"],
    "queues": ["queues"],
    "transport": ["transport", "slow_start"],
    "models": ["models"],
}
NOT_RULES = ("__init__.py", "controller.py", "discipline.py", "start_up.py", "evidence.py")
SWAPPED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
HOURS_AT_MOST = 0.5  # a mutant may never end


@dataclass(frozen=True)
class Mutant:
    """A fault: `new` in place of the source between two offsets of a file."""

    file: str
    line: int
    begin: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"`{self.file}:{self.line}` `{self.old}` → `{self.new}`"

    def plant(self, tree: Path) -> str:
        """Write the fault into a tree; returns the file's source without it."""
        path = tree / self.file
        source = path.read_text()
        assert source[self.begin : self.end] == self.old, self
        path.write_text(source[: self.begin] + self.new + source[self.end :])
        return source


def replacements(node: ast.AST, text: str) -> Iterator[tuple[int, int, str]]:
    """Begin, end and text of each fault that fits a node, within the node's own `text`."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield 0, len(text), repr(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in ("min", "max"):
            yield 0, 3, "max" if node.func.id == "min" else "min"
    elif isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp | ast.AugAssign):
        op = node.ops[0] if isinstance(node, ast.Compare) else node.op
        new = SWAPPED.get(type(op))
        left = getattr(node, "left", None) or getattr(node, "target", None) or node.values[0]
        length = left.end_col_offset - node.col_offset
        if new is None or left.end_lineno != node.lineno:
            return
        sign = re.search(r"and|or|[<>=!]=|[-+*/<>]", text[length:].split("\n")[0])
        if sign:
            yield length + sign.start(), length + sign.end(), new
    if isinstance(node, ast.Assign | ast.AugAssign) and "\n" not in text:
        yield 0, len(text), "pass"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All faults that can be planted in the functions of a file."""
    source = path.read_text()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            if isinstance(statement, ast.Expr | ast.Raise | ast.Import | ast.ImportFrom):
                continue
            for node in ast.walk(statement):
                text = ast.get_source_segment(source, node) if hasattr(node, "lineno") else None
                if not text or not text.isascii():
                    continue
                first = starts[node.lineno - 1] + node.col_offset
                for a, b, new in replacements(node, text):
                    name = str(path.relative_to(ROOT))
                    begin, end = first + a, first + b
                    yield Mutant(name, node.lineno, begin, end, source[begin:end], new)


def drawn(count: int, seed: int) -> list[Mutant]:
    """So many faults, the same number of each area."""
    draw = random.Random(seed)
    chosen: list[Mutant] = []
    for folders in AREAS.values():
        files = [p for f in folders for p in sorted((ROOT / "tcpcc" / f).rglob("*.py"))]
        files = [p for p in files if p.name not in NOT_RULES]
        sites = sorted({m for p in files for m in mutants_of(p)}, key=lambda m: (m.file, m.begin))
        chosen += draw.sample(sites, count // len(AREAS))
    return chosen


def first_failure(tree: Path, folders: list[str]) -> str:
    """The first test that fails, those of the `folders` first; empty if all pass."""
    run_tests = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command = [*run_tests, "-n", "2", "--dist", "loadfile", *folders]
    try:
        run = subprocess.run(
            command, cwd=tree, capture_output=True, text=True, timeout=3600 * HOURS_AT_MOST
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    if run.returncode == 0:
        return ""
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    return found[0] if found else "an error while tests are collected"


def seen_by(mutant: Mutant, tree: Path) -> str:
    """The test that sees a fault; empty if none does."""
    source = mutant.plant(tree)
    own = Path("tests", *Path(mutant.file).parent.parts[1:])
    try:
        return first_failure(tree, [str(own)] * (tree / own).is_dir() + ["tests"])
    finally:
        (tree / mutant.file).write_text(source)


def main(count: int, seed: int) -> None:
    missed = 0
    print("| fault | seen by |\n|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        archive = subprocess.run(
            ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "x"], cwd=tree, input=archive.stdout, check=True)
        for mutant in drawn(count, seed):
            test = seen_by(mutant, tree)
            missed += not test
            print(f"| {mutant} | {test or '**not seen**'} |", flush=True)
    print(f"\n{count - missed} of {count} faults seen")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
