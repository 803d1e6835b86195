"""One name, one function: in the engines a name says which function runs."""

import ast
from collections import defaultdict
from pathlib import Path

import tcpcc

PACKAGE = Path(tcpcc.__file__).parent
FOLDERS = ("models", "transport", "queues")

#: Named by a contract: each model simulates and estimates its cost; packets and trains enter the
#: event loop; each definition has its rules and its registration.
BY_CONTRACT = {
    "simulate", "cost", "resume", "on_ack", "on_alarm", "on_arrival", "on_departure", "on_fluid",
    "on_interval", "on_select",
    "on_timeout", "run_events", "flush",
}  # fmt: skip


def modules():
    for folder in FOLDERS:
        for file in sorted((PACKAGE / folder).rglob("*.py")):
            yield file, ast.parse(file.read_text())


def test_each_function_and_class_of_the_engines_has_its_own_name():
    places = defaultdict(list)
    for file, tree in modules():
        for node in tree.body:
            is_accessor = (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and getattr(node.value.func, "id", "") in ("accessor", "Caller")
            )
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names = [node.name]
            else:
                names = [getattr(x, "id", "") for x in node.targets] if is_accessor else []
            for name in names:
                if name not in BY_CONTRACT and not name.startswith("_"):
                    places[name].append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_no_engine_renames_what_it_imports():
    renamed = [
        f"{file.relative_to(PACKAGE)}: {alias.name} as {alias.asname}"
        for file, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname and not (PACKAGE.parent / (node.module or "").replace(".", "/")).is_dir()
    ]
    assert renamed == []
