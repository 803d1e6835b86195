"""A worker that is killed: what is done is kept, whatever the backend."""

import os
import signal

import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

import tcpcc as tc
from tcpcc.sweeps import parallel

NET = tc.dumbbell(rate="2 Mbps", delay="20 ms", buffer=20)


def scenarios(n):
    return [tc.Scenario(NET, [tc.Flow("reno")], duration=1, seed=k) for k in range(1, n + 1)]


class ActorDiedError(Exception):
    pass


class Lists(ThreadingBackend):
    """A backend that returns lists, as Ray's, and loses a worker once."""

    supports_return_generator = False


register_parallel_backend("lists", Lists)


@pytest.fixture
def dying(monkeypatch):
    """The simulation of seed 20 loses its worker."""
    simulate = parallel._one

    def one(key, *given):
        if key == 19:
            raise ActorDiedError("The actor died unexpectedly\nbefore finishing this task.")
        return simulate(key, *given)

    monkeypatch.setattr(parallel, "_one", one)


@pytest.mark.parametrize("cached", [False, True])
def test_a_killed_worker_of_a_backend_of_lists_gives_a_sweep_error(dying, tmp_path, cached):
    cache = tmp_path if cached else None
    with parallel_config(backend="lists", n_jobs=1), pytest.raises(tc.errors.SweepError) as caught:
        tc.sweep(scenarios(24), cache=cache)
    error = caught.value
    done = [k for k, run in enumerate(error.finished) if run is not None]
    assert done[:16] == list(range(16))  # the parts before it
    assert 19 in error.failed
    assert set(error.failed) | set(done) == set(range(24))
    assert "ActorDiedError: The actor died unexpectedly before" in str(error)
    assert "\n" not in str(error)


def test_a_killed_process_gives_a_sweep_error(tmp_path, monkeypatch):
    """With processes of this machine, too; a repeat simulates the rest."""

    def die(*given):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(parallel, "_one", die)
    with pytest.raises(tc.errors.SweepError, match="a worker was lost") as caught:
        tc.sweep(scenarios(3), jobs=2, processes=True, cache=tmp_path)
    assert len(caught.value.failed) == 3
    monkeypatch.undo()
    assert len(tc.sweep(scenarios(3), jobs=1, cache=tmp_path)) == 3
