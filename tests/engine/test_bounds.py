"""Interpreted code checks that a record lies within an array."""

from new_process import printed

PROGRAM = """
import numpy as np
from tcpcc.engine.jit import accessor, address, record_dtype

PAIR = record_dtype({"a": float, "b": int})
pair_at = accessor(PAIR)
pairs = np.zeros(3, PAIR)
base = address(pairs)
pair_at(base, 2).b = 7
assert pairs["b"][2] == 7
for wrong, index in ((base, 3), (base, -1), (0, 0), (base + 8, 2)):
    try:
        pair_at(wrong, index)
    except IndexError as error:
        assert str(error).startswith(f"pair_at: record {index} from address"), error
    else:
        raise AssertionError((wrong, index))
del pairs
try:
    pair_at(base, 0)
except IndexError:
    print("checked")
"""


def test_a_record_outside_of_all_arrays_is_refused():
    """Beyond either end, at no address, across an end, and in an array that is gone."""
    assert printed(PROGRAM, env={"NUMBA_DISABLE_JIT": "1"}) == "checked\n"
