"""What a discipline sees of its link: the sample, for an amount of fluid or for a packet."""

from tcpcc.engine.jit import compiled
from tcpcc.models.header_layout import hide_words, show_words
from tcpcc.models.queue_memory import queue_sample_at


@compiled
def show_fluid_queue(x, now, packets, waiting_bytes):
    """Fill the sample with the state of a queue in which `packets` wait, together `waiting_bytes`;
    returns the sample."""
    q = queue_sample_at(x.sample, 0)
    q.now = now
    q.queue = packets
    q.queue_bytes = waiting_bytes
    if x.rate > 0:
        q.rate = x.rate
    q.flows = x.flows
    return q


@compiled
def show_hop(x, hop, packets, words):
    """Fill the sample for an amount of a hop's fluid, whose header fields are at `words`."""
    q = queue_sample_at(x.sample, 0)
    q.arrivals = packets
    q.size = hop.size
    q.flow = hop.flow
    q.traffic_class = hop.traffic_class
    q.ect = 1.0 if hop.ect != 0 else 0.0
    q.words = float(hop.sees)
    if hop.sees != 0:
        show_words(x, words)
    else:
        hide_words(x)
