"""Sets of small whole numbers, as bits of the words at an address."""

from tcpcc.engine.jit import compiled, index_at, lowest_bit

SHIFT = 5
IN_WORD = 1 << SHIFT  # bits


@compiled
def words_for(n):
    """The words of a set of numbers below `n`."""
    return (n + IN_WORD - 1) >> SHIFT


@compiled
def add(members, i):
    index_at(members, i >> SHIFT).at |= 1 << (i & (IN_WORD - 1))


@compiled
def remove(members, i):
    index_at(members, i >> SHIFT).at &= ~(1 << (i & (IN_WORD - 1)))


@compiled
def holds(members, i):
    return (index_at(members, i >> SHIFT).at >> (i & (IN_WORD - 1))) & 1 != 0


@compiled
def next_of(members, i, n):
    """The least member from `i` on of a set of numbers below `n`, or `n`."""
    if i >= n:
        return n
    k = i >> SHIFT
    word = index_at(members, k).at >> (i & (IN_WORD - 1))
    if word != 0:
        return i + lowest_bit(word)
    for j in range(k + 1, words_for(n)):
        word = index_at(members, j).at
        if word != 0:
            return IN_WORD * j + lowest_bit(word)
    return n


@compiled
def clear(members, n):
    for j in range(words_for(n)):
        index_at(members, j).at = 0
