"""Sweeps on a real local cluster of Dask and of Ray; a killed sweep; many runs in one process."""

import random
import signal
import subprocess
import sys
import textwrap
import time

import joblib
import psutil
import pytest

import tcpcc as tc

pytestmark = pytest.mark.papers

NET = tc.dumbbell(rate="2 Mbps", delay="20 ms", buffer=20)


def scenarios(n=4, duration=5):
    return [tc.Scenario(NET, [tc.Flow("reno")], duration=duration, seed=k) for k in range(1, n + 1)]


def same_as_here():
    here = [tc.simulate(one) for one in scenarios()]
    there = tc.simulate_many(scenarios())
    return all(a.identical(b) for a, b in zip(here, there, strict=True))


def test_dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert same_as_here()


def test_ray():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        with joblib.parallel_config(backend="ray"):
            assert same_as_here()
    finally:
        ray.shutdown()


SWEEP = """
    import sys
    import tcpcc as tc
    net = tc.dumbbell(rate="2 Mbps", delay="20 ms", buffer=20)
    many = [tc.Scenario(net, [tc.Flow("reno")], duration=5, seed=k) for k in range(1, 31)]
    tc.simulate(many[0])
    print("ready", flush=True)
    tc.simulate_many(many, jobs=1, cache=sys.argv[1])
    print("done", flush=True)
"""


def test_a_sweep_that_is_killed_resumes_and_leaves_no_litter(tmp_path):
    """Killed at random moments until it comes to its end: nothing is wrong, nothing is left."""
    moments = random.Random(1)
    for _ in range(4):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(SWEEP), str(tmp_path)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0, 0.3))
        child.send_signal(signal.SIGKILL)
        child.communicate()
    script = [sys.executable, "-c", textwrap.dedent(SWEEP), str(tmp_path)]
    assert subprocess.run(script, capture_output=True, text=True, check=True).stdout.endswith(
        "done\n"
    )
    assert list(tmp_path.glob(".*.part")) == []
    assert len(list(tmp_path.iterdir())) == 30
    kept = tc.simulate_many(scenarios(30), jobs=1, cache=tmp_path)
    assert kept[7].identical(tc.simulate(scenarios(30)[7]))


def test_memory_stays_flat_over_many_runs():
    """A thousand runs in one process: after the first hundred it takes no more than 3 MB."""
    one = tc.Scenario(NET, [tc.Flow("reno"), tc.Flow("vegas")], duration=1)
    held = []
    for k in range(1000):
        tc.simulate(one)
        if k in (100, 999):
            held.append(psutil.Process().memory_info().rss)
    assert held[1] - held[0] < 3e6
