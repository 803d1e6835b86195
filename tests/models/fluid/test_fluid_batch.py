"""Many scenarios at a time: each one's world has the bits of a world of its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcpcc as tc
from tcpcc.models.fluid import SENDERS, STEPS, case_of, fluid_batch
from tcpcc.models.fluid.fluid_batch import integrate_all
from tcpcc.models.fluid.fluid_read_out import AMOUNTS, OF_LINKS, WINDOWS, columns_by_name
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.memory_copies import Mould

SERIES = (*WINDOWS, *AMOUNTS, *(name for name in OF_LINKS if name != "busy"))

ADDRESS = 2**40
"""Larger integers are addresses."""


def columns(scenarios, jobs=1):
    """The series of each scenario by its index, or its error; and of how many worlds each batch
    was."""
    found, sizes = {}, []

    def read(world, cases, of):
        sizes.append(len(cases))
        series, _ = columns_by_name(world, cases, of)
        return [{name: series(name)[k].copy() for name in SERIES} for k in range(len(cases))]

    for indices, result in integrate_all(scenarios, read, jobs):
        failed = isinstance(result, Exception)
        found |= zip(indices, [result] * len(indices) if failed else result, strict=True)
    return found, sizes


def assert_each_alone(scenarios, **options):
    found, sizes = columns(scenarios, **options)
    assert sorted(found) == list(range(len(scenarios)))
    for k, scenario in enumerate(scenarios):
        run = tc.simulate(scenario, "fluid").data
        for name in SERIES:
            assert np.array_equal(found[k][name], run[name].values, equal_nan=True), (k, name)
    return sizes


QUEUES = [
    lambda x: None,
    lambda x: tc.queues.RED(min_thresh=3 + 10 * x, max_thresh=40),
    lambda x: tc.queues.CoDel(target=0.002 + 0.01 * x),
    lambda x: tc.queues.FQCoDel(target=0.002 + 0.01 * x),
]
PARAMS = {"vegas": lambda x: {"alpha": 1 + x, "beta": 3 + x}}
numbers = st.floats(0, 1, allow_subnormal=False)


@st.composite
def grids(draw):
    """Scenarios of one or two kinds that differ in all their numbers."""
    kinds = draw(st.lists(st.tuples(
        st.lists(st.sampled_from(["newreno", "cubic", "vegas", "cdg", "bbr"]), min_size=1,
                 max_size=3),
        st.sampled_from(QUEUES), st.sampled_from([None, 1e8]), st.sampled_from([1, 3]),
        st.sampled_from([None, 400]), st.booleans(),
    ), min_size=1, max_size=2))  # fmt: skip
    points = draw(
        st.lists(st.tuples(st.sampled_from(kinds), *[numbers] * 8), min_size=2, max_size=6)
    )
    return [scenario(*point) for point in points]


def scenario(kind, rate, delay, buffer, loss, start, own, param, seed):
    names, queue, access, count, size, has_cbr = kind
    net = tc.dumbbell(
        5e6 * (1 + rate), 0.01 * (1 + delay), 20 + round(60 * buffer), queue=queue(param),
        loss=0.01 * round(loss), jitter=0.002 * own, access_rate=access,
    )  # fmt: skip
    flows = [
        tc.Flow(
            name, start=0.8 * start * (k + 1), access_delay=0.002 * (1 + own * k), count=count,
            jitter=0.3 * own, processing=0.001 * own, stop=2.8 + own if k else None,
            size=size and size + round(100 * own), **PARAMS.get(name, lambda x: {})(param),
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    noise = [tc.CBR(1e6, on=[(0.5, 2.5)])] if has_cbr else []
    return tc.Scenario(net, [*flows, *noise], duration=4, interval=0.05, seed=round(1000 * seed))


@given(grids())
@settings(max_examples=25, deadline=None)
def test_a_world_among_others_has_the_bits_of_a_world_alone(scenarios):
    assert_each_alone(scenarios)


@given(grids())
@settings(max_examples=50, deadline=None)
def test_a_copy_begins_with_the_numbers_of_a_world_alone(scenarios):
    """All fields but addresses."""
    kinds = {}
    for one in scenarios:
        case = case_of(one, STEPS, SENDERS)
        kinds.setdefault(case.kind, []).append(case)
    for cases in kinds.values():
        world = FluidWorld(cases[0].scenario)
        mould = Mould(world)
        of = mould.copies(np.empty((len(cases), mould.words), np.int64))
        world.write_numbers(cases, of)
        for k, case in enumerate(cases):
            alone = FluidWorld(case.scenario)
            for name in ("w", "flows", "links", "hops", "acts_at", "flow_bins", "link_bins"):
                here, there = of(getattr(world, name))[k], getattr(alone, name)
                for field in there.dtype.names or [()]:
                    assert is_same(here[field], there[field]), (name, field)


def is_same(here, there):
    if there.dtype.kind == "f":
        return np.array_equal(here, there, equal_nan=True)
    return (
        np.where(here > ADDRESS, ADDRESS, here) == np.where(there > ADDRESS, ADDRESS, there)
    ).all()


def plain(buffer=50, seed=1, flow="newreno", duration=5, **more):
    net = tc.dumbbell("10 Mbps", "10 ms", buffer)
    return tc.Scenario(net, [tc.Flow(flow, **more)] * 2, duration=duration, seed=seed)


def test_scenarios_of_one_kind_are_one_batch():
    sizes = assert_each_alone([plain(20 + k, seed=k) for k in range(10)])
    assert sizes == [10]
    flows = ["newreno", "cubic"] * 4
    assert assert_each_alone([plain(flow=flow) for flow in flows]) == [4, 4]
    fast = tc.dumbbell("200 Mbps", "10 ms", 400)
    crowds = [plain(count=count, duration=1).replace(net=fast) for count in (150, 180, 150)]
    assert assert_each_alone(crowds) == [2, 1]


def test_threads_and_many_batches_change_nothing(monkeypatch):
    monkeypatch.setattr(fluid_batch, "LARGEST", 3)
    monkeypatch.setattr(fluid_batch, "HELD", 5)
    monkeypatch.setattr(fluid_batch, "MOULDS", 1)
    flows = ["newreno", "cubic", "vegas"] * 5
    sizes = assert_each_alone([plain(20 + k, flow=f) for k, f in enumerate(flows)], jobs=2)
    assert sum(sizes) == len(flows)
    assert max(sizes) <= 3


def test_a_world_that_needs_longer_tables_gets_them_alone():
    buffers = 20, 30, 4000, 5000, 40
    sizes = assert_each_alone([plain(buffer, slow_start="standard") for buffer in buffers])
    assert sizes == [3, 1, 1]


def test_a_batch_has_room_for_full_buffers():
    assert assert_each_alone([plain(buffer) for buffer in (400, 450, 20, 30)]) == [2, 2]


@pytest.mark.parametrize(
    "more",
    [
        {"changes": [tc.Change(link="bottleneck", at=2, rate=5e6)]},
        {"workloads": [tc.workloads.web("newreno", rate=20)]},
    ],
)
def test_changes_and_workloads_have_worlds_of_their_own(more):
    cases = [plain(20 + k).replace(**more) for k in range(2)]
    assert assert_each_alone(cases) == [1, 1]


def test_a_rule_that_fails_is_an_error_of_its_scenario_only():
    def on_ack(s, p, a):
        room = 1.0 if s.cwnd < p.limit else 0.0
        s.cwnd = s.cwnd + 1 / room

    breaks = tc.Controller(
        name="breaks", summary="", source="", on_ack=on_ack,
        params={"limit": tc.Param(1e6, "packets", "window at which it fails", low=0, high=1e9)},
    )  # fmt: skip
    cases = [plain(flow=breaks, limit=limit) for limit in (1e6, 20.0, 1e7)]
    found, sizes = columns(cases)
    with pytest.raises(tc.TcpccError) as alone:
        tc.simulate(cases[1], "fluid")
    assert str(found[1]) == str(alone.value)
    assert "divi" in str(found[1])
    assert sizes == [2]
    assert np.array_equal(found[2]["sent"], tc.simulate(cases[2], "fluid").data["sent"].values)
