"""Some of the random scenarios of `make fuzz`."""

import fuzz


def test_random_scenarios_and_files_break_nothing():
    assert fuzz.fuzz(5, seed=1) > 0
