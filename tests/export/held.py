"""Rules in C beside the same rules in Python: random states and samples, equal bits."""

import ctypes
import math
import re
import subprocess
from types import SimpleNamespace

import numpy as np

from tcpcc.controllers.controller import SAMPLE, WINDOW
from tcpcc.export.c import identifier, sources

FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused", "-fPIC")
REFUSED = (ArithmeticError, ValueError, IndexError, TypeError)


def compiled(folder, controllers, **more):
    """A library with all rules of the controllers: name -> its rules and its sample's fields."""
    used, files = {}, []
    for one in controllers:
        values = {name: float(param.default) for name, param in one.params.items()}
        for name, text in sources(one, values).items():
            (folder / name).write_text(text)
            if name.endswith(".c"):
                files.append(str(folder / name))
            else:
                struct = re.search(r"_sample \{(.*?)\n\};", text, re.S)[1]
                used[one.name] = re.findall(r"double (\w+);", struct)
    library = folder / "rules.so"
    subprocess.run(
        ["cc", *FLAGS, "-shared", "-o", str(library), *files, "-lm"], check=True, text=True
    )
    return ctypes.CDLL(str(library)), used


def number(draw, unit, count, first=None):
    """Numbers such as a variable of this unit may have, often its first value or a whole one."""
    if unit == "s" or "times" in unit:
        wide = draw.uniform(0, 2, count)
    elif "0 or 1" in unit:
        wide = draw.integers(0, 2, count)
    else:
        wide = 10 ** draw.uniform(-3, 4, count)
    kinds = [
        wide,
        wide,
        draw.integers(0, 10, count),
        np.full(count, 1.0 if first is None else first),
        draw.choice([0.0, 1.0, -1.0, 1e-9, 3.0], count),
    ]
    if first is not None and math.isinf(first):
        kinds.append(np.full(count, first))
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
            found[f"mrg{i}"] = draw.integers(1, 2**31, count)
    return found


def samples(draw, count, fields):
    found = np.zeros(count, [(name, float) for name in fields])
    for name in fields:
        if name in SAMPLE:
            found[name] = np.abs(number(draw, SAMPLE[name][0], count))
    return found


def parameters(controller, draw, count):
    """Records of the defaults, or of values that are allowed and near them."""
    found = np.zeros(count, controller.params_dtype)
    for name, one in controller.params.items():
        near = one.default * draw.choice([1.0, 1.0, 0.5, 2.0], count)
        near += draw.choice([0.0, 0.0, 0.0, 1.0], count)
        found[name] = np.clip(near, one.low, one.high)
    return found


def plain(row):
    values = {name: row[name] for name in row.dtype.names}
    return SimpleNamespace(
        **{n: list(map(float, v)) if np.ndim(v) else v.item() for n, v in values.items()}
    )


def bits(values):
    """The bits of numbers; NaN has many, which count as one."""
    flat = np.hstack([np.ravel(np.asarray(v, float)) for v in values])
    return np.where(np.isnan(flat), np.nan, flat).tobytes()


def different(controller, library, used, calls, seed):
    """Calls every rule in Python and in C on the same random records.

    Returns:
        Descriptions of the calls with different results, and the number of calls that Python
        answered for each rule. Where Python raises an exception, C has to return.
    """
    draw = np.random.default_rng([seed, len(controller.name)])
    rules = {name: rule for name, rule in controller.rules.items() if rule is not None}
    wrong, answered = [], dict.fromkeys(rules, 0)
    names = controller.state_dtype.names
    for name, rule in rules.items():
        count = -(-calls // len(rules))
        state, sample = states(controller, draw, count), samples(draw, count, used)
        params = parameters(controller, draw, count)
        function = getattr(library, f"{identifier(controller.name)}_{name}")
        function.restype = None
        function.argtypes = [ctypes.c_void_p] * 3
        everything = samples(draw, 1, SAMPLE)[0]
        a = plain(everything)
        for i in range(count):
            s, p = plain(state[i]), plain(params[i])
            before = state[i].copy()
            for field in sample.dtype.names:
                setattr(a, field, sample[i][field].item())
            function(*(x.ctypes.data + i * x.itemsize for x in (state, params, sample)))
            try:
                rule(s, p, a)
                found = [getattr(s, field) for field in names]
                expected = bits(found)
            except REFUSED:
                continue
            answered[name] += 1
            if expected != bits([state[i][field] for field in names]):
                wrong.append(f"{controller.name}, {name}: {before} -> {found} or {state[i]}")
    return wrong, answered
