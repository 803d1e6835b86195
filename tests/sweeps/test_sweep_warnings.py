"""Warnings of simulations in other processes."""

import pytest
from new_process import python

SCRIPT = """
import sys, warnings
import tcpcc as tc
from tcpcc.errors import ModelWarning

if __name__ == "__main__":
    if sys.argv[1] == "silent":
        warnings.simplefilter("ignore", ModelWarning)
    net = tc.dumbbell("12 Mbps", "20 ms", 40)
    each = [tc.Scenario(net, [tc.Flow("vegas", count=40)], duration=0.2, seed=s) for s in (1, 2)]
    for run in tc.sweep(each, model="packet", trains=16, senders=10, jobs=2):
        pass
"""


@pytest.mark.parametrize(("wish", "said"), [("silent", False), ("default", True)])
def test_workers_are_as_silent_as_their_caller(tmp_path, wish, said):
    script = tmp_path / "many.py"
    script.write_text(SCRIPT)
    assert ("ModelWarning" in python(script, wish).stderr) == said
