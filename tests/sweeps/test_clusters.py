"""Sweeps on a real local cluster of Dask and of Ray; a killed sweep; many runs in one process."""

import random
import signal
import subprocess
import sys
import time

import psutil
import pytest
from new_process import printed, python

import tcpcc as tc

pytestmark = pytest.mark.long

NET = tc.dumbbell(rate="2 Mbps", delay="20 ms", buffer=20)


def scenarios(n=4, duration=5):
    return [tc.Scenario(NET, [tc.Flow("reno")], duration=duration, seed=k) for k in range(1, n + 1)]


def same_as_here():
    here = [tc.simulate(one) for one in scenarios()]
    there = tc.sweep(scenarios())
    return all(a.identical(b) for a, b in zip(here, there, strict=True))


SWEEP = """
import sys
import tcpcc as tc
net = tc.dumbbell(rate="2 Mbps", delay="20 ms", buffer=20)
many = [tc.Scenario(net, [tc.Flow("reno")], duration=5, seed=k) for k in range(1, 31)]
tc.simulate(many[0])
print("ready", flush=True)
tc.sweep(many, jobs=1, cache=sys.argv[1])
print("done", flush=True)
"""


def test_a_sweep_that_is_killed_resumes_and_leaves_no_litter(tmp_path):
    """Killed at random moments until it comes to its end: nothing is wrong, nothing is left."""
    moments = random.Random(1)
    for _ in range(4):
        script = [sys.executable, "-c", SWEEP, str(tmp_path)]
        child = subprocess.Popen(script, stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0, 0.3))
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert printed(SWEEP, tmp_path).endswith("done\n")
    assert list(tmp_path.glob(".*.part")) == []
    assert len(list(tmp_path.iterdir())) == 30
    kept = tc.sweep(scenarios(30), jobs=1, cache=tmp_path)
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


def own(name):
    """A controller that worker processes do not know."""

    def on_ack(s, p, a):
        s.cwnd += 2 * a.acked / s.cwnd

    def on_loss(s, p, a):
        s.cwnd = max(s.cwnd / 2, 2.0)

    return tc.Controller(name=name, summary="", on_ack=on_ack, on_loss=on_loss, on_timeout=on_loss)


@pytest.mark.parametrize("kind", ["dask", "ray"])
def test_an_evaluation_on_a_cluster_is_the_same_as_here(kind):
    pytest.importorskip(kind, reason=f"no {kind}: pip install 'tcpcc[cluster]'")
    settings = {"quick": True, "sections": ["5.1.3"], "seeds": 2, "progress": False}
    flow = tc.Flow(own(f"own_{kind}"))
    here = tc.evaluate(flow, **settings)
    with tc.on_cluster(kind):
        assert same_as_here()
        there = tc.evaluate(flow, **settings)
    assert there.table().equals(here.table())
    assert not here.table()["reason"].any()


def test_an_unknown_cluster_is_named():
    with (
        pytest.raises(tc.ScenarioError, match="unknown cluster 'task': did you mean 'dask'"),
        tc.on_cluster("task=tcp://host"),
    ):
        pass


OWN = """
import tcpcc as tc

def on_ack(s, p, a):
    s.cwnd = own_window()

def own_window():
    return 10.0

def on_loss(s, p, a):
    s.cwnd = own_window()

tc.register(tc.Controller(name="ten", summary="", on_ack=on_ack, on_loss=on_loss,
                          on_timeout=on_loss))
"""


@pytest.mark.parametrize("kind", ["dask", "ray"])
def test_the_command_runs_a_file_of_rules_on_a_cluster(kind, tmp_path):
    """In a folder from which the workers cannot import the file."""
    pytest.importorskip(kind, reason=f"no {kind}: pip install 'tcpcc[cluster]'")
    (tmp_path / "mine.py").write_text(OWN)
    command = ["evaluate", str(tmp_path / "mine.py"), "--quick", "--sections", "6.1"]
    script = ["import sys", "from tcpcc.cli import main", f"main({command!r} + sys.argv[1:])"]
    for_it = "if __name__ == '__main__':\n    " + "\n    ".join(script)
    (tmp_path / "command.py").write_text(for_it)
    here, there = (
        python(tmp_path / "command.py", *more, timeout=200).stdout
        for more in ([], ["--cluster", kind])
    )
    assert "fails in 6.1" in here
    assert there == here
