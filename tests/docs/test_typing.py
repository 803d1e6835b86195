"""A user's code passes strict type checks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

USER = """
from collections.abc import Sequence

import warnings

import pandas as pd
import tcpcc as tc
import xarray as xr


def flows(n: int) -> Sequence[tc.Flow | tc.CBR]:
    return [*(tc.Flow("reno", start=k) for k in range(n)), tc.CBR("1 Mbps")]


red = tc.queues.RED(min_thresh=5)
net: tc.Network = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50, queue=red)
scenario: tc.Scenario = tc.Scenario(net, flows(2), duration="10 s")
seconds: float = tc.estimate(scenario).seconds
run: tc.Run = tc.simulate(scenario, "fluid")
shares: float = run.jain_index(after=5)
losses: float = float(run.timeouts().sum() + run.retransmissions().sum())
tables: list[pd.DataFrame] = [tc.controllers(), tc.queues(), tc.slow_starts(), tc.recoveries()]
reno: tc.Controller = tc.controllers["reno"]
kinds: list[object] = [tc.queues["red"], tc.slow_starts["hystart"], tc.recoveries["sack"]]
names: list[str] = sorted(tc.queues)
runs: list[tc.Run] = tc.sweep([scenario])
means: xr.Dataset = tc.sweep([scenario], "means", model="fluid", after=5)
jains: pd.DataFrame = tc.sweep(lambda seed: scenario, {"jain": tc.Run.jain_index}, seed=range(3))
smooth: tc.analysis.Stability = tc.analysis.stability(scenario)
warnings.simplefilter("ignore", tc.errors.ModelWarning)
table: pd.DataFrame = run.summary()
sim = tc.PacketSimulation(scenario)
window: float = sim.flow("reno1").state["cwnd"]
sim.set_link("bottleneck", rate="5 Mbps")
"""


@pytest.mark.long
@pytest.mark.parametrize("checker", [["mypy", "--strict"], ["pyright"]], ids=lambda c: c[0])
def test_a_users_code_passes(checker, tmp_path):
    (tmp_path / "user.py").write_text(USER)
    program = shutil.which(checker[0], path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip(f"{checker[0]} is not installed")
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "MYPYPATH": root, "PYTHONPATH": root}
    options = (
        [f"--cache-dir={tmp_path}"] if checker[0] == "mypy" else ["--pythonpath", sys.executable]
    )
    found = subprocess.run(
        [program, *checker[1:], *options, "user.py"],
        capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    if checker[0] == "pyright" and "error" not in found.stdout:
        pytest.skip("pyright cannot start here (it needs Node.js)") if found.returncode else None
    assert found.returncode == 0, found.stdout + found.stderr
