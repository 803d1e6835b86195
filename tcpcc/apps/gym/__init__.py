"""Agents: the packet model as an environment of Gymnasium and PettingZoo.

step_agent.py has the controller that leaves its window to an agent, what an agent observes, and
rewards; environment.py the environments; policy.py a policy as a controller, and its training.
"""

from tcpcc.apps.gym.environment import Agents, Congestion, make, make_parallel
from tcpcc.apps.gym.policy import policy, policy_score, train
from tcpcc.apps.gym.step_agent import OBSERVATIONS, REWARDS

__all__ = [
    "OBSERVATIONS",
    "REWARDS",
    "Agents",
    "Congestion",
    "make",
    "make_parallel",
    "policy",
    "policy_score",
    "train",
]
