"""Rules in C beside the same rules in Python: random states and samples, equal bits."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tcpcc.apps.export import files, linux_bpf
from tcpcc.apps.export.userspace_c import identifier
from tcpcc.controllers.controller import SAMPLE, WINDOW, sample_dtype
from tcpcc.errors import ScenarioError

IGNORED = ["-Wno-unused", "-Wno-bool-compare", "-Wno-tautological-compare"]
FLAGS = ("-std=gnu11", "-O2", "-ffp-contract=off", "-Wall", "-Werror", *IGNORED, "-fPIC", "-shared")
RAISED = (ArithmeticError, ValueError, IndexError, TypeError)

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler cc here")


def library(folder, paths, *flags):
    """What the C compiler makes of these files."""
    made = folder / f"rules{len(list(folder.iterdir()))}.so"  # a path is loaded once
    command = ["cc", *FLAGS, *flags, "-o", made, *paths, "-lm"]
    done = subprocess.run(command, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(made))


class Compiled:
    """The rules of controllers, compiled as functions of three pointers."""

    prefix = ""

    def rule(self, controller, name):
        symbol = f"{self.prefix}{identifier(controller.name)}_{name}"
        function = getattr(self.library, symbol)
        function.restype, function.argtypes = None, [ctypes.c_void_p] * 3
        return function


class InC(Compiled):
    """In C for user space."""

    parameters = True

    def __init__(self, folder, controllers, *flags):
        paths, self.fields = [], {}
        for one in controllers:
            for name, text in files(one).items():
                (folder / name).write_text(text)
                if name.endswith(".c"):
                    paths.append(folder / name)
                else:
                    struct = re.search(r"_sample \{(.*?)\n\};", text, re.DOTALL)[1]
                    self.fields[one.name] = re.findall(r"double (\w+);", struct)
        self.library = library(folder, paths, *flags)

    def sample_dtype(self, controller):
        return np.dtype([(name, float) for name in self.fields[controller.name]])


class InBPF(Compiled):
    """In BPF's C, compiled for this processor with its doubles."""

    parameters = False
    prefix = "in_bpf_"

    def __init__(self, folder, controllers, *flags):
        (folder / "shim.h").write_text((Path(__file__).parent / "shim.h").read_text())
        paths = []
        for one in controllers:
            name = identifier(one.name)
            text = linux_bpf.rules(one, one.check({}))
            entries = [
                f"void in_bpf_{name}_{rule}(struct state *s, void *p, struct sample *a)"
                f" {{ rule_{rule}(s, a); }}"
                for rule, function in one.rules.items()
                if function is not None
            ]
            paths.append(folder / f"{name}.bpf.c")
            paths[-1].write_text("\n".join(['#include "shim.h"', text, *entries, ""]))
        self.library = library(folder, paths, *flags)

    def sample_dtype(self, controller):
        return sample_dtype


def exportable(controllers, target):
    """Those that the target can have."""
    found = []
    for one in controllers:
        try:
            files(one) if target is InC else linux_bpf.rules(one, one.check({}))
        except ScenarioError:
            continue
        found.append(one)
    return found


# Random records


def number(draw, unit, count, first=None):
    """Numbers such as a variable of this unit may have, often its first value or a whole one."""
    if unit == "s" or "times" in unit:
        wide = draw.uniform(0, 2, count)
    elif "0 or 1" in unit:
        wide = draw.integers(0, 2, count)
    else:
        wide = 10 ** draw.uniform(-3, 4, count)
    low = -1.0 if first is not None and first < 0 else 2.0
    kinds = [
        wide,
        wide,
        draw.integers(0, 10, count),
        np.full(count, 1.0 if first is None else first),
        # negative and tiny numbers only where there are some: a filter steps by an RTT or a jitter
        draw.choice([0.0, 1.0, low, 1e-3 if unit == "s" else 1e-9, 3.0], count),
    ]
    return np.choose(draw.integers(0, len(kinds), count), kinds)


def states(controller, draw, count):
    """Records of random states."""
    found = np.zeros(count, controller.state_dtype)
    for name, (first, unit, _) in WINDOW.items():
        found[name] = np.abs(number(draw, unit, count, first))
    found["cwnd"] = np.maximum(found["cwnd"], 1.0)
    for name, one in controller.state.items():
        for k in np.ndindex(*found[name].shape[1:]):
            found[name][(slice(None), *k)] = number(draw, one.unit, count, float(one.initial))
    if controller.chance:
        for i in range(6):
            found[f"mrg{i}"] = draw.integers(1, 2**32 - 30000, count)
    return found


def samples(draw, count, dtype):
    found = np.zeros(count, dtype)
    for name in dtype.names:
        if name in SAMPLE:
            found[name] = np.abs(number(draw, SAMPLE[name][0], count))
    return found


def parameters(controller, draw, count, vary):
    """Records of the defaults, or of values that are allowed and near them."""
    found = np.zeros(count, controller.params_dtype)
    for name, one in controller.params.items():
        near = one.default * draw.choice([1.0, 1.0, 0.5, 2.0] if vary else [1.0], count)
        near += draw.choice([0.0, 0.0, 0.0, 1.0] if vary else [0.0], count)
        found[name] = np.clip(near, one.low, one.high)
    return found


# Comparison


def plain(row):
    """A record as an object with Python's numbers."""
    values = {name: row[name] for name in row.dtype.names}
    return SimpleNamespace(**{n: v.tolist() for n, v in values.items()})


def bits(values):
    """The bits of numbers; NaN has many, which count as one."""
    flat = np.hstack([np.ravel(np.asarray(v, float)) for v in values])
    return np.where(np.isnan(flat), np.nan, flat).tobytes()


def rows_of(records):
    """Each record as a list of Python's numbers."""
    columns = [records[name].tolist() for name in records.dtype.names]
    return zip(*columns, strict=True) if columns else [()] * len(records)


def differing(found, expected):
    """Whether records have other bits than these lists of numbers, one by one."""
    wrong = np.zeros(len(found), bool)
    for name, column in zip(found.dtype.names, zip(*expected, strict=True), strict=True):
        here, there = (np.asarray(v, float).reshape(len(found), -1) for v in (found[name], column))
        other = here.view(np.uint64) != there.view(np.uint64)
        wrong |= np.any(other & ~(np.isnan(here) & np.isnan(there)), axis=1)
    return wrong


def differences(controller, target, calls, seed=1):
    """Call every rule in Python and in C on the same random records.

    Returns:
        Descriptions of the calls with different results; the number of calls that Python answered,
        for each rule. Where Python raises an exception, C has to return.
    """
    draw = np.random.default_rng([seed, *controller.name.encode()])
    rules = {name: rule for name, rule in controller.rules.items() if rule is not None}
    wrong, answered = [], dict.fromkeys(rules, 0)
    names = controller.state_dtype.names
    for name, rule in rules.items():
        count = -(-calls // len(rules))
        state = states(controller, draw, count)
        sample = samples(draw, count, target.sample_dtype(controller))
        params = parameters(controller, draw, count, target.parameters)
        function = target.rule(controller, name)
        a = plain(samples(draw, 1, sample_dtype)[0])
        before, kept, expected = state.copy(), [], []
        given = zip(*map(rows_of, (state, params, sample)), strict=True)
        for i, (of_state, of_params, of_sample) in enumerate(given):
            s = SimpleNamespace(**dict(zip(names, of_state, strict=True)))
            p = SimpleNamespace(**dict(zip(params.dtype.names, of_params, strict=True)))
            vars(a).update(zip(sample.dtype.names, of_sample, strict=True))
            function(*(x.ctypes.data + i * x.itemsize for x in (state, params, sample)))
            try:
                rule(s, p, a)
            except RAISED:
                continue
            kept.append(i)
            expected.append([getattr(s, field) for field in names])
        answered[name] = len(kept)
        for k in np.flatnonzero(differing(state[kept], expected)) if kept else ():
            i = kept[k]
            told = dict(zip(names, expected[k], strict=True))
            wrong.append(f"{controller.name}, {name}: {before[i]}: Python {told}, C {state[i]}")
    return wrong, answered
