"""Steps of an agent's environment; run with `make bench`."""

import numpy as np
import pytest

import tcpcc as tc

gym = pytest.importorskip("tcpcc.apps.gym", reason="needs tcpcc[gym]")


@pytest.mark.parametrize("every", ["rtt", "10 ms"])
@pytest.mark.parametrize("rate", [1e6, 1e7, 1e8, 1e9])
def test_an_episode_beside_cubic(benchmark, rate, every):
    flows = [tc.Flow("reno", name="agent"), tc.Flow("cubic", name="other")]
    net = tc.dumbbell(rate, "20 ms", max(10, round(rate / 2e5)))
    duration = 20 if rate < 1e9 else 5
    env = gym.make(tc.Scenario(net, flows, duration=duration), every=every)
    actions = np.array([[0.05], [-0.2]], np.float32)

    def episode():
        seen, _ = env.reset(seed=0)
        steps, over = 0, False
        while not over:
            seen, _, _, over, _ = env.step(actions[int(seen[1] > 1.5)])
            steps += 1
        return steps

    steps = benchmark.pedantic(episode, rounds=3, warmup_rounds=1)
    benchmark.extra_info["steps per second"] = round(steps / benchmark.stats["median"])
