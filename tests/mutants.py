"""Do the tests see a fault? `python tests/mutants.py COUNT [SEED [AT_ONCE]]` plants faults.

Faults are drawn over controllers, queues, transport (slow start included) and models, the same
number of each: a comparison or an operator replaced, a number changed by one, min for max, a
statement left out. Each is planted in a copy of the committed tree; then the tests run until one
fails: those of the file's own folder that have its name, then for the faults that these do not see
the folder's, at last all. Prints a table in Markdown: the fault, and the test that saw it.
"""

from __future__ import annotations

import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from queue import SimpleQueue

from tcpcc.engine.cache import _root

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
COMPILED = _root()  # compiled engines: only what a fault changes is compiled anew
NO_TESTS = 5  # pytest's exit status if none is selected


@dataclass(frozen=True)
class Mutant:
    """A fault: `new` in place of the bytes between two offsets of a file."""

    file: str
    line: int
    begin: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"`{self.file}:{self.line}` `{self.old}` → `{self.new}`"

    def plant(self, tree: Path) -> bytes:
        """Write the fault into a tree; returns the file's source without it."""
        path = tree / self.file
        source = path.read_bytes()
        assert source[self.begin : self.end].decode() == self.old, self
        path.write_bytes(source[: self.begin] + self.new.encode() + source[self.end :])
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
    source = path.read_bytes()
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
                if not hasattr(node, "lineno"):
                    continue
                first = starts[node.lineno - 1] + node.col_offset
                text = source[first : starts[node.end_lineno - 1] + node.end_col_offset].decode()
                if not text.isascii():
                    continue
                for a, b, new in replacements(node, text):
                    name = str(path.relative_to(ROOT))
                    yield Mutant(name, node.lineno, first + a, first + b, text[a:b], new)


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


def first_failure(tree: Path, cache: Path, selected: list[str]) -> str:
    """The first of the `selected` tests that fails; empty if all pass."""
    run_tests = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        run = subprocess.run(
            [*run_tests, *selected],
            cwd=tree,
            env=os.environ | {"PYTHONPATH": str(tree), "TCPCC_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            timeout=3600 * HOURS_AT_MOST,
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    if run.returncode in (0, NO_TESTS):
        return ""
    found = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", run.stdout, re.MULTILINE)
    return found[0] if found else "an error while tests are collected"


def stages(file: str) -> list[list[str]]:
    """Tests to run one after the other: those of the file's folder that have its name, all of its
    folder, all."""
    path = Path(file)
    folder = Path("tests", *path.parent.parts[1:])
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    return [[str(folder), "-k", path.stem], [str(folder)], ["tests"]]


def seen_by(mutant: Mutant, stage: int, trees: SimpleQueue[Path]) -> str:
    """The test of a stage that sees a fault; empty if none does."""
    tree = trees.get()
    source = mutant.plant(tree)
    cache = tree / "cache"
    if COMPILED.is_dir():
        shutil.copytree(COMPILED, cache)
    try:
        return first_failure(tree, cache, stages(mutant.file)[stage])
    finally:
        shutil.rmtree(cache, ignore_errors=True)
        (tree / mutant.file).write_bytes(source)
        trees.put(tree)


def copies(folder: Path, count: int) -> SimpleQueue[Path]:
    """Copies of the committed tree."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    trees: SimpleQueue[Path] = SimpleQueue()
    for i in range(count):
        tree = folder / str(i)
        tree.mkdir()
        subprocess.run(["tar", "x"], cwd=tree, input=archive.stdout, check=True)
        trees.put(tree)
    return trees


def main(count: int, seed: int = 1, at_once: int = 2) -> None:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(at_once) as pool:
        left, trees = drawn(count, seed), copies(Path(folder), at_once)
        print("| fault | seen by |\n|---|---|", flush=True)
        for stage in range(3):
            tests = pool.map(seen_by, left, repeat(stage), repeat(trees))
            unseen = []
            for mutant, test in zip(left, tests, strict=True):
                if test:
                    print(f"| {mutant} | {test} |", flush=True)
                else:
                    unseen.append(mutant)
            left = unseen
    for mutant in left:
        print(f"| {mutant} | **not seen** |")
    print(f"\n{count - len(left)} of {count} faults seen")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
