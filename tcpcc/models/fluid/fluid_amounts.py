"""Disciplines that count amounts (`in_amounts`): routers that write header fields.

Their rules are called for the fluid of each hop, which they see with the mean of its header fields.
"""

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.bit_sets import members_of
from tcpcc.models.conversation_records import copy_words
from tcpcc.models.fluid.fluid_fields import pass_words_on, words_of_hop
from tcpcc.models.fluid.fluid_queue_sample import show_fluid_queue, show_hop
from tcpcc.models.fluid.fluid_records import BITS, arrives, hop_at, present
from tcpcc.models.header_layout import note_words
from tcpcc.models.queue_memory import apply_discipline, run_timer


@compiled
def show_fluid(x, now, packets):
    """Fill the sample for a queue in which `packets` wait, of the mean size; returns the sample."""
    q = show_fluid_queue(x, now, packets, packets * x.size)
    q.limit = x.limit / x.size if x.in_bytes != 0 else x.limit
    q.full = 0.0
    return q


@not_inlined
def arrive_in_amounts(w, x, now, packets):
    """Call the rule for each hop's arrivals in this step, `packets` together."""
    q = show_fluid(x, now, max(x.backlog - packets - 0.5, 0.0))
    while x.timer != 0 and q.wake <= now:
        show_fluid(x, q.wake, q.queue)
        run_timer(x, q.wake)
    q.now = now
    q.idle = x.idle
    if packets > 0:
        x.idle = 0.0
    for i in members_of(present(x, w.k), x.n):
        h = x.first + i
        hop = hop_at(w.hops, h)
        amount = arrives(x, h).value
        if amount > 0:
            words = words_of_hop(w, x, w.k, h)
            show_hop(x, hop, amount * hop.count, words)
            apply_discipline(x, x.rule, w.b)
            q.idle = 0.0
            if hop.sees != 0:
                note_words(x, words)


@not_inlined
def depart_in_amounts(w, x, hop, moved, words):
    """Call the rule for `moved` units of a hop's fluid, and pass its header fields on."""
    left = max(x.backlog_bits - x.rate * w.step, 0.0) / BITS
    q = show_fluid(x, w.k * w.step, left / x.size)
    q.sojourn = 0.0
    show_hop(x, hop, moved * hop.packets, words)
    apply_discipline(x, x.departure, w.b)
    if hop.has_words == 0:
        return
    changed = w.own_words
    copy_words(changed, words, w.n_words)
    if hop.sees != 0:
        note_words(x, changed)
    pass_words_on(w, changed, moved, w.k + hop.delay, hop.next, hop.flow)


@not_inlined
def arrive_alone(w, x, hop, now, words):
    """Call the rule for one packet outside the fluid, with header fields at `words`: a SYN."""
    q = show_fluid(x, now, max(x.backlog - 0.5, 0.0))
    q.idle = x.idle
    x.idle = 0.0
    show_hop(x, hop, hop.count, words)
    apply_discipline(x, x.rule, w.b)
    if hop.sees != 0:
        note_words(x, words)
