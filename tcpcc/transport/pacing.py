"""Pacing: packets leave no faster than the controller's `pacing_rate`.

As in Linux (net/ipv4/tcp_output.c, earliest departure time): each packet puts the time of the next
one off by 1/rate, from when it could leave or, if that is past, from now. A repair at the moment at
which a loss is noticed does not wait, but counts. What waits goes when :mod:`.sender` is told that
``release_at`` has come.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import delivery_at, number_at


@compiled
def is_early(f, now):
    """Whether the next packet has to wait; then notes until when."""
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
    """A packet leaves."""
    d = delivery_at(f.delivery, 0)
    d.next_send = max(d.next_send, now) + 1 / pace(f)
