"""What selects a stream of random numbers: the seed and the name of a link, flow or workload."""

import tcpcc as tc


def starts(*flows, **settings):
    net = tc.dumbbell("10 Mbps", "20 ms", 30)
    resolved = tc.Scenario(net, flows, duration=9, **settings).resolve()
    return {flow.spec.controller: flow.spec.start for flow in resolved.flows}


def test_a_named_flow_keeps_its_random_numbers_when_another_is_inserted():
    flow = tc.Flow("bbr", jitter=1, name="mine")
    assert starts(flow)["bbr"] == starts(tc.Flow("reno"), flow)["bbr"]
    assert starts(flow)["bbr"] != starts(flow, seed=2)["bbr"]


def test_a_default_name_changes_with_the_flows_number_and_so_do_its_random_numbers():
    flow = tc.Flow("bbr", jitter=1)
    assert starts(flow)["bbr"] == starts(flow, tc.Flow("reno"))["bbr"]
    assert starts(flow)["bbr"] != starts(tc.Flow("reno"), flow)["bbr"]
