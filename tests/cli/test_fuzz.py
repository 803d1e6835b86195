"""The first of the random scenarios of `make fuzz`; a count, not a time, so that they are the same
on every machine."""

import fuzz


def test_random_scenarios_rules_and_files_break_nothing():
    fuzz.fuzz(12, seed=1)
