"""Pacing: packets leave no faster than the controller's `pacing_rate`.

As in Linux (net/ipv4/tcp_output.c, earliest departure time): each packet moves the departure time
of the next one to 1/rate after its own, or after now if its own has passed. A retransmission sent
when a loss is detected does not wait, but counts. The driver calls ``on_release`` of :mod:`.sender`
at ``release_at`` to send waiting packets.
"""

from tcpcc.engine.jit import compiled, number_at
from tcpcc.transport.flow_record import delivery_at


@compiled
def is_early(f, now):
    """Whether the next packet must wait; if so, sets ``release_at``."""
    d = delivery_at(f.delivery, 0)
    if now >= d.next_send:
        return False
    d.release_at = d.next_send
    return True


@compiled
def pace(f):
    """The controller's `pacing_rate`, packets/s."""
    rate = number_at(f.state + f.pacing_rate, 0).value
    if not rate > 0:
        raise FloatingPointError("a rule left a pacing_rate that is not a positive number")
    return rate


@compiled
def note_paced(f, now):
    """Record that a packet is sent."""
    d = delivery_at(f.delivery, 0)
    d.next_send = max(d.next_send, now) + 1 / pace(f)
