"""Undo of spurious window cuts: D-SACK reports retransmissions that were not needed.

Sources: RFC 2883 (D-SACK: the receiver reports duplicate segments), RFC 3708 (how a sender uses
these reports), Linux' net/ipv4/tcp_input.c (``tcp_init_undo``, ``tcp_try_undo_dsack``).

An episode begins with the window cut for a loss or a timeout, and lasts until all packets that were
outstanding then are acknowledged; later cuts belong to it. Each retransmission in the episode adds
one to a counter, and each D-SACK report takes one off. At zero no packet was lost
(:func:`tcpcc.transport.rules.reported_twice`). The network never duplicates packets, so a report
has no other cause (RFC 3708 covers duplication too). If a report is lost, the cut stays.

Differences from Linux
    Linux also reads timestamps (Eifel, RFC 3522), which show a spurious cut one RTT earlier; then
    packets marked lost and not yet retransmitted count as in the network again.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import OPEN, delivery_at, window_at

NO_REPAIR = -1  # nothing has been retransmitted yet


@compiled
def note_answer(f):
    """Record the window before a cut. A cut outside recovery (a loss that a tail loss probe
    repaired) cannot be undone: no report shows whether the repair was needed."""
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
def note_retransmission(d):
    """Count a retransmission."""
    if d.undo_from >= 0:
        d.undo_repairs = max(d.undo_repairs, 0) + 1


@compiled
def was_the_last(f, seq):
    """Handle a report that segment `seq` arrived twice; returns whether every retransmission of the
    episode is now known to be unneeded."""
    d = delivery_at(f.delivery, 0)
    if d.undo_from < 0 or seq < d.undo_from or d.undo_repairs <= 0:
        return False
    d.undo_repairs -= 1
    return d.undo_repairs == 0
