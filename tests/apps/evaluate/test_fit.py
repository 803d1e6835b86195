"""Parameters are tuned."""

from __future__ import annotations

import pytest

import tcpcc as tc

CASE = tc.Scenario(tc.dumbbell("10 Mbps", "20 ms", 50), [tc.Flow("vegas", name="v")], duration=20)


def queue_near(packets):
    return lambda run: -abs(run.queue_mean(10) - packets)


@pytest.mark.parametrize("screen", [None, "fluid"])
def test_a_parameter_with_a_known_optimum_is_found(screen):
    # A lone Vegas flow keeps between alpha and beta packets in the queue.
    found = tc.fit(
        "vegas", {"alpha": (1, 20), "beta": (1, 20)},
        lambda run: queue_near(12)(run) if float(run.throughput(10)[0]) > 9e6 else -100.0,
        [CASE], screen=screen, trials=24 if screen else 48, progress=False,
    )  # fmt: skip
    assert found.value > -2
    assert found.value > found.default
    assert found.params["alpha"] < 14 < 14 + found.params["beta"]


def test_the_given_flows_are_kept():
    flow = tc.Flow("vegas", gamma=2)
    found = tc.fit("vegas", {"alpha": (1, 3)}, queue_near(2), [CASE.replace(flows=[flow])],
                   trials=4, seeds=1, progress=False)  # fmt: skip
    assert set(found.trials.columns) == {"alpha", "objective"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("vegas", {"alpa": (1, 2)}), "did you mean 'alpha'"),
        (("vegas", {"alpha": (-1, 2)}), "alpha = -1"),
        (("reno", {}), "no flow has the controller 'reno'"),
        (("vegass", {}), "did you mean 'vegas'"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    with pytest.raises(tc.TcpccError, match=words):
        tc.fit(*arguments, queue_near(1), [CASE])


def test_a_model_that_runs_no_trial_is_named():
    with pytest.raises(
        tc.TcpccError, match=r"none of 4 trials has a value in the hybrid model.*background"
    ):
        tc.fit("vegas", {"alpha": (1, 3)}, queue_near(1), [CASE], screen="hybrid", trials=4,
               progress=False)  # fmt: skip
