"""Header fields: values that fluid carries, changed by routers, returned to the sender.

Each cell of the table ``fluid`` has a value of each word (:mod:`tcpcc.models.header_layout`), the
mean over the fluid in it. So has each cell of ``acked``, the fluid that has returned.
"""

from tcpcc.engine.jit import compiled, number_at
from tcpcc.models.fluid.fluid_records import NUMBER, flow_cell, hop_at, hop_cell, queue_at
from tcpcc.models.header_layout import return_words, send_fields


@compiled
def words_of_hop(w, x, k, h):
    """Address of the header fields of what arrives at a hop of the link `x` at step `k`."""
    return x.hop_words + NUMBER * w.n_words * ((k & x.mask) * x.n + h - x.first)


@compiled
def words_carried(w, x, h):
    """Address of the header fields of a hop's fluid that is no packet yet."""
    return x.carried_words + NUMBER * w.n_words * (h - x.first)


@compiled
def words_of_packet(w, p, place):
    """Address of the header fields of a packet in the pool of a link."""
    return p.words + NUMBER * w.n_words * place


@compiled
def words_of_flow(w, k, f):
    """Address of the header fields of what returns to a flow at step `k`."""
    return w.returned_words + NUMBER * w.n_words * ((k & w.mask) * w.n_flows + f)


@compiled
def mix_words(w, words, into, there, more):
    """Update means over `there` packets at the address `into` by `more` packets with `words`."""
    share = more / (there + more)
    for i in range(w.n_words):
        value = number_at(words, i).value
        mean = number_at(into, i)
        mean.value = value if there <= 0 else mean.value + (value - mean.value) * share


@compiled
def copy_fields(w, words, into):
    for i in range(w.n_words):
        number_at(into, i).value = number_at(words, i).value


@compiled
def pass_words_on(w, hop, words, amount):
    """The header fields of an `amount` of fluid, which is about to be passed on."""
    k = w.k + hop.delay
    if hop.next >= 0:
        x = queue_at(w.queues, hop.next_link)
        there = hop_cell(x, x.fluid, k, hop.next).value
        mix_words(w, words, words_of_hop(w, x, k, hop.next), there, amount)
    elif hop.is_tcp != 0:
        there = flow_cell(w, w.acked, k, hop.flow).value
        mix_words(w, words, words_of_flow(w, k, hop.flow), there, amount)


@compiled
def write_words(w, f, amount, h):
    """A sender writes the header fields of an `amount` of fluid, which is about to leave it for hop
    `h`; -1: no link has a queue."""
    words = w.own_words
    send_fields(f, f.state, words)
    if h >= 0:
        k = w.k + f.to_first
        x = queue_at(w.queues, hop_at(w.hops, h).queue)
        mix_words(w, words, words_of_hop(w, x, k, h), hop_cell(x, x.fluid, k, h).value, amount)
    else:
        k = w.k + f.to_sender
        there = flow_cell(w, w.acked, k, f.index).value
        mix_words(w, words, words_of_flow(w, k, f.index), there, amount)


@compiled
def read_words(w, f):
    """A sender reads the header fields of what returns in this step."""
    return_words(f, f.sample, words_of_flow(w, w.k, f.index))
