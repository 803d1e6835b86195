"""Sets of small whole numbers, as bits of the words at an address."""

from tcpcc.engine.jit import compiled, index_at, lowest_bit

SHIFT = 5
IN_WORD = 1 << SHIFT  # bits


@compiled
def words_for(n):
    """The words of a set of numbers below `n`."""
    return (n + IN_WORD - 1) >> SHIFT


@compiled
def members_of(members, n):
    """Iterate over the members below `n`, in order."""
    for j in range(words_for(n)):
        word = index_at(members, j).at
        while word != 0:
            yield IN_WORD * j + lowest_bit(word)
            word &= word - 1


@compiled
def put_member(members, i):
    index_at(members, i >> SHIFT).at |= 1 << (i & (IN_WORD - 1))


@compiled
def drop_member(members, i):
    index_at(members, i >> SHIFT).at &= ~(1 << (i & (IN_WORD - 1)))


@compiled
def holds(members, i):
    return (index_at(members, i >> SHIFT).at >> (i & (IN_WORD - 1))) & 1 != 0


@compiled
def put_all(members, others, n):
    """Add the members of another set."""
    for j in range(words_for(n)):
        index_at(members, j).at |= index_at(others, j).at


@compiled
def clear(members, n):
    for j in range(words_for(n)):
        index_at(members, j).at = 0
