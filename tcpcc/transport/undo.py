"""Losses that were none: what D-SACK tells of repairs that were not needed.

Sources: RFC 2883 (D-SACK: the receiver reports what came twice), RFC 3708 (a sender that learns so
that it repaired in vain), Linux' net/ipv4/tcp_input.c (``tcp_init_undo``, ``tcp_try_undo_dsack``).

An episode begins with the answer to a loss or a timeout, and lasts until all that was outstanding
then is acknowledged; later answers belong to it. Each packet that is sent again from its beginning
on counts, each report that one came twice takes one off. When none is left no packet had been lost
(:func:`tcpcc.transport.rules.told_twice`). As the network doubles no packets, no report means
anything else (RFC 3708 cares for one that does); one that is lost leaves the answer as it is.

Differences from Linux
    It reads timestamps too (Eifel, RFC 3522), which tell a round-trip time earlier, and what is
    deemed lost and not yet sent again is then deemed to be in the network.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import OPEN, delivery_at, window_at

NO_REPAIR = -1  # none has been sent yet


@compiled
def note_answer(f):
    """The window is about to be cut. A tail loss probe's loss, in no recovery, was repaired before:
    nothing tells whether that was needed."""
    d = delivery_at(f.delivery, 0)
    if d.undo == 0 or (d.undo_from >= 0 and f.high_ack < d.undo_until):
        return
    s = window_at(f.state, 0)
    d.undo_from = -1 if f.phase == OPEN else f.high_ack + 1
    d.undo_until = f.max_seq
    d.undo_repairs = NO_REPAIR
    d.undo_cwnd = s.cwnd
    d.undo_ssthresh = s.ssthresh


@compiled
def note_repair(d):
    """A packet is sent again."""
    if d.undo_from >= 0:
        d.undo_repairs = max(d.undo_repairs, 0) + 1


@compiled
def was_the_last(f, seq):
    """The receiver reports that segment `seq` came twice; whether that was the last repair of the
    episode that could have been needed."""
    d = delivery_at(f.delivery, 0)
    if d.undo_from < 0 or seq < d.undo_from or d.undo_repairs <= 0:
        return False
    d.undo_repairs -= 1
    return d.undo_repairs == 0
