"""Header fields: values that fluid carries, changed by routers, returned to the sender.

Each cell of the table ``fluid`` has a value of each word (:mod:`tcpcc.models.header_layout`), the
mean over the fluid in it. So has each cell of ``acked``, the fluid that has returned.
"""

from tcpcc.engine.jit import compiled, number_at
from tcpcc.models.fluid.fluid_records import flow_cell, hop_at, hop_cell, queue_at
from tcpcc.models.header_layout import words_at


@compiled
def words_of_hop(w, x, k, h):
    """Address of the header fields of what arrives at a hop of the link `x` at step `k`."""
    return words_at(w, x.hop_words, (k & x.mask) * x.n + h - x.first)


@compiled
def words_of_flow(w, k, f):
    """Address of the header fields of what returns to a flow at step `k`."""
    return words_at(w, w.returned_words, (k & w.mask) * w.n_flows + f)


@compiled
def mix_words(w, words, into, there, more):
    """Update means over `there` packets at the address `into` by `more` packets with `words`."""
    share = more / (there + more)
    for i in range(w.n_words):
        value = number_at(words, i).value
        mean = number_at(into, i)
        mean.value = value if there <= 0 else mean.value + (value - mean.value) * share


@compiled
def pass_words_on(w, words, amount, k, h, flow):
    """The header fields of an `amount` of fluid that is about to be sent, and arrives at step `k`
    at hop `h`; -1: at its sender, `flow`."""
    if h >= 0:
        x = queue_at(w.queues, hop_at(w.hops, h).queue)
        mix_words(w, words, words_of_hop(w, x, k, h), hop_cell(x, x.fluid, k, h).value, amount)
    else:
        there = flow_cell(w, w.acked, k, flow).value
        mix_words(w, words, words_of_flow(w, k, flow), there, amount)
