"""A paper's tables and figures can be begun with in an explorer."""

import pytest

import experiments
from experiments.exploring import starting_points
from tcpcc.apps.interactive.setting import scenario_of, setting_of


@pytest.mark.parametrize("paper", experiments.papers())
def test_every_paper_has_starting_points_whose_controls_say_what_they_are(paper):
    found = starting_points(paper)
    assert found
    for scenario in found.values():
        assert scenario_of(scenario, setting_of(scenario)) == scenario


def test_an_item_gives_each_of_its_scenarios_without_other_seeds():
    found = starting_points("red_fairness", "table_3_1")
    assert "Table 3.1: RED V vs R" in found
    assert len(found) == 6
