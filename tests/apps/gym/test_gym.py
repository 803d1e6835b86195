"""Environments of agents, and policies."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import tcpcc as tc

checker = pytest.importorskip("gymnasium.utils.env_checker", reason="needs tcpcc[gym]")
parallel = pytest.importorskip("pettingzoo.test", reason="needs tcpcc[gym]")
gym = pytest.importorskip("tcpcc.apps.gym")
step_agent = pytest.importorskip("tcpcc.apps.gym.step_agent")


def case(duration=10.0, **settings):
    net = tc.dumbbell("10 Mbps", "20 ms", 50)
    flows = [tc.Flow("reno", name="agent", **settings), tc.Flow("cubic", name="other")]
    return tc.Scenario(net, flows, duration=duration)


def drawn(random):
    return case(2.0, start=0).replace(net=tc.dumbbell(random.uniform(5e6, 2e7), 0.02, 50))


def episode(env, action, seed=1):
    """Rewards and last observation of an episode; the action may depend on what is seen."""
    seen, _ = env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        chosen = action(seen) if callable(action) else action
        seen, reward, _, over, _ = env.step(np.array([chosen], np.float32))
        rewards.append(reward)
    return rewards, seen


@pytest.mark.parametrize("settings", [{}, {"act": "pacing_rate"}, {"every": "50 ms"}])
def test_gymnasium_accepts_the_environment(settings):
    checker.check_env(gym.make(case(3.0), **settings), skip_render_check=True)


def test_pettingzoo_accepts_the_environment():
    parallel.parallel_api_test(gym.make_parallel(case(3.0), ["agent", "other"]), num_cycles=20)


def test_an_episode_terminates_when_a_flow_of_a_given_size_has_finished():
    env = gym.make(case(size="200 kB", start=0))
    env.reset(seed=1)
    ends, cut = [False], False
    while not (ends[-1] or cut):
        _, _, end, cut, _ = env.step(np.array([0.1]))
        ends.append(end)
    assert ends[-1]
    assert not cut
    done = float(env.result().data["finished"].sel(flow="agent"))
    assert done == pytest.approx(env._episode.sim.now, abs=0.2)
    endless = gym.make(case(1.0))
    endless.reset()
    while not cut:
        _, _, end, cut, _ = endless.step(np.array([0.0]))
        assert not end


def test_an_agent_leaves_when_its_flow_has_finished():
    env = gym.make_parallel(case(4.0, size="200 kB", start=0), ["agent", "other"])
    env.reset(seed=1)
    left = {}
    while env.agents:
        wanted = dict.fromkeys(env.agents, np.array([0.05]))
        seen, _, ends, cuts, _ = env.step(wanted)
        assert set(seen) == set(ends) == set(wanted)
        left |= {a: (ends[a], cuts[a]) for a in wanted if ends[a] or cuts[a]}
    assert left == {"agent": (True, False), "other": (False, True)}


@pytest.mark.parametrize("vector", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_environments_side_by_side_are_those_one_by_one(vector):
    """`reset(seed=1)` gives the environments the seeds 1, 2, 3."""
    gymnasium = pytest.importorskip("gymnasium")
    envs = getattr(gymnasium.vector, vector)([lambda: gym.make(drawn)] * 3)
    seen, _ = envs.reset(seed=1)
    together = [seen, *(envs.step(np.full((3, 1), 0.02, np.float32))[0] for _ in range(5))]
    envs.close()
    for k in range(3):
        one = gym.make(drawn)
        alone = [one.reset(seed=1 + k)[0]]
        alone += [one.step(np.array([0.02], np.float32))[0] for _ in range(5)]
        assert np.array_equal([each[k] for each in together], alone)
    assert len({tuple(row) for row in together[-1]}) == 3


def test_the_agent_decides():
    full, low = (episode(gym.make(case()), action)[1] for action in (0.05, -0.05))
    assert full[0] > 5 > low[0]
    assert full[1] > 1.5  # the queue is full
    env = gym.make(case(duration=20.0, start=0))
    episode(env, lambda seen: 0.1 if seen[0] < 4.5 else 0.0)
    window = env.result().data["cwnd"].sel(flow="agent").values[500:]
    assert window.max() < 2**4.7


@pytest.mark.parametrize("act", ["cwnd", "pacing_rate"])
def test_a_good_policy_earns_more_than_extremes(act):
    alone = case(4.0).replace(flows=[tc.Flow("reno", name="agent")])
    env = gym.make(alone, act=act)
    good = sum(episode(env, lambda seen: 0.05 if seen[1] < 1.2 else -0.1)[0])
    for extreme in (1.0, -1.0):
        rewards = episode(env, extreme)[0]
        assert good / len(rewards) > np.mean(rewards)


def test_episodes_with_one_seed_are_alike_and_others_differ():
    noisy = case(5.0, processing=0.001)
    env = gym.make(noisy)
    first, again, other = (episode(env, 0.02, seed=seed)[0] for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_steps_change_nothing_that_the_agent_does_not_do():
    env = gym.make(case(5.0))
    episode(env, 0.0)
    stepped = env.result()
    whole = tc.simulate(env._episode.sim.scenario)
    assert np.array_equal(stepped.data["cwnd"], whole.data["cwnd"])
    assert np.array_equal(stepped.data["delivered"], whole.data["delivered"])


def test_scenarios_can_be_drawn():
    env = gym.make(drawn)
    rates = set()
    for seed in range(3):
        env.reset(seed=seed)
        env.step(np.array([0.0]))
        rates.add(float(env.result().data["rate"][0]))
    assert len(rates) == 3


def test_observations_and_rewards():
    now = step_agent.Interval(8.0, 0.06, 0.04, 0.2, 500.0, 1000.0, 0.1, 1000.0)
    assert step_agent.observed(["cwnd", "rtt", "rtt_change", "rate", "loss"], now) == pytest.approx(
        [3.0, 1.5, 0.2, 0.5, 0.1]
    )
    assert step_agent.power(now) == pytest.approx(np.log(0.5) - np.log(1.5) - 1.0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"agent": "agnt"}, "did you mean 'agent'"),
        ({"observe": ["rt"]}, "unknown observation"),
        ({"observe": []}, "observe"),
        ({"act": "window"}, "unknown action"),
        ({"reward": "joy"}, "unknown reward"),
        ({"every": -1}, "every = -1"),
    ],
)
def test_wrong_arguments_are_named(settings, words):
    with pytest.raises(tc.TcpccError, match=words):
        gym.make(case(1.0), **settings).reset()


def test_step_before_reset():
    with pytest.raises(tc.TcpccError, match="call reset first"):
        gym.make(case()).step(np.array([0.0]))


# Policies.


def test_training_improves_and_gives_a_controller():
    alone = case(10.0).replace(flows=[tc.Flow("reno", name="agent")])
    trained, again = (
        gym.train([alone], name="pupil", generations=5, population=6, jobs=jobs) for jobs in (1, 2)
    )
    assert np.array_equal(trained.weights, again.weights)
    assert trained.history[-1] > trained.history[0]
    run = tc.simulate(alone.replace(flows=[tc.Flow("pupil", name="agent")]))
    assert gym.policy_score(run, ["agent"]) == pytest.approx(trained.history[-1], abs=1e-12)


def test_a_policy_needs_five_weights():
    with pytest.raises(tc.TcpccError, match="needs 5 numbers"):
        gym.policy(weights=[1.0])


def test_the_agent_controller_keeps_its_window():
    run = tc.simulate(case(2.0).replace(flows=[tc.Flow(step_agent.AGENT, name="agent")]))
    assert set(run.data["cwnd"].values[100:, 0]) == {10.0}


@pytest.mark.parametrize("act", ["cwnd", "pacing_rate"])
@pytest.mark.parametrize("buffer", [50, math.inf])
def test_an_agent_that_always_opens_its_window_is_bounded_by_the_path(act, buffer):
    """A window of a million packets costs a thousand times the work of a step."""
    one = case(duration=5.0)
    if buffer != 50:
        one = one.replace(net=tc.dumbbell("10 Mbps", "20 ms", buffer))
    env = gym.make(one, act=act)
    env.reset(seed=1)
    over, told = False, {}
    while not over:
        _, _, _, over, told = env.step(np.array([1.0], np.float32))
    assert told["cwnd"] <= (400 if buffer == 50 else 2200)
    assert env.result().data["sent"].sel(flow="agent").sum() < 60_000


def test_the_registered_environment_is_the_one_that_make_makes():
    import gymnasium

    env = gymnasium.make("tcpcc/Congestion-v0", scenario=case(2.0), observe=("rtt", "loss"))
    assert env.spec.id == "tcpcc/Congestion-v0"
    ours = gym.make(case(2.0), observe=("rtt", "loss"))
    assert episode(env, 0.1)[0] == episode(ours, 0.1)[0]


def test_gymnasium_makes_the_environment_without_another_import():
    code = (
        "import gymnasium, tcpcc as tc\n"
        "net = tc.dumbbell('10 Mbps', '20 ms', 50)\n"
        "case = tc.Scenario(net, [tc.Flow('reno', name='agent')], duration=1)\n"
        "env = gymnasium.make('tcpcc.apps.gym:tcpcc/Congestion-v0', scenario=case)\n"
        "print(env.spec.id, env.observation_space.shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "tcpcc/Congestion-v0 (5,)", done.stderr


def test_seeds_change_an_episode_where_there_is_chance():
    """A drop-tail queue and flows of fixed times have none; see `make`."""
    plain, random = gym.make(case(3.0)), gym.make(case(3.0).jittered(starts="1 s"))
    assert episode(plain, 0.1, seed=1)[0] == episode(plain, 0.1, seed=2)[0]
    assert episode(random, 0.1, seed=1)[0] != episode(random, 0.1, seed=2)[0]
    assert "jittered" in gym.make.__doc__
