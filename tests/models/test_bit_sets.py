"""Sets of whole numbers as bits."""

import random

import numpy as np
import pytest

from tcpcc.engine.jit import address, entry, index_at
from tcpcc.models.bit_sets import clear, drop_member, holds, members_of, put_member, words_for


@entry
def put(members, i):
    put_member(members, i)


@entry
def take(members, i):
    drop_member(members, i)


@entry
def empty(members, n):
    clear(members, n)


@entry
def has(members, i):
    return holds(members, i)


@entry
def list_members(members, n, found):
    count = 0
    for i in members_of(members, n):
        index_at(found, count).at = i
        count += 1
    return count


@pytest.mark.parametrize("n", [1, 31, 32, 33, 100])
def test_a_set_of_bits_is_a_set(n):
    """Also its last number, in the last bit of a word."""
    draw, expected = random.Random(n), set()
    words, found = np.zeros(words_for(n), np.int64), np.zeros(n, np.int64)
    for i in [n - 1, *(draw.randrange(n) for _ in range(50))]:
        if draw.random() < 0.6 or i == n - 1:
            put(address(words), i)
            expected.add(i)
        else:
            take(address(words), i)
            expected.discard(i)
        count = list_members(address(words), n, address(found))
        assert found[:count].tolist() == sorted(expected)
        assert has(address(words), i) == (i in expected)
    empty(address(words), n)
    assert not words.any()
