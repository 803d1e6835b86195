"""Templates: a controller, alone or as a package with its tests, a scenario, and a paper."""

from __future__ import annotations

from pathlib import Path

from tcpcc.cli.checkout import required
from tcpcc.errors import ScenarioError
from tcpcc.files import whole_file

CONTROLLER = '''"""{title}: a description in one line.

Source: authors, "title", where, year.

Equations (per newly acknowledged packet; W = cwnd, in packets)

(1)  slow start,            W < ssthresh:   W <- W + 1
(2)  congestion avoidance,  W >= ssthresh:  W <- W + a/W
(3)  loss:                  W <- (1 - b) W,  ssthresh <- W
(4)  timeout:               ssthresh <- W/2, then W <- 1

Differences from the paper
    None known.

Try it: tcpcc run scenario.toml{importing}
"""

import tcpcc as tc


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked  # (1)
    else:
        s.cwnd += p.a * ack.acked / s.cwnd  # (2)


def on_loss(s, p, ack):
    s.cwnd = max((1 - p.b) * ack.window, 2.0)  # (3)
    s.ssthresh = s.cwnd


def on_timeout(s, p, ack):
    s.ssthresh = max(ack.window / 2, 2.0)
    s.cwnd = 1.0  # (4)


{name} = tc.register(
    tc.Controller(
        name="{name}",
        summary="W + a/W per packet, (1 - b) W on a loss",
        source="",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={{
            "a": tc.Param(1.0, "packets", "increase per round trip", 0),
            "b": tc.Param(0.5, "", "relative reduction of the window on a loss", 0, 1),
        }},
        recovery="sack",
    )
)
'''

PYPROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{project}"
version = "0.1.0"
description = "{title}: a congestion controller for tcpcc"
requires-python = ">=3.11"
dependencies = ["tcpcc"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."tcpcc.controllers"]
{name} = "{module}:{name}"
"""

README = """# {title}

A congestion controller for tcpcc. After `pip install .` every scenario can use it by name:

    tcpcc list {name}
    tcpcc run scenario.toml --set flow.controller={name}

`pip install '.[test]'`, then `pytest`, runs its tests.
"""

TESTS = '''"""The controller {name}: its entry point, its rules step by step, and whole runs."""

from types import SimpleNamespace

import pytest
import tcpcc as tc

from {module} import {name}

PARAMS = SimpleNamespace(a=1.0, b=0.5)


def test_the_installed_package_offers_it():
    assert tc.controllers["{name}"] is {name}


def test_an_ack_adds_a_packet_in_slow_start_and_a_fraction_later():
    state = SimpleNamespace(cwnd=10.0, ssthresh=20.0)
    {name}.on_ack(state, PARAMS, SimpleNamespace(acked=1.0))
    assert state.cwnd == 11.0
    state.ssthresh = 5.0
    {name}.on_ack(state, PARAMS, SimpleNamespace(acked=1.0))
    assert state.cwnd == pytest.approx(11 + 1 / 11)


def test_a_loss_halves_the_window_and_a_timeout_leaves_one_packet():
    state = SimpleNamespace(cwnd=10.0, ssthresh=20.0)
    {name}.on_loss(state, PARAMS, SimpleNamespace(window=10.0))
    assert (state.cwnd, state.ssthresh) == (5.0, 5.0)
    {name}.on_timeout(state, PARAMS, SimpleNamespace(window=5.0))
    assert (state.cwnd, state.ssthresh) == (1.0, 2.5)


@pytest.mark.parametrize("model", ["packet", "fluid"])
def test_it_fills_a_link_in_both_models(model):
    net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
    run = tc.simulate(tc.Scenario(net, [tc.Flow("{name}")], duration=30), model)
    assert run.utilization(after=5) > 0.95
'''

SCENARIO = """# tcpcc run {file}
duration = "60 s"
seed = 1

[network]
topology = "dumbbell"       # or chain, parking_lot
rate = "10 Mbps"
delay = "20 ms"
buffer = 50                 # packets
# queue = {{ name = "red", min_thresh = 5, max_thresh = 15 }}

[[flow]]
controller = "cubic"        # tcpcc list controllers

[[flow]]
controller = "reno"
start = 10

# [[cbr]]
# rate = "2 Mbps"
# on = [[20, 40]]

# [[change]]
# at = 30
# link = "bottleneck"
# rate = "5 Mbps"
"""

PAPER = """# experiments/{name}/__init__.py
import tcpcc as tc
from experiments.harness import Item, Paper


def runs():
    net = tc.dumbbell("10 Mbps", "20 ms", buffer=50)
    return {{c: tc.Scenario(net, [tc.Flow(c)], duration=60) for c in ("reno", "vegas")}}


def used(runs):
    return {{(controller, "utilization"): run.utilization() for controller, run in runs.items()}}


PAPER = Paper("{name}", {{"table_1": Item(runs, used)}})
"""

PUBLISHED = """# experiments/data/{name}.toml
[paper]
title = "{title}"
authors = ["A. Researcher"]
bibtex = "@misc{{{name}}}"

[[item]]
name = "table_1"
title = "Utilization of one flow"
source = "Table 1"

  [[item.block]]
  rows = ["reno", "vegas"]
  columns = ["utilization"]
  unit = "1"
  published.reno = [0.99]
  published.vegas = [0.99]

  [[item.measured]]
  text = "share of time in which the bottleneck sends"

  [[item.tolerance]]
  absolute = 0.02
  reason = "two digits are published"
"""


def write(kind: str, name: str, package: bool = False) -> list[Path]:
    """Write a template of the given kind and name; return the paths of what it wrote.

    Args:
        kind: "controller" and "scenario" are files in the current folder; "paper" is a package of
            the checkout's `experiments` and its data file, which `tcpcc reproduce` reads.
        name: an identifier.
        package: write the folder tcpcc_NAME, an installable package whose entry point offers the
            controller, with its tests.

    Raises:
        ScenarioError: the name is not an identifier, the file or folder exists, or a package of
            another kind is asked for.
        TcpccError: a paper without a checkout.
    """
    if not name.isidentifier():
        raise ScenarioError(f"name = {name!r}: must be letters, digits and _, such as 'my_{kind}'")
    if package and kind != "controller":
        raise ScenarioError(f"--package: is for a controller, not for a {kind}")
    module = f"tcpcc_{name}"
    importing = ""
    if kind == "scenario":
        texts = {Path(f"{name}.toml"): SCENARIO}
    elif kind == "paper":
        folder = required() / "experiments"
        texts = {
            folder / name / "__init__.py": PAPER,
            folder / "data" / f"{name}.toml": PUBLISHED,
        }
    elif package:
        texts = {
            Path(module) / "pyproject.toml": PYPROJECT,
            Path(module) / "README.md": README,
            Path(module) / module / "__init__.py": CONTROLLER,
            Path(module) / "tests" / f"test_{name}.py": TESTS,
        }
    else:
        texts = {Path(f"{name}.py"): CONTROLLER}
        importing = f" --import {name}.py"
    shown = [Path(module)] if package else list(texts)
    for path in shown:
        if path.exists():
            raise ScenarioError(f"{path}: already exists")
    known = {
        "name": name,
        "title": name.replace("_", " ").capitalize(),
        "file": shown[0],
        "importing": importing,
        "module": module,
        "project": module.replace("_", "-"),
    }
    for file, template in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as part:
            part.write_text(template.format(**known), encoding="utf-8")
    return shown
