"""Scenarios with one bottleneck."""

from inspect import signature

import numpy as np

import tcpcc as tc

OF_THE_LINK = signature(tc.dumbbell).parameters


def on_a_link(*flows, rate="10 Mbps", delay="20 ms", buffer=50, duration=10.0, **settings):
    """Flows, or their controllers, over a dumbbell; further settings are those of `tc.dumbbell`
    and of the scenario."""
    link = {name: settings.pop(name) for name in OF_THE_LINK if name in settings}
    net = tc.dumbbell(rate, delay, buffer, **link)
    flows = [tc.Flow(x) if isinstance(x, (str, tc.Controller)) else x for x in flows]
    return tc.Scenario(net, flows, duration=duration, **settings)


def mean_over_seeds(seeds, measure, case, **way):
    """Mean of what `measure` returns for the runs of a scenario with these seeds."""
    runs = tc.sweep([case.replace(seed=seed) for seed in seeds], **way)
    return np.mean([measure(run) for run in runs], axis=0)
