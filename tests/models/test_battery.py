"""The battery of `experiments.battery`: its rules, and a sample of its stored numbers."""

import math

import numpy as np
import pandas as pd
import pytest

import tcpcc as tc
from experiments.battery import __main__ as battery
from experiments.battery.measures import FLOORS, lenient, measure, spread, strict
from experiments.battery.scenarios import CASES, PACKET, SPREAD, group_of, phase_free

pytestmark = pytest.mark.filterwarnings("ignore::tcpcc.errors.ModelWarning")

SAMPLE = (
    "one RTT: 1 NewReno, 1 Mb/s",
    "unlike RTTs: 2 NewReno",
    "mixed: 1 Vegas, 1 NewReno",
    "AQM: RED, 10 NewReno",
    "parking lot: 2 hops, NewReno",
    "two-way: 1 NewReno each",
    "short flows: 100 of 50 packets alone",
)


def test_eighty_scenarios_of_twelve_kinds():
    assert len(CASES) == 80
    assert len({case.kind for case in CASES.values()}) == 12
    rates = [min(x.rate for x in case.scenario.net.links) for case in CASES.values()]
    assert (min(rates), max(rates)) == (1e6, 1e9)


@pytest.mark.parametrize("name", ["one RTT: 50 NewReno, 100 Mb/s", "parking lot: 3 hops, CUBIC"])
def test_round_trips_differ_by_five_percent_and_hosts_take_a_packet_time(name):
    whole = CASES[name].scenario
    plain, free = (x.resolve() for x in (whole, phase_free(whole, 1)))

    def trips(resolved):
        return np.array(
            [2 * sum(resolved.links[i].delay for i in f.forward) for f in resolved.flows]
        )

    longer = trips(free) / trips(plain)
    assert sorted(longer) == pytest.approx(np.linspace(1, 1 + 2 * SPREAD, len(longer)), rel=1e-9)
    slowest = min(link.rate for link in whole.net.links)
    assert {flow.spec.processing for flow in free.flows} == {PACKET / slowest}
    assert [f.spec.start for f in free.flows] == [f.spec.start for f in plain.flows]
    assert {group_of(f.name) for f in free.flows} == {f.name for f in whole.flows}


def test_the_noise_makes_seeds_agree():
    """Of two NewReno flows of unlike RTTs with equal packets, the phase decides who gets how much:
    the ratio of their goodputs differs by a factor of three between starts."""
    case = CASES["unlike RTTs: 2 NewReno"]

    def spread_of_ratios(make):
        logs = []
        for seed in range(1, 13):
            rates = tc.simulate(make(seed)).goodput(after=case.after).values
            logs.append(math.log(max(rates) / min(rates)))
        return np.std(logs)

    assert spread_of_ratios(lambda seed: case.scenario.replace(seed=seed)) > 0.3
    assert spread_of_ratios(lambda seed: phase_free(case.scenario, seed)) < 0.2


def test_strict_is_ten_percent_or_the_floor():
    assert strict("goodput a", 10.0, 10.99)
    assert not strict("goodput a", 10.0, 11.01)
    assert strict("queue", 1.0, 1.9)
    assert not strict("queue", 1.0, 2.1)
    assert strict("fct mean, a", 0.001, 0.0019)
    assert strict("loss", math.nan, math.nan)
    assert not strict("loss", 0.1, math.nan)
    kinds = {of.split()[0].rstrip(",") for of in battery.stored().index.get_level_values(1)}
    assert kinds == set(FLOORS)


def test_lenient_is_two_standard_errors():
    assert lenient("goodput a", 10.0, 0.6, 11.9, 0.8)
    assert not lenient("goodput a", 10.0, 0.6, 12.1, 0.8)
    assert spread([1.0, 3.0]) == (2.0, pytest.approx(1.0))
    assert spread([1.0, math.nan]) == (1.0, 0.0)


def test_a_refused_scenario_is_counted_as_refused_only():
    index = pd.MultiIndex.from_product(
        [["one RTT: 2 CUBIC, 20 Mb/s", "mesh: 10 nodes, 20 Vegas"], ["queue"]]
    )
    row = {"packet": 10.0, "packet se": 0.1, "fluid": [20.0, math.nan], "fluid se": 0.1}
    told = battery.summary(battery.judged(pd.DataFrame(row, index=index), "fluid"), "kind")
    assert told.loc["all"].tolist() == [1, "0 %", "0 %", "0 of 1", 1]


def agrees(name, model):
    """The stored numbers of a case are those of today's code."""
    found = battery.numbers(name, model)
    stored = battery.stored().loc[[name], list(found.columns)].dropna(how="all")
    found = found.reindex(stored.index)
    assert found[model].to_numpy() == pytest.approx(stored[model].to_numpy(), rel=1e-3, nan_ok=True)


@pytest.mark.parametrize("model", ["packet", "trains", "fluid"])
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_the_stored_numbers(name, model):
    agrees(name, model)


@pytest.mark.long
@pytest.mark.parametrize("model", ["packet", *battery.MODELS])
@pytest.mark.parametrize("name", CASES)
def test_the_stored_numbers(name, model):
    agrees(name, model)


def test_docs_have_the_stored_tables():
    assert f"\n\n{battery.page_tables(battery.stored())}\n\n" in battery.PAGE.read_text()


def test_measures_are_those_of_the_run():
    """By hand, from the record of a run with two groups."""
    name = "unlike RTTs: 2 NewReno"
    case = CASES[name]
    run = tc.simulate(phase_free(case.scenario, 1))
    found = measure(case, run)
    late = run.data.isel(time=run.data["time"].values > case.after)
    seconds = case.scenario.duration - case.after
    rate = float(late["delivered"].sel(flow="newreno 30 ms").sum()) * PACKET / seconds / 1e6
    assert found["goodput newreno 30 ms"] == pytest.approx(rate)
    dropped, sent = (float(late[of].sum()) for of in ("dropped", "sent"))
    assert found["loss"] == dropped / sent
    assert found["queue bottleneck"] == pytest.approx(float(late["queue"].mean()), rel=1e-6)
