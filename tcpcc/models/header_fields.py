"""Header fields in memory: numbers in a row, in samples, in headers and in the fluid's history."""

from typing import Any

import numpy as np

from tcpcc.controllers import controller
from tcpcc.definition import WORDS
from tcpcc.engine.jit import compiled, number_at
from tcpcc.queues import discipline

N_WORDS = len(WORDS)


def first_in(record: np.dtype) -> int:
    """Where the header fields begin in a record, in bytes."""
    fields: Any = record.fields
    return fields[WORDS[0]][1]


FIRST_OF_ACK = first_in(controller.sample_dtype)
FIRST_OF_QUEUE = first_in(discipline.sample_dtype)


@compiled
def copy_fields(source, target):
    """Copy the header fields from one address to another."""
    for i in range(N_WORDS):
        number_at(target, i).value = number_at(source, i).value
